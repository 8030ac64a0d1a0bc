# SPDX-License-Identifier: Apache-2.0
"""What a program does, whichever form says it (docs/schedule-json.md).

A form with ranges (`schedule_ranges.py`) writes out only the items that are asked for.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from .schedule_form import check_form


def _part(name: str) -> property:
    return property(lambda schedule: schedule.form[name])


class Schedule:
    """A schedule of version 1, in which everything is written out.

    Attributes:
      form: the schedule as JSON has it.
      meshes, inputs, outputs, fragments: as version 1 has them, but for the items of
        meshes.
      text_digest: what identifies the text that it was read from, if there was one.
      constants: what identifies constants that are arguments, for processes to compare.
    """

    def __init__(self, form: Mapping[str, Any]):
        self.form = form
        self.constants: Sequence[str] = ()
        self.text_digest: str | None = None

    meshes, inputs, outputs, fragments = map(
        _part, ("meshes", "inputs", "outputs", "fragments")
    )

    @property
    def count(self) -> int:
        """How many items there are."""
        return len(self.form["items"])

    @functools.cached_property
    def order(self) -> np.ndarray:
        """Positions of all items, in the order of issue."""
        return np.array(self.form["issue_order"], np.int64)

    def check(self) -> None:
        """Raises ProgramError unless it has its form."""
        check_form(self.form)

    def item(self, index: int) -> dict:
        """An item, as version 1 has it."""
        return self.form["items"][index]

    def results(self, index: int) -> list[dict]:
        """The values that an item computes, as version 1 has them."""
        return [self.value(value) for value in results_of(self.item(index))]

    def value(self, index: int) -> dict:
        """A value, as version 1 has it."""
        return self.form["values"][index]

    def items(self) -> Iterator[dict]:
        """All items."""
        return iter(self.form["items"])

    def values(self) -> Iterator[dict]:
        """All values."""
        return iter(self.form["values"])

    def kinds(self) -> Iterator[tuple[dict, int]]:
        """What items have in common with others, and how many have it; in the order of
        the first of each. Operands, results and last uses are not among it."""
        return ((item, 1) for item in self.items())

    def find(self, wanted: Callable[[dict], bool]) -> np.ndarray:
        """Of each item, whether what it has in common with others is wanted."""
        return np.fromiter(map(wanted, self.items()), bool, self.count)

    def maker(self, value: int) -> int | None:
        """The position of the item that computes a value; None of an input."""
        return self._makers.get(value)

    @functools.cached_property
    def _makers(self) -> dict[int, int]:
        return {
            result: index
            for index, item in enumerate(self.items())
            for result in results_of(item)
        }

    def rest(self) -> dict[str, Any]:
        """All of version 1 but values and items."""
        found = {k: v for k, v in self.form.items() if k not in ("values", "items")}
        return found | self._compared()

    def written_out(self) -> dict[str, Any]:
        """The same as version 1."""
        return {**self.form, **self._compared()}

    def _compared(self) -> dict[str, Any]:
        return {"constants": list(self.constants)} if self.constants else {}

    def digest(self, has_locations: bool) -> str:
        """What identifies it, with the lines of the user's program or without."""
        if has_locations:
            return _digest([self.text_digest or self.form, self._compared()])
        unlocated = (
            {key: value for key, value in item.items() if key != "location"}
            for item in self.items()
        )
        return _digest(itertools.chain([self.rest()], self.values(), unlocated))


def results_of(item: Mapping[str, Any]) -> list[int]:
    """The values that an item computes."""
    return item["results"] if item["kind"] == "call" else [item["result"]]


def read_schedule(program: Mapping[str, Any] | Schedule) -> Schedule:
    """The schedule of a program, or a program of version 1.

    Raises:
      ProgramError: it does not have its form.
    """
    found = program if isinstance(program, Schedule) else Schedule(program)
    found.check()
    return found


def _digest(parts: Any) -> str:
    found = hashlib.sha256()
    for part in parts:
        found.update(json.dumps(part, sort_keys=True).encode())
    return found.hexdigest()[:16]
