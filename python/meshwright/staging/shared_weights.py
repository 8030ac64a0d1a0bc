# SPDX-License-Identifier: Apache-2.0
"""Cuts in the same places where several bodies of a step read the same weights.

A step that takes two gradients, as those of a discriminator and of a generator, has two
kinds of microbatches. If each kind is divided by itself, a weight may be in one stage
of the first and in another stage of the second, and is then sent in each step.

  body 0   G0 G1 D0 | D1        by itself: D costs more, as it has gradients
  body 1   G0 G1 | D0 D1        by itself: G costs more
  line     G0 G1 | D0 D1        both, where each weight is in one place

The lines of the bodies are merged where they read the same weight: at a longest
sequence of weights that is in the same order in both. Of the cuts of the merged line
that keep the costliest stages of each body below some limits, the one that sends least
gives each weight a home, and each body is cut as evenly as the homes of its weights
allow. Limits from nearly even ones to `UNEVEN` are tried, and the cuts taken that have
the least sum of unevenness and of bytes sent, each relative.
"""

from __future__ import annotations

import bisect
import collections
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..jaxapi import frontend as compat
from ..tracing.primitives import call_p
from ..tracing.scopes import body_of, identity_of_body
from .costs import bytes_of
from .line import Order
from .origins import Origins
from .search import SLACK, best_cuts, best_cuts_within, cuts_of_several, make_line

# The costliest stages may cost this many times the mean where weights stay for it.
UNEVEN = 5 / 3
# The limits of a stage's cost that are tried, as excess over the mean.
_MORE = (SLACK - 1, 0.2, 0.3, 0.4, 0.5, UNEVEN - 1)
# Of how many bodies each is tried as the one that is more uneven: more would take their
# number of times as long, of lines that are as many times as long.
_FEW = 4
# What is tried of the others then, if nothing is found where they are even.
_OTHERS = (SLACK - 1, 0.25, 0.5)


def is_call(eqn: Any) -> bool:
    return eqn.primitive is call_p


@dataclasses.dataclass
class Called:
    """A body that is called.

    Attributes:
      key: equal for calls of the same body that was transposed equally often.
      body: a closed jaxpr.
      transposes: how often it was transposed.
      weights: by position of its inputs, the inputs of the program they come from.
      times: how often it is called.
    """

    key: tuple[int, int]
    body: Any
    transposes: int
    weights: Mapping[int, Any]
    times: int = 0


def find_called(closed: Any) -> list[Called]:
    """The bodies that a program calls, with the weights that the first call reads.

    A weight that an optimizer has changed between two calls is that weight.
    """
    given = set[Any]()  # To calls as they are, which moments of an optimizer are not.
    inputs = Origins()
    for eqn, _ in _operations(closed.jaxpr, inputs, 0):
        if is_call(eqn):
            given |= inputs.of(eqn)
        inputs.note(eqn, comes_from_none=True)
    origins, found = Origins(given), dict[Any, Called]()
    for eqn, transposes in _operations(closed.jaxpr, origins, 0):
        if is_call(eqn):
            weights = {
                at: weight
                for at, atom in enumerate(eqn.invars)
                if compat.is_variable(atom)
                and (weight := origins.find(atom)) is not None
            }
            key = identity_of_body(eqn), transposes
            called = Called(key, body_of(eqn), transposes, weights)
            found.setdefault(key, called).times += 1
        origins.note(eqn, comes_from_none=is_call(eqn))
    return list(found.values())


def _operations(
    jaxpr: Any, origins: Origins, transposes: int
) -> Iterator[tuple[Any, int]]:
    """The operations of a program as they run, and how often each was transposed.

    Functions that call something are laid open.
    """
    for eqn in jaxpr.eqns:
        body = body_of(eqn)
        count = transposes + compat.transpose_count(eqn.source_info.name_stack)
        if body is None or is_call(eqn) or not compat.find(body.jaxpr, is_call):
            yield eqn, count
            continue
        origins.enter(body.jaxpr.invars, eqn.invars)
        yield from _operations(body.jaxpr, origins, count)
        origins.enter(eqn.outvars, body.jaxpr.outvars)


class Lined(NamedTuple):
    """A body in line.

    Attributes:
      order: its line.
      weights: where its inputs that are in `order.inputs` come from.
      times: how often it is called.
    """

    order: Order
    weights: Mapping[Any, Any]
    times: int

    def places(self) -> dict[Any, tuple[int, int]]:
        """The first and the last position that has to do with each weight."""
        found: dict[Any, tuple[int, int]] = {}
        for var, weight in self.weights.items():
            if var in self.order.inputs:
                first, last, _ = self.order.inputs[var]
                other = found.get(weight, (first, last))
                found[weight] = min(first, other[0]), max(last, other[1])
        return found


class _Joint(NamedTuple):
    """Cuts of several bodies in the same places.

    Attributes:
      homes: the stage of each weight that several bodies read.
      worst: what the costliest stages of all bodies cost together.
      sent: the bytes that a step sends.
    """

    homes: Mapping[Any, int]
    worst: float
    sent: int


