# SPDX-License-Identifier: Apache-2.0
"""The primitives of the annotations, and what they mean to plain JAX.

Everything here is transparent to `jax.jit` and to eager execution; `lowering`
holds what `meshwright.jit` makes of the same primitives.
"""

from __future__ import annotations

import functools
import itertools
from typing import Any

import jax
import numpy as np

from ..core.names import user_name
from ..jaxapi import frontend as compat
from . import bodies
from .loops import LoopForm, carry_captured, without_dead_carry

PLAIN_COMPUTATION_PREFIX = "partir_named_computation_call_"


named_computation_p = bodies.define(
    "mpmd_named_computation",
    lambda params: dict(params, transpose_count=params["transpose_count"] + 1),
)
call_p = bodies.define("mpmd_call", lambda params: params)


def _lower_plainly(prefix, ctx, *args, jaxpr, name, **_):
    return compat.core_call_lowering(ctx, *args, name=prefix + name, call_jaxpr=jaxpr)


for _prim, _prefix in ((named_computation_p, PLAIN_COMPUTATION_PREFIX), (call_p, "")):
    _rule = functools.partial(_lower_plainly, _prefix)
    compat.register_lowering(_prim, _rule, cacheable=False)


def _define_identity(name: str) -> Any:
    """A unary primitive that computes nothing."""
    prim = compat.Primitive(name)
    prim.def_impl(lambda x, **_: x)
    prim.def_abstract_eval(lambda aval, **_: aval)
    compat.defvectorized(prim)
    compat.register_lowering(prim, _lower_identity, cacheable=False)
    prim.is_high = lambda aval, **_: aval.is_high
    prim.to_lojax = functools.partial(_each_array, prim)
    return prim


def _lower_identity(ctx: Any, x: Any, **_: Any) -> list[Any]:
    return compat.with_unreduced(ctx, [x], ctx.avals_out)


def _each_array(prim: Any, x: Any, **params: Any) -> Any:
    aval = jax.typeof(x)
    return aval.raise_val(*(prim.bind(y, **params) for y in aval.lower_val(x)))


named_tensor_p = _define_identity("mpmd_named_tensor")
broadcast_p = _define_identity("mpmd_broadcast")
reduce_p = _define_identity("mpmd_reduce")

compat.deflinear2(
    named_tensor_p, lambda ct, _, *, name: [named_tensor_p.bind(ct, name=name)]
)
compat.deflinear2(broadcast_p, lambda ct, _: [reduce_p.bind(ct)])
compat.deflinear2(reduce_p, lambda ct, _: [broadcast_p.bind(ct)])


def loop_plainly(
    *args: Any, jaxpr: Any, num_captured: int, iterations: int, **_: Any
) -> list[Any]:
    """What a loop computes: captured values and carry in, carry out."""
    captured, carry = args[:num_captured], list(args[num_captured:])
    if not any(isinstance(arg, jax.core.Tracer) for arg in args):
        for index in range(iterations):
            carry = bodies.run(jaxpr, [*captured, *carry, np.uint32(index)])
        return carry

    def body(index, carry):
        index = jax.lax.convert_element_type(index, np.uint32)
        outs = bodies.run(jaxpr, [*captured, *carry, index])
        types = [jax.typeof(value) for value in carry]
        return [
            jax.lax.convert_element_type(out, type_.dtype)
            for out, type_ in zip(outs, types, strict=True)
        ]

    return jax.lax.fori_loop(np.uint32(0), np.uint32(iterations), body, carry)


def _loop_types(*avals, jaxpr, num_captured, form, **_):
    compat.write_contents(avals, jaxpr)
    carried = [aval.update_weak_type(False) for aval in avals[num_captured:]]
    if form is LoopForm.WRITTEN:
        carried = jaxpr.out_avals
    return carried, compat.positional_effects(jaxpr)


def _refuse_loop(what: str) -> Any:
    def rule(*_: Any, name: str, **__: Any) -> Any:
        raise NotImplementedError(
            f"loop over {user_name(name)!r} {what} from outside; do that inside of its "
            "body, such as jax.value_and_grad of one microbatch, or write the calls "
            "out, with mw.enumerated_for(..., unroll=True) or mw.call"
        )

    return rule


# A loop has neither a derivative nor a batched form: the compiler unrolls it, so
# the unrolled form is written with `call`.
for_p = compat.Primitive("mpmd_for")
for_p.multiple_results = True
for_p.def_impl(loop_plainly)
for_p.def_effectful_abstract_eval(_loop_types)
compat.define_dce(for_p, without_dead_carry)
compat.register_lowering(
    for_p, compat.lower_fun(loop_plainly, multiple_results=True), cacheable=False
)
compat.primitive_jvps[for_p] = _refuse_loop("has no derivative")
compat.primitive_batchers[for_p] = _refuse_loop("cannot be batched")


# Whose bodies are lowered by rules of their own.
ANNOTATIONS = frozenset({named_computation_p, call_p, for_p})


def _discharge_loop(in_avals, out_avals, strip, *args, jaxpr, num_captured, **params):
    """References are carried: each iteration gives their next values."""
    written = [isinstance(aval, compat.AbstractRef) for aval in in_avals]
    body = carry_captured(
        bodies.discharged(jaxpr, strip),
        num_captured,
        written[:num_captured],
        written_first=False,
    )
    kept = [arg for arg, flag in zip(args, written, strict=True) if not flag]
    references = list(itertools.compress(args, written))
    num_captured -= len(references)
    outs = for_p.bind(
        *kept, *references, jaxpr=body, num_captured=num_captured, **params
    )
    count = len(out_avals)
    values = iter(outs[count:])
    return [next(values) if flag else None for flag in written], outs[:count]


compat.define_discharge(for_p, _discharge_loop)


def _loop_on_arrays(*args, jaxpr, num_captured, name, **params):
    """Boxes are carried: each iteration gives their next contents."""
    low = compat.on_arrays(jaxpr, args)
    is_box = list(map(compat.is_box, args))
    sizes = [len(arrays) for arrays in low.operands]
    if low.written != [
        size if flag else 0 for size, flag in zip(sizes, is_box, strict=True)
    ] or any(is_box[num_captured:]):
        raise TypeError(
            f"loop over {user_name(name)!r}: a box that an iteration writes to must "
            "hold values of the same types afterwards, and be read by the body where "
            "it is, not carried"
        )
    moved = [
        flag
        for flag, size in zip(is_box[:num_captured], sizes, strict=False)
        for _ in range(size)
    ]
    body = carry_captured(low.jaxpr, len(moved), moved, written_first=True)
    fixed, boxes = [], []
    for flag, arrays in zip(is_box, low.operands[:num_captured], strict=False):
        (boxes if flag else fixed).extend(arrays)
    carried = [array for arrays in low.operands[num_captured:] for array in arrays]
    outs = for_p.bind(
        *fixed,
        *carried,
        *boxes,
        jaxpr=body,
        num_captured=len(fixed),
        name=name,
        **params,
    )
    return low.results([*outs[len(carried) :], *outs[: len(carried)]])


bodies.define_on_arrays(for_p, _loop_on_arrays)
