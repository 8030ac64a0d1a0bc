# SPDX-License-Identifier: Apache-2.0
"""Version 2 of schedule.json, in which what repeats is there once.

A process writes out the items that it issues (docs/schedule-json.md).
meshwright/Text/ScheduleRanges.h finds the ranges.
"""

from __future__ import annotations

import bisect
import contextlib
import functools
import hashlib
import itertools
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from ...core import collector
from .errors import ProgramError
from .schedule import Schedule
from .schedule_form import check_ranged_form

# As of those who write and draw schedules; a small file must not fill the memory.
_MAX_ITEMS, _MAX_NUMBERS = 4_000_000, 32_000_000


def write_out(schedule: dict) -> dict:
    """A schedule of version 2, from a file, as version 1.

    Raises:
      ProgramError: it is not of the form of version 2, or has more items or numbers
        than the documentation allows.
    """
    return RangedSchedule(schedule, is_limited=True).written_out()


def read_text(text: str) -> Schedule:
    """The schedule that the compiler gives for a program, of version 1 or 2."""
    with collector.paused():
        form = json.loads(text)
    found = RangedSchedule(form) if form["version"] == 2 else Schedule(form)
    found.text_digest = hashlib.sha256(text.encode()).hexdigest()
    return found


@contextlib.contextmanager
def _of_its_form() -> Iterator[None]:
    try:
        yield
    except (LookupError, TypeError, AttributeError, ValueError, OverflowError) as error:
        if isinstance(error, ProgramError):
            raise
        raise ProgramError(
            "schedule.json is not of the form of version 2: "
            f"{type(error).__name__}: {error}; partition again"
        ) from error


class RangedSchedule(Schedule):
    """A schedule of version 2. Its items are written out when they are asked for.

    Args:
      form: the schedule as JSON has it.
      is_limited: whether it may have no more items and numbers than files may.

    Raises:
      ProgramError: it is not of the form of version 2; where only an item is not, when
        that is asked for.
    """

    def __init__(self, form: Mapping[str, Any], is_limited: bool = False):
        super().__init__(form)
        self._ranges = _Ranges(_MAX_NUMBERS if is_limited else None)
        with _of_its_form():
            classes = form["classes"]
            self._value_classes: list[dict] = classes["values"]
            self._item_classes: list[dict] = classes["items"]
            self._input_classes = [
                self._value_classes[_count(entry["class"])] for entry in form["inputs"]
            ]
            self._read_fragments(classes["slots"])
            self._read_items(_MAX_ITEMS if is_limited else None)

    def _read_fragments(self, classes: list[dict]) -> None:
        def slots(numbers: list, name: str) -> list[dict]:
            found = self._ranges.numbers(numbers, name)
            return [classes[_count(number)] for number in found]

        self._fragments = [
            fragment
            | {key: slots(fragment[key], key) for key in ("arguments", "results")}
            for fragment in self.form["fragments"]
        ]

    def _read_items(self, limit: int | None) -> None:
        """Finds the first item of each entry, the class and the first value of each
        item, and how many values there are."""
        self._starts: list[int] = []
        classes, count = [np.array([], np.int32)], 0
        for is_range, entries in itertools.groupby(self.form["items"], _is_range):
            alone = []
            for entry in entries:
                times, of = _range_of(entry, "items") if is_range else (1, (entry,))
                self._starts.append(count)
                count += times * len(of)
                if limit is not None and count > limit:
                    raise ValueError(f"items has more than {limit} entries")
                numbers = [_count(each["class"]) for each in of]
                if is_range:
                    classes.append(np.tile(np.array(numbers, np.int32), times))
                else:
                    alone += numbers
            classes.append(np.array(alone, np.int32))
        self._class_of = np.concatenate(classes)
        # The values that items of each class compute.
        self._made = [
            [self._value_classes[_count(number)] for number in each["results"]]
            for each in self._item_classes
        ]
        made = np.array(list(map(len, self._made)), np.int64)
        firsts = np.cumsum(made[self._class_of]) + len(self._input_classes)
        self._firsts = np.concatenate([[len(self._input_classes)], firsts])

    def check(self) -> None:
        count = int(self._firsts[-1])
        check_ranged_form(self.form, self._fragments, count, self.count, self.order)

    @functools.cached_property
    def inputs(self) -> list[dict]:
        return [
            {key: value for key, value in entry.items() if key != "class"}
            for entry in self.form["inputs"]
        ]

    @property
    def fragments(self) -> list[dict]:
        return self._fragments

    @property
    def count(self) -> int:
        return len(self._class_of)

    @functools.cached_property
    def order(self) -> np.ndarray:
        with _of_its_form():
            return self._ranges.array(self.form["issue_order"], "issue_order")

    def item(self, index: int) -> dict:
        number = bisect.bisect_right(self._starts, index) - 1
        with _of_its_form():
            _, of = _range_of(self.form["items"][number], "items")
            time, position = divmod(index - self._starts[number], len(of))
            return self._write_out(index, of[position], time)

    def _write_out(self, index: int, entry: Mapping[str, Any], time: int) -> dict:
        """An item of an entry, at this time of its range."""
        item = dict(self._item_classes[entry["class"]])
        made = list(range(*self._firsts[index : index + 2].tolist()))
        self._ranges.take(len(made), "items")
        lists = {
            key: self._ranges.numbers(entry[key], key, time)
            for key in ("operands", "awaits", "last_uses")
            if key != "awaits" or key in entry
        }
        for key, values in lists.items():
            if values and not (min(values) >= 0 and max(values) < self._firsts[-1]):
                raise ValueError(f"{key} of item {index} has a number of no value")
        if item["kind"] == "transfer":
            del item["results"]
            (item["operand"],) = lists.pop("operands")
            (item["result"],) = made
            return item | lists
        return item | {"operands": lists.pop("operands"), "results": made} | lists

    def items(self) -> Iterator[dict]:
        index = 0
        for outer in self.form["items"]:
            with _of_its_form():
                times, of = _range_of(outer, "items")
            for time in range(times):
                for entry in of:
                    with _of_its_form():
                        item = self._write_out(index, entry, time)
                    yield item
                    index += 1

    def results(self, index: int) -> list[dict]:
        return self._made[self._class_of[index]]

    def value(self, index: int) -> dict:
        maker = self.maker(index)
        if maker is None:
            return self._input_classes[index]
        return self.results(maker)[index - self._firsts[maker]]

    def values(self) -> Iterator[dict]:
        yield from self._input_classes
        for number in self._class_of.tolist():
            yield from self._made[number]

    def kinds(self) -> Iterator[tuple[dict, int]]:
        counts = np.bincount(self._class_of, minlength=len(self._item_classes))
        first = np.full(len(counts), self.count)
        # Of equal positions the last assignment counts.
        first[self._class_of[::-1]] = np.arange(self.count)[::-1]
        for number in np.argsort(first).tolist():
            if counts[number]:
                yield self._item_classes[number], int(counts[number])

    def find(self, wanted: Callable[[dict], bool]) -> np.ndarray:
        found = np.fromiter(map(wanted, self._item_classes), bool)
        return found[self._class_of]

    def maker(self, value: int) -> int | None:
        if value < len(self._input_classes):
            return None
        return int(np.searchsorted(self._firsts, value, side="right")) - 1

    def rest(self) -> dict[str, Any]:
        with _of_its_form():
            meshes = [
                mesh | {"items": self._ranges.numbers(mesh["items"], "items")}
                for mesh in self.form["meshes"]
            ]
        return {k: v for k, v in super().rest().items() if k != "classes"} | {
            "version": 1,
            "meshes": meshes,
            "fragments": self.fragments,
            "inputs": self.inputs,
            "issue_order": self.order.tolist(),
        }

    def written_out(self) -> dict[str, Any]:
        values, items = list(self.values()), list(self.items())
        return self.rest() | {"values": values, "items": items}


