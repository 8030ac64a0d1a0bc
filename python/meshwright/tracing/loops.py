# SPDX-License-Identifier: Apache-2.0
"""Loops of this package: what their bodies become, and what of them is dead."""

from __future__ import annotations

import enum
import itertools
from collections.abc import Sequence
from typing import Any

from ..core.order import present, reach
from ..jaxapi import frontend as compat


class LoopForm(enum.Enum):
    """What the body of a loop becomes.

    A function that each iteration calls, by a call of ours or by a plain one; or the
    loop's own body, whose calls count from 0 in each loop.
    """

    CALL = enum.auto()
    PLAIN_CALL = enum.auto()
    WRITTEN = enum.auto()


def _is_loop(eqn: Any) -> bool:
    return isinstance(eqn.params.get("form"), LoopForm)


def has_loop(jaxpr: Any) -> bool:
    """Whether a jaxpr, or one that it applies, contains a loop of ours."""
    return compat.find(jaxpr, _is_loop) is not None


def carry_captured(
    jaxpr: Any, num_captured: int, moved: Sequence[bool], written_first: bool
) -> Any:
    """The body of a loop that carries what the iterations write to.

    Args:
      jaxpr: the closed jaxpr of captured values, carried ones and the index; gives
        the next carried values and, before or after these, new values of the
        captured ones that are written to.
      num_captured: how many it captures.
      moved: for each captured value whether it is written to.
      written_first: whether their new values come first.

    Returns:
      The body that carries them after the others.
    """
    *operands, index = jaxpr.jaxpr.invars
    captured, carried = operands[:num_captured], operands[num_captured:]
    written = list(itertools.compress(captured, moved))
    invars = [var for var, flag in zip(captured, moved, strict=True) if not flag]
    invars += [*carried, *written, index]
    outvars = list(jaxpr.jaxpr.outvars)
    if written_first:
        outvars = outvars[len(written) :] + outvars[: len(written)]
    return compat.remade(jaxpr, invars=invars, outvars=outvars)


def without_dead_carry(
    used: Sequence[bool], live: Sequence[bool], eqn: Any
) -> tuple[list[bool], Any]:
    """What is left of a loop some of whose results are unused.

    What a user writes as a loop stays as it is. In the loop's body, values go
    that no iteration needs.
    """
    params = eqn.params
    if params["form"] is not LoopForm.WRITTEN:
        return [True] * len(eqn.invars), eqn
    if not any(used) and compat.can_be_dropped(eqn, live):
        return [False] * len(eqn.invars), None
    closed, num_fixed = params["jaxpr"], params["num_captured"]
    invars = closed.jaxpr.invars
    needed, grown = None, list(used)
    while grown != needed:
        needed = _with_handed_on(closed.jaxpr, num_fixed, grown)
        body, read = compat.remove_dead(closed, tuple(needed), [True] * len(invars))
        carried = read[num_fixed:-1]
        grown = [a or b for a, b in zip(needed, carried, strict=True)]
    kept = [*read[:num_fixed], *needed]
    body = compat.remade(body, invars=[*itertools.compress(invars, [*kept, True])])
    operands = list(itertools.compress(eqn.invars, kept))
    num_fixed = sum(read[:num_fixed])
    return kept, eqn.replace(
        invars=operands,
        outvars=list(itertools.compress(eqn.outvars, needed)),
        params={**params, "jaxpr": body, "num_captured": num_fixed},
        effects=compat.eqn_effects(body, operands),
    )


def _with_handed_on(jaxpr: Any, num_fixed: int, used: Sequence[bool]) -> list[bool]:
    """Which values are carried, with those that become one that is used."""
    place = {var: at for at, var in enumerate(jaxpr.invars[num_fixed:-1])}

    def handed_on(at: int) -> list[int]:
        return present([compat.look_up(place, jaxpr.outvars[at])])

    found = reach(itertools.compress(itertools.count(), used), handed_on)
    return [at in found for at in range(len(used))]
