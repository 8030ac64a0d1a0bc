"""Special functions by element type: rounding, ends of the range, branch cuts.

Legalized by us, they must agree with what jaxlib makes of the same CHLO ops,
or with a reference of more digits where jaxlib itself is not exact.
"""

import ml_dtypes
import numpy as np
import pytest
from support import numerics, op_corpus
from support.jaxlib_releases import is_settled

REAL = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "f64": np.float64,
}
COMPLEX = {"complex<f32>": np.complex64, "complex<f64>": np.complex128}
INVERSE = ["acos", "acosh", "asin", "asinh", "atan", "atanh", "square", "tan"]
UNARY = [*INVERSE, "bessel_i1e", "cosh", "sinh", "digamma", "lgamma"]
UNARY += ["erf", "erf_inv", "erfc"]
inf, nan = np.inf, np.nan


def module(ops: list[str], element: str, count: int, arity: int = 1) -> str:
    """A function that applies every op to the same arguments."""
    tensor = f"tensor<{count}x{element}>"
    operands = ["%x", "%y"][:arity]
    arguments = ", ".join(f"{name}: {tensor}" for name in operands)
    lines = [
        f"  %{i} = chlo.{op} {', '.join(operands)} : "
        f"{', '.join([tensor] * arity)} -> {tensor}"
        for i, op in enumerate(ops)
    ]
    results = ", ".join([tensor] * len(ops))
    values = ", ".join(f"%{i}" for i in range(len(ops)))
    return "\n".join(
        [f"func.func @main({arguments}) -> ({results}) {{", *lines]
        + [f"  return {values} : {results}", "}"]
    )


def both(tools, ops, element, *arguments):
    text = module(ops, element, len(arguments[0]), len(arguments))
    legalized = tools.opt(text, "--chlo-legalize-to-stablehlo")
    assert "chlo." not in legalized
    return zip(
        ops,
        numerics.run(text, list(arguments)),
        numerics.run(legalized, list(arguments)),
        strict=True,
    )


def assert_agree(op, points, theirs, ours, limit):
    distance = op_corpus.ulps(theirs, ours)
    assert distance <= limit, f"{op}: {op_corpus.describe(theirs, ours, distance)}"


def edges(element: str) -> np.ndarray:
    """Numbers where formulas change, overflow or have poles, with both signs."""
    info = ml_dtypes.finfo(REAL[element])
    largest, eps, tiny = float(info.max), float(info.eps), float(info.tiny)
    points = [0, tiny, 4 * tiny, eps, 1e-4, 0.25, 0.5, 1 - eps / 2, 1, 1 + eps, 1.5, 2]
    points += [2.5, 3, 4, 8, 10, 20, 30, 50, 88, 90, 100, 500, 700, 710, 745, 1e4]
    points += [largest**0.25, largest**0.5, 2 * largest**0.5, largest / 4, largest]
    points += [inf, nan, *range(1, 12), *(k + 0.5 for k in range(12))]
    with np.errstate(over="ignore"):
        return np.array([*points, *(-p for p in points)]).astype(REAL[element])


@pytest.mark.parametrize("element", REAL)
def test_ends_of_the_range(tools, element):
    points = edges(element)
    # jaxlib's erf_inv is not exact next to 1 and at the smallest numbers.
    exact = np.float64(1) - np.finfo(np.float64).eps / 2
    for op, theirs, ours in both(tools, UNARY, element, points):
        kept = (points == 0) | ~(np.abs(points) < 1e-300)
        if op == "erf_inv":
            kept &= np.abs(points) != exact
        kept &= is_settled(op, points)
        assert_agree(op, points[kept], theirs[kept], ours[kept], 16)


def test_inverse_error_function_next_to_one(tools):
    points = np.array([1 - 2.0**-53, 1 - 1e-9, 1 - 1e-12, 0.99991, 1e-305])
    text = module(["erf_inv"], "f64", len(points))
    (ours,) = numerics.run(tools.opt(text, "--chlo-legalize-to-stablehlo"), [points])
    # Computed with 60 digits.
    exact = np.array(
        [
            5.86358474875516793,
            4.32000538810536205,
            5.04203189857269613,
            2.76908747024393763,
            8.86226925452753e-306,
        ]
    )
    np.testing.assert_allclose(ours, exact, rtol=1e-14)


@pytest.mark.parametrize("element", REAL)
def test_functions_of_two_numbers_at_their_edges(tools, element):
    eps = float(ml_dtypes.finfo(REAL[element]).eps)
    left = [0, 0.5, 1, 1 + eps, 1.5, 2, 3, 4, 10, 30, 60, 100, -1, inf, -inf, nan]
    right = [0, -0.0, 1e-3, 0.5, 1, 1.5, 3, 100, 1e4, -1, -2, -1.5, inf, -inf, nan]
    x, y = (grid.ravel().astype(REAL[element]) for grid in np.meshgrid(left, right))
    for op, theirs, ours in both(tools, ["zeta", "next_after"], element, x, y):
        assert_agree(op, x, theirs, ours, 16)
    orders = np.array([0, 1, 2, 3, 5, 10, -1, 0.5, inf, nan])
    x, y = (grid.ravel().astype(REAL[element]) for grid in np.meshgrid(orders, right))
    for op, theirs, ours in both(tools, ["polygamma"], element, x, y):
        kept = is_settled(op, x, y)
        assert_agree(op, x, theirs[kept], ours[kept], 64)


