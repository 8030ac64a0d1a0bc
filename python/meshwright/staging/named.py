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
from ..tracing.body_rewriter import BodyRewriter
from ..tracing.primitives import call_p, for_p, named_computation_p
from ..tracing.scopes import bodies, body_of
from .emit import rebuilt
from .flatten import flatten


@compat.weakref_lru_cache
def _concatenates(jaxpr: Any) -> bool:
    return any(
        eqn.primitive.name in ("concatenate", "stack")
        or (
            eqn.primitive is not named_computation_p
            and any(map(_concatenates, bodies(eqn)))
        )
        for eqn in jaxpr.eqns
    )


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
    """The program on pieces of concatenations, where it gets along without the whole.

    Args:
      closed: the traced program, a closed jaxpr.
    """
    return _Program().body(closed)


class _Program(BodyRewriter):
    def concerns(self, jaxpr: Any) -> bool:
        return _concatenates(jaxpr)

    def rewrite(self, closed: Any) -> Any:
        eqns = [self._with_bodies(eqn) for eqn in closed.jaxpr.eqns]
        if any(a is not b for a, b in zip(eqns, closed.jaxpr.eqns, strict=True)):
            closed = compat.ClosedJaxpr(closed.jaxpr.replace(eqns=eqns), closed.consts)
        if not _has_names(closed.jaxpr):
            return closed
        flat = flatten(closed, opens=_is_opened)
        if not flat.is_in_pieces:
            return closed
        return rebuilt(closed, flat, flat.outs, [item.eqn for item in flat.items])

    def _with_bodies(self, eqn: Any) -> Any:
        if eqn.primitive is named_computation_p or _is_around_names(eqn):
            return eqn  # It is laid open with what is around it.
        key = "jaxpr"
        body = eqn.params.get(key)
        if eqn.primitive not in (call_p, for_p) or not isinstance(
            body, compat.ClosedJaxpr
        ):
            return eqn
        new = self.body(body)
        return eqn if new is body else eqn.replace(params={**eqn.params, key: new})


def _is_opened(eqn: Any) -> bool:
    return eqn.primitive is not named_computation_p and _is_around_names(eqn)
