"""Operations that work element by element, and those of CHLO that broadcast."""

import numpy as np

from .program import (
    COMPLEX,
    DTYPES,
    FLOATS,
    NARROW,
    SIGNED,
    Builder,
    Skip,
    Tensor,
    Value,
    class_of,
    i64s,
    real_of,
    width,
)

UNARY = {
    "abs": "SFC",
    "cbrt": "FC",
    "ceil": "F",
    "cosine": "FC",
    "count_leading_zeros": "I",
    "exponential": "FC",
    "exponential_minus_one": "FC",
    "floor": "F",
    "imag": "FC",
    "is_finite": "F",
    "log": "FC",
    "log_plus_one": "FC",
    "logistic": "FC",
    "negate": "IFC",
    "not": "PI",
    "popcnt": "I",
    "real": "FC",
    "round_nearest_afz": "F",
    "round_nearest_even": "F",
    "rsqrt": "FC",
    "sign": "SFC",
    "sine": "FC",
    "sqrt": "FC",
    "tan": "FC",
    "tanh": "FC",
}
ACCURATE = {"cbrt", "cosine", "exponential", "exponential_minus_one", "log"}
ACCURATE |= {"log_plus_one", "logistic", "rsqrt", "sine", "sqrt", "tan", "tanh"}
BINARY = {
    "add": "FPIC",
    "and": "PI",
    "atan2": "FC",
    "divide": "IFC",
    "maximum": "FPIC",
    "minimum": "FPIC",
    "multiply": "FPIC",
    "or": "PI",
    "power": "IFC",
    "remainder": "IF",
    "shift_left": "I",
    "shift_right_arithmetic": "I",
    "shift_right_logical": "I",
    "subtract": "IFC",
    "xor": "PI",
}
CHLO_UNARY = dict.fromkeys(["acos", "acosh", "asin", "asinh", "atan", "atanh"], "FC")
CHLO_UNARY |= dict.fromkeys(["conj", "cosh", "sinh", "square", "tan"], "FC")
CHLO_UNARY |= dict.fromkeys(["bessel_i1e", "digamma", "erf", "erf_inv", "erfc"], "F")
CHLO_UNARY |= dict.fromkeys(["is_inf", "is_neg_inf", "is_pos_inf", "lgamma"], "F")
CHLO_UNARY["_asin_acos_kernel"] = "C"
CHLO_BINARY = {"mulhi": "I", "next_after": "F", "polygamma": "F", "zeta": "F"}
BROADCAST = BINARY | {"next_after": "F", "polygamma": "F", "zeta": "F"}
DIRECTIONS = ("EQ", "NE", "GE", "GT", "LE", "LT")


def with_element(type_: Tensor, element: str) -> Tensor:
    return Tensor(type_.shape, element)


def accuracy(b: Builder, name: str) -> str:
    if name not in ACCURATE or b.flag(0.7):
        return ""
    mode = b.rng.choice(["DEFAULT", "HIGHEST", "TOLERANCE"])
    limits = "atol = 1.000000e-02, ulps = 50, " if mode == "TOLERANCE" else ""
    return (
        f"result_accuracy = #stablehlo.result_accuracy<{limits}"
        f"mode = #stablehlo.result_accuracy_mode<{mode}>>"
    )


def result_of(name: str, type_: Tensor) -> Tensor:
    if name.startswith("is_"):
        return with_element(type_, "i1")
    if name in ("abs", "real", "imag"):
        return with_element(type_, real_of(type_.element))
    return type_


def unary(name: str, classes: str, dialect: str):
    def draw(b: Builder) -> None:
        x = b.argument(b.shape(), b.element(classes))
        attributes = accuracy(b, name) if dialect == "stablehlo" else ""
        types = [result_of(name, x.type)]
        b.give(*b.op(f"{dialect}.{name}", [x], types, attributes))

    return draw


def second(b: Builder, name: str, x: Value, shape=None) -> Value:
    """What is on the right: seldom what ends the process of XLA where it divides
    constants, by zero, or the lowest number by -1."""
    element = x.type.element
    type_ = Tensor(x.type.shape if shape is None else shape, element)
    array = b.array(type_)
    if name in ("divide", "remainder") and class_of(element) == "I" and b.flag(0.95):
        array = np.where((array == 0) | (array == -1), 1, array)
    return b.argument(type_.shape, element, array)


