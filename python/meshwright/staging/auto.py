# SPDX-License-Identifier: Apache-2.0
"""Stages without marks: where a body is cut, and why there.

The body is put in line (`line`), and cut where the parts cost the same and
little is sent (`search`).
"""

from __future__ import annotations

import bisect
import collections
import dataclasses
import functools
import types
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from typing import Any, NamedTuple

import numpy as np

from ..jaxapi import frontend as compat
from ..tracing.primitives import call_p, named_computation_p
from ..tracing.scopes import body_of, identity_of_body, source, with_body
from .assign import Stages
from .costs import work_of
from .emit import copies, emit
from .flatten import Flat, flatten
from .inner_gradients import count_by_work
from .line import Lining, Order
from .outside import place_outside
from .recomputed import is_recomputed, originals, repeated
from .search import best_cuts, make_line
from .shared_weights import (
    UNEVEN,
    Called,
    Lined,
    cuts_around,
    cuts_at_homes,
    find_called,
    find_homes,
    is_call,
)

# A nested function is opened if it costs more than a stage divided by this.
_PIECES = 64
# What runs on one mesh as a whole, whatever it does.
_UNDIVIDED = {"scan": "the loop", "while": "the loop", "cond": "the choice"}


@dataclasses.dataclass(frozen=True)
class Cut:
    """A place between two stages.

    Attributes:
      before: the user's line of the last operation of the stage before.
      after: that of the first operation of the stage after.
      operations: what these are, two names of primitives.
      bytes: of the values that are sent, forward and backward together.
      values: how many these are.
      parameter_bytes: of inputs that are read on both sides.
    """

    before: str
    after: str
    operations: tuple[str, str]
    bytes: int
    values: int
    parameter_bytes: int

    def __str__(self) -> str:
        sent = f"{self.values} values of {self.bytes} bytes cross, both directions"
        if self.parameter_bytes:
            sent += f", and {self.parameter_bytes} bytes of inputs that both read"
        sides = zip(self.operations, (self.before, self.after), strict=True)
        borders = " and ".join(f"{name} at {place}" for name, place in sides)
        return f"cut between {borders}: {sent}"


@dataclasses.dataclass(frozen=True)
class Division:
    """How a body was divided.

    Attributes:
      flops: of each stage, forward and backward together.
      cuts: the places between them, one fewer.
      places: at how many places the body could have been cut.
      largest: the costliest operation that cannot be divided: name, line, share of
        the whole.
      is_joint: whether it is divided where other calls have the same weights.
    """

    flops: tuple[float, ...]
    cuts: tuple[Cut, ...]
    places: int
    largest: tuple[str, str, float]
    is_joint: bool = False

    @property
    def evenness(self) -> float:
        """The costliest stage in relation to the mean; 1 is best."""
        mean = sum(self.flops) / len(self.flops)
        return max(self.flops) / mean if mean else 1.0

    @property
    def is_uneven(self) -> bool:
        """Whether one operation is more work than a stage should have."""
        return self.largest[2] * len(self.flops) > 1

    @property
    def undivided_scan(self) -> str | None:
        """What to do about layers in a `lax.scan`, which is one piece."""
        operation, place, share = self.largest
        if operation != "scan" or not self.is_uneven:
            return None
        return (
            f"{place}: mw.auto has this scan in one piece, {100 * share:.1f} % of the "
            f"work, so that {len(self.flops)} stages are uneven; mw.pipeline.scan in "
            "its place divides the layers, under mw.jit with mw.make_config, and "
            "mw.pipeline.accumulate around it divides the batch"
        )

    def lines(self, places: Mapping[int, str]) -> Iterator[str]:
        """Where the body was cut and why, for a terminal; `places` has the meshes."""
        whole = sum(self.flops) or 1.0
        more = 100 * (self.evenness - 1)
        yield (
            f"{len(self.flops)} stages, the costliest {more:.1f} % above the mean of "
            f"{whole / len(self.flops):.3g} FLOPs (forward and backward of one call)"
        )
        for stage, flops in enumerate(self.flops):
            share = 100 * flops / whole
            yield f"stage {stage} on {places[stage]}: {flops:.3g} FLOPs, {share:.1f} %"
            yield from (f"  {line}" for line in map(str, self.cuts[stage : stage + 1]))
        if self.is_joint:
            yield "cut together with other calls, so that each weight is in one stage"
        else:
            yield (
                f"of all ways to cut at {self.places} places that keep the stages as "
                "even, this one sends least"
            )
        operation, place, share = self.largest
        if self.is_uneven:
            advice = "nothing in it can be divided"
            if operation == "scan":
                advice = "mw.jit divides its layers, with mw.pipeline.scan in its place"
            yield (
                f"uneven because of {operation} at {place}, {100 * share:.1f} % of the "
                f"work in one piece; {advice}"
            )


