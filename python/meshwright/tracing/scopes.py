# SPDX-License-Identifier: Apache-2.0
"""Operations around other operations, and marks on what they hold.

An operation that only applies its body can give way to it, or get another one.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import jax

from ..jaxapi import frontend as compat
from .primitives import call_p, for_p, named_computation_p

# Which parameter holds what an operation does, of those that only apply or repeat it.
_BODIES = {
    "jit": "jaxpr",
    "closed_call": "call_jaxpr",
    "core_call": "call_jaxpr",
    "remat2": "jaxpr",
    "checkpoint": "jaxpr",  # As newer versions call it.
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
    call_p.name: "jaxpr",
    for_p.name: "jaxpr",
    named_computation_p.name: "jaxpr",
}


def source(eqn: Any) -> str:
    """The user's line that an equation comes from."""
    return compat.summarize_source(eqn.source_info)


def sources(eqn: Any) -> str:
    """The user's lines that an equation comes from, the innermost call first."""
    return compat.summarize_source(eqn.source_info, num_frames=64)


def body_of(eqn: Any, or_repeats: bool = False) -> Any | None:
    """What an operation applies, as a closed jaxpr, if it only applies it.

    Or repeats, as a loop of ours does.
    """
    if eqn.primitive is for_p and not or_repeats:
        return None
    return compat.closed(eqn.params.get(_BODIES.get(eqn.primitive.name)))


def identity_of_body(eqn: Any) -> int:
    """An identity that is equal for operations that apply the same function.

    What `body_of` gives is made again each time where the function is an open jaxpr.
    """
    return id(eqn.params[_BODIES[eqn.primitive.name]])


def with_body(eqn: Any, body: Any) -> Any:
    """The operation with another body in the place of what `body_of` gave."""
    key = _BODIES[eqn.primitive.name]
    closed = isinstance(eqn.params[key], compat.ClosedJaxpr)
    value = body if closed else body.jaxpr
    return eqn.replace(params={**eqn.params, key: value})


def consts_as_operands(eqn: Any, body: Any) -> tuple[Any, Sequence[Any]]:
    """A body for `with_body`, and constants that are its first operands.

    An operation around an open jaxpr has no place for constants.
    """
    inner = body.jaxpr
    key = _BODIES[eqn.primitive.name]
    if isinstance(eqn.params[key], compat.ClosedJaxpr) or not body.consts:
        return body, ()
    invars = [*inner.constvars, *inner.invars]
    inner = inner.replace(constvars=[], invars=invars)
    return compat.ClosedJaxpr(inner, ()), body.consts


_SCOPE = "mpmd_layers"
# What takes the place of its body, and what keeps a body of its own.
_INLINED = ("jit", "closed_call", "core_call", "custom_jvp_call", "custom_vjp_call")
_KEPT = ("remat2", "checkpoint", call_p.name, named_computation_p.name)


@contextlib.contextmanager
def layers_of_stages() -> Iterator[None]:
    """Around slices of stacked parameters, and what is made of their gradients."""
    with jax.named_scope(_SCOPE):
        yield


def inlined(eqn: Any) -> Any | None:
    """The body whose operations may replace an operation."""
    if eqn.primitive.name not in _INLINED or eqn.effects:
        return None
    shardings = (
        *eqn.params.get("in_shardings", ()),
        *eqn.params.get("out_shardings", ()),
    )
    if any(isinstance(entry, jax.sharding.NamedSharding) for entry in shardings):
        return None
    return body_of(eqn)


def kept(eqn: Any) -> list[Any] | None:
    """The bodies of an operation that stays, with values in pieces for operands."""
    if eqn.primitive.name == "cond":
        return list(eqn.params["branches"])
    return [body_of(eqn)] if eqn.primitive.name in _KEPT else None


def first_operand(eqn: Any) -> int:
    """The position of the operand that is the first one of the bodies."""
    return int(eqn.primitive.name == "cond")


def is_marked(eqn: Any) -> bool:
    """Whether `layers_of_stages` was around an operation, or what it is derived of."""
    stack = eqn.source_info.name_stack.stack
    return any(getattr(entry, "name", None) == _SCOPE for entry in stack)


def has_marks(jaxpr: Any) -> bool:
    """Whether a jaxpr, or one that it applies, cuts arrays into layers."""
    return compat.find(jaxpr, is_marked) is not None
