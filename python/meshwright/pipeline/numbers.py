# SPDX-License-Identifier: Apache-2.0
"""Call counters of microbatches whose function is applied again.

The problem: schedules distinguish microbatches by their call counters, which
`accumulate` counts up while it is traced. JAX traces a function under `jax.jit` once,
and applies the trace again, with the counters that it had.

Example, two microbatches:

    g = jax.jit(accumulate(f, 2))        jit[call 0, call 1] x     jit[call 0, call 1] x
    g(x), g(y)                           jit[call 0, call 1] y     jit[call 2, call 3] y

Invariant: the microbatches of a program have ascending counters in the order of their
calls, as without `jax.jit`. A schedule orders them by these, and a later call may read
what an earlier one gave. Those of loops are given, and no others have them.

Cost: one pass over the operations of the program and of its jitted functions with
microbatches.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from ..jaxapi import frontend as compat
from ..tracing.primitives import call_p, for_p
from ..tracing.scopes import body_of, with_body
from .results import is_in, numbers_of


def _counter(eqn: Any) -> int | None:
    return eqn.params["call_counter"] if eqn.primitive is call_p else None


def with_own_numbers(traced: Any) -> Any:
    """A traced function whose microbatches have counters of their own."""
    jaxpr = _renumbered(traced.jaxpr.jaxpr)
    if jaxpr is None:
        return traced
    return compat.with_jaxpr(traced, compat.ClosedJaxpr(jaxpr, traced.jaxpr.consts))


@compat.weakref_lru_cache
def _renumbered(jaxpr: Any) -> Any | None:
    """The jaxpr with other counters; None if all microbatches have their own, in the
    order in which they are called."""
    groups: list[range] = []
    loops: list[range] = []

    def found(numbers: range, is_loop: bool) -> int:
        (loops if is_loop else groups).append(numbers)
        return 0

    _visit(jaxpr, found)
    given = [number for numbers in groups for number in numbers]
    in_loops = {number for numbers in loops for number in numbers}
    is_ascending = all(a < b for a, b in itertools.pairwise(given))
    if is_ascending and in_loops.isdisjoint(given):
        return None
    taken = in_loops | (_counters(jaxpr) - set(given))
    first = 0

    def shift(numbers: range, is_loop: bool) -> int:
        nonlocal first
        if is_loop:
            return 0
        while clash := taken.intersection(range(first, first + len(numbers))):
            first = max(clash) + 1
        moved = first - numbers.start
        first += len(numbers)
        return moved

    return _visit(jaxpr, shift)


def _counters(jaxpr: Any) -> set[int]:
    found = set[int]()
    for eqn in jaxpr.eqns:
        if (counter := _counter(eqn)) is not None:
            found.add(counter)
        elif (body := body_of(eqn)) is not None:
            found |= _counters(body.jaxpr)
    return found


def _visit(jaxpr: Any, shift: Callable[[range, bool], int]) -> Any:
    """A jaxpr whose microbatches are renumbered.

    Args:
      shift: from the counters of one `accumulate`, and whether a loop calls its
        microbatches, to what is added to each counter.
    """
    if not is_in(jaxpr):
        return jaxpr
    eqns = list(jaxpr.eqns)
    # Positions of calls by counter, until their results are marked.
    calls: dict[int, list[int]] = {}
    shifts: dict[range, int] = {}
    for at, eqn in enumerate(jaxpr.eqns):
        if (counter := _counter(eqn)) is not None:
            calls.setdefault(counter, []).append(at)
        elif eqn.primitive is for_p:
            shifts.clear()  # What follows is its result, not that of calls before.
        elif eqn.primitive is compat.jit_p:
            body = body_of(eqn)
            new = _visit(body.jaxpr, shift)
            if new is not body.jaxpr:
                eqns[at] = with_body(eqn, compat.ClosedJaxpr(new, body.consts))
        elif (numbers := numbers_of(eqn)) is not None:
            own = []
            if calls:  # Of a loop there are none, and results are many.
                own = [call for number in numbers for call in calls.pop(number, ())]
            if own or numbers not in shifts:
                shifts[numbers] = shift(numbers, not own)
            if moved := shifts[numbers]:
                new = range(numbers.start + moved, numbers.stop + moved)
                eqns[at] = _with(eqn, numbers=new)
                for call in own:
                    counter = moved + eqns[call].params["call_counter"]
                    eqns[call] = _with(eqns[call], call_counter=counter)
    if all(new is old for new, old in zip(eqns, jaxpr.eqns, strict=True)):
        return jaxpr
    return jaxpr.replace(eqns=eqns, debug_info=jaxpr.debug_info)


def _with(eqn: Any, **params: Any) -> Any:
    return eqn.replace(params={**eqn.params, **params})