def binary(name: str, classes: str, dialect: str):
    def draw(b: Builder) -> None:
        x = b.argument(b.shape(), b.element(classes))
        y = x if b.flag(0.1) and name != "divide" else second(b, name, x)
        b.give(*b.op(f"{dialect}.{name}", [x, y], [x.type]))

    return draw


def broadcast_shapes(b: Builder) -> tuple[tuple, tuple, tuple, str]:
    """Two shapes that broadcast to a third, and the attribute that says how."""
    result = b.shape(0, 4)
    if b.flag(0.2) and len(result) > 1:
        kept = b.some(range(len(result)), 1)
        small = tuple(result[i] for i in kept)
        return result, small, result, f"broadcast_dimensions = {i64s(kept)}"
    sides = []
    for cut in (0, b.rng.randint(0, len(result))):
        side = [1 if b.flag(0.2) else size for size in result[cut:]]
        sides.append(tuple(side))
    if b.flag():
        sides.reverse()
    longer = max(sides, key=len)
    shorter = (1,) * (len(longer) - len(min(sides, key=len))) + min(sides, key=len)
    if len(sides[0]) == len(sides[1]):
        longer, shorter = sides
    result = tuple(y if x == 1 else x for x, y in zip(longer, shorter, strict=True))
    return sides[0], sides[1], result, ""


def broadcast(name: str, classes: str):
    def draw(b: Builder) -> None:
        left, right, result, attributes = broadcast_shapes(b)
        x = b.argument(left, b.element(classes))
        y = second(b, name, x, right)
        types = [Tensor(result, x.type.element)]
        b.give(*b.op(f"chlo.broadcast_{name}", [x, y], types, attributes))

    return draw


def broadcast_complex(b: Builder) -> None:
    left, right, result, attributes = broadcast_shapes(b)
    element = b.rng.choice(["f32", "f64"])
    x, y = b.argument(left, element), b.argument(right, element)
    types = [Tensor(result, f"complex<{element}>")]
    b.give(*b.op("chlo.broadcast_complex", [x, y], types, attributes))


def comparison(b: Builder, element: str, dialect: str) -> str:
    direction = b.rng.choice(DIRECTIONS[:2] if element in COMPLEX else DIRECTIONS)
    text = f"comparison_direction = #{dialect}<comparison_direction {direction}>"
    kinds = ["SIGNED" if element in SIGNED else "UNSIGNED"]
    if element in FLOATS or element in NARROW:
        kinds = ["FLOAT", "TOTALORDER"]
    if element in COMPLEX:
        kinds = ["FLOAT"]
    if b.flag():
        text += f", compare_type = #{dialect}<comparison_type {b.rng.choice(kinds)}>"
    return text


def compare(b: Builder) -> None:
    x = b.argument(b.shape(), b.element("FPIC"))
    y = b.argument(x.type.shape, x.type.element)
    attributes = comparison(b, x.type.element, "stablehlo")
    types = [with_element(x.type, "i1")]
    b.give(*b.op("stablehlo.compare", [x, y], types, attributes))


def broadcast_compare(b: Builder) -> None:
    left, right, result, attributes = broadcast_shapes(b)
    x = b.argument(left, b.element("FPIC"))
    y = b.argument(right, x.type.element)
    attributes += ", " if attributes else ""
    attributes += comparison(b, x.type.element, "chlo")
    types = [Tensor(result, "i1")]
    b.give(*b.op("chlo.broadcast_compare", [x, y], types, attributes))


def select(b: Builder) -> None:
    x = b.argument(b.shape(), b.element("FPIC"))
    y = b.argument(x.type.shape, x.type.element)
    p = b.argument(b.rng.choice([(), x.type.shape]), "i1")
    b.give(*b.op("stablehlo.select", [p, x, y], [x.type]))


def broadcast_select(b: Builder) -> None:
    left, right, result, _ = broadcast_shapes(b)
    if len(left) != len(right):
        raise Skip
    x = b.argument(left, b.element("FPIC"))
    y = b.argument(right, x.type.element)
    p = b.argument(b.rng.choice([(), result]), "i1")
    types = [Tensor(result, x.type.element)]
    b.give(*b.op("chlo.broadcast_select", [p, x, y], types))


