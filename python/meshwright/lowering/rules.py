# SPDX-License-Identifier: Apache-2.0
"""What `meshwright.jit` emits for each primitive: operations of dialect mpmd."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..compiler import diagnostics
from ..core.names import user_name
from ..jaxapi import frontend as compat
from ..jaxapi.modules import first_file_location
from ..tracing import primitives
from ..tracing.loops import LoopForm, has_loop
from . import loop_slices

ir = compat.ir
mpmd = compat.mpmd


# Of a loop: the microbatch of its first iteration.
_FIRST_COUNTER = "mpmd.first_counter"


def _ui32(value: int) -> Any:
    return ir.IntegerAttr.get(ir.IntegerType.get_unsigned(32), value)


def _types(ctx: Any, avals: Sequence[Any]) -> list[Any]:
    return [compat.aval_to_ir_type(ctx.module_context, aval) for aval in avals]


def _refuse_ordered_effects(what: str, jaxpr: Any) -> None:
    ordered = compat.ordered_effects.filter_in(jaxpr.effects)
    if list(ordered):
        raise NotImplementedError(
            f"{what} has ordered side effects ({', '.join(map(str, ordered))}); "
            "fragments on different meshes have no common order, use unordered "
            "effects, e.g. jax.debug.print(..., ordered=False)"
        )


def _refuse_region(name: str) -> None:
    """Only functions and loops of ours are taken apart into what calls order."""
    parent = ir.InsertionPoint.current.block.owner.operation.name
    if parent in ("func.func", "mpmd.for"):
        return
    found = first_file_location(ir.Location.current)
    place = f"{found.filename}:{found.start_line}: " if found else ""
    raise ValueError(place + diagnostics.call_in_region(name, parent))


def _constants(ctx: Any, jaxpr: Any) -> tuple[list[Any], list[Any], list[Any]]:
    """Constants that JAX hoists out of a body: objects, types, values here."""
    pairs = compat.jaxpr_const_args(jaxpr.jaxpr)
    values = [
        compat.ir_constant(const, const_lowering=ctx.const_lowering, aval=aval)
        for const, aval in pairs
    ]
    return [const for const, _ in pairs], [aval for _, aval in pairs], values


def _const_lowering(
    constants: Sequence[Any], avals: Sequence[Any], arguments: Sequence[Any]
) -> Any:
    """Which of a body's first arguments represents which constant."""
    return {
        (id(const), aval): argument
        for const, aval, argument in zip(constants, avals, arguments, strict=False)
    }


def _in_place(
    ctx: Any, jaxpr: Any, operands: Sequence[Any], const_lowering: Any
) -> list[Any]:
    """What a closed jaxpr gives, computed where we are."""
    results, _ = compat.jaxpr_subcomp(
        ctx.module_context,
        jaxpr.jaxpr,
        ctx.name_stack,
        compat.TokenSet(),
        [
            compat.ir_constant(value, const_lowering=const_lowering, aval=var.aval)
            for value, var in zip(jaxpr.consts, jaxpr.jaxpr.constvars, strict=True)
        ],
        *operands,
        dim_var_values=ctx.dim_var_values,
        const_lowering=const_lowering,
        outer_traceback=ctx.traceback,
    )
    return list(results)


def _named_computation(ctx, *args, jaxpr, name, transpose_count):
    _refuse_ordered_effects(f"named computation {name!r}", jaxpr)
    # JAX leaves no result to what is applied for its effects alone.
    if not ctx.avals_out and not jaxpr.effects:
        return []
    constants, const_avals, const_values = _constants(ctx, jaxpr)
    operands = [*const_values, *args]
    op = mpmd.NamedComputationOp(
        _types(ctx, ctx.avals_out),
        operands,
        mpmd.UserOriginAttr.get(name, transpose_count),
    )
    block = op.regions[0].blocks.append(*[operand.type for operand in operands])
    arguments = list(block.arguments)
    const_lowering = _const_lowering(constants, const_avals, arguments)
    with ir.InsertionPoint(block):
        given = arguments[len(constants) :]
        mpmd.ReturnOp(_in_place(ctx, jaxpr, given, const_lowering))
    return op.results


