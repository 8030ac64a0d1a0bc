# SPDX-License-Identifier: Apache-2.0
"""What is outside of all stages between cuts, as it is between marks.

A norm of all weights that the first layer divides by, or the mean that a variance of
all is made with, is computed by no order of stages; and the rows of a cache that a beam
search goes on with stay where the cache is. Cuts are found without marks, but once they
are known, the rules are those of marks (`assign`, `terms`).
"""

from __future__ import annotations

import bisect
from collections.abc import Sequence, Set

from ..core.order import present, reach
from .assign import (
    Backward,
    complete_positions,
    free_choices,
    is_fixed,
)
from .flatten import Flat
from .line import Order
from .recomputed import is_recomputed
from .terms import Terms, is_number


def place_outside(
    flat: Flat, order: Order, cuts: Sequence[int] | None, copied: Set[int]
) -> tuple[list[int | None], set[int], set[int]]:
    """Finds what is in no stage, for cuts in the line of a body.

    Args:
      cuts: positions in line, ascending; None to find all terms that may be outside,
        wherever cuts are.
      copied: operations that each stage makes for itself.

    Returns:
      The stage of each operation, None for what is in none; and what is not where the
      line has it: it is outside of all stages, or where a weight is that numbers are
      made of. There is none if all can be in stages. And what of it is made of
      something large and of a little that comes later.
    """
    everywhere = range(1, len(order.items))
    placing = _Outside(flat, order, everywhere if cuts is None else cuts, copied)
    choices = set() if cuts is None else placing.find_choices()
    return *placing.place(choices), choices


class _Outside:
    def __init__(self, flat: Flat, order: Order, cuts: Sequence[int], copied: Set[int]):
        self._flat, self._items = flat, flat.items
        self._table = flat.table
        self._order, self._cuts = order, cuts
        self._unlined = copied | order.apart
        self._line = [
            None if where is None else self._stage_at(where) for where in order.position
        ]
        self._is_early = [
            (index in order.waiting or index in copied) and not is_fixed(item)
            for index, item in enumerate(self._items)
        ]
        self._serves = [False] * len(self._items)

    def place(self, choices: Set[int]) -> tuple[list[int | None], set[int]]:
        position = self._positions_by_readers()
        outside = Terms(self._flat, self._is_early, position, self._stage_at).place()
        if not (outside or choices):
            return self._line, outside
        free = [
            self._is_free(index) or index in outside or index in choices
            for index in range(len(self._items))
        ]
        complete_positions(self._flat, free, position)
        numbers = self._find_numbers(outside)
        early = numbers | self._unlined
        stage: list[int | None] = list(self._line)
        for index, item in enumerate(self._items):
            if item.transposes:
                continue
            if free[index]:
                stage[index] = None
            elif index in early or stage[index] is None:
                where = position[index]
                stage[index] = None if where is None else self._stage_at(where)
        if outside:
            self._place_backward(stage, outside)
        moved = {
            index
            for index, (where, line) in enumerate(zip(stage, self._line, strict=True))
            if line is not None and where != line
        }
        return stage, outside | choices | numbers | moved

    def find_choices(self) -> set[int]:
        """What chooses of something large by a few indices that come after it."""
        level: list[int] = []
        for index, where in enumerate(self._line):
            before = (level[other] for other in self._table.operands[index])
            # What is made of an input comes after nothing, wherever it is read.
            is_anywhere = where is None or index in self._order.waiting
            level.append(max(before, default=0) if is_anywhere else where)
        free = [self._is_free(index) for index in range(len(self._items))]
        found = list(free)
        free_choices(self._flat, level, found)
        return {index for index, is_free in enumerate(found) if is_free > free[index]}

    def _place_backward(self, stage: list[int | None], outside: set[int]) -> None:
        """Places transposed operations, as the line does where that is possible."""
        items = self._items
        stage[:] = [
            None if item.transposes else where
            for item, where in zip(items, stage, strict=True)
        ]
        after = [
            not (item.transposes or self._is_early[i]) for i, item in enumerate(items)
        ]
        free = [self._is_free(index) for index in range(len(items))]
        of, line = stage.__getitem__, self._line.__getitem__
        Backward(
            self._flat, stage, of, of, after, free, self._settle, line, outside
        ).assign(len(self._cuts) + 1)

    def _settle(self, index: int, found: int) -> int:
        """The stage of a derivative in line, but not after that of what it reads."""
        where = self._line[index]
        if where is None:
            return found
        is_first = self._items[index].transposes % 2 and not is_recomputed(
            self._items[index]
        )
        return min(where, found) if is_first else where

    def _is_free(self, index: int) -> bool:
        """Whether an operation serves no stage, as far as the line tells."""
        is_known = self._line[index] is not None or index in self._unlined
        is_known |= self._is_early[index]
        return not (is_known or self._items[index].transposes)

    def _stage_at(self, where: int) -> int:
        return bisect.bisect_right(self._cuts, where)

    def _find_numbers(self, outside: Set[int]) -> set[int]:
        """Numbers that are made of what is outside, with what serves these alone."""

        def made(index: int) -> list[int]:
            return [r for r in self._table.readers[index] if self._serves[r]]

        return reach(outside, made) - outside

    def _positions_by_readers(self) -> list[int | None]:
        """Positions in line, but of what serves numbers where that is read first."""
        position, serves = list(self._order.position), self._serves
        for index in reversed(range(len(self._items))):
            if not self._is_early[index]:
                continue
            readers = [
                reader
                for reader in self._table.readers[index]
                if not self._items[reader].transposes
            ]
            serves[index] = all(map(is_number, self._items[index].eqn.outvars)) or (
                bool(readers) and all(serves[reader] for reader in readers)
            )
            if serves[index] or index in self._unlined:
                found = present(map(position.__getitem__, readers))
                position[index] = min(found, default=position[index])
        return position