def divide(
    flat: Flat,
    count: int,
    outside: float = 0,
    times: int = 1,
    is_ordered: bool = False,
    homes: Mapping[Any, int] = types.MappingProxyType({}),
    trained_elsewhere: Set[Any] = frozenset(),
) -> tuple[Stages, Division]:
    """Divides a body into this many stages.

    Args:
      flat: the body. What it recomputes and sends is taken from the forward pass
        instead, as if the values at the cuts had been saved.
      count: number of stages.
      outside: work on its gradients elsewhere, such as that of an optimizer.
      times: how often the body is called in a step.
      is_ordered: whether a schedule lets other calls fill the time in which a stage
        waits.
      homes: the stages of inputs that other bodies read, too.
      trained_elsewhere: inputs that other bodies train.
    """
    copied = copies(flat)
    folds = not (is_ordered and any(item.transposes for item in flat.items))
    make_lining = functools.partial(
        Lining, flat, copied, trained_elsewhere=trained_elsewhere
    )
    line_up = functools.partial(_line_up, count, outside, times, folds, homes)
    order, cuts, is_joint = line_up(make_lining)
    if len(order.items) < count:
        raise ValueError(_too_few(flat, order, count))
    stage = [
        None if where is None else bisect.bisect_right(cuts, where)
        for where in order.position
    ]
    # In line this would bring weights to places where they are not read otherwise.
    apart, chosen = set[int](), set[int]()
    for at in (None, cuts):
        _, found, choices = place_outside(flat, order, at, copied)
        apart |= found
        chosen |= choices
    while apart:
        other = line_up(
            functools.partial(make_lining, frozenset(apart), chosen=frozenset(chosen))
        )
        if len(other.order.items) < count:
            break
        other_stage, found, choices = place_outside(
            flat, other.order, other.cuts, copied
        )
        if found and found <= apart:
            (order, cuts, is_joint), stage = other, other_stage
        if found <= apart:
            break
        apart |= found
        chosen |= choices
    _save_at_cuts(flat, stage)
    division = _describe(flat, order, cuts, is_joint)
    places = [cut.after for cut in division.cuts]
    return Stages(count, stage, places, {}), division


class _LineUp(NamedTuple):
    """A body in line and its cuts; these are joint if they keep inputs at home."""

    order: Order
    cuts: list[int]
    is_joint: bool = False


def _line_up(
    count: int,
    outside: float,
    times: int,
    folds: bool,
    homes: Mapping[Any, int],
    make_lining: Callable[[], Lining],
) -> _LineUp:
    """A line and its cuts; none if it is too short.

    Inputs that have a home are in this stage, if there are such cuts.

    If it may, a model that is applied to what it gave goes through the same stages
    again where that sends less and is even enough: its weights stay, and what it gave
    goes back. With gradients no schedule orders that.
    """
    lining = make_lining()
    order = lining.order(outside)
    if len(order.items) < count:
        return _LineUp(order, [])
    if homes and (found := cuts_at_homes(order, homes, count)) is not None:
        return _LineUp(order, found, is_joint=True)
    cuts, worst, sent = _cut(order, count, times)
    weights = [order.inputs[var] for var in lining.trained() & order.inputs.keys()]
    if (found := cuts_around(order, weights, cuts, count)) is not None:
        return _LineUp(order, found)
    if folds:
        folded = make_lining().order(outside, folds=True)
        if count <= len(folded.items) < len(order.items):
            other_cuts, other_worst, other_sent = _cut(folded, count, times)
            limit = max(worst, UNEVEN * sum(folded.costs) / count)
            if other_worst <= limit and other_sent < sent:
                return _LineUp(folded, other_cuts)
    return _LineUp(order, cuts)


