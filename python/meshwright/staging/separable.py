# SPDX-License-Identifier: Apache-2.0
"""Operations on the weights of several stages that do something to each alone.

A function of all weights, such as a `jax.jit` that casts them, and a barrier around
them are one operation each, in one stage. What a weight gets there is a matter of that
weight alone: the function is laid open, and the barrier becomes one for each.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable
from typing import Any

from ..core.order import join
from ..jaxapi import frontend as compat
from ..tracing.scopes import body_of

BARRIER = "optimization_barrier"


def _is_large(atom: Any) -> bool:
    return compat.is_variable(atom) and math.prod(getattr(atom.aval, "shape", ())) > 1


@compat.weakref_lru_cache
def _groups(jaxpr: Any) -> list[set[int]]:
    """The values that depend on each other, but for what numbers tell.

    Returns:
      Positions of inputs, and of results after all inputs, in groups.
    """
    group: dict[Any, set[Any]] = {}
    for eqn in jaxpr.eqns:
        atoms = [*eqn.invars, *eqn.outvars]
        body = body_of(eqn)
        if body is None:
            join(group, filter(_is_large, atoms))
            continue
        for positions in _groups(body.jaxpr):
            join(group, filter(_is_large, (atoms[at] for at in positions)))
    found: dict[int, set[int]] = {}
    for at, atom in enumerate([*jaxpr.invars, *jaxpr.outvars]):
        if _is_large(atom):
            members = group.setdefault(atom, {atom})
            found.setdefault(id(members), set()).add(at)
    return list(found.values())


def is_separable(jaxpr: Any) -> bool:
    """Whether a function makes several values, each of others of its operands."""
    count = len(jaxpr.invars)
    made = [at for at in _groups(jaxpr) if min(at) < count <= max(at)]
    return len(made) > 1


def split_barriers(
    items: list[Any],
    is_of_inputs: Callable[[Iterable[Any]], bool],
    passes: Callable[[Any], bool],
) -> list[Any]:
    """Makes one barrier for each operand of those around weights or their gradients.

    Args:
      items: the operations of a body, each with an `eqn` and `transposes`.
      is_of_inputs: whether values are inputs, cast or scaled at most.
      passes: whether an operation does the same to each element.
    """
    if not any(_is_barrier(item.eqn) for item in items):
        return items
    # What is read by more than casts, scaling and sums on the way to a result.
    used: set[Any] = set()
    made: list[Any] = []
    for item in reversed(items):
        eqn = item.eqn
        is_passed = used.isdisjoint(eqn.outvars)
        if _is_barrier(eqn) and (
            is_passed if item.transposes else is_of_inputs(eqn.invars)
        ):
            for operand, result in zip(eqn.invars, eqn.outvars, strict=True):
                part = eqn.replace(invars=[operand], outvars=[result])
                made.append(dataclasses.replace(item, eqn=part))
        else:
            made.append(item)
        if not (is_passed and (passes(eqn) or eqn.primitive.name == BARRIER)):
            used.update(compat.variables(eqn.invars))
    return made[::-1]


def _is_barrier(eqn: Any) -> bool:
    return eqn.primitive.name == BARRIER and sum(map(_is_large, eqn.invars)) > 1
