# SPDX-License-Identifier: Apache-2.0
"""Which annotation a sharding comes from."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any


@dataclasses.dataclass(frozen=True)
class ShardingStep:
    """How an axis passes from one value to the next.

    Attributes:
      operation: the operation, or the edge of a body: `into argument 0 of …`.
      place: `file:line:column` in the user's source, or nothing.
      direction: such as `operand 0 to result 0`; nothing at edges.
    """

    operation: str
    place: str
    direction: str


@dataclasses.dataclass(frozen=True)
class AxisOrigin:
    """Which annotation gave an axis to a dimension of a value.

    Attributes:
      dimension: the dimension that the axis splits.
      axis: the axis, as MLIR writes it: `"x"`, or `"x":(1)2` for a part of one.
      written: it is written at the value itself.
      source: the value that is annotated.
      place: `file:line:column` of that, or nothing.
      steps: the way from there to the value.
    """

    dimension: int
    axis: str
    written: bool
    source: str
    place: str
    steps: tuple[ShardingStep, ...]


@dataclasses.dataclass(frozen=True)
class ExplainedValue:
    """A value of the program, and where its axes come from.

    Attributes:
      name: what it is, such as `result 0 of @main`.
      place: `file:line:column` in the user's source, or nothing.
      axes: an entry for each axis, by dimension; none if the value is not split.
    """

    name: str
    place: str
    axes: tuple[AxisOrigin, ...]


@dataclasses.dataclass(frozen=True)
class ShardingExplanation:
    """Values of the program, and where their axes come from; a text by `str`.

    Attributes:
      values: in the order of the program.
    """

    values: tuple[ExplainedValue, ...]
    _text: str = dataclasses.field(repr=False)

    def __str__(self) -> str:
        return self._text

    def __iter__(self) -> Iterator[ExplainedValue]:
        return iter(self.values)

    def __len__(self) -> int:
        return len(self.values)


# Asks the compiler about a value, or about all: JSON and text.
Ask = Callable[[str], tuple[str, str]]


def _place(place: Mapping[str, Any] | None) -> str:
    return f"{place['file']}:{place['line']}:{place['column']}" if place else ""


def _axis(axis: Mapping[str, Any]) -> AxisOrigin:
    steps = (
        ShardingStep(step["operation"], _place(step["place"]), step["direction"])
        for step in axis["steps"]
    )
    source = axis["source"]
    return AxisOrigin(
        axis["dimension"],
        axis["axis"],
        axis["written"],
        source["name"],
        _place(source["place"]),
        tuple(steps),
    )


def explain(value: str | None, ask: Ask) -> ShardingExplanation:
    """What `Lowered.explain_sharding` gives."""
    if value is not None and not isinstance(value, str):
        raise TypeError(f"value: expected a str or None, got {value!r}")
    found, text = ask(value or "")
    values = (
        ExplainedValue(
            entry["name"], _place(entry["place"]), tuple(map(_axis, entry["axes"]))
        )
        for entry in json.loads(found)
    )
    return ShardingExplanation(tuple(values), text)
