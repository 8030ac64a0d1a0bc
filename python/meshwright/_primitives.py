# SPDX-License-Identifier: Apache-2.0
"""The primitives behind the annotations, and what they mean to plain JAX.

Everything here is transparent to `jax.jit` and to eager execution; `_lowering`
holds what `meshwright.jit` makes of the same primitives.
"""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from . import _bodies
from . import _jax_compat as compat
from ._loops import LoopForm, without_dead_carry

# Begins the names of functions that calls and loops of ours have in a module.
CALLEE_PREFIX = "shardy_mpmd"
PLAIN_COMPUTATION_PREFIX = "partir_named_computation_call_"


def _transpose_computation(params: _bodies.Params) -> _bodies.Params:
    return dict(params, transpose_count=params["transpose_count"] + 1)


named_computation_p = _bodies.define("mpmd_named_computation", _transpose_computation)
call_p = _bodies.define("mpmd_call", lambda params: params)


def _lower_computation_plainly(ctx, *args, jaxpr, name, **_):
    return compat.core_call_lowering(
        ctx, *args, name=PLAIN_COMPUTATION_PREFIX + name, call_jaxpr=jaxpr
    )


def _lower_call_plainly(ctx, *args, jaxpr, name, **_):
    return compat.core_call_lowering(ctx, *args, name=name, call_jaxpr=jaxpr)


compat.register_lowering(
    named_computation_p, _lower_computation_plainly, cacheable=False
)
compat.register_lowering(call_p, _lower_call_plainly, cacheable=False)


def _define_identity(name: str) -> Any:
    """A unary primitive that computes nothing."""
    prim = compat.Primitive(name)
    prim.def_impl(lambda x, **_: x)
    prim.def_abstract_eval(lambda aval, **_: aval)
    compat.defvectorized(prim)
    compat.register_lowering(prim, lambda ctx, x, **_: [x], cacheable=False)
    return prim


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
            carry = _bodies.run(jaxpr, [*captured, *carry, np.uint32(index)])
        return carry

    def body(index, carry):
        index = jax.lax.convert_element_type(index, np.uint32)
        outs = _bodies.run(jaxpr, [*captured, *carry, index])
        types = [jax.typeof(value) for value in carry]
        return [
            jax.lax.convert_element_type(out, type_.dtype)
            for out, type_ in zip(outs, types, strict=True)
        ]

    return jax.lax.fori_loop(np.uint32(0), np.uint32(iterations), body, carry)


def _loop_types(*avals, jaxpr, num_captured, form, **_):
    carried = [aval.update(weak_type=False) for aval in avals[num_captured:]]
    if form is LoopForm.WRITTEN:
        carried = jaxpr.out_avals
    return carried, compat.positional_effects(jaxpr)


def user_name(callee: str) -> str:
    """The name in the user's source of a function that calls and loops apply."""
    return callee.removeprefix(CALLEE_PREFIX).removeprefix("_")


def _refuse_loop(what: str) -> Any:
    def rule(*_: Any, name: str, **__: Any) -> Any:
        raise NotImplementedError(
            f"loop over {user_name(name)!r} {what} from outside; do that inside of its "
            "body, such as jax.value_and_grad of one microbatch, or write the calls "
            "out, with mw.enumerated_for(..., unroll=True) or mw.call"
        )

    return rule


# A loop has neither a derivative nor a batched form: the compiler unrolls it, so
# what it stands for is written with `call`.
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


def _discharge_loop(in_avals, out_avals, strip, *args, jaxpr, name, **params):
    if any(isinstance(aval, compat.AbstractRef) for aval in in_avals):
        raise NotImplementedError(
            f"loop over {name!r} reads or writes a jax.Ref from outside; carry its "
            "value through the loop"
        )
    body = _bodies.discharged(jaxpr, strip)
    outs = for_p.bind(*args, jaxpr=body, name=name, **params)
    return [None] * len(in_avals), outs


compat.define_discharge(for_p, _discharge_loop)
