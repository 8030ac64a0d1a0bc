# SPDX-License-Identifier: Apache-2.0
"""Which marks of a body are passed together, where a model is applied several times.

Two losses in a step, two views of a batch and a step of sharpness-aware minimization
apply the function with the marks more than once. Applications that do not depend on
each other are one round: what lies before their first marks is stage 0 of all of them,
and so on, with one computation for each stage. An application that reads what another
one gives is in a later round.

  loss(a) + loss(b)            marks a0 a1 b0 b1    one round, cut at {a0, b0}, {a1, b1}
  loss(w - grad(loss)(w))      marks a0 a1 b0 b1    two rounds of two cuts each

An application ends where a mark occurs again that was not passed before: in a loop
over layers each mark reads what the one before passes on. Each trip of a loop of
`jax.lax`, and each branch, has applications of its own.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from ..tracing.scopes import source
from .flatten import Flat, Item


class Round(NamedTuple):
    """Applications that are computed together.

    Attributes:
      indices: the operations, in an order in which each stage is in one piece.
      cuts: positions in `indices` of the marks at each border, one of each application.
    """

    indices: list[int]
    cuts: list[list[int]]


@dataclasses.dataclass
class _Application:
    marks: list[int]
    bits: int
    round: int = 0


def marks_before(
    flat: Flat, bits: Mapping[int, int], counts: Callable[[Item], bool]
) -> list[int]:
    """The bits of the marks that each operation comes after.

    Args:
      bits: of each mark.
      counts: whether an operation passes on what its operands come after.
    """
    before = [0] * len(flat.items)
    for index, (item, operands) in enumerate(
        zip(flat.items, flat.table.operands, strict=True)
    ):
        for other in operands if counts(item) else ():
            before[index] |= before[other] | bits.get(other, 0)
    return before


def group_marks(
    items: Sequence[Item],
    marks: Sequence[int],
    bits: Mapping[int, int],
    passed: Sequence[int],
) -> list[list[int]]:
    """The marks of each application of a function.

    A mark that occurs again and does not depend on the one before, or is in another
    trip of a loop, is of another application.
    """
    found: list[list[int]] = []
    # Of each application, the bits of its marks by their places.
    bits_at: list[dict[str, int]] = []
    for mark in marks:
        place, scope = source(items[mark].eqn), items[mark].scope
        for group, known in zip(found, bits_at, strict=True):
            same = known.get(place, 0)
            if items[group[0]].scope == scope and passed[mark] & same == same:
                group.append(mark)
                known[place] = same | bits[mark]
                break
        else:
            found.append([mark])
            bits_at.append({place: bits[mark]})
    return found


def find_rounds(
    flat: Flat, marks: Sequence[int], is_backward: Callable[[Item], bool]
) -> list[Round]:
    """Divides a body into rounds.

    Args:
      marks: the model's own marks.
      is_backward: whether an operation is of the gradient of all.

    Raises:
      ValueError: applications of different numbers of stages in one round.
    """
    whole = list(range(len(flat.items)))
    if not _repeats(flat, marks):
        return [Round(whole, [[mark] for mark in marks])]
    return _Rounds(flat, marks, is_backward).find()


def _repeats(flat: Flat, marks: Sequence[int]) -> bool:
    places = [source(flat.items[mark].eqn) for mark in marks]
    scopes = {flat.items[mark].scope for mark in marks}
    return len(set(places)) < len(places) or len(scopes) > 1


class _Rounds:
    def __init__(
        self, flat: Flat, marks: Sequence[int], is_backward: Callable[[Item], bool]
    ):
        self._items, self._table = flat.items, flat.table
        self._bits = {mark: 1 << number for number, mark in enumerate(marks)}
        # The marks that each operation comes after, in any way.
        self._before = marks_before(flat, self._bits, lambda item: True)
        forward = marks_before(flat, self._bits, lambda item: not is_backward(item))
        groups = group_marks(flat.items, marks, self._bits, forward)
        self._applications = self._in_rounds(groups)

    def _in_rounds(self, groups: Sequence[list[int]]) -> list[_Application]:
        found = [
            _Application(marks, sum(map(self._bits.get, marks))) for marks in groups
        ]
        for application in found:
            before = [
                other.round + 1
                for other in found
                if other is not application
                and any(self._before[mark] & other.bits for mark in application.marks)
            ]
            application.round = max(before, default=0)
        return found

    def find(self) -> list[Round]:
        count = 1 + max(each.round for each in self._applications)
        number = self._round_of_each(count)
        found = []
        for at in range(count):
            members = [each for each in self._applications if each.round == at]
            self._check(members)
            indices = [i for i, own in enumerate(number) if own == at]
            if len(members) > 1:
                indices = self._in_order(indices, members)
            places = {index: place for place, index in enumerate(indices)}
            borders = zip(*(each.marks for each in members), strict=True)
            found.append(Round(indices, [[places[m] for m in cut] for cut in borders]))
        return found

    def _check(self, members: Sequence[_Application]) -> None:
        counts = {len(each.marks) for each in members}
        if len(counts) > 1:
            first = members[0].marks[0]
            raise ValueError(
                f"{source(self._items[first].eqn)}: stage_boundary: the function with "
                "this mark is applied more than once in a step, with "
                f"{' and '.join(str(n) for n in sorted(counts))} marks; put as many "
                "into each application, or make each a call of its own, "
                "mw.call(f, call_counter=i)(...) with i = 0, 1, ..., where f takes the "
                "gradient, too"
            )

    def _round_of_each(self, count: int) -> list[int]:
        """The last round before each operation, or the first that reads it."""
        own = [
            max(
                (
                    each.round
                    for each in self._applications
                    if (self._before[index] | self._bits.get(index, 0)) & each.bits
                ),
                default=None,
            )
            for index in range(len(self._items))
        ]
        for index in reversed(range(len(own))):
            if own[index] is None:
                found = [own[reader] for reader in self._table.readers[index]]
                own[index] = min(found, default=count - 1)
        return own

    def _in_order(
        self, indices: Sequence[int], members: Sequence[_Application]
    ) -> list[int]:
        """Forward operations stage by stage, and those of gradients after them."""
        late: dict[int, bool] = {}
        segment: dict[int, int] = {}
        for index in indices:
            inside = [o for o in self._table.operands[index] if o in late]
            late[index] = bool(self._items[index].transposes) or any(
                late[o] for o in inside
            )
            passed = [each for each in members if self._before[index] & each.bits]
            if index in self._bits:
                own = next(e for e in members if self._bits[index] & e.bits)
                segment[index] = own.marks.index(index)
            elif passed:
                segment[index] = max(
                    sum(mark < index for mark in each.marks) for each in passed
                )
        # What no mark comes before is needed where it is read first.
        for index in reversed(indices):
            if index not in segment:
                found = [
                    segment[reader]
                    for reader in self._table.readers[index]
                    if reader in segment and not late[reader]
                ]
                segment[index] = min(found, default=0)
        for index in indices:
            inside = [segment[o] for o in self._table.operands[index] if o in segment]
            if index not in self._bits:
                segment[index] = max([segment[index], *inside])
        return sorted(
            indices, key=lambda i: (late[i], late[i] or segment[i], i in self._bits, i)
        )
