# SPDX-License-Identifier: Apache-2.0
"""What releases of JAX do differently, in the shape of the newest one.

One function for each line of the table in docs/jax-versions.md. Which way a release
goes is found out here, once, by looking at what it has.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax

from .names import FOUND as _FOUND


def _has_parameter(function: Any, name: str) -> bool:
    """Whether a function of Python has a parameter of this name."""
    try:
        return name in inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False


_state_effects = _FOUND["eqn_effects"]
_positional_effects = _FOUND["positional_effects"]
_CONSTANTS_ARE_APART = _has_parameter(_FOUND["discharge_state"], "consts")
_TYPES_NEED_CONTEXT = _has_parameter(_FOUND["aval_to_ir_type"], "ctx")
_RESULTS_ARE_GIVEN = _has_parameter(_FOUND["lower_jaxpr_to_fun"], "out_avals")
# Residuals with a structure of their own, beside a list of values.
_STRUCTURED_RESIDUALS = "structured_residuals" in getattr(
    _FOUND["LinearizeTrace"], "__annotations__", ()
)
_LIVE_INPUTS = _has_parameter(_FOUND["dce_jaxpr"], "live_inputs")
# Handlers of results checked each, unless an option says not to.
_HANDLER_OPTIONS = (
    {"_skip_checks": True}
    if "_skip_checks" in (_FOUND["array_result_handler"].__doc__ or "")
    else {}
)
_CHECK_CONTEXT = _FOUND["CheckifyContext"] is not None


def positional_effects(jaxpr: Any) -> Any:
    """Effects of a closed jaxpr, with inputs named by position."""
    if _positional_effects is None:
        return _state_effects(jaxpr.jaxpr)
    return _positional_effects(jaxpr)


def eqn_effects(jaxpr: Any, operands: Sequence[Any]) -> Any:
    """Effects of an equation that applies a closed jaxpr to operands."""
    if _positional_effects is None:
        return _state_effects(jaxpr.jaxpr)
    return _state_effects(jaxpr, operands)


def discharge_state(jaxpr: Any, strip_memory_space: bool) -> Any:
    """A closed jaxpr whose references are values, and further results."""
    if _CONSTANTS_ARE_APART:
        return _FOUND["discharge_state2"](jaxpr)
    options = {"strip_memory_space": True} if strip_memory_space else {}
    return _FOUND["discharge_state"](jaxpr, **options)


def define_discharge(primitive: Any, rule: Callable[..., Any]) -> None:
    """Registers what a primitive is where its references are values.

    Args:
      rule: `rule(in_avals, out_avals, strip_memory_space, *args, **params)` gives
        the new value for each operand that is a reference, else None, and results.
    """

    def in_context(context, *args, **params):
        strip = context.strip_memory_space
        return rule(context.in_avals, context.out_avals, strip, *args, **params)

    def without_context(in_avals, out_avals, *args, **params):
        return rule(in_avals, out_avals, False, *args, **params)

    _FOUND["register_discharge_rule"](primitive)(
        in_context if _FOUND["DischargeContext"] is not None else without_context
    )


def aval_to_ir_type(context: Any, aval: Any) -> Any:
    """The MLIR type of an abstract value; `context` is the module's."""
    convert = _FOUND["aval_to_ir_type"]
    return convert(context, aval) if _TYPES_NEED_CONTEXT else convert(aval)


def lower_jaxpr_to_fun(context: Any, name: str, jaxpr: Any, **options: Any) -> Any:
    """A private function of the module for a closed jaxpr without effects."""
    lower = _FOUND["lower_jaxpr_to_fun"]
    if _RESULTS_ARE_GIVEN:
        options["out_avals"] = jaxpr.out_avals
    return lower(context, name, jaxpr, [], **options)


def linearize_jaxpr(jaxpr: Any, nonzero: Any, is_vjp: bool) -> tuple[Any, ...]:
    """A closed jaxpr as a program with residuals, and a linear one that reads them.

    Returns:
      The program, whose results are the own ones, residuals without and with a
      structure; how many of the first; the tree of the last, which is None if there
      are none; which results have a tangent; for each residual without structure
      the operand that it is, or None; the linear program, of all residuals of the
      first kind, tangents, residuals of the second kind.
    """
    made = _FOUND["linearize_jaxpr"](jaxpr, nonzero, is_vjp=is_vjp)
    primal, residuals, nonzero_out, forwarded, tangent = made
    if isinstance(residuals, int):
        count, structure = len(primal.out_avals) - residuals, None
    else:
        own, _, structured = residuals.unpack()
        count = len(own)
        structure = structured.tree if len(structured) else None
    return primal, count, structure, nonzero_out, forwarded, tangent


def define_linearization(primitive: Any, rule: Callable[..., Any]) -> None:
    """Registers how a primitive is linearized.

    Args:
      rule: `rule(is_vjp, nonzero, *primals, **params)` gives results, which of them
        have tangents, residuals, structured residuals or None, and
        `linear(residuals, structured, *tangents)`.
    """

    def without_structure(*args, **params):
        outs, nonzero_out, residuals, _, linear = rule(*args, **params)
        return (
            outs,
            nonzero_out,
            residuals,
            lambda residuals, *tangents: linear(residuals, None, *tangents),
        )

    _FOUND["primitive_linearizations"][primitive] = (
        rule if _STRUCTURED_RESIDUALS else without_structure
    )


