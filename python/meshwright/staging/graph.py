# SPDX-License-Identifier: Apache-2.0
"""Stages that are a graph of towers: which operation belongs to which.

A mark with a tower begins a stage of that tower. What goes into it may come from
several other stages:

    vision   | v = mark(image) | v = mark(v)           vision 0, vision 1
    text     | t = mark(text)  | t, v = mark((t, v))   text 0, text 1; vision 1 feeds
                                                       text 1

An operation belongs to the last stage that it depends on. Of several that do not
depend on each other it is the one whose tower goes on after it, or else the one of the
tower that is marked last, which then depends on the others. So the order among stages
is found on the way, and stages are numbered at the end: towers one after the other,
each after those that feed it.

Backward, what passes a mark goes back to the stages that gave it. What a stage gives
others without a mark is differentiated where its forward was, as far as the saved
values say where that is.
"""

from __future__ import annotations

import collections
import functools
import graphlib
import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..core.order import in_order, present, reach
from ..jaxapi import frontend as compat
from ..tracing.scopes import source
from .applications import group_marks, marks_before
from .assign import (
    Backward,
    Graph,
    Stages,
    Tower,
    by_chain,
    count_forward,
    free_items,
    is_fixed,
    is_mark,
    is_own,
    number_tokens,
    sum_at_the_end,
    unknown_owner,
)
from .flatten import Flat, Item
from .inner_gradients import count_by_marks
from .terms import Terms, is_number


def by_marks(flat: Flat, known: Mapping[object, int], count: int) -> Stages:
    """Assigns the operations of a body to stages by its marks.

    Args:
      flat: the body. Where the marks have towers, derivatives of marks are taken apart,
        so that each is of one value.
      known: numbers of the tokens among its inputs.
      count: number of stages, if it has no mark of the model's own.

    Raises:
      ValueError: marks of which only some have a tower, towers that feed each other, or
        what `by_chain` raises.
    """
    own = [item for item in flat.items if is_own(item)]
    of_tower = [item for item in own if "tower" in item.eqn.params]
    if not of_tower:
        for item in flat.items:
            if is_mark(item) and "of" in item.eqn.params:
                raise unknown_owner(item, "stage of a tower")
        return by_chain(flat, known, count)
    if len(of_tower) < len(own):
        other = next(item for item in own if "tower" not in item.eqn.params)
        raise ValueError(
            f"{source(other.eqn)}: stage_boundary without a tower, but the one at "
            f"{source(of_tower[0].eqn)} is of tower "
            f"{of_tower[0].eqn.params['tower']!r}; give every mark its tower"
        )
    flat.items = list(_taken_apart(flat.items))
    return _Assignment(flat, known).stages()


def _taken_apart(items: Iterable[Item]) -> Iterable[Item]:
    """Derivatives of marks, each of one value."""
    for item in items:
        if not is_mark(item) or not item.eqn.params["linked"]:
            yield item
            continue
        token, *values = item.eqn.invars
        numbers = item.eqn.params["of"]
        for value, out, number in zip(values, item.eqn.outvars, numbers, strict=True):
            params = {**item.eqn.params, "of": (number,)}
            eqn = item.eqn.replace(invars=[token, value], outvars=[out], params=params)
            yield Item(eqn, item.transposes, item.scope)


class _Order:
    """Which stages come before which, as far as that is known."""

    def __init__(self, count: int):
        self._before = [0] * count
        self.links: dict[tuple[int, int], None] = {}

    def add(self, first: int, second: int) -> None:
        """Notes that a stage depends on another one."""
        self.links[first, second] = None
        new = self._before[first] | 1 << first
        if new & ~self._before[second]:
            for other, before in enumerate(self._before):
                if other == second or before >> second & 1:
                    self._before[other] |= new

    def is_before(self, first: int, second: int) -> bool:
        """Whether a stage is known to come before another one."""
        return bool(self._before[second] >> first & 1)

    def last(self, stages: Iterable[int]) -> list[int]:
        """Those that come before none of the others."""
        found = set(stages)
        return sorted(
            stage
            for stage in found
            if not any(self._before[other] >> stage & 1 for other in found)
        )


