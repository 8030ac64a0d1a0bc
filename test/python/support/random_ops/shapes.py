"""Operations that move elements: slices, paddings, gathers, dynamic shapes."""

from .program import Builder, Skip, Tensor, i64s, product

ANY = "FPIC"


def broadcast_in_dim(b: Builder) -> None:
    result = b.shape(0, 4)
    kept = b.some(range(len(result)))
    if b.flag(0.2):
        b.rng.shuffle(kept)
    shape = [1 if b.flag(0.2) else result[i] for i in kept]
    x = b.argument(shape, b.element(ANY))
    types = [Tensor(result, x.type.element)]
    if b.flag(0.3):
        sizes = b.constant(list(result), "i64") if result else None
        if sizes is None:
            raise Skip
        name, operands = "stablehlo.dynamic_broadcast_in_dim", [x, sizes]
    else:
        name, operands = "stablehlo.broadcast_in_dim", [x]
    attributes = f"broadcast_dimensions = {i64s(kept)}"
    b.give(*b.op(name, operands, types, attributes))


def broadcast(b: Builder) -> None:
    x = b.argument(b.shape(), b.element(ANY))
    sizes = b.shape(0, 2)
    types = [Tensor(sizes + x.type.shape, x.type.element)]
    attributes = f"broadcast_sizes = {i64s(sizes)}"
    b.give(*b.op("stablehlo.broadcast", [x], types, attributes))


