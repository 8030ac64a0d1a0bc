"""Constants of every element type through every fold: values, limits, no abort."""

import ml_dtypes
import numpy as np
import pytest
from support import numerics, op_corpus

FOLD = "--stablehlo-target-independent-optimization"
SIGNED = {"i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64}
UNSIGNED = {"ui8": np.uint8, "ui16": np.uint16, "ui32": np.uint32, "ui64": np.uint64}
FLOATS = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "f64": np.float64,
}
COMPLEX = {"complex<f32>": np.complex64, "complex<f64>": np.complex128}
NARROW_INTEGERS = ["i2", "i4", "ui2", "ui4"]
NARROW_FLOATS = {
    "f4E2M1FN": 4,
    "f6E2M3FN": 6,
    "f6E3M2FN": 6,
    "f8E3M4": 8,
    "f8E4M3": 8,
    "f8E4M3FN": 8,
    "f8E4M3FNUZ": 8,
    "f8E4M3B11FNUZ": 8,
    "f8E5M2": 8,
    "f8E5M2FNUZ": 8,
    "f8E8M0FNU": 8,
}
ELEMENTS = ["i1", *SIGNED, *UNSIGNED, *NARROW_INTEGERS, *FLOATS, *NARROW_FLOATS]
ELEMENTS += COMPLEX

LOGIC = ["and", "or", "xor"]
ORDERED = ["maximum", "minimum"]
ARITHMETIC = ["add", "subtract", "multiply", "divide", "remainder"]
ROUNDING = ["round_nearest_even", "round_nearest_afz"]
ANALYTIC = ["sqrt", "rsqrt", "log", "exponential", "logistic", "sine", "cosine", "tan"]
ANALYTIC += ["tanh"]


def is_integer(element: str) -> bool:
    return element.lstrip("ui").isdigit()


def unary_ops(element: str) -> list[str]:
    if element == "i1":
        return ["not"]
    if is_integer(element):
        return ["not", "negate"] + ([] if element[0] == "u" else ["abs", "sign"])
    if element in COMPLEX:
        return ["negate", "sign", *ANALYTIC]
    return ["abs", "negate", "sign", *ROUNDING, *ANALYTIC]


def binary_ops(element: str) -> list[str]:
    if element == "i1":
        return [*LOGIC, *ORDERED, "multiply", "add"]
    if is_integer(element):
        return [*LOGIC, *ORDERED, *ARITHMETIC]
    return ARITHMETIC if element in COMPLEX else [*ARITHMETIC, *ORDERED]


