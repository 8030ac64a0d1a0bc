"""Operations with regions, gathers and scatters."""

from .contractions import mixed
from .program import Builder, Skip, Tensor, Value, class_of, i64s, pairs

# Two of an element into one: what reductions are made of.
REDUCERS = {
    "F": ["add", "maximum", "minimum", "multiply"],
    "I": ["add", "maximum", "minimum", "multiply", "and", "or", "xor"],
    "P": ["and", "or", "xor"],
    "C": ["add", "multiply"],
}
NEUTRAL = {"add": 0, "multiply": 1, "or": 0, "xor": 0}


def scalar(element: str) -> Tensor:
    return Tensor((), element)


def reducer(b: Builder, elements: list[str]) -> tuple[str, list[str]]:
    """A body that reduces each input by an operation of its own."""
    names = [b.rng.choice(REDUCERS[class_of(e)]) for e in elements]
    turned = b.flag(0.2)
    count = len(elements)

    def write(values):
        returned = []
        for i, name in enumerate(names):
            two = [values[i], values[count + i]]
            if turned:
                two.reverse()
            returned += b.op(f"stablehlo.{name}", two, [scalar(elements[i])])
        return returned

    return b.region([scalar(e) for e in elements] * 2, write), names


def start(b: Builder, name: str, element: str) -> Value:
    if b.flag(0.7) and name in NEUTRAL:
        return b.constant(NEUTRAL[name], element)
    return b.argument((), element, tame=True)


def reduce(b: Builder) -> None:
    shape = b.shape()
    elements = [b.element("FIPC") for _ in range(b.rng.choice([1, 1, 2]))]
    inputs = [b.argument(shape, element, tame=True) for element in elements]
    body, names = reducer(b, elements)
    inits = [start(b, n, e) for n, e in zip(names, elements, strict=True)]
    dims = b.some(range(len(shape)))
    kept = tuple(n for i, n in enumerate(shape) if i not in dims)
    b.give(
        *b.op(
            "stablehlo.reduce",
            [*inputs, *inits],
            [Tensor(kept, element) for element in elements],
            f"dimensions = {i64s(dims)}",
            [body],
        )
    )


