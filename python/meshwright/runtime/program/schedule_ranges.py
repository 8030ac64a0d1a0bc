# SPDX-License-Identifier: Apache-2.0
"""Version 2 of schedule.json, in which what repeats is there once.

Its entries are written out as version 1 has them, which is what is planned from
(docs/schedule-json.md). meshwright/Text/ScheduleRanges.h finds the ranges.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .errors import ProgramError

# As of those who write and draw schedules; a small file must not fill the memory.
_MAX_ITEMS, _MAX_NUMBERS = 4_000_000, 32_000_000


def write_out(schedule: dict) -> dict:
    """A schedule of version 2 as version 1.

    Raises:
      ProgramError: it is not of the form of version 2, or has more items or numbers
        than the documentation allows.
    """
    try:
        return _write_out(schedule)
    except (KeyError, TypeError, IndexError, AttributeError, ValueError) as error:
        raise ProgramError(
            "schedule.json is not of the form of version 2: "
            f"{type(error).__name__}: {error}; partition again"
        ) from error


def _write_out(schedule: dict) -> dict:
    value_classes = schedule["classes"]["values"]
    slot_classes = schedule["classes"]["slots"]
    item_classes = schedule["classes"]["items"]
    ranges = _Ranges()
    values = [value_classes[_count(each["class"])] for each in schedule["inputs"]]
    items = []
    for entry, time in ranges.entries(schedule["items"], "items"):
        if len(items) == _MAX_ITEMS:
            raise ValueError(f"items has more than {_MAX_ITEMS} entries")
        item = dict(item_classes[_count(entry["class"])])
        made = range(len(values), len(values) + len(item["results"]))
        ranges.take(len(made), "items")
        values += [value_classes[_count(index)] for index in item["results"]]
        operands = ranges.numbers(entry["operands"], "operands", time)
        if item["kind"] == "transfer":
            del item["results"]
            (item["operand"],) = operands
            (item["result"],) = made
        else:
            item |= {"operands": operands, "results": list(made)}
        if "awaits" in entry:
            item["awaits"] = ranges.numbers(entry["awaits"], "awaits", time)
        item["last_uses"] = ranges.numbers(entry["last_uses"], "last_uses", time)
        items.append(item)

    def slots(classes: list, name: str) -> list[dict]:
        return [slot_classes[_count(slot)] for slot in ranges.numbers(classes, name)]

    rest = {key: value for key, value in schedule.items() if key != "classes"}
    return rest | {
        "version": 1,
        "meshes": [
            mesh | {"items": ranges.numbers(mesh["items"], "items")}
            for mesh in schedule["meshes"]
        ],
        "values": values,
        "fragments": [
            fragment
            | {key: slots(fragment[key], key) for key in ("arguments", "results")}
            for fragment in schedule["fragments"]
        ],
        "inputs": [_without_class(each) for each in schedule["inputs"]],
        "items": items,
        "issue_order": ranges.numbers(schedule["issue_order"], "issue_order"),
    }


def _without_class(entry: dict) -> dict:
    return {key: value for key, value in entry.items() if key != "class"}


class _Ranges:
    """Writes out lists with ranges, up to a number of entries in all."""

    def __init__(self):
        self._left = _MAX_NUMBERS

    def take(self, count: int, name: str) -> None:
        self._left -= count
        if self._left < 0:
            raise ValueError(f"{name} has too many entries when ranges are written out")

    def entries(self, entries: list, name: str) -> Iterator[tuple[Any, int]]:
        """The entries of a list, each with the time that it is."""
        for entry in entries:
            is_range = isinstance(entry, dict) and "repeat" in entry
            count, of = 1, [entry]
            if is_range:
                count, of = _count(entry["repeat"]), entry["of"]
            if not (count and of):
                raise ValueError(f"{name} has a range of nothing")
            self.take(count * len(of), name)
            for time in range(count):
                for each in of:
                    yield each, time

    def numbers(self, numbers: list, name: str, time: int = 0) -> list[int]:
        """The numbers of a list. In an item of a range the list has no ranges, and
        `time` says which time of the item it is."""
        return [
            _number(number, time + its_time)
            for number, its_time in self.entries(numbers, name)
        ]


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
