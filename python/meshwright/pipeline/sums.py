# SPDX-License-Identifier: Apache-2.0
"""Sums of gradients inside of what computes them.

A sum over microbatches that is written behind their calls needs all gradients at one
time. As a further operand of each call, it is a part of the backward of a stage, and
there is one sum for all microbatches:

  g0 = call(w, x0)                   s0 = call(w, x0, 0)
  g1 = call(w, x1)          becomes  s1 = call(w, x1, s0)
  s1 = g0 + g1
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax

from .. import _jax_compat as compat
from .._primitives import named_computation_p

__all__ = ["with_sums"]


def with_sums(closed: Any, wanted: Sequence[int]) -> tuple[Any, list[int]]:
    """Adds what further operands bring to results that are gradients.

    Args:
      closed: what a call computes, a closed jaxpr.
      wanted: positions of the results to add to.

    Returns:
      The closed jaxpr with an operand behind the others for each result that it adds
      to, and the positions of these: those that come out of a transposed operation.
    """
    jaxpr = closed.jaxpr
    producer = {var: at for at, eqn in enumerate(jaxpr.eqns) for var in eqn.outvars}
    eqns, behind = list(jaxpr.eqns), []
    outvars, sums, done = list(jaxpr.outvars), [], []
    for index in wanted:
        var = outvars[index]
        at = producer.get(var) if isinstance(var, compat.Var) else None
        if at is None:
            continue
        eqn = eqns[at]
        before = compat.Var(var.aval.update(weak_type=False))
        if eqn.primitive is named_computation_p:
            if not eqn.params["transpose_count"]:
                continue
            eqns[at], total = _added_inside(eqn, var, before)
        elif compat.transpose_count(eqn.source_info.name_stack):
            # A part of the stage of what it adds to: it counts as transposed, too.
            added, total = _addition(eqn, var, before)
            behind.append(added)
        else:
            continue
        sums.append(before)
        outvars[index] = total
        done.append(index)
    new = jaxpr.replace(
        invars=[*jaxpr.invars, *sums],
        eqns=[*eqns, *behind],
        outvars=outvars,
        debug_info=jaxpr.debug_info.with_unknown_names(),
    )
    return compat.ClosedJaxpr(new, closed.consts), done


def _addition(eqn: Any, var: Any, before: Any) -> tuple[Any, Any]:
    """An operation at the place of another one, and its result."""
    total = compat.Var(before.aval)
    added = compat.new_jaxpr_eqn(
        [before, var], [total], jax.lax.add_p, {}, set(), eqn.source_info, eqn.ctx
    )
    return added, total


def _added_inside(eqn: Any, var: Any, before: Any) -> tuple[Any, Any]:
    """A named computation that adds to one of its results, and the new result."""
    body = eqn.params["jaxpr"]
    jaxpr = body.jaxpr
    inner = jaxpr.outvars[eqn.outvars.index(var)]
    operand = compat.Var(before.aval)
    added, sum_inside = _addition(eqn, inner, operand)
    new = jaxpr.replace(
        invars=[*jaxpr.invars, operand],
        eqns=[*jaxpr.eqns, added],
        outvars=[*jaxpr.outvars, sum_inside],
        debug_info=jaxpr.debug_info.with_unknown_names(),
    )
    total = compat.Var(before.aval)
    eqn = eqn.replace(
        invars=[*eqn.invars, before],
        outvars=[*eqn.outvars, total],
        params={**eqn.params, "jaxpr": compat.ClosedJaxpr(new, body.consts)},
    )
    return eqn, total
