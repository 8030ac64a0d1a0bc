# SPDX-License-Identifier: Apache-2.0
"""Means of losses in the backward pass of the stage that computes them.

The problem: a mean that is written after the calls of all microbatches is a program of
its own, or makes the update of one stage another program than those of the others, and
reads as many losses as there are microbatches. The last stage adds to the sums of its
gradients in any case, and may add up the losses with them:

    v0 = call(w, x0)                   t0 = call(w, x0, 0)     0 + v0 / 2
    v1 = call(w, x1)          becomes  t1 = call(w, x1, t0)    t0 + v1 / 2
    mean = (v0 + v1) / 2

Invariant: the numbers are the same to the last bit. So only powers of two divide here.

Cost: linear in the equations of the call.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..jaxapi import frontend as compat
from ..staging.flatten import mark_in
from ..staging.marks import mark_p
from .sums import addition, is_transposed


def can_divide(dtype: Any, count: int) -> bool:
    """Whether numbers of a type that are divided by a count first have the same sum."""
    return math.log2(count).is_integer() and jnp.finfo(dtype).minexp <= -126


def with_losses(
    closed: Any, wanted: Mapping[int, int], gradients: Sequence[int], dtype: Any = None
) -> tuple[Any, list[int]]:
    """Adds what further operands bring to results that are losses.

    Args:
      closed: what a call computes, a closed jaxpr with sums of gradients.
      wanted: by the positions of losses, numbers, what to divide them by.
      gradients: the positions of the sums.
      dtype: of the sums of losses; by default that of the losses.

    Returns:
      The closed jaxpr with operands after the others for what it adds to, and the
      positions of the losses that it adds to: those of the last stage, if a gradient of
      that stage is summed up, too.
    """
    jaxpr = closed.jaxpr
    places = _of_last_stage(jaxpr, list(wanted), gradients)
    template = next(filter(is_transposed, jaxpr.eqns), None)
    if not places or template is None:
        return closed, []
    eqns, outvars, sums = list(jaxpr.eqns), list(jaxpr.outvars), []
    for place in places:
        loss, count = outvars[place], wanted[place]
        if count > 1:
            divisor = compat.Literal(np.asarray(count, loss.aval.dtype), loss.aval)
            part = compat.Var(loss.aval.update(weak_type=False))
            eqns.append(compat.binary_at(template, jax.lax.div, [loss, divisor], part))
            loss = part
        before = compat.Var(
            loss.aval.update(weak_type=False, dtype=dtype or loss.aval.dtype)
        )
        added, outvars[place] = addition(template, loss, before)
        eqns += added
        sums.append(before)
    new = compat.remade(
        closed, invars=[*jaxpr.invars, *sums], eqns=eqns, outvars=outvars
    )
    return new, places


def _of_last_stage(
    jaxpr: Any, losses: Sequence[int], gradients: Sequence[int]
) -> list[int]:
    """The losses of the last stage, if that has a gradient; none without stages."""
    is_mark = [bool(eqn.primitive is mark_p or mark_in(eqn)) for eqn in jaxpr.eqns]
    is_back = list(map(is_transposed, jaxpr.eqns))
    # A bit for each mark, which are few; with one for each operation numbers are long.
    marks = list(itertools.compress(range(len(is_mark)), is_mark))
    bit = {at: 1 << number for number, at in enumerate(marks)}
    every = sum(bit[at] for at in marks if not is_back[at])
    if not every:
        return []
    # The marks that each value comes after; the last bit is for a backward pass.
    after: dict[Any, int] = {}
    for at, eqn in enumerate(jaxpr.eqns):
        bits = bit.get(at, 0) | is_back[at] << len(marks)
        for var in compat.variables(eqn.invars):
            bits |= after.get(var, 0)
        after |= dict.fromkeys(eqn.outvars, bits)
    backward = sum(bit.values()) & ~every
    sums = [compat.look_up(after, jaxpr.outvars[place], 0) for place in gradients]
    if all(bits & backward for bits in sums):
        return []
    return [
        place
        for place in losses
        if compat.look_up(after, jaxpr.outvars[place]) == every
    ]
