# SPDX-License-Identifier: Apache-2.0
"""What a program would take: the result of `Lowered.simulate`."""

from __future__ import annotations

import json
import logging
import operator
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..aot.names import device_name
from ..compiler.native import extension
from ..core import collector
from ..core.files import whole_file
from ..runtime.watch.profile import Recording
from ..tracing.arguments import several
from .compiled import Compiled

_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class SimulatedMesh:
    """What one mesh does.

    Attributes:
      busy_s: seconds in which it runs fragments.
      bubble: the part of the makespan in which it does not.
      peak_bytes: most bytes on each of its devices at one time.
      peak_s: when that is, in seconds.
      peak: what it holds then: pairs of a text and bytes, the largest first.
      memory: pairs of seconds and the bytes that it holds from then on.
    """

    busy_s: float
    bubble: float
    peak_bytes: int
    peak_s: float
    peak: tuple[tuple[str, int], ...]
    memory: tuple[tuple[float, int], ...]


@dataclass(frozen=True)
class SimulatedEdge:
    """All transfers from one mesh to another.

    Attributes:
      source, target: names of the meshes.
      bytes: of all of them, all devices together.
      transfers: how many there are.
      busy_s: seconds in which the links are busy with them.
      slack_s: the smallest slack of them, in seconds.
    """

    source: str
    target: str
    bytes: int
    transfers: int
    busy_s: float
    slack_s: float


@dataclass(frozen=True)
class SimulatedCollectives:
    """Collectives of one kind inside the fragments of one mesh.

    Attributes:
      mesh: its name.
      axes: names of the axes along which devices exchange, or `listed`.
      kind: `all_reduce`, `all_gather`, `reduce_scatter`, `all_to_all`, `permute`.
      count: how many run.
      bytes: of the arrays that the participants hold together.
      busy_s: seconds that they take; a part of the fragments' times.
    """

    mesh: str
    axes: str
    kind: str
    count: int
    bytes: int
    busy_s: float


@dataclass(frozen=True)
class SimulatedStep:
    """One step of the critical path.

    Attributes:
      item: position among the items.
      mesh: where it runs; of a transfer, where the value goes.
      kind: `forward`, `backward`, `weight`, `overlapped` for two of them as one
        program, `optimizer`, `transfer`, `collective` or `other`.
      name: of the fragment, or `source -> target`.
      microbatch: None if it belongs to none.
      start_s, end_s: seconds since the step began.
    """

    item: int
    mesh: str
    kind: str
    name: str
    microbatch: int | None
    start_s: float
    end_s: float


@dataclass(frozen=True)
class SimulatedItem:
    """A run of a fragment or a transfer; attributes as of `SimulatedStep`, and

    Attributes:
      source: where the value of a transfer comes from, else the mesh.
      origins: named computations that the fragment came from.
      stage: None if it belongs to none.
      bytes: of a transfer, all devices together.
      temporary_bytes: of a fragment, what each device holds while it runs, beside
        operands and results.
      slack_s: by how many seconds it could be later without a longer step.
      waits_for: positions of the items that it waits for, the last one first.
    """

    mesh: str
    kind: str
    name: str
    microbatch: int | None
    start_s: float
    end_s: float
    source: str
    origins: tuple[str, ...]
    stage: int | None
    bytes: int
    temporary_bytes: int
    slack_s: float
    waits_for: tuple[int, ...]


@dataclass(frozen=True)
class Simulation:
    """When everything of a program would run, and what it would take.

    Printed, it is the table of `meshwright simulate`.

    Attributes:
      makespan_s: seconds of a step.
      bubble: the idle part of it, all meshes together.
      utilization: FLOPs, as a part of what all devices could have done; None if the
        device's figures do not say.
      meshes: by name.
      edges: transfers, by source and target.
      collectives: by mesh, axes and kind.
      critical_path: items each of which starts when the one before has ended.
      items: in the order of the program.
      notes: what had to be guessed.
    """

    makespan_s: float
    bubble: float
    utilization: float | None
    meshes: Mapping[str, SimulatedMesh]
    edges: tuple[SimulatedEdge, ...]
    collectives: tuple[SimulatedCollectives, ...]
    critical_path: tuple[SimulatedStep, ...]
    items: tuple[SimulatedItem, ...]
    notes: tuple[str, ...]
    _text: str
    _table: str

    def to_json(self) -> dict[str, Any]:
        """The same as `meshwright simulate --json --items` prints."""
        return json.loads(self._text)

    def as_text(self) -> str:
        """`to_json` as a text, to be written into a file."""
        return self._text

    def __str__(self) -> str:
        return self._table


