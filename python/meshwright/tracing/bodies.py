# SPDX-License-Identifier: Apache-2.0
"""Primitives that carry a traced function: how JAX's transformations pass them.

A named computation and a call both are an operation around a jaxpr. Whatever a
transformation does, it does to the jaxpr, and the result is the same primitive
around the new jaxpr. The one parameter that changes on the way is the transpose
count of a named computation: the transposed body counts one more.

  primal part     bind(..., jaxpr=primal + residuals)        same parameters
  tangent part    bind(residuals, tangents, jaxpr=linear)    same parameters
  its transpose   bind(residuals, cotangents, jaxpr=...)     one more transposed
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax

from ..jaxapi import frontend as compat

Params = dict[str, Any]


def define(name: str, transposed: Callable[[Params], Params]) -> Any:
    """Makes a primitive whose parameter `jaxpr` is what it computes.

    Args:
      transposed: maps the parameters, without the jaxpr, to those of the
        transposed computation.

    Returns:
      The primitive, with all rules but the lowerings. `jaxpr` is a closed jaxpr;
      what it captured from an enclosing trace are leading operands, not constants.
    """
    prim = compat.Primitive(name)
    prim.multiple_results = True
    prim.def_impl(lambda *args, jaxpr, **_: run(jaxpr, args))
    prim.def_effectful_abstract_eval(_types)
    define_on_arrays(prim, partial(_apply_on_arrays, prim))
    compat.primitive_jvps[prim] = partial(_jvp_rule, prim)
    compat.define_linearization(prim, partial(_linearize_rule, prim))
    compat.fancy_transposes[prim] = partial(_transpose_rule, prim, transposed)
    compat.fancy_primitive_batchers[prim] = partial(_batching_rule, prim)
    compat.custom_partial_eval_rules[prim] = partial(_partial_eval_rule, prim)
    compat.partial_eval_jaxpr_custom_rules[prim] = _remat_rule
    compat.define_dce(prim, _dce_rule)
    compat.define_discharge(prim, partial(_discharge_rule, prim))
    return prim


def _types(*avals: Any, jaxpr: Any, **_: Any) -> tuple[Any, Any]:
    compat.write_contents(avals, jaxpr)
    return jaxpr.out_avals, compat.positional_effects(jaxpr)


def define_on_arrays(prim: Any, rule: Callable[..., Any]) -> None:
    """Registers what a primitive with a body is where this has high values.

    JAX asks for that before it evaluates, differentiates or lowers: a high value,
    such as a quantized array with its scales, is then the arrays it represents.
    """
    prim.is_high = lambda *_, jaxpr, **__: compat.is_high(jaxpr)
    prim.to_lojax = rule


def _apply_on_arrays(prim, *args, jaxpr, **params):
    low = compat.on_arrays(jaxpr, args)
    operands = [array for arrays in low.operands for array in arrays]
    return low.results(prim.bind(*operands, jaxpr=low.jaxpr, **params))


def run(jaxpr: Any, args: Sequence[Any]) -> list[Any]:
    """Evaluates a closed jaxpr."""
    return compat.eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, *args)


def _zeros(jaxpr: Any) -> list[Any]:
    return [compat.Zero(aval.to_tangent_aval()) for aval in jaxpr.out_avals]


def _jvp_rule(prim, primals, tangents, *, jaxpr, **params):
    nonzero = [not isinstance(tangent, compat.Zero) for tangent in tangents]
    body, nonzero_out = compat.jvp_jaxpr(jaxpr, nonzero, instantiate=False)
    given = itertools.compress(tangents, nonzero)
    outs = prim.bind(*primals, *given, jaxpr=body, **params)
    count = len(jaxpr.out_avals)
    return outs[:count], compat.merge(nonzero_out, outs[count:], _zeros(jaxpr))


def _share_residuals(jaxpr: Any, num_primals: int) -> tuple[Any, list[int]]:
    """Drops residuals that repeat another result.

    Returns:
      The smaller jaxpr, and for each old result its position in the new ones.
    """
    kept: list[bool] = []
    position: list[int] = []
    seen: dict[int, int] = {}
    for index, var in enumerate(jaxpr.jaxpr.outvars):
        known = seen.get(id(var)) if index >= num_primals else None
        kept.append(known is None)
        if known is None:
            seen.setdefault(id(var), sum(kept) - 1)
            position.append(sum(kept) - 1)
        else:
            position.append(known)
    if not all(kept):
        jaxpr = compat.prune_closed_jaxpr_outputs(jaxpr, kept)
    return jaxpr, position


def _linearize_rule(prim, is_vjp, nonzero, *primals, jaxpr, **params):
    primal_jaxpr, num_primals, structure, nonzero_out, forwarded, tangent_jaxpr = (
        compat.linearize_jaxpr(jaxpr, nonzero, is_vjp)
    )
    primal_jaxpr, position = _share_residuals(primal_jaxpr, num_primals)
    outs = prim.bind(*primals, jaxpr=primal_jaxpr, **params)
    fresh = iter([outs[at] for at in position[num_primals:]])
    # A residual that is an operand or a constant needs no result of its own.
    known = [*jaxpr.consts, *primals]
    residuals = [next(fresh) if at is None else known[at] for at in forwarded]
    structured = structure and jax.tree.unflatten(structure, fresh)
    zeros = _zeros(jaxpr)

    def tangents_of(residuals, structured, *tangents):
        outs = prim.bind(
            *residuals,
            *itertools.compress(tangents, nonzero),
            *jax.tree.leaves(structured),
            jaxpr=tangent_jaxpr,
            **params,
        )
        return compat.merge(nonzero_out, outs, zeros)

    return outs[:num_primals], nonzero_out, residuals, structured, tangents_of


@compat.weakref_lru_cache
def _transpose_jaxpr(jaxpr, tree, avals, accumulators):
    result_tree = []

    def transpose(*flat):
        primals, cotangents = jax.tree.unflatten(tree, flat)
        args = compat.unproject_accums(accumulators, primals)
        compat.backward_pass(jaxpr.jaxpr, False, jaxpr.consts, args, cotangents)
        outs = [
            arg.freeze() if isinstance(arg, compat.ValAccum) else None for arg in args
        ]
        leaves, out_tree = jax.tree.flatten(outs)
        result_tree.append(out_tree)
        return leaves

    info = jaxpr.jaxpr.debug_info.with_unknown_names()
    body, _, consts = compat.trace_to_jaxpr_dynamic(
        compat.wrap_init(transpose, debug_info=info), avals
    )
    return compat.ClosedJaxpr(body, consts), result_tree[0]


def _transpose_rule(prim, transposed, cotangents, *args, jaxpr, **params):
    primals, accumulators = compat.project_accums(args)
    flat, tree = jax.tree.flatten((primals, cotangents))
    avals = tuple(jax.typeof(value) for value in flat)
    body, result_tree = _transpose_jaxpr(jaxpr, tree, avals, accumulators)
    outs = prim.bind(*flat, jaxpr=body, **transposed(params))
    outs = jax.tree.unflatten(result_tree, outs)
    for arg, cotangent in zip(args, outs, strict=True):
        if isinstance(arg, compat.ValAccum):
            arg.accum(cotangent)


def _batching_rule(prim, axis, args, dims, *, jaxpr, **params):
    body, out_dims = compat.batch_jaxpr(jaxpr, axis, tuple(dims))
    return prim.bind(*args, jaxpr=body, **params), out_dims


def _partial_eval_rule(prim, trace, *tracers, jaxpr, **params):
    """Splits an application whose operands are partly unknown into two."""
    unknown = tuple(not tracer.pval.is_known() for tracer in tracers)
    known_jaxpr, staged_jaxpr, unknown_out, residual_avals = (
        compat.partial_eval_jaxpr_nounits(jaxpr, unknown, instantiate=False)
    )
    known_args = [t.pval.get_known() for t in tracers if t.pval.is_known()]
    num_known = len(known_jaxpr.out_avals) - len(residual_avals)
    known_jaxpr, position = _share_residuals(known_jaxpr, num_known)
    outs = prim.bind(*known_args, jaxpr=known_jaxpr, **params)
    outs = [outs[at] for at in position]
    residuals = map(trace.new_instantiated_const, outs[num_known:])
    operands = [*residuals, *itertools.compress(tracers, unknown)]
    results = [
        compat.JaxprTracer(trace, compat.PartialVal.unknown(aval), None)
        for aval in staged_jaxpr.out_avals
    ]
    recipe = compat.new_eqn_recipe(
        trace,
        operands,
        results,
        prim,
        dict(params, jaxpr=staged_jaxpr),
        compat.positional_effects(staged_jaxpr),
        compat.current_source_info(),
    )
    for result in results:
        result.recipe = recipe
    known_results, staged_results = iter(outs[:num_known]), iter(results)
    return [next(staged_results if flag else known_results) for flag in unknown_out]


@compat.weakref_lru_cache
def discharged(jaxpr, strip_memory_space):
    """A body without references: they come as values, and go as further results."""
    return compat.discharge_state(jaxpr, strip_memory_space)


def _discharge_rule(prim, in_avals, out_avals, strip, *args, jaxpr, **params):
    outs = prim.bind(*args, jaxpr=discharged(jaxpr, strip), **params)
    count = len(out_avals)
    written = iter(outs[count:])
    return [
        next(written) if isinstance(aval, compat.AbstractRef) else None
        for aval in in_avals
    ], outs[:count]


# All parameters but the body stay.
_remat_rule = partial(
    compat.closed_call_partial_eval_custom_rule, "jaxpr", lambda *args: args[-2:]
)


_remove_dead = compat.weakref_lru_cache(compat.remove_dead)


def _dce_rule(used_outputs, live_inputs, eqn):
    if not any(used_outputs) and compat.can_be_dropped(eqn, live_inputs):
        return [False] * len(eqn.invars), None
    body, used_inputs = _remove_dead(
        eqn.params["jaxpr"], tuple(used_outputs), tuple(live_inputs)
    )
    operands = list(itertools.compress(eqn.invars, used_inputs))
    return used_inputs, eqn.replace(
        invars=operands,
        outvars=list(itertools.compress(eqn.outvars, used_outputs)),
        params=dict(eqn.params, jaxpr=body),
        effects=compat.eqn_effects(body, operands),
    )