def define_dce(primitive: Any, rule: Callable[..., Any]) -> None:
    """Registers what remains of an equation some of whose results are unused.

    Args:
      rule: `rule(used, live, equation)` gives which operands are used, and the
        equation or None; `live` says for each operand that is a reference whether
        it may be read afterwards.
    """

    def without_live(used, eqn):
        return rule(used, [True] * len(eqn.invars), eqn)

    _FOUND["dce_rules"][primitive] = rule if _LIVE_INPUTS else without_live


def remove_dead(jaxpr: Any, used: Any, live: Sequence[bool]) -> tuple[Any, list[bool]]:
    """A closed jaxpr without unused values, and which inputs it still reads."""
    options = {"live_inputs": tuple(live)} if _LIVE_INPUTS else {}
    body, used_inputs = _FOUND["dce_jaxpr"](jaxpr.jaxpr, used, **options)
    return _FOUND["ClosedJaxpr"](body, jaxpr.consts), used_inputs


def can_be_dropped(eqn: Any, live: Sequence[bool]) -> bool:
    """Whether an equation with unused results has no effect either."""
    has_effects = _FOUND["has_effects"]
    return not (has_effects(eqn, live) if _LIVE_INPUTS else has_effects(eqn))


def define_error_check(primitive: Any, rule: Callable[..., Any]) -> None:
    """Registers what checkify makes of a primitive.

    Args:
      rule: `rule(check, error, *operands, **params)` gives an error and results;
        `check(jaxpr, tree, *types)` gives the checked body and the tree of its
        results, for an error of that tree.
    """
    checked = _FOUND["jaxpr_to_checkify_jaxpr"]

    def in_context(context, error, enabled_errors, *args, **params):
        def check(jaxpr, *types):
            return checked(context, jaxpr, enabled_errors, *types)[:2]

        return rule(check, error, *args, **params)

    def without_context(error, enabled_errors, *args, **params):
        def check(jaxpr, *types):
            return checked(jaxpr, enabled_errors, *types)[:2]

        return rule(check, error, *args, **params)

    _FOUND["error_checks"][primitive] = (
        in_context if _CHECK_CONTEXT else without_context
    )


def _is_box(aval: Any) -> bool:
    return getattr(aval, "has_qdd", False)


def is_box(value: Any) -> bool:
    """Whether a value can be written to in place, and is no reference."""
    return _is_box(jax.typeof(value))


def write_contents(avals: Sequence[Any], jaxpr: Any) -> None:
    """Gives boxes that are traced the types of what a closed jaxpr leaves in them."""
    for aval, var in zip(avals, jaxpr.jaxpr.invars, strict=False):
        if _is_box(var.aval):
            aval.mutable_qdd.update(var.final_qdd)


class OnArrays(NamedTuple):
    """A closed jaxpr of high values, on the arrays that represent these.

    Attributes:
      jaxpr: the closed jaxpr. Its results are what boxes hold afterwards, and then
        the arrays of the results.
      operands: the arrays of each operand.
      written: how many arrays each operand holds afterwards; 0 for what is no box.
      results: writes to the boxes, and makes high values of the results.
    """

    jaxpr: Any
    operands: list[list[Any]]
    written: list[int]
    results: Callable[[Sequence[Any]], list[Any]]


def on_arrays(jaxpr: Any, args: Sequence[Any]) -> OnArrays:
    """Lowers a closed jaxpr of high values; further inputs of it are arrays."""
    avals = getattr(jaxpr, "in_aval_qdds", jaxpr.in_avals)
    final = getattr(jaxpr, "final_aval_qdds", jaxpr.in_avals)
    operands = [
        aval.read_loval_in(arg) if _is_box(aval) else aval.lower_val(arg)
        for aval, arg in zip(avals, args, strict=False)
    ]
    written = [
        len(aval.lo_ty()) if _is_box(aval) else 0
        for aval, _ in zip(final, args, strict=False)
    ]

    def results(outs: Sequence[Any]) -> list[Any]:
        rest = iter(outs)
        for aval, arg, count in zip(final, args, written, strict=False):
            if _is_box(aval):
                new = itertools.islice(rest, count)
                aval.aval.update_from_loval(aval.qdd, arg, *new)
        return [
            aval.raise_val(*itertools.islice(rest, len(aval.lo_ty())))
            for aval in jaxpr.out_avals
        ]

    return OnArrays(_FOUND["lower_jaxpr2"](jaxpr), operands, written, results)


def make_handler(aval: Any, sharding: Any) -> Any:
    """Turns the buffers of one result into a jax.Array with exactly this sharding."""
    return _FOUND["array_result_handler"](
        aval, sharding, committed=True, **_HANDLER_OPTIONS
    )