def find_homes(bodies: Sequence[Lined], count: int) -> Mapping[Any, int]:
    """The stage of each weight that several bodies read, so that all have it there.

    Returns:
      Nothing if the bodies share no weights, if they have them in the same stages
      anyway, or if cut in the same places they send more or are too uneven.
    """
    merged = _Merged()
    for body in sorted(bodies, key=lambda body: -len(body.order.items)):
        merged.add(body)
    if not merged.is_shared or any(len(body.order.items) < count for body in bodies):
        return {}
    mean = sum(merged.costs) / count
    apart = _sent(merged.bodies, [_stages_apart(b, count) for b in merged.bodies])
    for others in ((0.0,), _OTHERS):
        found = [
            joint
            for cuts in _cuts_of_merged(merged, count, others)
            if (joint := _joint(merged, cuts, count)) is not None
            and joint.worst <= UNEVEN * mean
            and joint.sent < apart
        ]
        if found:
            break
    else:
        return {}
    mean = mean or 1  # Nothing but moves of data costs nothing.
    return min(found, key=lambda one: one.worst / mean + one.sent / apart).homes


def _cuts_of_merged(
    merged: _Merged, count: int, others: Sequence[float]
) -> Iterator[list[int]]:
    """Cuts of a merged line that keep the stages of each body below some limit.

    Args:
      others: how uneven the others may be where one body is more uneven.
    """
    line = make_line(merged.costs, merged.spans())
    costs = [
        np.bincount(at, np.multiply(body.order.costs, body.times), len(merged.costs))
        for body, at in zip(merged.bodies, merged.positions, strict=True)
    ]
    means = [cost.sum() / count for cost in costs]
    tried: list[list[int]] = []
    for more in _MORE:
        # Each body as uneven as the others, or one of them more than the others.
        extras = [np.multiply(means, more)]
        extras += [
            np.multiply(means, other) + np.eye(len(means))[own] * sum(means) * more
            for own in range(len(means) if len(means) <= _FEW else 0)
            for other in others
        ]
        for extra in extras:
            limits = np.add(means, extra)
            cuts = cuts_of_several(line, costs, [*limits], count)
            if cuts is not None and cuts not in tried:
                tried.append(cuts)
                yield cuts


def _joint(merged: _Merged, cuts: Sequence[int], count: int) -> _Joint | None:
    """Bodies with the homes of weights in a cut line; None where that is impossible."""
    read = collections.Counter(w for body in merged.bodies for w in body.places())
    homes = {}
    for weight, (first, last) in merged.weights.items():
        stage = bisect.bisect_right(cuts, first)
        if read[weight] > 1 and stage == bisect.bisect_right(cuts, last):
            homes[weight] = stage
    worst, stages = 0.0, []
    for body in merged.bodies:
        own = {var: homes[w] for var, w in body.weights.items() if w in homes}
        made = cuts_at_homes(body.order, own, count)
        if made is None:
            return None
        parts = np.split(np.asarray(body.order.costs), made)
        worst += body.times * max(part.sum() for part in parts)
        stages.append(_stages(made, body))
    return _Joint(homes, float(worst), _sent(merged.bodies, stages))


def _stages_apart(body: Lined, count: int) -> list[int]:
    """The stage of each position of a body that is divided by itself."""
    order = body.order
    spans = [*order.spans, *order.inputs.values()]
    return _stages(best_cuts(make_line(order.costs, spans), count), body)


def _stages(cuts: Sequence[int], body: Lined) -> list[int]:
    return [bisect.bisect_right(cuts, at) for at in range(len(body.order.items))]


def _sent(bodies: Sequence[Lined], stages: Sequence[Sequence[int]]) -> int:
    """The bytes that a step sends, each weight once, if positions are in stages."""
    sent = 0
    homes: dict[Any, set[int]] = {}
    for body, at in zip(bodies, stages, strict=True):
        for first, last, size in body.order.spans:
            sent += (at[last] - at[first]) * size * body.times
        for weight, (first, last) in body.places().items():
            homes.setdefault(weight, set()).update(range(at[first], at[last] + 1))
    return sent + sum(bytes_of(w.aval) * (len(at) - 1) for w, at in homes.items())


