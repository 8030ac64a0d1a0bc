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
_MAX_ENTRIES = 4_000_000


def write_out(schedule: dict) -> dict:
    """A schedule of version 2 as version 1.

    Raises:
      ProgramError: it is not of the form of version 2, or has over 4 million items.
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
    values = [value_classes[_count(each["class"])] for each in schedule["inputs"]]
    items = []
    for entry, time in _entries(schedule["items"], "items"):
        item = dict(item_classes[_count(entry["class"])])
        made = range(len(values), len(values) + len(item["results"]))
        values += [value_classes[_count(index)] for index in item["results"]]
        operands = _list(entry["operands"], "operands", time)
        if item["kind"] == "transfer":
            del item["results"]
            (item["operand"],) = operands
            (item["result"],) = made
        else:
            item |= {"operands": operands, "results": list(made)}
        if "awaits" in entry:
            item["awaits"] = _list(entry["awaits"], "awaits", time)
        item["last_uses"] = _list(entry["last_uses"], "last_uses", time)
        items.append(item)
    rest = {key: value for key, value in schedule.items() if key != "classes"}
    return rest | {
        "version": 1,
        "meshes": [
            mesh | {"items": _list(mesh["items"], "items")}
            for mesh in schedule["meshes"]
        ],
        "values": values,
        "fragments": [
            fragment
            | {
                key: [slot_classes[_count(slot)] for slot in _list(fragment[key], key)]
                for key in ("arguments", "results")
            }
            for fragment in schedule["fragments"]
        ],
        "inputs": [_without_class(each) for each in schedule["inputs"]],
        "items": items,
        "issue_order": _list(schedule["issue_order"], "issue_order"),
    }


def _without_class(entry: dict) -> dict:
    return {key: value for key, value in entry.items() if key != "class"}


def _entries(entries: list, name: str) -> Iterator[tuple[Any, int]]:
    """The entries of a list with ranges, each with the time that it is."""
    left = _MAX_ENTRIES
    for entry in entries:
        is_range = isinstance(entry, dict) and "repeat" in entry
        count, of = (_count(entry["repeat"]), entry["of"]) if is_range else (1, [entry])
        if not of:
            raise ValueError(f"{name} has a range of nothing")
        left -= count * len(of)
        if left < 0:
            raise ValueError(f"{name} has more than {_MAX_ENTRIES} entries")
        for time in range(count):
            for each in of:
                yield each, time


def _list(numbers: list, name: str, time: int = 0) -> list[int]:
    """The numbers of a list with ranges. In an item of a range it has none, and `time`
    says which time of the item it is."""
    return [
        _number(number, time + its_time) for number, its_time in _entries(numbers, name)
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
