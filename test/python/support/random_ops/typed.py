"""Types that hold no array of JAX: quantized, of sizes known when the program runs."""

from .program import Builder, Skip, Tensor, i64s, pairs
from .regions import scalar

UNARY = ["abs", "ceil", "cosine", "exponential", "floor", "log", "logistic", "negate"]
UNARY += ["rsqrt", "sign", "sine", "sqrt", "tanh", "cbrt", "round_nearest_even"]
BINARY = ["add", "divide", "maximum", "minimum", "multiply", "power", "subtract"]


def quantized_element(b: Builder, rank: int, shape=()) -> str:
    storage = b.rng.choice(["i8", "u8", "i16", "i4", "i32", "u4"])
    expressed = b.rng.choice(["f32", "f32", "bf16", "f64", "f16"])
    limits = "<-7:7>" if storage[0] == "i" and b.flag(0.3) else ""
    scale = b.rng.choice(["2.500000e-01", "1.000000e-01", "5.000000e-01"])
    zero = b.rng.choice(["", ":3", ":1"])
    if rank and b.flag(0.3):
        axis = b.rng.randrange(rank)
        count = shape[axis]
        if count == 0:
            raise Skip
        scales = ", ".join([scale + zero] * count)
        head = f"!quant.uniform<{storage}{limits}:{expressed}:{axis}"
        return f"{head}, {{{scales}}}>"
    return f"!quant.uniform<{storage}{limits}:{expressed}, {scale}{zero}>"


def expressed(element: str) -> str:
    inner = element.split(":")
    return next(
        part.split(",")[0].rstrip(">").strip()
        for part in inner
        if part.split(",")[0].rstrip(">").strip() in ("f16", "bf16", "f32", "f64")
    )


def quantize(b: Builder) -> None:
    shape = b.shape()
    element = quantized_element(b, len(shape), shape)
    kind = Tensor(shape, element)
    x = b.argument(shape, expressed(element))
    b.runs = False
    (q,) = b.op("stablehlo.uniform_quantize", [x], [kind])
    b.give(q, *b.op("stablehlo.uniform_dequantize", [q], [x.type]))


def quantized_op(b: Builder) -> None:
    shape = b.shape()
    element = quantized_element(b, 0)
    kind = Tensor(shape, element)
    x, y = b.opaque(str(kind)), b.opaque(str(kind))
    choice = b.rng.randrange(6)
    if choice < 2:
        b.give(*b.op(f"stablehlo.{b.rng.choice(UNARY)}", [x], [str(kind)]))
    elif choice < 4:
        b.give(*b.op(f"stablehlo.{b.rng.choice(BINARY)}", [x, y], [str(kind)]))
    elif choice == 4:
        attributes = "comparison_direction = #stablehlo<comparison_direction LT>"
        types = [Tensor(shape, "i1")]
        b.give(*b.op("stablehlo.compare", [x, y], types, attributes))
    else:
        order = list(range(len(shape)))
        b.rng.shuffle(order)
        turned = Tensor(tuple(shape[i] for i in order), element)
        attributes = f"permutation = {i64s(order)}"
        b.give(*b.op("stablehlo.transpose", [x], [str(turned)], attributes))


def quantized_constant(b: Builder) -> None:
    shape = b.shape(1)
    kind = Tensor(shape, "!quant.uniform<i8:f32, 5.000000e-01:1>")
    b.runs = False
    value = f"value = dense<{b.rng.randint(-9, 9)}> : {Tensor(shape, 'i8')}"
    b.give(*b.op("stablehlo.constant", [], [str(kind)], value))


def dimensions(b: Builder, low: int = 1) -> tuple[int, ...]:
    """A shape of which some sizes, written -1, are not known."""
    shape = b.shape(low)
    return tuple(-1 if b.flag(0.4) else n for n in shape)


def dynamic_unary(b: Builder) -> None:
    type_ = Tensor(dimensions(b), b.element("f"))
    x = b.opaque(str(type_))
    name = b.rng.choice(["tanh", "abs", "exponential", "negate", "floor"])
    b.give(*b.op(f"stablehlo.{name}", [x], [str(type_)]))