class _Merged:
    """Lines that were merged.

    Attributes:
      bodies: those that were added.
      positions: of each, where each position of its line is.
      costs: at each position, of all calls.
      weights: the first and the last position of each weight.
      is_shared: whether two lines have a position together.
    """

    def __init__(self) -> None:
        self.bodies: list[Lined] = []
        self.positions: list[list[int]] = []
        self.costs: list[float] = []
        self.weights: dict[Any, tuple[int, int]] = {}
        self.is_shared = False

    def add(self, body: Lined) -> None:
        """Merges a line with those before."""
        own = body.places()
        both = sorted(
            {
                (self.weights[weight][0], own[weight][0])
                for weight in own
                if weight in self.weights
            }
        )
        pairs = _longest_ascent(both)
        self.is_shared |= bool(pairs)
        # Between two shared positions what was there before comes first.
        moved: list[int] = []  # Where each position before is now.
        at: list[int] = []  # Where each of the body is.
        number = 0
        for here, there in [*pairs, (len(self.costs), len(body.order.items))]:
            for side, end in (moved, here), (at, there):
                fresh = end - len(side)
                side += range(number, number + fresh)
                number += fresh
            moved.append(number)
            at.append(number)
            number += 1
        del moved[len(self.costs) :], at[len(body.order.items) :]
        costs = [0.0] * (number - 1)
        for cost, where in zip(self.costs, moved, strict=True):
            costs[where] += cost
        for cost, where in zip(body.order.costs, at, strict=True):
            costs[where] += cost * body.times
        self.costs = costs
        self.positions = [[moved[p] for p in known] for known in self.positions]
        self.positions.append(at)
        self.bodies.append(body)
        found = [
            (weight, moved[first], moved[last])
            for weight, (first, last) in self.weights.items()
        ]
        found += [
            (weight, at[first], at[last]) for weight, (first, last) in own.items()
        ]
        self.weights = {}
        for weight, first, last in found:
            other = self.weights.get(weight, (first, last))
            self.weights[weight] = min(first, other[0]), max(last, other[1])

    def spans(self) -> list[tuple[int, int, int]]:
        """What a cut sends, as `make_line` takes it."""
        found = [
            (*place, bytes_of(weight.aval)) for weight, place in self.weights.items()
        ]
        for body, at in zip(self.bodies, self.positions, strict=True):
            for first, last, size in body.order.spans:
                found.append((at[first], at[last], size * body.times))
        return found


def _longest_ascent(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """A longest sequence of sorted pairs in which both numbers ascend (patience
    sorting)."""
    ends: list[int] = []  # The least second number that ends a sequence of each length.
    last: list[int] = []  # Which pair has it.
    before: list[int | None] = []
    # Of pairs with one first number, the largest second one comes first.
    ordered = sorted(pairs, key=lambda pair: (pair[0], -pair[1]))
    for number, (_, second) in enumerate(ordered):
        length = bisect.bisect_left(ends, second)
        before.append(last[length - 1] if length else None)
        ends[length : length + 1] = [second]
        last[length : length + 1] = [number]
    found: list[tuple[int, int]] = []
    at = last[-1] if last else None
    while at is not None:
        found.append(ordered[at])
        at = before[at]
    return found[::-1]


def cuts_at_homes(
    order: Order, homes: Mapping[Any, int], count: int
) -> list[int] | None:
    """Where to cut a line so that each weight is in its stage; None if that is nowhere.

    Of these cuts it is the best one, as of a line without homes.

    Args:
      order: the line.
      homes: stages of inputs in `order.inputs`.
      count: the number of stages.
    """
    ranges = []
    for stage in range(1, count):
        low, high = stage, len(order.items) - (count - stage)
        for var, home in homes.items():
            if var not in order.inputs:
                continue
            first, last, _ = order.inputs[var]
            low = max(low, last + 1) if home < stage else low
            high = min(high, first) if home >= stage else high
        ranges.append((low, high))
    line = make_line(order.costs, [*order.spans, *order.inputs.values()])
    return best_cuts_within(line, ranges)


def cuts_around(
    order: Order,
    weights: Sequence[tuple[int, int, int]],
    cuts: Sequence[int],
    count: int,
) -> list[int] | None:
    """Where to cut a line so that fewer of its own weights are in several stages.

    Such as those of a critic that is applied several times, and so short that no cuts
    are even: what parts its applications gains little.

    Args:
      order: the line.
      weights: the spans of inputs that it trains.
      cuts: where it would be cut otherwise.
      count: the number of stages.

    Returns:
      None if these are even, or others send more or are too uneven.
    """
    line = make_line(order.costs, [*order.spans, *order.inputs.values()])
    mean = line.cost.sum() / count

    def worst(cuts: Sequence[int]) -> float:
        return float(max(part.sum() for part in np.split(line.cost, cuts)))

    def parted(cuts: Sequence[int]) -> int:
        return sum(
            size * (bisect.bisect_right(cuts, last) - bisect.bisect_right(cuts, first))
            for first, last, size in weights
        )

    before = parted(cuts)
    if not before or worst(cuts) <= SLACK * mean:
        return None
    sent = line.crossing[list(cuts)].sum()
    least = worst(cuts) / mean + 1
    found = []
    for more in _MORE:
        other = cuts_of_several(line, [order.costs], [(1 + more) * mean], count)
        if other is None or parted(other) >= before:
            continue
        share = line.crossing[other].sum() / sent
        total = worst(other) / mean + share
        if share < 1 and total < least:
            found.append((total, other))
    return min(found)[1] if found else None
