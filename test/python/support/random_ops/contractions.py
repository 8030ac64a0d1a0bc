"""Products, convolutions, transforms and the other operations of linear algebra."""

import numpy as np

from .program import (
    Builder,
    Skip,
    Tensor,
    i64s,
    pairs,
)

ALGORITHMS = {
    "f16": [("f16", "f16", 1), ("f16", "f32", 1)],
    "bf16": [("bf16", "bf16", 1), ("bf16", "f32", 1)],
    "f32": [("f32", "f32", 1), ("tf32", "f32", 1), ("bf16", "f32", 3)],
    "f64": [("f64", "f64", 1)],
}


def precision(b: Builder, dialect: str = "stablehlo") -> str:
    if b.flag():
        return ""
    names = [b.rng.choice(["DEFAULT", "HIGH", "HIGHEST"]) for _ in range(2)]
    items = ", ".join(f"#{dialect}<precision {name}>" for name in names)
    return f", precision_config = [{items}]"


def result_element(b: Builder, element: str) -> str:
    """The type of the operands, or a wider one."""
    wider = {"f16": "f32", "bf16": "f32", "f32": "f64", "i8": "i32", "ui8": "ui32"}
    return wider.get(element, element) if b.flag(0.3) else element


def dot(b: Builder) -> None:
    n = b.size()
    left, right = (*b.shape(0, 1), n), (n, *b.shape(0, 1))
    element = b.element("IFC")
    x = b.argument(left, element, tame=True)
    y = b.argument(right, element, tame=True)
    types = [Tensor(left[:-1] + right[1:], result_element(b, element))]
    b.give(*b.op("stablehlo.dot", [x, y], types, precision(b).lstrip(", ")))


def mixed(b: Builder, groups) -> tuple[tuple, list[list[int]]]:
    """Sizes of named groups at random places: the shape, and where each ended."""
    sizes = [(size, g) for g, group in enumerate(groups) for size in group]
    order = list(range(len(sizes)))
    b.rng.shuffle(order)
    where = [order.index(i) for i in range(len(sizes))]
    shape = tuple(sizes[i][0] for i in order)
    places = [[] for _ in groups]
    for i, (_, g) in enumerate(sizes):
        places[g].append(where[i])
    return shape, places


def dot_general(b: Builder) -> None:
    batch, inner = b.shape(0, 2), b.shape(0, 2)
    left, (lb, lc, lf) = mixed(b, [batch, inner, b.shape(0, 2)])
    right, (rb, rc, rf) = mixed(b, [batch, inner, b.shape(0, 2)])
    free = [left[i] for i in sorted(lf)] + [right[i] for i in sorted(rf)]
    element = b.element("IFCP")
    x = b.argument(left, element, tame=True)
    y = b.argument(right, element, tame=True)
    kind = result_element(b, element)
    attributes = (
        "dot_dimension_numbers = #stablehlo.dot<"
        f"lhs_batching_dimensions = {lb}, rhs_batching_dimensions = {rb}, "
        f"lhs_contracting_dimensions = {lc}, rhs_contracting_dimensions = {rc}>"
    )
    if element in ALGORITHMS and b.flag(0.3):
        given, sum_, count = b.rng.choice(ALGORITHMS[element])
        attributes += (
            f", algorithm = #stablehlo.dot_algorithm<lhs_precision_type = {given}, "
            f"rhs_precision_type = {given}, accumulation_type = {sum_}, "
            "lhs_component_count = 1, rhs_component_count = 1, "
            f"num_primitive_operations = {count}, "
            "allow_imprecise_accumulation = false>"
        )
        kind = element
    else:
        attributes += precision(b)
    types = [Tensor((*batch, *free), kind)]
    b.give(*b.op("stablehlo.dot_general", [x, y], types, attributes))


def ragged_dot(b: Builder) -> None:
    m, k, n, groups = b.size(), b.size(), b.size(), b.rng.randint(1, 3)
    element = b.element("f")
    cuts = sorted(b.rng.randint(0, m) for _ in range(groups - 1))
    sizes = np.diff([0, *cuts, m])
    x = b.argument((m, k), element, tame=True)
    y = b.argument((groups, k, n), element, tame=True)
    g = b.argument((groups,), "i32", sizes)
    attributes = (
        "ragged_dot_dimension_numbers = #chlo.ragged_dot<"
        "lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], "
        "lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>"
    )
    attributes += precision(b, "chlo")
    types = [Tensor((m, n), element)]
    b.give(*b.op("chlo.ragged_dot", [x, y, g], types, attributes))