class _Ranges:
    """Writes out lists with ranges, up to a number of entries in all, or any."""

    def __init__(self, limit: int | None):
        self._left = limit

    def take(self, count: int, name: str) -> None:
        if self._left is None:
            return
        self._left -= count
        if self._left < 0:
            raise ValueError(f"{name} has too many entries when ranges are written out")

    def numbers(self, numbers: list, name: str, time: int = 0) -> list[int]:
        """The numbers of a list. In an item of a range the list has no ranges, and
        `time` says which time of the item it is."""
        found: list[int] = []
        for entry in numbers:
            if type(entry) is int:
                found.append(entry)
            elif isinstance(entry, dict):
                times, of = _range_of(entry, name)
                self.take(times * len(of), name)
                for its_time in range(times):
                    found += [_number(number, its_time) for number in of]
            else:
                found.append(_number(entry, time))
        self.take(len(numbers), name)
        return found

    def array(self, numbers: list, name: str) -> np.ndarray:
        """The numbers of a list."""
        found = [np.array([], np.int64)]
        for is_range, entries in itertools.groupby(
            numbers, lambda entry: isinstance(entry, dict)
        ):
            if not is_range:
                found.append(np.array(self.numbers(list(entries), name), np.int64))
                continue
            for entry in entries:
                times, of = _range_of(entry, name)
                self.take(times * len(of), name)
                first = np.array([_number(number, 0) for number in of], np.int64)
                second = np.array([_number(number, 1) for number in of], np.int64)
                step = (second - first) * np.arange(times)[:, None]
                found.append((first + step).ravel())
        return np.concatenate(found)


def _is_range(entry: Any) -> bool:
    return isinstance(entry, dict) and "repeat" in entry


def _range_of(entry: Any, name: str) -> tuple[int, list]:
    """How often which entries are there in a row."""
    if not _is_range(entry):
        return 1, [entry]
    count, of = _count(entry["repeat"]), entry["of"]
    if not (count and of):
        raise ValueError(f"{name} has a range of nothing")
    return count, of


def _number(number: Any, time: int) -> int:
    """A number, or in a range the first one with its step."""
    if type(number) is int:
        return number
    first, step = number
    if type(first) is not int or type(step) is not int:
        raise TypeError(f"{number} is not [first, step]")
    return first + time * step


def _count(number: Any) -> int:
    if type(number) is not int or number < 0:
        raise TypeError(f"{number!r} is not a number of 0 or more")
    return number
