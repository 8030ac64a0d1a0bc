# SPDX-License-Identifier: Apache-2.0
"""What a step sends: in the collectives of its fragments, and between meshes.

Collectives are read off the code that XLA made, so what it merged, moved or found
needless counts as it runs. A collective counts as often as its fragment is called,
and as often as a loop around it turns, where the loop's code says how often.

The code for TPUs has a collective that overlaps with others in three parts, the start,
the body and the end of a fusion, each of which names all of it; they have one channel.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...core.tables import aligned
from ..program.schedule import Schedule
from .trip_counts import TripCounts


class Collective(NamedTuple):
    """Collectives of one kind over the same axes of a mesh, in one step.

    Attributes:
      kind: as HLO calls it, such as `all-reduce`.
      axes: axes of the mesh whose devices talk to each other; empty if they are no
        axes of it.
      count: how many run in a step.
      bytes: what each device hands over and gets in them, whichever is more, in
        bytes; the links carry about twice as much for an `all-reduce`.
    """

    kind: str
    axes: tuple[str, ...]
    count: int
    bytes: int


class Edge(NamedTuple):
    """Transfers from one mesh to another, in one step.

    Attributes:
      source, target: the names of the meshes.
      count: how many run in a step.
      bytes: of the whole arrays, in bytes.
    """

    source: str
    target: str
    count: int
    bytes: int


class Traffic(NamedTuple):
    """What one step sends.

    Attributes:
      collectives: by mesh name, the largest first.
      edges: between meshes, in the order of the program.
    """

    collectives: Mapping[str, tuple[Collective, ...]]
    edges: tuple[Edge, ...]

    def as_json(self) -> dict[str, Any]:
        """The same as dicts and lists."""
        return {
            "collectives": {
                mesh: [found._asdict() for found in all_of_it]
                for mesh, all_of_it in self.collectives.items()
            },
            "edges": [edge._asdict() for edge in self.edges],
        }

    def __str__(self) -> str:
        """A table with a row for each, meshes before edges."""
        rows: list[tuple] = [("where", "what", "axes", "count", "bytes")]
        for mesh, all_of_it in self.collectives.items():
            for found in all_of_it:
                axes = ", ".join(found.axes) or "-"
                rows.append((mesh, found.kind, axes, found.count, found.bytes))
        for edge in self.edges:
            where = f"{edge.source} -> {edge.target}"
            rows.append((where, "transfer", "-", edge.count, edge.bytes))
        texts = [
            [cell if isinstance(cell, str) else f"{cell:,}" for cell in row]
            for row in rows
        ]
        return aligned(texts, "<<<>>")


_KINDS = "all-reduce|all-gather|reduce-scatter|all-to-all|collective-permute"
_COLLECTIVE = re.compile(rf"= (?P<result>.+?) (?P<kind>{_KINDS})(?:-start)?\(")
_OPERANDS = re.compile(r"%[\w.\-]+")
_NAMED = re.compile(r"^\s*(?:ROOT )?(%[\w.\-]+) = (.+?) [\w\-]+\(")
_HEAD = re.compile(r"^(ENTRY )?(%[\w.\-]+) \(.*\{$")
_SHAPE = re.compile(r"\b([a-z]+\d*\w*)\[([\d,]*)\]")
_CALLED = re.compile(
    r"\b(?:calls|to_apply|body|condition|true_computation|false_computation|"
    r"branch_computations|called_computations)=(\{[^}]*\}|%[\w.\-]+)"
)
_TRIPS = re.compile(r'"known_trip_count":\{"n":"(\d+)"\}')
_CHANNEL = re.compile(r"channel_id=(\d+)")


def _bits(dtype: str) -> int:
    if dtype == "pred":
        return 8
    found = re.match(r"[a-z]+(\d+)", dtype)
    return int(found[1]) if found else 0


def _bytes(shapes: str) -> int:
    return sum(
        math.ceil(math.prod(map(int, filter(None, dims.split(",")))) * _bits(dtype) / 8)
        for dtype, dims in _SHAPE.findall(shapes)
    )


_ORDER = r"\[([\d,]+)\](?:T\(([\d,]+)\))?"


def _numbers(text: str | None) -> list[int]:
    return [int(number) for number in (text or "").split(",") if number]


def _devices(dims: str, order: str | None) -> np.ndarray:
    devices = np.arange(math.prod(_numbers(dims))).reshape(_numbers(dims))
    return devices.transpose(_numbers(order)) if order else devices


def _groups(line: str) -> list[list[int]] | None:
    """The devices that talk to each other; for a permutation, its pairs."""
    found = re.search(r"(?:replica_groups|source_target_pairs)=(\{\{.*?\}\})", line)
    if found:
        groups = re.findall(r"\{([\d,]+)\}", found[1])
        return [list(map(int, group.split(","))) for group in groups]
    # [groups, size]<=[dims]T(order): device numbers, reshaped and transposed.
    found = re.search(rf"replica_groups=\[([\d,]+)\]<={_ORDER}", line)
    if found:
        return _devices(found[2], found[3]).reshape(_numbers(found[1])).tolist()
    # mesh['a'=2,'b'=4], device_ids=([dims]T(order)) {'a'}: along axes of a mesh.
    found = re.search(
        rf"replica_groups=mesh\[(.*?)\](?:, device_ids=\({_ORDER}\))? \{{(.*?)\}}", line
    )
    if not found:
        return None
    sizes = dict(re.findall(r"'([^']+)'=(\d+)", found[1]))
    shape = [int(size) for size in sizes.values()]
    devices = _devices(found[2] or str(math.prod(shape)), found[3]).reshape(shape)
    along = [list(sizes).index(name) for name in re.findall(r"'([^']+)'", found[4])]
    front = np.moveaxis(devices, along, range(-len(along), 0))
    return front.reshape(-1, math.prod(shape[index] for index in along)).tolist()


def _axes(
    groups: Sequence[Sequence[int]] | None, mesh: Mapping[str, int]
) -> tuple[str, ...]:
    """The axes along which the devices of a group differ."""
    if not groups:
        return tuple(name for name, size in mesh.items() if size > 1)
    places = np.array(
        np.unravel_index(np.arange(math.prod(mesh.values())), tuple(mesh.values()))
    ).T
    found = set()
    for group in groups:
        if max(group) >= len(places):
            return ()
        coordinates = places[list(group)]
        found |= set(np.flatnonzero((coordinates != coordinates[0]).any(axis=0)))
    return tuple(name for index, name in enumerate(mesh) if index in found)


class Module:
    """The computations of one HLO module."""

    def __init__(self, text: str):
        self.lines: dict[str, list[str]] = {}
        self.entry = ""
        # Which computation has a channel first: its other parts are not counted.
        self._channels: dict[tuple[str, str], str] = {}
        name = ""
        for line in text.splitlines():
            head = _HEAD.match(line)
            if head:
                name = head[2]
                self.lines[name] = []
                self.entry = name if head[1] else self.entry
            elif name:
                self.lines[name].append(line)
        self._trips = TripCounts(self.lines)

    def collectives(self) -> Iterator[tuple[str, int, int, Any]]:
        """Kind, bytes, how often it runs, and who talks to whom."""
        yield from self._of(self.entry, 1)

    def _of(self, name: str, times: int) -> Iterator[tuple[str, int, int, Any]]:
        lines = self.lines.get(name, [])
        types = {found[1]: found[2] for found in map(_NAMED.match, lines) if found}
        for line in lines:
            found = _COLLECTIVE.search(line)
            if found:
                if self._is_other_part(name, found["kind"], line):
                    continue
                operands = line[found.end() :].split(")")[0]
                given = sum(
                    _bytes(types.get(operand, ""))
                    for operand in _OPERANDS.findall(operands)
                )
                # The start of an asynchronous one has its operands in its result.
                result = _bytes(found["result"])
                if "-start(" in line and result > given:
                    result -= given
                yield found["kind"], max(given, result), times, _groups(line)
                continue
            turns = self.turns(name, line) if " while(" in line else 1
            for inner in self.called(line):
                yield from self._of(inner, times * turns)

    def called(self, line: str) -> list[str]:
        """The computations that a line calls."""
        return [n for c in _CALLED.findall(line) for n in _OPERANDS.findall(c)]

    def _is_other_part(self, name: str, kind: str, line: str) -> bool:
        channel = _CHANNEL.search(line)
        if channel is None or name == self.entry or "-start(" in line:
            return False
        return self._channels.setdefault((channel[1], kind), name) != name

    def turns(self, name: str, line: str) -> int:
        """How often the loop of a line of a computation turns; 1 if unknown."""
        found = _TRIPS.search(line)
        return int(found[1]) if found else self._trips.of(name, line) or 1


def measure_traffic(schedule: Schedule, texts: Mapping[str, str]) -> Traffic:
    """Counts what a program sends.

    Args:
      texts: optimized HLO by the names of fragments.
    """
    meshes = {
        mesh["name"]: {axis: int(size) for axis, size in mesh["axes"]}
        for mesh in schedule.meshes
    }
    totals: dict[str, dict[tuple, list[int]]] = {name: {} for name in meshes}
    for fragment in schedule.fragments:
        name, mesh = fragment["name"], fragment["mesh"]
        if name not in texts:
            continue
        for kind, size, times, groups in Module(texts[name]).collectives():
            key = (kind, _axes(groups, meshes[mesh]))
            total = totals[mesh].setdefault(key, [0, 0])
            total[0] += times * fragment["calls"]
            total[1] += times * fragment["calls"] * size
    edges: dict[tuple[str, str], list[int]] = {}
    for item, count in schedule.kinds():
        if item["kind"] == "transfer":
            total = edges.setdefault((item["from"], item["to"]), [0, 0])
            total[0] += count
            total[1] += count * item["bytes"]
    return Traffic(
        {
            mesh: tuple(
                Collective(*key, *total)
                for key, total in sorted(found.items(), key=lambda entry: -entry[1][1])
            )
            for mesh, found in totals.items()
        },
        tuple(Edge(*key, *total) for key, total in edges.items()),
    )