def _cut(order: Order, count: int, times: int) -> tuple[list[int], float, float]:
    """The cuts of a line, the most that a part costs, and the bytes that are sent.

    These are of one of this many calls, which share inputs.
    """
    line = make_line(order.costs, [*order.spans, *order.inputs.values()])
    cuts = best_cuts(line, count)
    worst = max(part.sum() for part in np.split(line.cost, cuts))
    made = make_line(order.costs, order.spans).crossing[cuts].sum()
    inputs = line.crossing[cuts].sum() - made
    return cuts, float(worst), float(made + inputs / times)


class Divider:
    """Divides the calls of a program, or all of it if it has none, or one that does
    less than the rest.

    Attributes:
      divisions: how each body was divided.
      is_regular: whether each stage has one computation in each direction.
    """

    def __init__(self, count: int, assigned: Mapping[str, str], is_scheduled: bool):
        self._count, self._assigned = count, assigned
        self._is_scheduled = is_scheduled
        self._times = 1
        self._done: dict[tuple[int, int], Any] = {}
        self._outside = 0.0
        # Of bodies that share weights, the stages of their inputs by position.
        self._homes: dict[Any, dict[int, int]] = {}
        # The positions of those that other bodies train.
        self._elsewhere: dict[Any, set[int]] = {}
        self.divisions: list[Division] = []
        self.is_regular = True

    def program(self, closed: Any) -> Any:
        """The program with a named computation for each stage."""
        whole = sum(map(work_of, closed.jaxpr.eqns))
        calls = list(_calls(closed.jaxpr))
        called = sum(map(work_of, calls))
        # Several calls are microbatches, however much an optimizer does afterwards.
        if not calls or (len(calls) == 1 and 2 * called < whole):
            return self._body(closed, 0, is_whole=True)
        self._outside, self._times = (whole - called) / len(calls), len(calls)
        self._find_homes(find_called(closed))
        return self._in(closed)

    def _find_homes(self, bodies: Sequence[Called]) -> None:
        """Finds the stages of weights that several bodies read."""
        read = collections.Counter(w for each in bodies for w in each.weights.values())
        sharing = [
            each for each in bodies if any(read[w] > 1 for w in each.weights.values())
        ]
        if len(sharing) < 2:
            return
        flats = [self._flat(each.body, each.transposes) for each in sharing]
        weights = [
            {flat.inputs[at]: weight for at, weight in each.weights.items()}
            for each, flat in zip(sharing, flats, strict=True)
        ]
        trained = [
            {known[var] for var in Lining(flat, copies(flat)).trained() if var in known}
            for flat, known in zip(flats, weights, strict=True)
        ]
        lined = []
        for each, flat, known, own in zip(
            sharing, flats, weights, trained, strict=True
        ):
            elsewhere = set().union(*trained) - own
            self._elsewhere[each.key] = {
                at for at, weight in each.weights.items() if weight in elsewhere
            }
            inputs = {var for var, weight in known.items() if weight in elsewhere}
            lining = Lining(flat, copies(flat), trained_elsewhere=inputs)
            lined.append(Lined(lining.order(self._outside), known, each.times))
        homes = find_homes(lined, self._count)
        for each in sharing:
            self._homes[each.key] = {
                at: homes[weight]
                for at, weight in each.weights.items()
                if weight in homes
            }

    def _in(self, closed: Any, transposes: int = 0) -> Any:
        """A body in which each call is divided."""
        eqns = []
        for eqn in closed.jaxpr.eqns:
            body = body_of(eqn)
            calls = is_call(eqn)
            if body is not None and (calls or compat.find(body.jaxpr, is_call)):
                count = transposes + compat.transpose_count(eqn.source_info.name_stack)
                key = identity_of_body(eqn), count
                if key not in self._done:
                    homes = self._homes.get(key, {})
                    elsewhere = self._elsewhere.get(key, set())
                    self._done[key] = (
                        self._body(body, count, homes, elsewhere)
                        if calls
                        else self._in(body, count)
                    )
                eqn = with_body(eqn, self._done[key])
            eqns.append(eqn)
        return compat.ClosedJaxpr(closed.jaxpr.replace(eqns=eqns), closed.consts)

    def _body(
        self,
        closed: Any,
        transposes: int,
        known: Mapping[int, int] = types.MappingProxyType({}),
        elsewhere: Set[int] = frozenset(),
        is_whole: bool = False,
    ) -> Any:
        """A body divided, with the inputs of which the stages are known in these."""
        flat = self._flat(closed, transposes)
        stages, division = divide(
            flat,
            self._count,
            self._outside,
            self._times,
            is_ordered=self._is_scheduled and not is_whole,
            homes={flat.inputs[at]: stage for at, stage in known.items()},
            trained_elsewhere={flat.inputs[at] for at in elsewhere},
        )
        self.divisions.append(division)
        new, regular = emit(closed, flat, stages.stage)
        self.is_regular &= regular
        return new

    def _flat(self, closed: Any, transposes: int) -> Flat:
        """A body with open what costs more than a part of a stage."""
        limit = sum(map(work_of, closed.jaxpr.eqns)) / (_PIECES * self._count)

        def opens(eqn: Any) -> bool:
            if eqn.primitive in (named_computation_p, call_p):
                return self._may_open(eqn)
            return work_of(eqn) > limit

        flat = flatten(closed, transposes, opens)
        if any(map(is_recomputed, flat.items)):
            # What is computed again has other nested functions than the first time,
            # but the same operations in them.
            flat = flatten(closed, transposes, self._may_open)
        count_by_work(flat)
        return flat

    def _may_open(self, eqn: Any) -> bool:
        """Whether it is not the user who put an operation somewhere as a whole."""
        if eqn.primitive is named_computation_p:
            return eqn.params["name"] not in self._assigned
        return True