class _Assignment:
    """One body. Until they are numbered, stages go by an order of their marks."""

    def __init__(self, flat: Flat, known: Mapping[object, int]):
        self._flat, self._items = flat, flat.items
        self._table = flat.table
        self._marks = [at for at, item in enumerate(self._items) if is_own(item)]
        count_by_marks(flat)
        count_forward(flat, self._marks)
        self._after, self._free = free_items(flat, self._marks)
        numbers = {at: number for number, at in enumerate(self._marks)}
        self._tokens = number_tokens(flat, known, numbers)
        # By stage: its tower, and the stages before and after it there.
        self._towers: list[str] = []
        self._begins: dict[int, int] = {}  # The stage that begins at each mark.
        self._next: dict[int, int] = {}
        for tower, applications in self._group_marks().items():
            for position, marks in enumerate(zip(*applications, strict=True)):
                stage = len(self._towers)
                self._towers.append(tower)
                self._begins.update(dict.fromkeys(marks, stage))
                if position:
                    self._next[stage - 1] = stage
        self._order = _Order(len(self._towers))
        for pair in self._next.items():
            self._order.add(*pair)
        self._previous = {after: before for before, after in self._next.items()}
        self._stage: list[int | None] = [None] * len(self._items)

    def _group_marks(self) -> dict[str, list[list[int]]]:
        """The marks of each tower, for each time that it is applied."""
        bits = {at: 1 << number for number, at in enumerate(self._marks)}
        passed = marks_before(self._flat, bits, lambda item: not item.transposes)
        of_tower: dict[str, list[int]] = {}
        for at in self._marks:
            of_tower.setdefault(self._items[at].eqn.params["tower"], []).append(at)
        found = {
            tower: group_marks(self._items, marks, bits, passed)
            for tower, marks in of_tower.items()
        }
        for tower, applications in found.items():
            counts = sorted({len(marks) for marks in applications})
            if len(counts) > 1:
                raise ValueError(
                    f"{source(self._items[applications[0][0]].eqn)}: stage_boundary: "
                    f"tower {tower!r} is applied more than once, with "
                    f"{' and '.join(map(str, counts))} marks; put as many into each "
                    "application, or make each a call of its own"
                )
        return found

    def stages(self) -> Stages:
        self._place_after_marks()
        towers = self._sort_towers()
        self._renumber(towers)
        self._place_before_marks()
        self._place_backward()
        graph = Graph(tuple(towers), tuple(self._find_feeds()))
        places = [source(self._items[at].eqn) for at in self._marks]
        return Stages(len(self._towers), self._stage, places, self._tokens, graph=graph)

    def _is_forward(self, index: int) -> bool:
        return not (
            self._items[index].transposes
            or self._free[index]
            or is_mark(self._items[index])
            or is_fixed(self._items[index])
        )

    def _place_after_marks(self) -> None:
        """Gives each forward operation the last stage that it depends on."""
        leads = self._find_leads()
        first = {}
        for number, tower in enumerate(self._towers):
            first.setdefault(tower, number)
        for index in range(len(self._items)):
            if not (index in self._begins or self._is_forward(index)):
                continue
            found = {
                stage
                for other in self._table.operands[index]
                if (stage := self._given_by(other)) is not None
            }
            if index in self._begins:
                for stage in self._order.last(found):
                    self._link(stage, self._begins[index], index)
                continue
            last = self._order.last(found)
            if not last:
                continue
            going_on = [
                stage
                for stage in last
                if stage in self._next and leads[index] >> self._next[stage] & 1
            ]
            chosen = max(
                going_on if len(going_on) == 1 else last,
                key=lambda stage: first[self._towers[stage]],
            )
            for stage in last:
                if stage != chosen:
                    self._order.add(stage, chosen)
            self._stage[index] = chosen

    def _link(self, stage: int, begins: int, mark: int) -> None:
        """Notes what goes into the stage that begins at a mark."""
        if stage == begins or self._order.is_before(begins, stage):
            name = self._towers[begins]
            raise ValueError(
                f"{source(self._items[mark].eqn)}: stage_boundary: tower {name!r} is "
                "applied to its own output, so its stages are not a chain; make each "
                "application a call of its own, mw.call(f, call_counter=i)(...), or "
                "give the later stages a tower of their own"
            )
        self._order.add(stage, begins)

    def _given_by(self, index: int) -> int | None:
        """The mark after which what an operation gives is read forward."""
        if index in self._begins:
            return self._begins[index]
        if is_mark(self._items[index]):
            number = self._tokens.get(self._items[index].eqn.invars[0])
            return None if number is None else self._begins[self._marks[number]]
        return self._stage[index]

    def _find_leads(self) -> list[int]:
        """The marks that each operation leads to, as bits."""
        leads = [0] * len(self._items)
        for index in reversed(range(len(self._items))):
            for reader in self._table.readers[index]:
                leads[index] |= leads[reader]
                if reader in self._begins:
                    leads[index] |= 1 << self._begins[reader]
        return leads

    def _sort_towers(self) -> list[Tower]:
        """The towers, each after those that feed it, else as they are marked."""
        counts = collections.Counter(self._towers)
        names = list(counts)
        needs: dict[str, set[str]] = {name: set() for name in names}
        for first, second in self._order.links:
            if self._towers[first] != self._towers[second]:
                needs[self._towers[second]].add(self._towers[first])
        # The user's line of the first mark of each.
        places = {
            self._items[at].eqn.params["tower"]: source(self._items[at].eqn)
            for at in reversed(self._marks)
        }
        try:
            order = in_order(needs, names.index)
        except graphlib.CycleError as error:
            circle = error.args[1][:0:-1]  # Each reads what the next one gives.
            first = circle.index(min(circle, key=names.index))
            circle = [*circle[first:], *circle[: first + 1]]
            pairs = ", and ".join(
                f"{after!r} reads what {before!r} gives"
                for after, before in itertools.pairwise(circle)
            )
            raise ValueError(
                f"{places[circle[0]]}: stage_boundary: towers feed each other: "
                f"{pairs}; give the stages that come after the other tower a tower of "
                "their own"
            ) from None
        return [Tower(name, counts[name], places[name]) for name in order]

    def _renumber(self, towers: Sequence[Tower]) -> None:
        """From numbers of marks to those of stages, tower by tower."""
        starts = itertools.accumulate((tower.count for tower in towers), initial=0)
        numbers = {
            tower.name: itertools.count(start)
            for tower, start in zip(towers, starts, strict=False)
        }
        new = [next(numbers[tower]) for tower in self._towers]
        self._stage = [None if old is None else new[old] for old in self._stage]
        self._begins = {at: new[stage] for at, stage in self._begins.items()}
        self._previous = {new[a]: new[b] for a, b in self._previous.items()}

    def _place_before_marks(self) -> None:
        """Puts what depends on no mark into the first stage that reads it."""
        size, last = len(self._items), len(self._towers) - 1

        def stage_at(position: int) -> int:
            return last if position < size else position // size - 1

        position: list[int | None] = [
            None if stage is None else (stage + 1) * size + at
            for at, stage in enumerate(self._stage)
        ]
        for at, stage in self._begins.items():
            # What goes into the first stage of a tower is a part of it.
            position[at] = (self._previous.get(stage, stage) + 1) * size + at
        is_early = [
            self._is_forward(at) and self._stage[at] is None and not self._after[at]
            for at in range(size)
        ]
        for index in reversed(range(size)):
            if is_early[index]:
                found = present(map(position.__getitem__, self._table.readers[index]))
                position[index] = min(found, default=None)
        Terms(self._flat, is_early, position, stage_at).place(is_chain=False)
        for index in range(size):
            if is_early[index] and position[index] is None:
                found = present(map(position.__getitem__, self._table.operands[index]))
                position[index] = max(found, default=None)
            if is_early[index] and position[index] is not None:
                self._stage[index] = stage_at(position[index])

    def _giver(self, index: int) -> int | None:
        """The stage of what an operation gives; a mark's derivative goes back to it."""
        if index in self._begins:
            return self._begins[index]
        if not is_mark(self._items[index]):
            return self._stage[index]
        eqn = self._items[index].eqn
        number = self._tokens.get(eqn.invars[0])
        if number is None:
            raise unknown_owner(self._items[index])
        at = self._marks[number]
        if not self._items[index].transposes % 2:
            return self._begins[at]
        value = self._items[at].eqn.invars[eqn.params["of"][0]]
        maker = self._table.producer.get(value)
        if maker is None:
            return None
        return self._begins.get(maker, self._stage[maker])

    def _reader(self, index: int) -> int | None:
        """The stage in which what an operation reads is needed."""
        if not is_mark(self._items[index]):
            return self._stage[index]
        if index in self._begins:
            stage = self._begins[index]
            return self._previous.get(stage, stage)
        if not self._items[index].transposes % 2:
            return self._giver(index)
        number = self._tokens[self._items[index].eqn.invars[0]]
        return self._begins[self._marks[number]]

    def _place_backward(self) -> None:
        settle = functools.partial(self._settle, self._forward_readers())
        state = self._after, self._free
        sides = self._giver, self._reader
        backward = Backward(self._flat, self._stage, *sides, *state, settle)
        backward.assign(len(self._towers))
        sum_at_the_end(self._flat, self._stage)

    def _forward_readers(self) -> dict[Any, set[int]]:
        """The stages that make or read each value in the forward pass."""
        found: dict[Any, set[int]] = {}
        for index, item in enumerate(self._items):
            stage = self._stage[index]
            if item.transposes or is_mark(item) or stage is None:
                continue
            for var in [*compat.variables(item.eqn.invars), *item.eqn.outvars]:
                found.setdefault(var, set()).add(stage)
        return found

    def _settle(self, forward: Mapping[Any, set[int]], index: int, stage: int) -> int:
        """Where a value that went on without a mark is differentiated.

        The derivative comes from the stage that read it; what was saved is where its
        own forward was.
        """
        for var in compat.variables(self._items[index].eqn.invars):
            if not is_number(var):
                stages = forward.get(var, set())
                if stages and stage not in stages:
                    stage = min(stage, max(stages))
        return stage

    def _find_feeds(self) -> list[tuple[int, int]]:
        """The stages of other towers that each stage reads, numbers left aside."""
        found: set[tuple[int, int]] = set()
        tower = {
            self._begins[at]: self._items[at].eqn.params["tower"] for at in self._marks
        }
        same: dict[Any, Any] = {}  # What passes a mark, and what it was before.
        made: dict[Any, tuple[int, bool]] = {}
        for index, item in enumerate(self._items):
            eqn = item.eqn
            if is_mark(item):
                values = eqn.invars[1:] if eqn.params["linked"] else eqn.invars
                same |= {
                    out: same.get(value, value) if compat.is_variable(value) else None
                    for out, value in zip(eqn.outvars, values, strict=False)
                }
                continue
            stage, is_back = self._stage[index], item.transposes % 2 == 1
            if stage is None:
                continue
            made |= dict.fromkeys(eqn.outvars, (stage, is_back))
            for var in compat.variables(eqn.invars):
                if is_number(var):
                    continue
                other, was_back = made.get(same.get(var, var), (stage, is_back))
                if is_back == was_back and tower[other] != tower[stage]:
                    found.add((stage, other) if is_back else (other, stage))
        return sorted(found)


def check_ways(flat: Flat) -> None:
    """Refuses a tower of which nothing that is returned is made."""
    producer, operands = flat.table.producer, flat.table.operands
    outs = present(map(producer.get, compat.variables(flat.outs)))
    leads = reach(outs, operands.__getitem__)
    for index, item in reversed([*enumerate(flat.items)]):
        if is_own(item) and index not in leads:
            raise ValueError(
                f"{source(item.eqn)}: stage_boundary: tower "
                f"{item.eqn.params['tower']!r} does not lead to a loss: no result "
                "depends on the value of this mark; use the output of the tower, or "
                "remove its marks"
            )