def clamp(b: Builder) -> None:
    x = b.argument(b.shape(), b.element("FPI"))
    shape = b.rng.choice([(), x.type.shape])
    low, high = (b.argument(shape, x.type.element) for _ in range(2))
    b.give(*b.op("stablehlo.clamp", [low, x, high], [x.type]))


def convert(b: Builder) -> None:
    x = b.argument(b.shape(), b.element("FPIC"), tame=b.flag(0.7))
    types = [with_element(x.type, b.element("FPIC"))]
    b.give(*b.op("stablehlo.convert", [x], types))


def complex_(b: Builder) -> None:
    x = b.argument(b.shape(), b.rng.choice(["f32", "f64"]))
    y = b.argument(x.type.shape, x.type.element)
    types = [with_element(x.type, f"complex<{x.type.element}>")]
    b.give(*b.op("stablehlo.complex", [x, y], types))


def reduce_precision(b: Builder) -> None:
    x = b.argument(b.shape(), b.element("F"))
    exponent, mantissa = b.rng.randint(2, 9), b.rng.randint(0, 11)
    attributes = f"exponent_bits = {exponent} : i32, mantissa_bits = {mantissa} : i32"
    b.give(*b.op("stablehlo.reduce_precision", [x], [x.type], attributes))


def bitcast_convert(b: Builder) -> None:
    x = b.argument(b.shape(), b.element("FIC"))
    bits = width(x.type.element)
    if x.type.element in COMPLEX:
        b.give(*b.op("stablehlo.bitcast_convert", [x], [x.type]))
        return
    element = b.element("FI")
    other = width(element)
    shape = x.type.shape
    if bits > other and bits % other == 0:
        shape = (*shape, bits // other)
    elif bits < other:
        if other % bits:
            raise Skip
        x = b.argument((*shape, other // bits), x.type.element)
    elif bits != other:
        raise Skip
    b.give(*b.op("stablehlo.bitcast_convert", [x], [Tensor(shape, element)]))


def constant_like(b: Builder) -> None:
    x = b.argument(b.shape(), b.element("FPIC"))
    element = x.type.element
    values = {"i1": "true"}
    if element in FLOATS or element in NARROW:
        values[element] = f"1.000000e+00 : {element}"
    elif element in COMPLEX:
        part = real_of(element)
        values[element] = (
            f"#complex.number<:{part} 1.000000e+00, 2.000000e+00> : {element}"
        )
    value = values.get(element, f"1 : {element}")
    b.give(*b.op("chlo.constant_like", [x], [x.type], f"value = {value}"))


def constant(dialect: str):
    def draw(b: Builder) -> None:
        type_ = Tensor(b.shape(), b.element("FPIC"))
        array = b.array(type_)
        if b.flag(0.3) and array.size:
            array[...] = array.flat[0]
        found = b.constant(array.astype(DTYPES[type_.element]), type_.element)
        b.lines[-1] = b.lines[-1].replace("stablehlo.constant", f"{dialect}.constant")
        b.give(found)

    return draw


OPS = {
    "stablehlo.bitcast_convert": bitcast_convert,
    "stablehlo.clamp": clamp,
    "stablehlo.compare": compare,
    "stablehlo.complex": complex_,
    "stablehlo.constant": constant("stablehlo"),
    "stablehlo.convert": convert,
    "stablehlo.reduce_precision": reduce_precision,
    "stablehlo.select": select,
    "chlo.broadcast_compare": broadcast_compare,
    "chlo.broadcast_complex": broadcast_complex,
    "chlo.broadcast_select": broadcast_select,
    "chlo.constant": constant("chlo"),
    "chlo.constant_like": constant_like,
}
OPS |= {f"stablehlo.{n}": unary(n, c, "stablehlo") for n, c in UNARY.items()}
OPS |= {f"chlo.{n}": unary(n, c, "chlo") for n, c in CHLO_UNARY.items()}
OPS |= {f"stablehlo.{n}": binary(n, c, "stablehlo") for n, c in BINARY.items()}
OPS |= {f"chlo.{n}": binary(n, c, "chlo") for n, c in CHLO_BINARY.items()}
OPS |= {f"chlo.broadcast_{n}": broadcast(n, c) for n, c in BROADCAST.items()}