def complex_points(element: str) -> np.ndarray:
    """All sizes in all directions, and close to the poles and branch points."""
    rng = np.random.default_rng(1)

    def spread(count, low, high):
        return 10 ** rng.uniform(low, high, count) * rng.choice([-1, 1], count)

    points = [rng.uniform(-4, 4, 200) + 1j * rng.uniform(-4, 4, 200)]
    points += [spread(300, -30, 30) + 1j * spread(300, -30, 30)]
    points += [spread(300, -3, 3) + 1j * spread(300, -3, 3)]
    for corner in (1, -1, 1j, -1j):
        points += [corner + spread(100, -7, -1) + 1j * spread(100, -7, -1)]
    return np.concatenate(points).astype(COMPLEX[element])


@pytest.mark.parametrize("element", COMPLEX)
def test_complex_inverse_functions_everywhere(tools, element):
    points = complex_points(element)
    for op, theirs, ours in both(tools, INVERSE, element, points):
        assert_agree(op, points, theirs, ours, 64)


@pytest.mark.parametrize("element", COMPLEX)
def test_complex_functions_on_branch_cuts_and_at_infinity(tools, element):
    values = [0, -0.0, 0.5, -0.5, 1, -1, 2, -2, 100, -100, inf, -inf]
    points = np.array([complex(x, y) for x in values for y in values])
    points = points.astype(COMPLEX[element])
    # At infinity jaxlib does not heed the sign of a zero.
    negative = (points.real == 0) & np.signbit(points.real)
    negative |= (points.imag == 0) & np.signbit(points.imag)
    kept = np.isfinite(points) | ~negative
    for op, theirs, ours in both(tools, INVERSE, element, points):
        assert_agree(op, points[kept], theirs[kept], ours[kept], 16)


@pytest.mark.parametrize("element", COMPLEX)
def test_complex_hyperbolic_functions(tools, element):
    """jaxlib loses digits of the small part; longer numbers do not."""
    points = complex_points(element)
    points = points[(np.abs(points.real) < 80) & (np.abs(points.imag) < 1e3)]
    text = module(["cosh", "sinh"], element, len(points))
    legalized = tools.opt(text, "--chlo-legalize-to-stablehlo")
    exact = points.astype(np.clongdouble)
    x, y = exact.real, exact.imag
    expected = [
        np.cosh(x) * np.cos(y) + 1j * np.sinh(x) * np.sin(y),
        np.sinh(x) * np.cos(y) + 1j * np.cosh(x) * np.sin(y),
    ]
    for ours, exact in zip(numerics.run(legalized, [points]), expected, strict=True):
        assert_agree("cosh, sinh", points, exact.astype(points.dtype), ours, 32)


def test_growth_that_the_other_factor_undoes(tools):
    """cosh and sinh overflow where their products with a small sine do not."""
    points = np.array([-95.29567 - 0.0018501552j, 88.9 + 1e-5j], np.complex64)
    text = module(["cosh", "sinh"], "complex<f32>", len(points))
    legalized = tools.opt(text, "--chlo-legalize-to-stablehlo")
    wide = points.astype(np.complex128)
    for ours, exact in zip(
        numerics.run(legalized, [points]), [np.cosh(wide), np.sinh(wide)], strict=True
    ):
        with np.errstate(over="ignore"):
            np.testing.assert_allclose(ours.imag, exact.astype(np.complex64).imag, 1e-5)


def test_booleans_and_integers_are_ranked(tools):
    """top_k of every type that has an order, as jaxlib ranks it."""
    integers = ["i1", "i8", "ui8", "i32", "ui32", "i64"]
    for element in [*integers, "f16", "bf16", "f32", "f64"]:
        text = f"""func.func @main(%x: tensor<3x17x{element}>)
            -> (tensor<3x5x{element}>, tensor<3x5xi32>) {{
          %0:2 = chlo.top_k(%x, k = 5) : tensor<3x17x{element}>
            -> (tensor<3x5x{element}>, tensor<3x5xi32>)
          return %0#0, %0#1 : tensor<3x5x{element}>, tensor<3x5xi32>
        }}"""
        arguments = numerics.random_arguments(text)
        legalized = tools.opt(text, "--chlo-legalize-to-stablehlo")
        for theirs, ours in zip(
            numerics.run(text, arguments),
            numerics.run(legalized, arguments),
            strict=True,
        ):
            np.testing.assert_array_equal(ours, theirs, err_msg=element)
