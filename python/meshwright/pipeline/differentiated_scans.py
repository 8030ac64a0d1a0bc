# SPDX-License-Identifier: Apache-2.0
"""Loops of JAX over microbatches whose sum is differentiated as a whole.

JAX makes two loops of one: the first stacks what each trip leaves for its derivative,
and the second takes that row by row, from the last one to the first, and adds up.

    total, ys = scan(forward, 0, xs)       trip i gives ys[i]
    grads = scan(backward, 0, ys)          trip i takes ys[i], the last one first

Both are loops over microbatches, of the same ones, if neither computes with what it
carries. A body that is checkpointed leaves nothing: then both loops read the rows of
the same arrays, and come from the same line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..jaxapi import frontend as compat
from ..staging.trips import MAX_TRIPS, is_transposed, reader_of_sums
from ..tracing.scopes import sources


class Pair(NamedTuple):
    """The two loops of a differentiated one."""

    forward: Any
    backward: Any


def may_be_half(eqn: Any) -> bool:
    """Whether a loop may be one of the two, as far as it tells by itself."""
    return (
        eqn.primitive.name == "scan"
        and not eqn.effects
        and eqn.params["length"] in range(1, MAX_TRIPS + 1)
        and compat.find_inside(eqn, is_transposed) is None
        and reader_of_sums(eqn) is None
    )


def pairs_in(jaxpr: Any, may_be_called: Callable[[Any], bool]) -> list[Pair]:
    """The differentiated loops in the operations of a jaxpr.

    What is a part of several pairs is a part of none: which microbatches belong
    together would be a guess.
    """
    halves = [eqn for eqn in jaxpr.eqns if may_be_half(eqn)]
    forward = [eqn for eqn in halves if not is_transposed(eqn) and may_be_called(eqn)]
    backward = [eqn for eqn in halves if _transposes(eqn) == 1]
    found = [Pair(one, other) for other in backward for one in _of(other, forward)]
    counts = Counter(id(eqn) for pair in found for eqn in pair)
    return [pair for pair in found if all(counts[id(eqn)] == 1 for eqn in pair)]


def _transposes(eqn: Any) -> int:
    return compat.transpose_count(eqn.source_info.name_stack)


def _of(backward: Any, forward: Sequence[Any]) -> list[Any]:
    """The loops that a loop may be the derivative of."""
    read = set(compat.variables(rows_read(backward)))
    alike = [
        eqn
        for eqn in forward
        if eqn.params["length"] == backward.params["length"]
        and eqn.params["reverse"] != backward.params["reverse"]
    ]
    of_results = [eqn for eqn in alike if not read.isdisjoint(rows_given(eqn))]
    same = [eqn for eqn in of_results if sources(eqn) == sources(backward)]
    return (
        same
        or of_results
        or [
            eqn
            for eqn in alike
            if not read.isdisjoint(compat.variables(rows_read(eqn)))
            and sources(eqn) == sources(backward)
        ]
    )


def rows_read(eqn: Any) -> Sequence[Any]:
    """The arrays of which each trip of a `jax.lax.scan` reads a row."""
    return eqn.invars[sum(compat.scan_counts(eqn)) :]


def rows_given(eqn: Any) -> Sequence[Any]:
    """The arrays of which each trip of a `jax.lax.scan` gives a row."""
    return eqn.outvars[compat.scan_counts(eqn)[1] :]