def reshaped(b: Builder, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Another shape of as many elements."""
    sizes = [n for n in shape if n != 1] or [1]
    b.rng.shuffle(sizes)
    while len(sizes) > 1 and b.flag():
        sizes[:2] = [sizes[0] * sizes[1]]
    if product(shape) == 1 and b.flag():
        sizes = []
    for _ in range(b.rng.randint(0, 2)):
        sizes.insert(b.rng.randint(0, len(sizes)), 1)
    return tuple(sizes)


def reshape(b: Builder) -> None:
    x = b.argument(b.shape(0, 4), b.element(ANY))
    types = [Tensor(reshaped(b, x.type.shape), x.type.element)]
    b.give(*b.op("stablehlo.reshape", [x], types))


def dynamic_reshape(b: Builder) -> None:
    x = b.argument(b.shape(0, 4), b.element(ANY))
    result = reshaped(b, x.type.shape)
    sizes = b.constant(list(result), b.rng.choice(["i32", "i64"]))
    if not result:
        raise Skip
    types = [Tensor(result, x.type.element)]
    b.give(*b.op("stablehlo.dynamic_reshape", [x, sizes], types))


def transpose(b: Builder) -> None:
    x = b.argument(b.shape(0, 4), b.element(ANY))
    order = list(range(len(x.type.shape)))
    b.rng.shuffle(order)
    types = [Tensor(tuple(x.type.shape[i] for i in order), x.type.element)]
    attributes = f"permutation = {i64s(order)}"
    b.give(*b.op("stablehlo.transpose", [x], types, attributes))


def reverse(b: Builder) -> None:
    x = b.argument(b.shape(), b.element(ANY))
    dims = b.some(range(len(x.type.shape)))
    b.rng.shuffle(dims)
    attributes = f"dimensions = {i64s(dims)}"
    b.give(*b.op("stablehlo.reverse", [x], [x.type], attributes))


def bounds(b: Builder, shape) -> tuple[list, list, list, list]:
    starts = [b.rng.randint(0, n) for n in shape]
    limits = [b.rng.randint(s, n) for s, n in zip(starts, shape, strict=True)]
    strides = [b.rng.choice([1, 1, 2, 3]) for _ in shape]
    parts = zip(starts, limits, strides, strict=True)
    sizes = [(limit - start + step - 1) // step for start, limit, step in parts]
    return starts, limits, strides, sizes


def slice_(b: Builder) -> None:
    x = b.argument(b.shape(), b.element(ANY))
    starts, limits, strides, sizes = bounds(b, x.type.shape)
    attributes = (
        f"start_indices = {i64s(starts)}, limit_indices = {i64s(limits)}, "
        f"strides = {i64s(strides)}"
    )
    types = [Tensor(tuple(sizes), x.type.element)]
    b.give(*b.op("stablehlo.slice", [x], types, attributes))


def real_dynamic_slice(b: Builder) -> None:
    x = b.argument(b.shape(1), b.element(ANY))
    *parts, sizes = bounds(b, x.type.shape)
    element = b.rng.choice(["i32", "i64"])
    operands = [x, *(b.constant(part, element) for part in parts)]
    types = [Tensor(tuple(sizes), x.type.element)]
    b.give(*b.op("stablehlo.real_dynamic_slice", operands, types))


def starts_of(b: Builder, shape) -> list:
    """Indices of each dimension, also outside of it."""
    element = b.rng.choice(["i32", "i64", "ui32", "i8", "ui8"])
    low = 0 if element[0] == "u" else -2
    return [
        b.argument((), element, b.rng.randint(low, max(n, 0) + 2))
        if b.flag(0.7)
        else b.constant(b.rng.randint(low, n + 2), element)
        for n in shape
    ]


def dynamic_slice(b: Builder) -> None:
    x = b.argument(b.shape(1), b.element(ANY))
    sizes = [b.rng.randint(0, n) for n in x.type.shape]
    operands = [x, *starts_of(b, x.type.shape)]
    types = [Tensor(tuple(sizes), x.type.element)]
    attributes = f"slice_sizes = {i64s(sizes)}"
    b.give(*b.op("stablehlo.dynamic_slice", operands, types, attributes))


def dynamic_update_slice(b: Builder) -> None:
    x = b.argument(b.shape(1), b.element(ANY))
    update = b.argument([b.rng.randint(0, n) for n in x.type.shape], x.type.element)
    operands = [x, update, *starts_of(b, x.type.shape)]
    b.give(*b.op("stablehlo.dynamic_update_slice", operands, [x.type]))


def padding(b: Builder, shape) -> tuple[list, list, list, list]:
    low = [b.rng.randint(-1, 2) for _ in shape]
    high = [b.rng.randint(-1, 2) for _ in shape]
    interior = [b.rng.choice([0, 0, 1, 2]) for _ in shape]
    sizes = [
        lo + hi + n + max(n - 1, 0) * mid
        for n, lo, hi, mid in zip(shape, low, high, interior, strict=True)
    ]
    if any(n < 0 for n in sizes):
        raise Skip
    return low, high, interior, sizes


def pad(b: Builder) -> None:
    x = b.argument(b.shape(), b.element(ANY))
    value = b.argument((), x.type.element)
    low, high, interior, sizes = padding(b, x.type.shape)
    types = [Tensor(tuple(sizes), x.type.element)]
    if b.flag(0.2) and sizes:
        operands = [x, value, *(b.constant(part, "i64") for part in (low, high))]
        operands.append(b.constant(interior, "i64"))
        b.give(*b.op("stablehlo.dynamic_pad", operands, types))
        return
    attributes = (
        f"edge_padding_low = {i64s(low)}, edge_padding_high = {i64s(high)}, "
        f"interior_padding = {i64s(interior)}"
    )
    b.give(*b.op("stablehlo.pad", [x, value], types, attributes))


def concatenate(b: Builder) -> None:
    shape = b.shape(1)
    dim = b.rng.randrange(len(shape))
    element = b.element(ANY)
    operands, total = [], 0
    for _ in range(b.rng.randint(1, 3)):
        size = b.size()
        total += size
        part = (*shape[:dim], size, *shape[dim + 1 :])
        operands.append(b.argument(part, element))
    types = [Tensor((*shape[:dim], total, *shape[dim + 1 :]), element)]
    attributes = f"dimension = {dim} : i64"
    b.give(*b.op("stablehlo.concatenate", operands, types, attributes))


def iota(b: Builder) -> None:
    type_ = Tensor(b.shape(1), b.element("IFC"))
    attributes = f"iota_dimension = {b.rng.randrange(len(type_.shape))} : i64"
    if b.flag(0.3):
        sizes = b.constant(list(type_.shape), b.rng.choice(["i32", "i64"]))
        b.give(*b.op("stablehlo.dynamic_iota", [sizes], [type_], attributes))
        return
    b.give(*b.op("stablehlo.iota", [], [type_], attributes))


def get_dimension_size(b: Builder) -> None:
    x = b.argument(b.shape(1), b.element(ANY))
    attributes = f"dimension = {b.rng.randrange(len(x.type.shape))} : i64"
    types = [Tensor((), "i32")]
    b.give(*b.op("stablehlo.get_dimension_size", [x], types, attributes))


def set_dimension_size(b: Builder) -> None:
    x = b.argument(b.shape(1), b.element(ANY))
    dim = b.rng.randrange(len(x.type.shape))
    size = b.constant(x.type.shape[dim], "i32")
    attributes = f"dimension = {dim} : i64"
    b.give(*b.op("stablehlo.set_dimension_size", [x, size], [x.type], attributes))


def torch_index_select(b: Builder) -> None:
    x = b.argument(b.shape(1), b.element(ANY))
    dim = b.rng.randrange(len(x.type.shape))
    count = b.size()
    n = max(x.type.shape[dim], 1)
    index = b.argument((count,), "i32", [b.rng.randrange(n) for _ in range(count)])
    shape = (*x.type.shape[:dim], count, *x.type.shape[dim + 1 :])
    attributes = f"dim = {dim} : i64, batch_dims = 0 : i64"
    types = [Tensor(shape, x.type.element)]
    b.give(*b.op("stablehlo.torch_index_select", [x, index], types, attributes))


OPS = {
    "stablehlo.broadcast": broadcast,
    "stablehlo.broadcast_in_dim": broadcast_in_dim,
    "stablehlo.concatenate": concatenate,
    "stablehlo.dynamic_reshape": dynamic_reshape,
    "stablehlo.dynamic_slice": dynamic_slice,
    "stablehlo.dynamic_update_slice": dynamic_update_slice,
    "stablehlo.get_dimension_size": get_dimension_size,
    "stablehlo.iota": iota,
    "stablehlo.pad": pad,
    "stablehlo.real_dynamic_slice": real_dynamic_slice,
    "stablehlo.reshape": reshape,
    "stablehlo.reverse": reverse,
    "stablehlo.set_dimension_size": set_dimension_size,
    "stablehlo.slice": slice_,
    "stablehlo.torch_index_select": torch_index_select,
    "stablehlo.transpose": transpose,
}
