# SPDX-License-Identifier: Apache-2.0
"""What a body with named computations does to concatenated weights.

A loss that prepares all weights as one vector, or sums one up, is the same whether its
stages come from marks or have names: where nothing needs the whole vector, the body is
laid open, and works on the pieces (`concatenations`). Each is where its weight is then.
Updates, which have no names in them, are left to the compiler.
"""

from __future__ import annotations

from typing import Any

from ..jaxapi import frontend as compat
from ..tracing.primitives import call_p, for_p, named_computation_p
from ..tracing.scopes import body_of, with_body
from .emit import rebuilt
from .flatten import flatten


def _concatenates(eqn: Any) -> bool:
    return eqn.primitive.name in ("concatenate", "stack")


@compat.weakref_lru_cache
def _has_names(jaxpr: Any) -> bool:
    """Whether a body, but for the calls in it, has named computations."""
    return any(map(_is_around_names, jaxpr.eqns))


def _is_around_names(eqn: Any) -> bool:
    if eqn.primitive in (call_p, for_p):
        return False
    if eqn.primitive is named_computation_p:
        return True
    body = body_of(eqn)
    return body is not None and _has_names(body.jaxpr)


def in_pieces(closed: Any) -> Any:
    """A program on pieces of concatenations, where that is possible."""
    new = _rewritten(closed)
    return closed if new is None else new


@compat.weakref_lru_cache
def _rewritten(closed: Any) -> Any | None:
    """The body on pieces; None, and no reference to it, if it is as good."""
    if compat.find(closed.jaxpr, _concatenates) is None:
        return None
    eqns = list(map(_with_body_in_pieces, closed.jaxpr.eqns))
    new = None
    if any(a is not b for a, b in zip(eqns, closed.jaxpr.eqns, strict=True)):
        new = compat.ClosedJaxpr(closed.jaxpr.replace(eqns=eqns), closed.consts)
    found = new or closed
    if not _has_names(found.jaxpr):
        return new
    flat = flatten(found, opens=_is_opened)
    if not flat.is_in_pieces:
        return new
    return rebuilt(found, flat, flat.outs, [item.eqn for item in flat.items])


def _with_body_in_pieces(eqn: Any) -> Any:
    if eqn.primitive not in (call_p, for_p):
        return eqn  # Around names, it is laid open with what is around it.
    body = eqn.params["jaxpr"]
    new = in_pieces(body)
    return eqn if new is body else with_body(eqn, new)


def _is_opened(eqn: Any) -> bool:
    return eqn.primitive is not named_computation_p and _is_around_names(eqn)
