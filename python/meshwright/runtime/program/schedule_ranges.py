# SPDX-License-Identifier: Apache-2.0
"""Version 2 of schedule.json, in which what repeats is there once.

A process writes out the items that it issues (docs/schedule-json.md).
meshwright/Text/ScheduleRanges.h finds the ranges.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

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

    The file lists items and numbers values class by class, and has orders as lists of
    classes. Here all have the positions and numbers of version 1.

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
        self._lists: dict[int, _Lists] = {}
        with _of_its_form():
            classes = form["classes"]
            self._value_classes: list[dict] = classes["values"]
            self._item_classes: list[dict] = classes["items"]
            self._input_classes = [
                self._value_classes[_count(entry["class"])] for entry in form["inputs"]
            ]
            self._read_fragments(classes["slots"])
            self._read_order(_MAX_ITEMS if is_limited else None)
            self._number_values()

    def _read_fragments(self, classes: list[dict]) -> None:
        def slots(numbers: list, name: str) -> list[dict]:
            found = self._ranges.numbers(numbers, name)
            return [classes[_count(number)] for number in found]

        self._fragments = [
            fragment
            | {key: slots(fragment[key], key) for key in ("arguments", "results")}
            for fragment in self.form["fragments"]
        ]

    def _read_order(self, limit: int | None) -> None:
        """Finds the class of each item, and the items of each class."""
        counts = [
            sum(
                times * len(of)
                for times, of in (_range_of(entry, "items") for entry in entries)
            )
            for entries in self.form["items"]
        ]
        if limit is not None and sum(counts) > limit:
            raise ValueError(f"items has more than {limit} entries")
        self._class_of = self._classes(self.form["order"], "order")
        found = np.bincount(self._class_of, minlength=len(self._item_classes))
        if found.tolist() != counts:
            raise ValueError("order does not have the items of each class")
        # The items of one class after the other, and where those of each begin.
        self._members = np.argsort(self._class_of, kind="stable")
        self._begins = np.concatenate([[0], np.cumsum(found)])

    def _number_values(self) -> None:
        """Finds the first value of each item, here and in the file."""
        # The values that items of each class compute.
        self._made = [
            [self._value_classes[_count(number)] for number in each["results"]]
            for each in self._item_classes
        ]
        made = np.array(list(map(len, self._made)), np.int64)[self._class_of]
        inputs = [len(self._input_classes)]
        self._firsts = np.cumsum(np.concatenate([inputs, made]))
        listed = np.cumsum(np.concatenate([inputs, made[self._members]]))[:-1]
        # From each of these numbers of the file on, what is added to it.
        self._listed = np.concatenate([[0], listed])
        self._added = np.concatenate([[0], self._firsts[self._members] - listed])

    def _classes(self, numbers: list, name: str) -> np.ndarray:
        """A list of classes of items, written out."""
        found = self._ranges.array(numbers, name)
        if len(found) and not 0 <= found.min() <= found.max() < len(self._item_classes):
            raise ValueError(f"{name} has a class that does not exist")
        return found.astype(np.int32)

    def _positions(self, numbers: list, name: str) -> np.ndarray:
        """Where the items of a list of classes are, of each class from the first on."""
        classes = self._classes(numbers, name)
        counts = np.bincount(classes, minlength=len(self._item_classes))
        if (counts > np.diff(self._begins)).any():
            raise ValueError(f"{name} has a class more often than it has items")
        by_class = np.argsort(classes, kind="stable")
        skipped = self._begins[:-1] - (np.cumsum(counts) - counts)
        found = np.empty(len(classes), np.int64)
        found[by_class] = self._members[
            np.arange(len(classes)) + np.repeat(skipped, counts)
        ]
        return found

    def _values(self, numbers: np.ndarray, name: str) -> np.ndarray:
        """Values that have these numbers in the file."""
        count = self._firsts[-1]
        if len(numbers) and not 0 <= numbers.min() <= numbers.max() < count:
            raise ValueError(f"{name} has a value that does not exist")
        makers = np.searchsorted(self._listed, numbers, side="right") - 1
        return numbers + self._added[makers]

    def check(self) -> None:
        count = int(self._firsts[-1])
        check_ranged_form(self.form, self._fragments, count, self.count, self.order)

    @functools.cached_property
    def inputs(self) -> list[dict]:
        return [
            {key: value for key, value in entry.items() if key != "class"}
            for entry in self.form["inputs"]
        ]

    @functools.cached_property
    def outputs(self) -> list[dict]:
        outputs = self.form["outputs"]
        with _of_its_form():
            numbers = [_count(entry["value"]) for entry in outputs]
            values = self._values(np.array(numbers, np.int64), "outputs").tolist()
        return [
            entry | {"value": value}
            for entry, value in zip(outputs, values, strict=True)
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
            return self._positions(self.form["issue_order"], "issue_order")

    def item(self, index: int) -> dict:
        number = int(self._class_of[index])
        members = self._members[self._begins[number] : self._begins[number + 1]]
        with _of_its_form():
            return self._write_out(index, number, int(np.searchsorted(members, index)))

    def items(self) -> Iterator[dict]:
        before = [0] * len(self._item_classes)
        for index, number in enumerate(self._class_of.tolist()):
            with _of_its_form():
                item = self._write_out(index, number, before[number])
            yield item
            before[number] += 1

    def _write_out(self, index: int, number: int, before: int) -> dict:
        """An item of a class, with this many of the same class before it."""
        if number not in self._lists:
            self._lists[number] = self._write_out_lists(number)
        item = dict(self._item_classes[number])
        made = list(range(*self._firsts[index : index + 2].tolist()))
        self._ranges.take(len(made), "items")
        operands, awaits, last_uses = self._lists[number].get(before)
        if item["kind"] == "transfer":
            del item["results"]
            (item["operand"],), (item["result"],) = operands, made
        else:
            item |= {"operands": operands, "results": made}
            if awaits:
                item["awaits"] = awaits
        return item | {"last_uses": sorted(last_uses)}

    def _write_out_lists(self, number: int) -> _Lists:
        """The lists of all items of a class."""
        numbers, widths = [np.array([], np.int64)], [np.array([0])]
        for entry in self.form["items"][number]:
            times, of = _range_of(entry, "items")
            lists = [
                (each["operands"], each.get("awaits", []), each["last_uses"])
                for each in of
            ]
            found, width = self._ranges.repeated(itertools.chain(*lists), times)
            numbers.append(found)
            widths.append(width)
        found = self._values(np.concatenate(numbers), f"items[{number}]")
        return _Lists(found, np.cumsum(np.concatenate(widths)))

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
        counts = np.diff(self._begins)
        present = np.flatnonzero(counts)
        firsts = self._members[self._begins[present]]
        for number in present[np.argsort(firsts)].tolist():
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
                mesh | {"items": self._positions(mesh["items"], "items").tolist()}
                for mesh in self.form["meshes"]
            ]
        left = ("classes", "order")
        return {k: v for k, v in super().rest().items() if k not in left} | {
            "version": 1,
            "meshes": meshes,
            "fragments": self.fragments,
            "inputs": self.inputs,
            "outputs": self.outputs,
            "issue_order": self.order.tolist(),
        }

    def written_out(self) -> dict[str, Any]:
        values, items = list(self.values()), list(self.items())
        return self.rest() | {"values": values, "items": items}


class _Lists(NamedTuple):
    """What items of a class read: for each one the operands, what it awaits, and last
    uses."""

    numbers: np.ndarray
    ends: np.ndarray

    def get(self, place: int) -> list[list[int]]:
        ends = self.ends[3 * place : 3 * place + 4].tolist()
        return [
            self.numbers[begin:end].tolist() for begin, end in itertools.pairwise(ends)
        ]


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

    def repeated(
        self, lists: Iterable[list], times: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """The numbers of lists of entries that are there this many times in a row, and
        how many numbers each list has."""
        first, second, counts = [], [], []
        for numbers in lists:
            found = self.numbers(numbers, "items")
            first += found
            counts.append(len(found))
            if times > 1:
                second += self.numbers(numbers, "items", 1)
        self.take((times - 1) * len(first), "items")
        start = np.array(first, np.int64)
        if times == 1:
            return start, np.array(counts)
        step = np.array(second, np.int64) - start
        found = (start + step * np.arange(times)[:, None]).ravel()
        return found, np.tile(np.array(counts), times)

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
        raise ValueError(f"{name} has an empty range")
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