def dynamic_broadcast(b: Builder) -> None:
    """What JAX exports for sizes of a name: sizes are read, computed with, used."""
    element = b.element("FI")
    x = b.opaque(f"tensor<?x3x{element}>")
    attributes = "dimension = 0 : i64"
    i32 = scalar("i32")
    (n,) = b.op("stablehlo.get_dimension_size", [x], [i32], attributes)
    two = b.constant(2, "i32")
    (m,) = b.op("stablehlo.multiply", [n, two], [i32])
    one = Tensor((1,), "i32")
    parts = [
        b.op("stablehlo.reshape", [v], [one])[0] for v in (m, b.constant(3, "i32"))
    ]
    (sizes,) = b.op(
        "stablehlo.concatenate", parts, [Tensor((2,), "i32")], "dimension = 0 : i64"
    )
    y = b.argument((3,), element)
    result = f"tensor<?x3x{element}>"
    b.give(
        *b.op(
            "stablehlo.dynamic_broadcast_in_dim",
            [y, sizes],
            [result],
            f"broadcast_dimensions = {i64s([1])}",
        ),
        *b.op(
            "stablehlo.dynamic_iota",
            [sizes],
            ["tensor<?x3xi32>"],
            "iota_dimension = 0 : i64",
        ),
    )


def dynamic_binary(b: Builder) -> None:
    type_ = Tensor(dimensions(b), b.element("fI"))
    other = Tensor(tuple(n if b.flag() else -1 for n in type_.shape), type_.element)
    x, y = b.opaque(str(type_)), b.opaque(str(other))
    name = b.rng.choice(["add", "maximum", "multiply", "subtract"])
    b.give(*b.op(f"stablehlo.{name}", [x, y], [str(type_)]))


def bounded(b: Builder) -> None:
    n = b.rng.randint(2, 6)
    element = b.element("FI")
    x = b.argument((n, 3), element)
    size = b.opaque("tensor<i32>")
    kind = f"tensor<?x3x{element}, #stablehlo.bounds<{n}, ?>>"
    (y,) = b.op(
        "stablehlo.set_dimension_size", [x, size], [kind], "dimension = 0 : i64"
    )
    (z,) = b.op("stablehlo.add", [y, y], [kind])
    (k,) = b.op(
        "stablehlo.get_dimension_size", [z], ["tensor<i32>"], "dimension = 0 : i64"
    )
    b.give(z, k)


def dynamic_dot(b: Builder) -> None:
    element = b.element("f")
    n = b.size()
    x, y = b.opaque(f"tensor<?x{n}x{element}>"), b.opaque(f"tensor<{n}x?x{element}>")
    attributes = (
        "dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], "
        "rhs_contracting_dimensions = [0]>"
    )
    result = f"tensor<?x?x{element}>"
    b.give(*b.op("stablehlo.dot_general", [x, y], [result], attributes))


def dynamic_reduce(b: Builder) -> None:
    element = b.element("f")
    x = b.opaque(f"tensor<?x4x{element}>")
    init = b.constant(0, element)
    body = b.region(
        [scalar(element)] * 2,
        lambda values: b.op("stablehlo.add", values, [scalar(element)]),
    )
    dims = b.rng.choice([[0], [1], [0, 1]])
    result = {(0,): "4x", (1,): "?x", (0, 1): ""}[tuple(dims)]
    attributes = f"dimensions = {i64s(dims)}"
    types = [f"tensor<{result}{element}>"]
    b.give(*b.op("stablehlo.reduce", [x, init], types, attributes, [body]))


def unranked(b: Builder) -> None:
    x = b.opaque(f"tensor<*x{b.element('f')}>")
    b.give(*b.op(f"chlo.{b.rng.choice(['erf', 'tan', 'square'])}", [x], [x.type]))


def memory(b: Builder) -> None:
    kind = "memref<4xf32>"
    x = b.argument((4,), "f32")
    b.runs = False
    (m,) = b.op("stablehlo.custom_call", [x], [kind], 'call_target_name = "Pin"')
    b.give(*b.op("stablehlo.custom_call", [m], [x.type], 'call_target_name = "Unpin"'))


def window_of_unknown(b: Builder) -> None:
    element = b.element("f")
    x = b.opaque(f"tensor<?x5x{element}>")
    init = b.constant(0, element)
    body = b.region(
        [scalar(element)] * 2,
        lambda values: b.op("stablehlo.maximum", values, [scalar(element)]),
    )
    attributes = (
        f"window_dimensions = {i64s([1, 2])}, window_strides = {i64s([1, 1])}, "
        f"padding = {pairs([[0, 0], [0, 0]])}"
    )
    types = [f"tensor<?x4x{element}>"]
    b.give(*b.op("stablehlo.reduce_window", [x, init], types, attributes, [body]))


OPS = {
    "bounded set_dimension_size": bounded,
    "dynamic binary": dynamic_binary,
    "dynamic dot_general": dynamic_dot,
    "dynamic dynamic_broadcast_in_dim": dynamic_broadcast,
    "dynamic reduce": dynamic_reduce,
    "dynamic reduce_window": window_of_unknown,
    "dynamic unary": dynamic_unary,
    "memref custom_call": memory,
    "quantized constant": quantized_constant,
    "quantized op": quantized_op,
    "quantized uniform_quantize": quantize,
    "unranked chlo": unranked,
}
