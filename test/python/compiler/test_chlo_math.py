"""Special functions: legalized by us, against what JAX makes of the CHLO op."""

import numpy as np
import pytest
from support import numerics
from support.jaxlib_releases import is_settled

inf, nan = np.inf, np.nan
SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, 0.5, -0.5, inf, -inf, nan])
WIDE = np.concatenate([np.linspace(-30, 30, 241) + 0.0123, SPECIAL])
UNIT = np.concatenate([np.linspace(-0.9999, 0.9999, 201), SPECIAL])
POSITIVE = np.concatenate([np.geomspace(1e-3, 1e6, 200), [inf, nan, 1.0, 2.0]])
ABOVE_ONE = np.concatenate([np.geomspace(1, 1e30, 200), [0.5, inf, nan]])

REAL = {
    "acos": UNIT,
    "acosh": ABOVE_ONE,
    "asin": UNIT,
    "asinh": np.concatenate([WIDE, [1e25, -1e25]]),
    "atan": WIDE,
    "atanh": UNIT,
    "bessel_i1e": WIDE[np.isfinite(WIDE)],
    "cosh": WIDE,
    "digamma": WIDE,
    "erf": WIDE / 6,
    "erf_inv": UNIT,
    "erfc": WIDE / 6,
    "lgamma": WIDE,
    "sinh": WIDE,
    "square": WIDE,
    "tan": WIDE,
}
# Units of the last place that two good approximations may be apart; near its
# zeros a function of large terms has an absolute error instead.
TOLERANCE = {np.float32: 5e-6, np.float64: 2e-12}
NAMES = {np.float32: "f32", np.float64: "f64"}


def run_both(tools, text, arguments):
    legalized = tools.opt(text, "--chlo-legalize-to-stablehlo")
    assert "chlo." not in legalized
    return numerics.run(text, arguments)[0], numerics.run(legalized, arguments)[0]


def assert_close(theirs, ours, tolerance):
    np.testing.assert_array_equal(np.isnan(ours), np.isnan(theirs))
    np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)


def unary(op: str, shape: str, result: str) -> str:
    return f"""func.func @main(%x: tensor<{shape}>) -> tensor<{result}> {{
      %0 = chlo.{op} %x : tensor<{shape}> -> tensor<{result}>
      return %0 : tensor<{result}>
    }}"""


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["f32", "f64"])
@pytest.mark.parametrize("op", REAL)
def test_real_function(tools, op, dtype):
    points = REAL[op].astype(dtype)
    shape = f"{len(points)}x{NAMES[dtype]}"
    theirs, ours = run_both(tools, unary(op, shape, shape), [points])
    kept = is_settled(op, points)
    assert_close(theirs[kept], ours[kept], TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["f32", "f64"])
def test_answers_of_the_newest_jaxlib(tools, dtype):
    tiny = np.finfo(dtype).tiny
    for op, points, expected in (
        ("digamma", [0, -0.0, -1], [-inf, -inf, nan]),
        ("asin", [0, -0.0, tiny, -tiny, 1], [0, -0.0, tiny, -tiny, np.pi / 2]),
    ):
        shape = f"{len(points)}x{NAMES[dtype]}"
        text = unary(op, shape, shape)
        legalized = tools.opt(text, "--chlo-legalize-to-stablehlo")
        (ours,) = numerics.run(legalized, [np.array(points, dtype)])
        np.testing.assert_array_equal(ours, np.array(expected, dtype))


@pytest.mark.parametrize("op", ["erf", "lgamma", "acosh"])
def test_narrow_types_are_computed_in_f32(tools, op):
    points = np.linspace(1, 4, 64).astype(np.float16)
    theirs, ours = run_both(tools, unary(op, "64xf16", "64xf16"), [points])
    assert_close(theirs, ours, 1e-3)


@pytest.mark.parametrize("op", ["is_inf", "is_pos_inf", "is_neg_inf"])
def test_infinity_tests(tools, op):
    points = SPECIAL.astype(np.float32)
    shape = str(len(points))
    theirs, ours = run_both(tools, unary(op, shape + "xf32", shape + "xi1"), [points])
    np.testing.assert_array_equal(ours, theirs)