def _mesh(entry: Mapping[str, Any]) -> SimulatedMesh:
    peak = tuple((share["what"], share["bytes"]) for share in entry["peak"])
    memory = tuple((time, size) for time, size in entry["memory"])
    return SimulatedMesh(**(entry | {"peak": peak, "memory": memory}))


def _item(entry: Mapping[str, Any]) -> SimulatedItem:
    lists = {key: tuple(entry[key]) for key in ("origins", "waits_for")}
    return SimulatedItem(**(entry | lists))


def _text_of(given: Any, kind: type, facts_of: Callable[[Any], Any]) -> str:
    """JSON of an object, or of a file; empty without either."""
    if given is None:
        return ""
    if isinstance(given, kind):
        return json.dumps(facts_of(given))
    path = os.path.expanduser(given) if kind is Compiled else given
    if kind is Compiled and os.path.isdir(path):
        path = os.path.join(path, "compiled.json")
    with open(path, encoding="utf-8") as file:
        return file.read()


def device_of(compiled: Compiled) -> str:
    """What the cost model calls the devices of a compiled program."""
    program = compiled.mpmd_executable.runtime_executable()
    kinds = {mesh.devices[0].device_kind for mesh in program.meshes.values()}
    names = {device_name(mesh.devices[0]) for mesh in program.meshes.values()}
    if len(names) != 1 or None in names:
        listed = ", ".join(sorted(map(repr, kinds)))
        raise ValueError(
            f"the program was compiled for devices of kind {listed}; say which the "
            "cost model takes, simulate(device, compiled=compiled)"
        )
    return names.pop()


def simulate(
    made: Any,
    device: str | os.PathLike,
    profile: str | os.PathLike | Recording | None,
    costs: Sequence[str],
    processes: int,
    compiled: str | os.PathLike | Compiled | None = None,
    overlap: str = "pairs",
) -> Simulation:
    """Simulates what the compiler made of a module; see `Lowered.simulate`."""
    if overlap not in ("pairs", "none"):
        raise ValueError(f"overlap is {overlap!r}; expected 'pairs' or 'none'")
    text, table, notes = extension().simulate(
        made,
        os.fspath(device),
        _text_of(profile, Recording, Recording.to_profile),
        several("simulate", "costs", costs),
        processes,
        _text_of(compiled, Compiled, operator.attrgetter("figures")),
        overlap == "pairs",
    )
    for note in notes:
        _logger.warning(note)
    with collector.paused():
        found = json.loads(text)
        return Simulation(
            makespan_s=found["makespan_s"],
            bubble=found["bubble"],
            utilization=found["utilization"],
            meshes={name: _mesh(mesh) for name, mesh in found["meshes"].items()},
            edges=tuple(SimulatedEdge(**edge) for edge in found["edges"]),
            collectives=tuple(
                SimulatedCollectives(**entry) for entry in found["collectives"]
            ),
            critical_path=tuple(
                SimulatedStep(**step) for step in found["critical_path"]
            ),
            items=tuple(_item(item) for item in found["items"]),
            notes=tuple(notes),
            _text=text,
            _table=table,
        )


def draw(
    text: str,
    path: str | os.PathLike,
    format: str | None,
    title: str | None,
    recorded: str | os.PathLike | Recording | None,
) -> None:
    """Draws what a simulation or a program says as JSON; see `Lowered.draw`."""
    path = os.fspath(path)
    recording = _text_of(recorded, Recording, Recording.to_json)
    contents = extension().draw(
        text, format or "", path, title or os.path.basename(path), recording
    )
    with whole_file(path, "wb") as file:
        file.write(contents)