def bit_patterns(element: str) -> list[str]:
    """Zeros, ones, extremes, infinities, NaNs, subnormal numbers, as literals."""
    if element == "i1":
        return ["true", "false", "true", "false"]
    if is_integer(element):
        width = int(element.lstrip("ui"))
        low, high = -(2 ** (width - 1)), 2 ** (width - 1) - 1
        if element[0] == "u":
            low, high = 0, 2**width - 1
        return [str(value) for value in (low, high, 0, 1)]
    if element in COMPLEX:
        parts = bit_patterns(element[8:-1])
        pairs = zip(parts, [*parts[3:], *parts[:3]], strict=True)
        return [f"({re}, {im})" for re, im in pairs]
    if element in NARROW_FLOATS:
        width = NARROW_FLOATS[element]
        sign = 2 ** (width - 1)
        patterns = [0, 1, sign, sign + 1, sign - 1, 2 * sign - 1, sign // 2]
        return [f"0x{pattern:0{2 if width > 4 else 1}X}" for pattern in patterns]
    dtype = np.dtype(FLOATS[element])
    info = ml_dtypes.finfo(dtype)
    numbers = [0, -0.0, 1, -2.5, float(info.max), float(info.tiny) / 4]
    bits = np.array([*numbers, np.inf, np.nan], dtype)
    return ["0x" + value.tobytes()[::-1].hex().upper() for value in bits]


def all_folds(element: str) -> str:
    """A function that has every fold on constants of a type."""
    a = bit_patterns(element)
    n = len(a)
    tensor, bools = f"tensor<{n}x{element}>", f"tensor<{n}xi1>"
    lines: list[str] = []
    results: list[tuple[str, str]] = []

    def emit(text: str, type_: str) -> str:
        name = f"%{len(lines)}"
        lines.append(f"  {name} = {text}")
        results.append((name, type_))
        return name

    def constant(values: list[str], type_: str) -> str:
        text = ", ".join(values)
        return emit(f"stablehlo.constant dense<[{text}]> : {type_}", type_)

    mixed, turned = constant(a, tensor), constant(a[1:] + a[:1], tensor)
    splat = emit(f"stablehlo.constant dense<{a[3]}> : {tensor}", tensor)
    alternating = constant((["true", "false"] * n)[:n], bools)
    for x in (mixed, splat):
        for op in unary_ops(element):
            emit(f"stablehlo.{op} {x} : {tensor}", tensor)
        if element in COMPLEX:
            real = f"tensor<{n}x{element[8:-1]}>"
            emit(f"stablehlo.abs {x} : ({tensor}) -> {real}", real)
        if element in FLOATS or element in NARROW_FLOATS:
            emit(f"chlo.erf {x} : {tensor} -> {tensor}", tensor)
        for op in binary_ops(element):
            emit(f"stablehlo.{op} {x}, {turned} : {tensor}", tensor)
        for target in ELEMENTS:
            type_ = f"tensor<{n}x{target}>"
            emit(f"stablehlo.convert {x} : ({tensor}) -> {type_}", type_)
        for direction in ("EQ", "NE") if element in COMPLEX else ("EQ", "LT", "GE"):
            form = f"stablehlo.compare {direction}, {x}, {turned}"
            emit(f"{form} : ({tensor}, {tensor}) -> {bools}", bools)
            if element in FLOATS or element in NARROW_FLOATS:
                emit(f"{form}, TOTALORDER : ({tensor}, {tensor}) -> {bools}", bools)
        if element not in COMPLEX:
            emit(f"stablehlo.clamp {x}, {turned}, {x} : {tensor}", tensor)
        emit(
            f"stablehlo.select {alternating}, {x}, {turned} : {bools}, {tensor}", tensor
        )
        emit(f"stablehlo.reverse {x}, dims = [0] : {tensor}", tensor)
        emit(
            f"stablehlo.slice {x} [1:3:2] : ({tensor}) -> tensor<1x{element}>",
            f"tensor<1x{element}>",
        )
        wide, tall = f"tensor<1x{n}x{element}>", f"tensor<{n}x1x{element}>"
        row = emit(f"stablehlo.reshape {x} : ({tensor}) -> {wide}", wide)
        emit(f"stablehlo.transpose {row}, dims = [1, 0] : ({wide}) -> {tall}", tall)
        tripled = f"tensor<3x{n}x{element}>"
        emit(
            f"stablehlo.broadcast_in_dim {x}, dims = [1] : ({tensor}) -> {tripled}",
            tripled,
        )
        twice = f"tensor<{2 * n}x{element}>"
        emit(
            f"stablehlo.concatenate {x}, {turned}, dim = 0 : "
            f"({tensor}, {tensor}) -> {twice}",
            twice,
        )
    if element != "i1":
        emit(f"stablehlo.iota dim = 0 : tensor<1x{element}>", f"tensor<1x{element}>")
    types = ", ".join(type_ for _, type_ in results)
    values = ", ".join(name for name, _ in results)
    name = "".join(letter if letter.isalnum() else "_" for letter in element)
    return "\n".join(
        [f"func.func @{name}() -> ({types}) {{", *lines]
        + [f"  return {values} : {types}", "}", ""]
    )


@pytest.mark.parametrize("limit", ["", "=fold-op-element-limit=0"])
def test_every_fold_takes_every_type(tools, limit):
    text = "\n".join(all_folds(element) for element in ELEMENTS)
    folded = tools.opt(text, FOLD + limit)
    # What is folded is valid and stays what it is.
    assert tools.opt(folded, FOLD + limit) == folded
    numerics.check_module(folded)


def samples(element: str, dtype) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of numbers for which every op has a value."""
    rng = np.random.default_rng(0)
    if element in FLOATS:
        x, y = 3 * rng.standard_normal(64), 3 * rng.standard_normal(64)
        ends = np.array([0, -0.0, 1, -1, 88, np.inf, -np.inf, np.nan])
        x, y = np.concatenate([x, ends, ends]), np.concatenate([y, ends, -ends[::-1]])
        return x.astype(dtype), y.astype(dtype)
    info = np.iinfo(dtype)
    x = rng.integers(info.min, info.max, 64, dtype, endpoint=True)
    y = rng.integers(1, min(info.max, 1000), 64, dtype, endpoint=True)
    x[:4] = [info.min, info.max, 0, 1]
    return x, y


@pytest.mark.parametrize("element", [*SIGNED, *UNSIGNED, *FLOATS])
def test_folded_values_are_those_of_jaxlib(tools, element):
    dtype = np.dtype({**SIGNED, **UNSIGNED, **FLOATS}[element])
    x, y = samples(element, dtype)
    tensor, bools = f"tensor<{len(x)}x{element}>", f"tensor<{len(x)}xi1>"
    lines = [f"stablehlo.{op} %x : {tensor}" for op in unary_ops(element)]
    lines += [f"stablehlo.{op} %x, %y : {tensor}" for op in binary_ops(element)]
    lines += [f"stablehlo.clamp %y, %x, %y : {tensor}"]
    types = [tensor] * len(lines)
    for direction in ("EQ", "NE", "LT", "LE", "GT", "GE"):
        kinds = [""] if element not in FLOATS else ["", ", TOTALORDER"]
        for kind in kinds:
            lines.append(
                f"stablehlo.compare {direction}, %x, %y{kind} : "
                f"({tensor}, {tensor}) -> {bools}"
            )
            types.append(bools)
    targets = [*FLOATS, *([] if element in FLOATS else [*SIGNED, *UNSIGNED])]
    for target in targets:
        type_ = f"tensor<{len(x)}x{target}>"
        lines.append(f"stablehlo.convert %x : ({tensor}) -> {type_}")
        types.append(type_)
    values = ", ".join(f"%{i}" for i in range(len(lines)))
    body = "\n".join(f"  %{i} = {line}" for i, line in enumerate(lines))
    end = f"  return {values} : {', '.join(types)}\n}}"
    results = ", ".join(types)
    given = f"func.func @main(%x: {tensor}, %y: {tensor}) -> ({results}) {{\n"
    known = f"func.func @main() -> ({results}) {{\n"
    for name, array in (("%x", x), ("%y", y)):
        data = array.tobytes().hex().upper()
        known += f'  {name} = stablehlo.constant dense<"0x{data}"> : {tensor}\n'
    folded = tools.opt(known + body + "\n" + end, FOLD)
    expected = numerics.run(given + body + "\n" + end, [x, y])
    for line, theirs, ours in zip(
        lines, expected, numerics.run(folded, []), strict=True
    ):
        distance = op_corpus.ulps(theirs, ours)
        assert distance <= 4, f"{line}: {op_corpus.describe(theirs, ours, distance)}"


@pytest.mark.parametrize("element", COMPLEX)
def test_complex_distances_are_those_of_jaxlib(tools, element):
    rng = np.random.default_rng(0)
    sizes = 10 ** rng.uniform(-15, 15, (2, 64))
    z = (sizes[0] + 1j * sizes[1]).astype(COMPLEX[element])
    tensor, real = f"tensor<64x{element}>", f"tensor<64x{element[8:-1]}>"
    data = z.tobytes().hex().upper()
    text = f"""func.func @main() -> {real} {{
      %0 = stablehlo.constant dense<"0x{data}"> : {tensor}
      %1 = stablehlo.abs %0 : ({tensor}) -> {real}
      return %1 : {real}
    }}"""
    folded = tools.opt(text, FOLD)
    assert "abs" not in folded
    (ours,) = numerics.run(folded, [])
    assert op_corpus.ulps(np.abs(z), ours) <= 2


def test_large_constants_are_left_alone(tools):
    """Ten million elements: nothing is copied or evaluated, and nothing hangs."""
    count = 10_000_000
    data = np.arange(count, dtype=np.float32).tobytes().hex().upper()
    flat, half = f"tensor<{count}xf32>", f"tensor<{count // 2}xf32>"
    square, bools = f"tensor<1000x{count // 1000}xf32>", f"tensor<{count}xi1>"
    turned = f"tensor<{count // 1000}x1000xf32>"
    text = f"""func.func @main(%p: tensor<f32>)
        -> ({turned}, {half}, {flat}, {bools}, {flat}, tensor<3xf32>, {flat}) {{
      %c = stablehlo.constant dense<"0x{data}"> : {flat}
      %0 = stablehlo.reshape %c : ({flat}) -> {square}
      %1 = stablehlo.transpose %0, dims = [1, 0] : ({square}) -> {turned}
      %2 = stablehlo.slice %c [0:{count}:2] : ({flat}) -> {half}
      %3 = stablehlo.add %c, %c : {flat}
      %4 = stablehlo.compare LT, %c, %3 : ({flat}, {flat}) -> {bools}
      %5 = stablehlo.reverse %c, dims = [0] : {flat}
      %6 = stablehlo.slice %c [7:10] : ({flat}) -> tensor<3xf32>
      %7 = stablehlo.clamp %c, %c, %c : {flat}
      return %1, %2, %3, %4, %5, %6, %7
        : {turned}, {half}, {flat}, {bools}, {flat}, tensor<3xf32>, {flat}
    }}"""
    folded = tools.opt(text, FOLD, "--mlir-elide-elementsattrs-if-larger=10")
    for op in ("reshape", "transpose", "slice", "add", "compare", "reverse", "clamp"):
        assert folded.count(f"stablehlo.{op} ") == 1, op
    # A small piece of a large constant is small.
    assert "dense<[7.000000e+00, 8.000000e+00, 9.000000e+00]>" in folded


def test_chains_of_constants_are_bounded(tools):
    """Each op of the chain has a constant of its own, unlike in the text."""
    count, length = 1 << 16, 400
    data = np.arange(count, dtype=np.float32).tobytes().hex().upper()
    tensor = "tensor<256x256xf32>"
    lines = [f'%0 = stablehlo.constant dense<"0x{data}"> : {tensor}']
    for i in range(1, length):
        lines.append(f"%{i} = stablehlo.add %{i - 1}, %0 : {tensor}")
    text = f"func.func @main() -> {tensor} {{\n" + "\n".join(lines)
    text += f"\nreturn %{length - 1} : {tensor}\n}}"
    folded = tools.opt(text, FOLD, "--mlir-elide-elementsattrs-if-larger=10")
    # 2^24 elements are 256 of these constants.
    assert folded.count("stablehlo.add") == length - 1 - 256


def test_concatenations_are_bounded(tools):
    """Of different splats, too, which take no room in the text."""
    half, count = "tensor<32768xi8>", 300
    tensor = "tensor<65536xi8>"
    lines = [f"%c{i} = stablehlo.constant dense<{i}> : {half}" for i in range(2)]
    lines += [
        f"%{i} = stablehlo.concatenate %c0, %c1, dim = 0 : ({half}, {half}) -> {tensor}"
        for i in range(count)
    ]
    results = ", ".join(f"%{i}" for i in range(count))
    types = ", ".join([tensor] * count)
    body = "\n".join(lines)
    text = f"func.func @main() -> ({types}) {{\n{body}\nreturn {results} : {types}\n}}"
    folded = tools.opt(text, FOLD, "--mlir-elide-elementsattrs-if-larger=10")
    # 2^24 elements are 256 of these constants.
    assert folded.count("stablehlo.concatenate") == count - 256