COMPLEX_OPS = ["acos", "acosh", "asin", "asinh", "atan", "atanh", "cosh", "sinh"]


@pytest.mark.parametrize("op", [*COMPLEX_OPS, "conj", "square", "tan"])
def test_complex_function(tools, op):
    rng = np.random.default_rng(0)
    points = 3 * (rng.standard_normal(256) + 1j * rng.standard_normal(256))
    points = points.astype(np.complex64)
    shape = "256xcomplex<f32>"
    theirs, ours = run_both(tools, unary(op, shape, shape), [points])
    np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=2e-5)


def test_arc_cosine_close_to_the_branch_point(tools):
    """The smallest imaginary part still counts, by its root."""
    for real, whole in ((np.float32, np.complex64), (np.float64, np.complex128)):
        tiny = np.finfo(real).tiny
        points = np.array([complex(1, tiny), complex(1, -tiny)], whole)
        shape = f"2xcomplex<{NAMES[real]}>"
        theirs, ours = run_both(tools, unary("acos", shape, shape), [points])
        np.testing.assert_allclose(ours.real, np.sqrt(tiny), rtol=1e-6, atol=0)
        np.testing.assert_allclose(ours.real, theirs.real, rtol=1e-6, atol=0)


BINARY = {
    "polygamma": (np.repeat([0.0, 1.0, 2.0, 3.0], 40), np.tile(POSITIVE[40:80], 4)),
    "zeta": (np.repeat([1.5, 2.0, 3.0, 6.0], 40), np.tile(POSITIVE[60:100], 4)),
    "next_after": (np.tile(SPECIAL, 9), np.repeat(SPECIAL, 9)),
}


@pytest.mark.parametrize("op", BINARY)
def test_binary_function(tools, op):
    left, right = (values.astype(np.float32) for values in BINARY[op])
    shape = f"tensor<{len(left)}xf32>"
    text = f"""func.func @main(%x: {shape}, %y: {shape}) -> {shape} {{
      %0 = chlo.{op} %x, %y : {shape}, {shape} -> {shape}
      return %0 : {shape}
    }}"""
    theirs, ours = run_both(tools, text, [left, right])
    np.testing.assert_array_equal(np.isnan(ours), np.isnan(theirs))
    np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=0)


@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.int64, np.uint64, np.int8])
def test_upper_half_of_product(tools, dtype):
    info = np.iinfo(dtype)
    rng = np.random.default_rng(1)
    left = rng.integers(info.min, info.max, 64, dtype, endpoint=True)
    right = rng.integers(info.min, info.max, 64, dtype, endpoint=True)
    name = ("ui" if info.min == 0 else "i") + str(info.bits)
    shape = f"tensor<64x{name}>"
    text = f"""func.func @main(%x: {shape}, %y: {shape}) -> {shape} {{
      %0 = chlo.mulhi %x, %y : {shape}, {shape} -> {shape}
      return %0 : {shape}
    }}"""
    legalized = tools.opt(text, "--chlo-legalize-to-stablehlo")
    (ours,) = numerics.run(legalized, [left, right])
    exact = [int(a) * int(b) >> info.bits for a, b in zip(left, right, strict=True)]
    np.testing.assert_array_equal(ours, np.array(exact, dtype))


def test_broadcasting(tools):
    text = """func.func @main(%x: tensor<3xf32>, %y: tensor<2x3xf32>, %p: tensor<i1>)
        -> tensor<2x3xf32> {
      %0 = chlo.broadcast_add %x, %y
        : (tensor<3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %1 = chlo.broadcast_multiply %0, %x {broadcast_dimensions = array<i64: 1>}
        : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
      %2 = chlo.broadcast_select %p, %1, %x
        : (tensor<i1>, tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
      return %2 : tensor<2x3xf32>
    }"""
    theirs, ours = run_both(tools, text, numerics.random_arguments(text))
    np.testing.assert_array_equal(ours, theirs)