def convolution(b: Builder) -> None:
    spatial = b.rng.randint(0, 3)
    groups, by_batch = b.rng.choice([(1, False), (1, False), (2, False), (2, True)])
    inputs = b.rng.randint(1, 2) * (1 if by_batch else groups)
    outputs = b.rng.randint(1, 2) * groups
    batch = b.rng.randint(1, 2) * (groups if by_batch else 1)
    sizes = [b.rng.randint(1, 5) for _ in range(spatial)]
    kernel = [b.rng.randint(1, 3) for _ in range(spatial)]
    strides = [b.rng.randint(1, 2) for _ in range(spatial)]
    pads = [[b.rng.randint(-1, 2) for _ in range(2)] for _ in range(spatial)]
    left = [b.rng.randint(1, 2) for _ in range(spatial)]
    right = [b.rng.randint(1, 2) for _ in range(spatial)]
    turned = [b.flag(0.2) for _ in range(spatial)]
    moved = []
    for i in range(spatial):
        size = (sizes[i] - 1) * left[i] + 1 + sum(pads[i])
        window = (kernel[i] - 1) * right[i] + 1
        if size < 0:
            raise Skip
        moved.append(0 if size < window else (size - window) // strides[i] + 1)
    per_group = inputs // (1 if by_batch else groups)
    x_shape, x_at = mixed(b, [[batch], [inputs], sizes])
    k_shape, k_at = mixed(b, [[per_group], [outputs], kernel])
    o_shape, o_at = mixed(b, [[batch // (groups if by_batch else 1)], [outputs], moved])

    def numbers(places, first: str, other: str) -> str:
        letters = dict(enumerate(places[2]))
        text = [""] * (spatial + 2)
        text[places[0][0]], text[places[1][0]] = first, other
        for i, place in letters.items():
            text[place] = str(i)
        return f"[{', '.join(text)}]"

    element = b.element("IFC")
    x = b.argument(x_shape, element, tame=True)
    k = b.argument(k_shape, element, tame=True)
    counts = (1, groups) if not by_batch else (groups, 1)
    attributes = (
        f"batch_group_count = {counts[0]} : i64, feature_group_count = {counts[1]} "
        f": i64, dimension_numbers = #stablehlo.conv<{numbers(x_at, 'b', 'f')}x"
        f"{numbers(k_at, 'i', 'o')}->{numbers(o_at, 'b', 'f')}>, "
        f"window_strides = {i64s(strides)}, "
        f"lhs_dilation = {i64s(left)}, rhs_dilation = {i64s(right)}"
    )
    flags = ", ".join("true" if flag else "false" for flag in turned)
    attributes += f", window_reversal = array<i1{': ' + flags if flags else ''}>"
    attributes += precision(b)
    types = [Tensor(o_shape, result_element(b, element))]
    if spatial and b.flag(0.1):
        table = b.constant(pads, "i64")
        b.give(*b.op("stablehlo.dynamic_conv", [x, k, table], types, attributes))
        return
    attributes += f", padding = {pairs(pads)}"
    b.give(*b.op("stablehlo.convolution", [x, k], types, attributes))


def einsum(b: Builder) -> None:
    sizes = {letter: b.size() for letter in "abcd"}
    left, right, out = b.rng.choice(
        [("ab", "bc", "ac"), ("abc", "cd", "abd"), ("ab", "ab", "a"), ("a", "b", "ab")]
    )
    element = b.element("f")
    x = b.argument([sizes[i] for i in left], element, tame=True)
    y = b.argument([sizes[i] for i in right], element, tame=True)
    types = [Tensor(tuple(sizes[i] for i in out), element)]
    attributes = f'einsum_config = "{left},{right}->{out}"'
    b.give(*b.op("stablehlo.einsum", [x, y], types, attributes))


def unary_einsum(b: Builder) -> None:
    sizes = {letter: b.size() for letter in "abc"}
    left, out = b.rng.choice([("ab", "ba"), ("ab", "a"), ("abc", "cb")])
    x = b.argument([sizes[i] for i in left], b.element("f"), tame=True)
    types = [Tensor(tuple(sizes[i] for i in out), x.type.element)]
    attributes = f'einsum_config = "{left}->{out}"'
    b.give(*b.op("stablehlo.unary_einsum", [x], types, attributes))


def positive(b: Builder, batch, n: int, element: str) -> np.ndarray:
    """Positive definite matrices."""
    shape = (*batch, n, n)
    a = b.numbers.standard_normal(shape)
    if element.startswith("complex"):
        a = a + 1j * b.numbers.standard_normal(shape)
    return a @ np.conj(np.swapaxes(a, -1, -2)) + n * np.eye(n)


def cholesky(b: Builder) -> None:
    batch, n = b.shape(0, 1), b.rng.randint(1, 4)
    element = b.rng.choice(["f32", "f64", "complex<f32>", "complex<f64>"])
    a = b.argument((*batch, n, n), element, positive(b, batch, n, element))
    lower = b.flag()
    attributes = f"lower = {str(lower).lower()}"
    whole = b.op("stablehlo.cholesky", [a], [a.type], attributes)[0]
    # The other triangle is anything: it is left out.
    keep = np.broadcast_to(np.tri(n) if lower else np.tri(n).T, a.type.shape)
    mask = b.constant(keep, "i1")
    zero = b.constant(np.zeros(a.type.shape), element)
    b.give(*b.op("stablehlo.select", [mask, whole, zero], [a.type]))


def triangular_solve(b: Builder) -> None:
    batch, n, m = b.shape(0, 1), b.rng.randint(1, 4), b.rng.randint(1, 3)
    element = b.rng.choice(["f32", "f64", "complex<f32>", "complex<f64>"])
    left = b.flag()
    a = b.argument((*batch, n, n), element, positive(b, batch, n, element))
    y = b.argument((*batch, *((n, m) if left else (m, n))), element, tame=True)
    turn = b.rng.choice(["NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"])
    attributes = (
        f"left_side = {str(left).lower()}, lower = {str(b.flag()).lower()}, "
        f"unit_diagonal = {str(b.flag(0.3)).lower()}, "
        f"transpose_a = #stablehlo<transpose {turn}>"
    )
    b.give(*b.op("stablehlo.triangular_solve", [a, y], [y.type], attributes))


def fft(b: Builder) -> None:
    lengths = [b.rng.randint(1, 6) for _ in range(b.rng.randint(1, 3))]
    batch = tuple(b.rng.randint(1, 2) for _ in range(b.rng.randint(0, 1)))
    kind = b.rng.choice(["FFT", "IFFT", "RFFT", "IRFFT"])
    real = b.rng.choice(["f32", "f64"])
    whole = (*batch, *lengths)
    half = (*whole[:-1], whole[-1] // 2 + 1)
    shapes = {"RFFT": (whole, half), "IRFFT": (half, whole)}.get(kind, (whole, whole))
    types = {"RFFT": (real, f"complex<{real}>"), "IRFFT": (f"complex<{real}>", real)}
    given, made = types.get(kind, (f"complex<{real}>",) * 2)
    x = b.argument(shapes[0], given, tame=True)
    attributes = f"fft_type = #stablehlo<fft_type {kind}>, fft_length = {i64s(lengths)}"
    b.give(*b.op("stablehlo.fft", [x], [Tensor(shapes[1], made)], attributes))


def batch_norm(which: str):
    def draw(b: Builder) -> None:
        shape = tuple(b.rng.randint(1, 4) for _ in range(b.rng.randint(1, 3)))
        feature = b.rng.randrange(len(shape))
        element = b.element("f")
        row = (shape[feature],)
        x = b.argument(shape, element, tame=True)
        rows = [b.argument(row, element, tame=True) for _ in range(3)]
        variance = b.argument(row, element, b.numbers.uniform(0.5, 2, row))
        attributes = f"epsilon = 1.000000e-03 : f32, feature_index = {feature} : i64"
        narrow = Tensor(row, element)
        operands, results = {
            "training": ([x, *rows[:2]], [x.type, narrow, narrow]),
            "inference": ([x, *rows, variance], [x.type]),
            "grad": ([x, *rows[:2], variance, x], [x.type, narrow, narrow]),
        }[which]
        b.give(*b.op(f"stablehlo.batch_norm_{which}", operands, results, attributes))

    return draw


def top_k(b: Builder) -> None:
    shape = (*b.shape(0, 2), b.rng.randint(1, 9))
    x = b.argument(shape, b.element("IF"))
    k = b.rng.randint(0, shape[-1])
    types = [Tensor((*shape[:-1], k), e) for e in (x.type.element, "i32")]
    b.give(*b.op("chlo.top_k", [x], types, f"k = {k} : i64"))


OPS = {
    "chlo.ragged_dot": ragged_dot,
    "chlo.top_k": top_k,
    "stablehlo.batch_norm_grad": batch_norm("grad"),
    "stablehlo.batch_norm_inference": batch_norm("inference"),
    "stablehlo.batch_norm_training": batch_norm("training"),
    "stablehlo.cholesky": cholesky,
    "stablehlo.convolution": convolution,
    "stablehlo.dot": dot,
    "stablehlo.dot_general": dot_general,
    "stablehlo.einsum": einsum,
    "stablehlo.fft": fft,
    "stablehlo.triangular_solve": triangular_solve,
    "stablehlo.unary_einsum": unary_einsum,
}
