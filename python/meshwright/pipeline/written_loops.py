# SPDX-License-Identifier: Apache-2.0
"""Loops of JAX around microbatches, written out before these are numbered.

    scan(step, s, xs)   becomes   s1 = call 0, call 1 … of s0, xs[0]
                                  s2 = call 0, call 1 … of s1, xs[1]

A trip calls the microbatches of the trip before; `with_own_numbers` counts them on.
"""

from __future__ import annotations

import functools
from typing import Any

from ..jaxapi import frontend as compat
from ..staging import loops
from ..staging.emit import Writer
from ..tracing.primitives import call_p
from ..tracing.scopes import body_of


def with_loops_written(traced: Any, max_trips: int | None) -> Any:
    """A traced function without loops and branches of JAX that call microbatches.

    Args:
      max_trips: the most trips of a loop that is written out; None leaves all loops.

    Raises:
      ValueError: a `jax.lax.scan` of more trips; the text begins with its place.
    """
    if max_trips is None or compat.find(traced.jaxpr.jaxpr, _calls_in_loop) is None:
        return traced
    return compat.with_jaxpr(traced, _Writer(traced.jaxpr, None, max_trips).written())


def _calls_in_loop(eqn: Any) -> bool:
    return loops.is_loop(eqn) and compat.find_inside(eqn, _is_call) is not None


def _is_call(eqn: Any) -> bool:
    return eqn.primitive is call_p


class _Writer(Writer):
    """Writes loops out, and what they are in; everything else stays."""

    def _open(
        self, eqn: Any, operands: list[Any], stack: Any, count: int
    ) -> list[Any] | None:
        if _calls_in_loop(eqn):
            if not loops.is_expandable(eqn, self._max_trips):
                return None
            run = functools.partial(self._walk_closed, stack, count)
            return loops.expand(eqn, operands, run, self._max_trips)
        body = body_of(eqn)
        if body is None or compat.find(body.jaxpr, _calls_in_loop) is None:
            return None
        return self._apply(eqn, body, operands, stack, count)
