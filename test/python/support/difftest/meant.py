"""Where our tools and jaxlib differ on single operations, and should.

Each entry has a paragraph in docs/developing/differences.md.
"""

import dataclasses
import re
from collections.abc import Callable

import ml_dtypes
import numpy as np

from support.random_ops import Program


@dataclasses.dataclass(frozen=True)
class Numbers:
    """Elements that may differ: `where` tells which, from the program, their values
    and ours."""

    op: str
    elements: str
    where: Callable[[Program, np.ndarray, np.ndarray], np.ndarray]
    route: str = ""  # All of them.


@dataclasses.dataclass(frozen=True)
class Refusal:
    """What we refuse or take away on purpose on a route, and how it is recognized."""

    route: str  # Or nothing, for all of them.
    message: str
    op: str = ".*"


def _everywhere(program, theirs, ours):
    return np.ones(theirs.shape, bool)


def _nan_for_limit(program, theirs, ours):
    return np.isnan(theirs) & (np.isinf(ours) | (ours == 0) | (ours == 1))


def _zero_for_largest(program, theirs, ours):
    """NaN and infinity in a type without either."""
    return (theirs == 0) & (np.abs(ours) == ml_dtypes.finfo(ours.dtype).max)


def _nan_for_infinity(program, theirs, ours):
    return np.isnan(theirs) & np.isinf(ours)


def _zero_for_smallest(program, theirs, ours):
    return (theirs == 0) & (np.abs(ours) == ml_dtypes.finfo(ours.dtype).tiny)


def _flushed(program, theirs, ours):
    with np.errstate(invalid="ignore"):  # Infinities of one sign.
        return np.abs(theirs - ours) <= 2 * np.finfo(ours.dtype).tiny


def _other_sign(program, theirs, ours):
    return theirs.real == -ours.real


def _far(program, theirs, ours):
    real = program.arrays[0].real
    return np.abs(real) > np.sqrt(np.finfo(real.dtype).max)


def _close_to_zero(program, theirs, ours):
    """Off by what gets lost when terms as large as the argument cancel out."""
    argument = np.abs(program.arrays[0])
    with np.errstate(invalid="ignore"):  # Infinities of one sign.
        off = np.abs(theirs - ours)
    return off <= 8 * np.finfo(ours.dtype).eps * np.maximum(argument, 1)


def _beside_one(program, theirs, ours):
    argument = program.arrays[0]
    tiny = np.finfo(argument.real.dtype).tiny
    return (np.abs(argument.real) == 1) & (np.abs(argument.imag) == tiny)


def _same_real_part(program, theirs, ours):
    return np.isnan(theirs) | np.isnan(ours) | (theirs.real == ours.real)


def _rounded_once(program, theirs, ours):
    """Where ours is the function in `f64`, rounded; any number for NaN in a type
    without."""
    function = FUNCTIONS[program.op]
    with np.errstate(all="ignore"):
        exact = function(program.arrays[0].astype(np.float64))
        rounded = exact.astype(ours.dtype)
    return (rounded == ours) | (np.isnan(exact) & (np.isnan(ours) | ~np.isnan(rounded)))


FUNCTIONS = {
    "chlo.acos": np.arccos,
    "chlo.asin": np.arcsin,
    "chlo.atanh": np.arctanh,
}
NUMBERS = (
    # XLA adds constants modulo 2, but only those: on other routes this is compared.
    Numbers(r"chlo\.broadcast_add", r"i1", _everywhere, route="fold"),
    # A type without infinities.
    Numbers(r"chlo\.is_(neg_|pos_)?inf", r"f4E2M1FN", _everywhere),
    Numbers(r"chlo\.mulhi", r"u?i[24]", _everywhere),
    Numbers(r"chlo\.(broadcast_)?(zeta|polygamma)", r"b?f\d\w*", _nan_for_limit),
    Numbers(r"chlo\.(broadcast_)?(zeta|polygamma)", r"f4E2M1FN", _zero_for_largest),
    Numbers(r"chlo\.digamma", r"b?f\d\w*", _nan_for_infinity),
    Numbers(r"chlo\.asin", r"b?f\d\w*", _zero_for_smallest),
    Numbers(r"chlo\.(asin|acos|atanh)", r"f4E2M1FN|f8E8M0FNU", _rounded_once),
    Numbers(r"chlo\.lgamma", r"f32", _close_to_zero, route="fold"),
    Numbers(r"chlo\.\w+", r"complex<f\d+>", _flushed),
    Numbers(r"chlo\.atan", r"complex<f\d+>", _other_sign),
    Numbers(r"chlo\.atanh", r"complex<f\d+>", _far),
    Numbers(r"chlo\.atanh", r"complex<f\d+>", _beside_one),
    Numbers(r"\w+\.(broadcast_)?(max|min)imum", r"complex<f\d+>", _same_real_part),
)
LOST_BARRIER = "has lost ['% = stablehlo.optimization_barrier"
REFUSALS = (
    Refusal("partition", "only supports ranked tensors with a static shape"),
    Refusal("partition", "is not known; its shape must be static"),
    # More than a hundred booleans.
    Refusal("print", "constant dense<[[[", r"stablehlo\.cholesky"),
    Refusal("partition", "after mesh inference; expected a MeshTensorType"),
    # An attribute that this jaxlib does not know.
    Refusal("", "expects the root, the last operand", r".*collective_broadcast"),
    Refusal("", "op output_shape has", r"stablehlo\.dynamic_iota"),
    # Both partitioners take barriers out of computations that return what they take.
    Refusal("named", LOST_BARRIER, r"stablehlo\.optimization_barrier"),
    # What jaxlib itself prints of scalars.
    Refusal("fold", "expected 'sizes'", r"stablehlo\.dynamic_slice"),
    Refusal("decompose", "expected 'sizes'", r"stablehlo\.dynamic_slice"),
)


def without_meant(
    program: Program, route: str, theirs: np.ndarray, ours: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Both without the elements that may differ; as they are if shapes differ."""
    if theirs.shape != ours.shape or theirs.dtype != ours.dtype:
        return theirs, ours
    differ = np.zeros(theirs.shape, bool)
    for entry in NUMBERS:
        elements = (getattr(a, "element", "") for a in program.arguments)
        if entry.route not in ("", route):
            continue
        if re.fullmatch(entry.op, program.op) and all(
            re.fullmatch(entry.elements, element) for element in elements
        ):
            differ |= entry.where(program, theirs, ours)
    return theirs[~differ], ours[~differ]


def for_xla(program: Program) -> Program:
    """The program as XLA gets it, which reads and writes beside an array that is sorted
    along a dimension counted from the end."""
    if program.op != "stablehlo.sort":
        return program
    rank = len(program.arguments[0].shape)

    def counted(match: re.Match) -> str:
        return str(rank - int(match[1]))

    lines = [re.sub(r"(?<=<\{dimension = )-(\d+)", counted, x) for x in program.lines]
    return dataclasses.replace(program, lines=lines)


def is_meant(program: Program, route: str, what: str) -> bool:
    return any(
        r.route in ("", route) and r.message in what and re.fullmatch(r.op, program.op)
        for r in REFUSALS
    )