def _calls(jaxpr: Any) -> Iterator[Any]:
    for eqn in jaxpr.eqns:
        body = body_of(eqn)
        if eqn.primitive is call_p:
            yield eqn
        elif body is not None:
            yield from _calls(body.jaxpr)


def _save_at_cuts(flat: Flat, stage: Sequence[int | None]) -> None:
    """Lets a stage read the forward value of what another one recomputes."""
    saved, producer = originals(flat, repeated(flat)), flat.table.producer
    for index, item in enumerate(flat.items):
        reads = [
            saved[atom]
            if compat.look_up(saved, atom) and stage[producer[atom]] != stage[index]
            else atom
            for atom in item.eqn.invars
        ]
        item.eqn = item.eqn.replace(invars=reads)


def _too_few(flat: Flat, order: Order, count: int) -> str:
    eqns = [flat.items[at].eqn for at in order.items]
    advice = "ask for fewer stages"
    for eqn in eqns:
        if eqn.primitive.name not in _UNDIVIDED:
            continue
        advice = f"{_UNDIVIDED[eqn.primitive.name]} at {source(eqn)} is one of them"
        if eqn.primitive.name == "scan":
            advice += (
                ". Replace it by mw.pipeline.accumulate or "
                "mw.pipeline.scan_microbatches if it is over microbatches; if it is "
                "over layers, by mw.pipeline.scan, under mw.jit with mw.make_config; "
                "if it is over training steps, by a loop in Python around the function "
                "of mw.auto"
            )
        else:
            advice += (
                ", and runs on one mesh as a whole; loop or choose in Python around a "
                "function of mw.auto that does what it holds"
            )
        break
    return (
        f"auto: {count} stages of a function with {len(eqns)} operations that can be "
        f"divided; {advice}"
    )


def _describe(
    flat: Flat, order: Order, cuts: Sequence[int], is_joint: bool
) -> Division:
    bounds = [0, *cuts, len(order.items)]
    flops = [sum(order.costs[a:b]) for a, b in zip(bounds, bounds[1:], strict=False)]

    def crossing(spans: Sequence[tuple[int, int, int]], cut: int) -> list[int]:
        return [size for first, last, size in spans if first < cut <= last]

    found = []
    for cut in cuts:
        sides = [flat.items[order.items[at]].eqn for at in (cut - 1, cut)]
        sent = crossing(order.spans, cut)
        found.append(
            Cut(
                source(sides[0]),
                source(sides[1]),
                tuple(eqn.primitive.name for eqn in sides),
                sum(sent),
                len(sent),
                sum(crossing([*order.inputs.values()], cut)),
            )
        )
    top = max(range(len(order.items)), key=order.costs.__getitem__)
    eqn, whole = flat.items[order.items[top]].eqn, sum(order.costs) or 1.0
    largest = eqn.primitive.name, source(eqn), order.costs[top] / whole
    places = len(order.items) - 1
    return Division(tuple(flops), tuple(found), places, largest, is_joint)