def reduce_window(b: Builder) -> None:
    shape = b.shape(1)
    elements = [b.element("FIPC") for _ in range(b.rng.choice([1, 1, 2]))]
    inputs = [b.argument(shape, element, tame=True) for element in elements]
    body, names = reducer(b, elements)
    inits = [start(b, n, e) for n, e in zip(names, elements, strict=True)]
    window = [b.rng.randint(1, 3) for _ in shape]
    strides = [b.rng.randint(1, 2) for _ in shape]
    base = [b.rng.choice([1, 1, 2]) for _ in shape]
    dilation = [b.rng.choice([1, 1, 2]) for _ in shape]
    pads = [[b.rng.randint(0, 2) for _ in range(2)] for _ in shape]
    sizes = []
    for i, n in enumerate(shape):
        whole = (max(n - 1, 0) * base[i] + 1 if n else 0) + sum(pads[i])
        reach = (window[i] - 1) * dilation[i] + 1
        sizes.append(0 if whole < reach else (whole - reach) // strides[i] + 1)
    b.give(
        *b.op(
            "stablehlo.reduce_window",
            [*inputs, *inits],
            [Tensor(tuple(sizes), element) for element in elements],
            f"window_dimensions = {i64s(window)}, window_strides = {i64s(strides)}, "
            f"base_dilations = {i64s(base)}, window_dilations = {i64s(dilation)}, "
            f"padding = {pairs(pads)}",
            [body],
        )
    )


def map_(b: Builder) -> None:
    shape, element = b.shape(), b.element("FIPC")
    inputs = [b.argument(shape, element) for _ in range(2)]
    names = REDUCERS[class_of(element)]

    def write(values):
        return b.op(f"stablehlo.{b.rng.choice(names)}", values, [scalar(element)])

    body = b.region([scalar(element)] * 2, write)
    attributes = f"dimensions = {i64s(range(len(shape)))}"
    types = [Tensor(shape, element)]
    b.give(*b.op("stablehlo.map", inputs, types, attributes, [body]))


def sort(b: Builder) -> None:
    shape = b.shape(1)
    elements = [b.element("FIP") for _ in range(b.rng.choice([1, 1, 2]))]
    inputs = [b.argument(shape, element) for element in elements]
    direction = b.rng.choice(["LT", "GT"])
    floats = class_of(elements[0]) == "F"

    def write(values):
        kind = ", compare_type = #stablehlo<comparison_type TOTALORDER>"
        attributes = (
            f"comparison_direction = #stablehlo<comparison_direction {direction}>"
            + (kind if floats else "")
        )
        return b.op("stablehlo.compare", values[:2], [scalar("i1")], attributes)

    body = b.region([scalar(e) for e in elements for _ in range(2)], write)
    attributes = f"dimension = {b.rng.randrange(-len(shape), len(shape))} : i64, "
    attributes += "is_stable = true"
    types = [x.type for x in inputs]
    b.give(*b.op("stablehlo.sort", inputs, types, attributes, [body]))


def select_and_scatter(b: Builder) -> None:
    shape = tuple(b.rng.randint(1, 5) for _ in range(b.rng.randint(1, 3)))
    element = b.element("FI")
    window = [b.rng.randint(1, 3) for _ in shape]
    strides = [b.rng.randint(1, 2) for _ in shape]
    pads = [[b.rng.randint(0, w - 1) for _ in range(2)] for w in window]
    sizes = []
    for n, w, s, p in zip(shape, window, strides, pads, strict=True):
        whole = n + sum(p)
        if whole < w:
            raise Skip
        sizes.append((whole - w) // s + 1)
    x = b.argument(shape, element, tame=True)
    source = b.argument(sizes, element, tame=True)
    init = b.constant(0, element)

    def choose(values):
        attributes = "comparison_direction = #stablehlo<comparison_direction GE>"
        return b.op("stablehlo.compare", values, [scalar("i1")], attributes)

    def add(values):
        return b.op("stablehlo.add", values, [scalar(element)])

    two = [scalar(element)] * 2
    b.give(
        *b.op(
            "stablehlo.select_and_scatter",
            [x, source, init],
            [x.type],
            f"window_dimensions = {i64s(window)}, window_strides = {i64s(strides)}, "
            f"padding = {pairs(pads)}",
            [b.region(two, choose), b.region(two, add)],
        )
    )


def gather_numbers(b: Builder):
    """A shape, where windows of it are looked up, and the shape of what is found."""
    batching = [b.rng.randint(1, 3) for _ in range(b.rng.choice([0, 0, 1]))]
    indexed = [b.rng.randint(1, 5) for _ in range(b.rng.randint(1, 2))]
    whole = [b.rng.randint(1, 4) for _ in range(b.rng.randint(0, 2))]
    shape, (at_batch, at_index, _) = mixed(b, [batching, indexed, whole])
    collapsed = [i for i in at_index if b.flag(0.6)]
    sizes = [
        1 if i in collapsed or i in at_batch else b.rng.randint(1, n)
        for i, n in enumerate(shape)
    ]
    more = list(b.shape(0, 1))
    index_batch, (batch_places, _) = mixed(b, [batching, more])
    at = b.rng.randint(0, len(index_batch))
    scalar_index = len(at_index) == 1 and b.flag(0.3)
    if scalar_index:
        at, index_shape = len(index_batch), index_batch
    else:
        index_shape = (*index_batch[:at], len(at_index), *index_batch[at:])
        batch_places = [i + (i >= at) for i in batch_places]
    window = [
        sizes[i] for i in range(len(shape)) if i not in collapsed and i not in at_batch
    ]
    rank = len(index_batch) + len(window)
    offsets = sorted(b.rng.sample(range(rank), len(window)))
    result, ws, bs = [], iter(window), iter(index_batch)
    for i in range(rank):
        result.append(next(ws) if i in offsets else next(bs))
    order = sorted(zip(at_batch, batch_places, strict=True))
    at_batch, batch_places = [a for a, _ in order], [p for _, p in order]
    numbers = (sorted(collapsed), at_batch, batch_places, at_index, offsets, at)
    return shape, sizes, index_shape, tuple(result), numbers


def indices(b: Builder, shape, limit: int, beyond: bool) -> Value:
    element = b.rng.choice(["i32", "i64", "ui32", "i8"])
    low, high = (0 if element[0] == "u" else -1, limit + 1) if beyond else (0, 1)
    return b.argument(shape, element, b.numbers.integers(low, high + 1, shape))


def gather(b: Builder) -> None:
    shape, sizes, index_shape, result, numbers = gather_numbers(b)
    collapsed, batch, index_batch, index_map, offsets, at = numbers
    x = b.argument(shape, b.element("FPIC"))
    i = indices(b, index_shape, max(shape), True)
    attributes = (
        f"dimension_numbers = #stablehlo.gather<offset_dims = {offsets}, "
        f"collapsed_slice_dims = {collapsed}, operand_batching_dims = {batch}, "
        f"start_indices_batching_dims = {index_batch}, "
        f"start_index_map = {index_map}, index_vector_dim = {at}>, "
        "indices_are_sorted = false"
    )
    types = [Tensor(result, x.type.element)]
    if b.flag(0.2):
        table = b.constant(sizes, "i64")
        b.give(*b.op("stablehlo.dynamic_gather", [x, i, table], types, attributes))
        return
    attributes += f", slice_sizes = {i64s(sizes)}"
    b.give(*b.op("stablehlo.gather", [x, i], types, attributes))


def scatter(b: Builder) -> None:
    shape, _, index_shape, updates, numbers = gather_numbers(b)
    inserted, batch, index_batch, index_map, window, at = numbers
    elements = [b.element("IPFC") for _ in range(b.rng.choice([1, 1, 2]))]
    inputs = [b.argument(shape, element, tame=True) for element in elements]
    i = indices(b, index_shape, max(shape), True)
    news = [b.argument(updates, element, tame=True) for element in elements]
    body, _ = reducer(b, elements)
    attributes = (
        "scatter_dimension_numbers = #stablehlo.scatter<"
        f"update_window_dims = {window}, inserted_window_dims = {inserted}, "
        f"input_batching_dims = {batch}, scatter_indices_batching_dims = "
        f"{index_batch}, scatter_dims_to_operand_dims = {index_map}, "
        f"index_vector_dim = {at}>"
    )
    types = [x.type for x in inputs]
    b.give(*b.op("stablehlo.scatter", [*inputs, i, *news], types, attributes, [body]))


def branch(b: Builder, values: list[Value]) -> str:
    """A region that uses values from above."""

    def write(_):
        returned = []
        for value in values:
            name = b.rng.choice(REDUCERS[class_of(value.type.element)])
            returned += b.op(f"stablehlo.{name}", [value, value], [value.type])
        return returned

    return b.region([], write).replace("^bb0():\n", "")


def conditional(name: str):
    def draw(b: Builder) -> None:
        values = [
            b.argument(b.shape(), b.element("FPIC")) for _ in range(b.rng.randint(1, 2))
        ]
        count = 2 if name == "if" else b.rng.randint(1, 4)
        if name == "if":
            index = b.argument((), "i1")
        elif b.flag(0.3):
            index = b.constant(b.rng.randint(-1, count + 1), "i32")
        else:
            index = b.argument((), "i32", b.rng.randint(-1, count + 1))
        bodies = [branch(b, values) for _ in range(count)]
        types = [v.type for v in values]
        b.give(*b.op(f"stablehlo.{name}", [index], types, "", bodies))

    return draw


def while_(b: Builder) -> None:
    element = b.rng.choice(["i32", "ui8", "i64", "f32"])
    count = b.argument((), element, 0)
    carried = b.argument(b.shape(), b.element("FIC"), tame=True)
    limit = b.constant(b.rng.randint(0, 4), element)
    outside = b.argument(carried.type.shape, carried.type.element, tame=True)
    types = [count.type, carried.type]

    def condition(values):
        attributes = "comparison_direction = #stablehlo<comparison_direction LT>"
        two = [values[0], limit]
        return b.op("stablehlo.compare", two, [scalar("i1")], attributes)

    def body(values):
        one = b.constant(1, element)
        (after,) = b.op("stablehlo.add", [values[0], one], [count.type])
        (new,) = b.op("stablehlo.add", [values[1], outside], [carried.type])
        return [after, new]

    bodies = [b.region(types, condition), b.region(types, body)]
    b.give(*b.op("stablehlo.while", [count, carried], types, "", bodies))


def scan(b: Builder) -> None:
    shape = b.shape(1)
    dim = b.rng.randrange(len(shape))
    element = b.element("fI")
    x = b.argument(shape, element, tame=True)
    row = Tensor((*shape[:dim], *shape[dim + 1 :]), element)
    init = b.argument(row.shape, element, tame=True)
    name = b.rng.choice(REDUCERS[class_of(element)])

    def write(values):
        (found,) = b.op(f"stablehlo.{name}", values, [row])
        return [found, found]

    attributes = (
        f"dimension = {dim} : i64, is_reverse = {str(b.flag()).lower()}, "
        "operandSegmentSizes = array<i32: 1, 1>, "
        "resultSegmentSizes = array<i32: 1, 1>"
    )
    body = b.region([row, row], write)
    b.give(*b.op("chlo.scan", [x, init], [x.type, row], attributes, [body]))


def composite(b: Builder) -> None:
    x = b.argument(b.shape(), b.element("FIC"))
    callee = f"{b.name}_inner"
    b.helpers += (
        f"func.func private @{callee}(%x: {x.type}) -> {x.type} {{\n"
        f'  %0 = "stablehlo.add"(%x, %x) : ({x.type}, {x.type}) -> {x.type}\n'
        f"  return %0 : {x.type}\n}}\n"
    )
    attributes = (
        f'name = "some.name", decomposition = @{callee}, version = 2 : i32, '
        "composite_attributes = {k = 1 : i64, shape = dense<1> : tensor<2xi64>}"
    )
    b.give(*b.op("stablehlo.composite", [x], [x.type], attributes))


OPS = {
    "chlo.scan": scan,
    "stablehlo.case": conditional("case"),
    "stablehlo.composite": composite,
    "stablehlo.gather": gather,
    "stablehlo.if": conditional("if"),
    "stablehlo.map": map_,
    "stablehlo.reduce": reduce,
    "stablehlo.reduce_window": reduce_window,
    "stablehlo.scatter": scatter,
    "stablehlo.select_and_scatter": select_and_scatter,
    "stablehlo.sort": sort,
    "stablehlo.while": while_,
}