def _callee(ctx: Any, name: str, jaxpr: Any, const_avals: Sequence[Any]) -> str:
    """Name of the private function for a body; equal bodies share one."""
    avals = [*const_avals, *jaxpr.in_avals]
    shardings = tuple(compat.shard_aval(aval) for aval in avals)
    cache = ctx.module_context.cached_primitive_lowerings
    key = (primitives.call_p, name, jaxpr, shardings)
    function = cache.get(key)
    if function is None:
        function = compat.lower_jaxpr_to_fun(
            ctx.module_context,
            name,
            jaxpr,
            num_const_args=len(const_avals),
            in_avals=avals,
            arg_shardings=shardings,
        )
        cache[key] = function
    return function.name.value


def _call(ctx, *args, jaxpr, name, call_counter):
    _refuse_ordered_effects(f"call of {user_name(name)!r}", jaxpr)
    _refuse_region(user_name(name))
    _, const_avals, const_values = _constants(ctx, jaxpr)
    callee = _callee(ctx, name, jaxpr, const_avals)
    op = mpmd.CallOp(
        _types(ctx, ctx.avals_out),
        [*const_values, *args],
        ir.FlatSymbolRefAttr.get(callee),
    )
    if call_counter is not None:
        op.attributes["call_counter"] = _ui32(call_counter)
    return compat.with_unreduced(ctx, op.results, ctx.avals_out)


def _for(ctx, *args, jaxpr, name, num_captured, iterations, form):
    own_name = user_name(name)
    _refuse_ordered_effects(f"loop over {own_name!r}", jaxpr)
    if has_loop(jaxpr.jaxpr):
        raise ValueError(
            f"loop over {own_name!r} contains another loop, and loops do not nest "
            "under meshwright.jit; write the inner one as a Python loop of "
            "meshwright.call"
        )
    # A plain call is taken apart by the compiler, whatever it reads.
    split = loop_slices.split(jaxpr, num_captured) if form is LoopForm.CALL else None
    body = split.body if split else jaxpr
    constants, const_avals, const_values = _constants(ctx, body)
    callee = None
    if form is not LoopForm.WRITTEN:
        callee = ir.FlatSymbolRefAttr.get(_callee(ctx, name, body, const_avals))
    operands = [*const_values, *args]
    num_fixed = len(const_values) + num_captured
    types = [operand.type for operand in operands]
    op = mpmd.ForOp(types, operands, _ui32(iterations), unroll_factor=_ui32(iterations))
    index_type = ir.RankedTensorType.get([], ir.IntegerType.get_unsigned(32))
    block = op.regions[0].blocks.append(*types, index_type)
    arguments = list(block.arguments)
    results = types[num_fixed:]
    with ir.InsertionPoint(block):
        given, own = arguments, arguments[len(const_values) :]
        if split:
            read = [own[at] for at in split.slice_inputs]
            given = [
                *arguments[: len(const_values)],
                *(own[at] for at in split.body_inputs),
                *_in_place(ctx, split.slices, read, {}),
            ]
        if form is LoopForm.WRITTEN:
            op.attributes[_FIRST_COUNTER] = _ui32(0)
            const_lowering = _const_lowering(constants, const_avals, arguments)
            outs = _in_place(ctx, body, own, const_lowering)
        elif form is LoopForm.PLAIN_CALL:
            outs = compat.func.CallOp(results, callee, given).results
        else:
            outs = mpmd.CallOp(results, given, callee).results
        mpmd.ReturnOp([*arguments[:num_fixed], *outs])
    return compat.with_unreduced(ctx, list(op.results)[num_fixed:], ctx.avals_out)


def _unary(make: Callable[..., Any]) -> Callable[..., Any]:
    """The rule for what an operation that `make` gives does to one value."""

    def rule(ctx: Any, x: Any, **params: Any) -> list[Any]:
        return compat.with_unreduced(ctx, [make(x, **params).result], ctx.avals_out)

    return rule


RULES = (
    (primitives.named_computation_p, _named_computation),
    (primitives.named_tensor_p, _unary(mpmd.NamedTensorOp)),
    (primitives.call_p, _call),
    (primitives.for_p, _for),
    (primitives.broadcast_p, _unary(mpmd.BroadcastOp)),
    (primitives.reduce_p, _unary(lambda x: mpmd.ReduceOp([x]))),
)
