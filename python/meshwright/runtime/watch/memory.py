# SPDX-License-Identifier: Apache-2.0
"""An account of the bytes that a program's arrays occupy on each mesh.

It follows the order of issue: a launch adds its results, except those that take
over a donated operand's buffer, and an array leaves when its last reader has been
issued. Everything is known before the first run. Temporaries inside fragments
are XLA's; they are added from what XLA says about each executable.
"""

from __future__ import annotations

import collections
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from ..program.loaded import Loaded
from ..program.plan import Plan
from ..program.steps import FirstShard, Launch, Step


@dataclass
class MeshMemory:
    """Bytes on each device of one mesh (of the busiest, where they differ).

    Only what is on the mesh: where meshes share devices, what both have is on them
    at once (`Account.shared_peaks`). Of a mesh on devices of other processes, only
    `devices`, `argument_bytes` and `output_bytes` are known, and the rest is 0.

    Attributes:
      devices: how many devices the mesh has.
      argument_bytes: program inputs.
      output_bytes: program results, those that take over an input included.
      live_bytes: the peak of arrays alive at once; the schedule decides it.
      temporary_bytes: the most that one fragment needs while it runs.
      peak_bytes: the peak of arrays and temporaries together.
      code_bytes: generated code.
      host_live_bytes: the peak of arrays in a memory other than the devices' own.
    """

    devices: int
    argument_bytes: int = 0
    output_bytes: int = 0
    live_bytes: int = 0
    temporary_bytes: int = 0
    peak_bytes: int = 0
    code_bytes: int = 0
    host_live_bytes: int = 0


@dataclass
class Account:
    """Live bytes per device by (mesh, in the devices' own memory?)."""

    now: collections.Counter = field(default_factory=collections.Counter)
    #: The bytes of each mesh's devices before the first step, and after each step of
    #: the meshes that it changes.
    changes: list[dict[str, int]] = field(default_factory=list)
    meshes: dict[str, MeshMemory] = field(default_factory=dict)
    #: Meshes that share a device, and the peak there of all of them together.
    shared_peaks: dict[frozenset[str], int] = field(default_factory=dict)
    #: Slots of views whose array is alive, and counted, itself.
    shared: set[int] = field(default_factory=set)
    #: The position of the step in which each mesh holds most; -1 before the first.
    peak_steps: dict[str, int] = field(default_factory=dict)

    @property
    def history(self) -> list[dict[str, int]]:
        """After each step, in order of issue, the bytes of each mesh's devices."""
        found: list[dict[str, int]] = []
        now: dict[str, int] = {}
        for change in self.changes:
            now = {name: size for name, size in (now | change).items() if size}
            found.append(now)
        return found[1:]

    def note(self, names: Iterable[str]) -> None:
        """What the devices of these meshes hold from now on."""
        self.changes.append({name: self.now[name, True] for name in names})


def keep_account(plan: Plan, meshes: dict, loaded: list[Loaded]) -> Account:
    """Goes through a plan as the issuing thread will."""
    account = Account()
    for name, mesh in meshes.items():
        account.meshes[name] = MeshMemory(len(mesh.devices))
        for device in mesh.devices if mesh.sharing else ():
            users = frozenset(n for n, m in meshes.items() if device in m.devices)
            account.shared_peaks[users] = 0
    for slot, place in enumerate(plan.inputs):
        account.now[_key(place)] += plan.bytes_of(slot)
        account.meshes[place.mesh.name].argument_bytes += plan.bytes_of(slot)
    account.note(meshes)
    _note_peaks(account, -1, {}, meshes)
    for position, step in enumerate(plan.steps):
        _follow(account, plan, position, step, loaded)
    for place, slot in zip(plan.outputs, plan.output_slots, strict=True):
        account.meshes[place.mesh.name].output_bytes += plan.bytes_of(slot)
    for source, target in zip(plan.sources, loaded, strict=True):
        stats = target.memory_stats() if target else None
        if stats is not None:
            mesh = account.meshes[source.mesh.name]
            mesh.code_bytes += stats.generated_code_size_in_bytes
    for name, mesh in meshes.items():
        if not mesh.is_here:  # The plan has no steps of it.
            known = account.meshes[name]
            account.meshes[name] = MeshMemory(
                known.devices, known.argument_bytes, known.output_bytes
            )
    account.shared_peaks = {
        users: peak
        for users, peak in account.shared_peaks.items()
        if all(meshes[name].is_here for name in users)
    }
    return account


def _follow(
    account: Account, plan: Plan, position: int, step: Step, loaded: list[Loaded]
) -> None:
    now = account.now
    if isinstance(step, FirstShard) and step.reads[0] not in step.drops:
        account.shared |= set(step.writes)
    touched: dict[str, None] = {}
    for slot in step.writes:
        key = _key(plan.slots[slot])
        now[key] += _bytes(account, plan, slot)
        touched[key[0]] = None
    if not isinstance(step, FirstShard):  # Which only looks at what is there.
        temporary: dict[str, int] = {}
        stats = None
        if isinstance(step, Launch) and step.places:
            stats = loaded[step.source].memory_stats()
        if stats is not None:
            key = _key(step.places[0])
            now[key] -= stats.alias_size_in_bytes
            temporary[key[0]] = stats.temp_size_in_bytes
        _note_peaks(account, position, temporary, touched)
        if stats is not None:
            now[key] += stats.alias_size_in_bytes
    for slot in step.drops:
        key = _key(plan.slots[slot])
        now[key] -= _bytes(account, plan, slot)
        touched[key[0]] = None
    account.note(touched)


def _bytes(account: Account, plan: Plan, slot: int) -> int:
    return 0 if slot in account.shared else plan.bytes_of(slot)


def _note_peaks(
    account: Account, position: int, temporary: dict[str, int], names: Collection[str]
) -> None:
    """Compares what meshes hold now with their peaks.

    Args:
      names: of the meshes that hold something else than before.
    """
    for name in names:
        mesh = account.meshes[name]
        live, extra = account.now[name, True], temporary.get(name, 0)
        mesh.live_bytes = max(mesh.live_bytes, live)
        mesh.temporary_bytes = max(mesh.temporary_bytes, extra)
        if live + extra > mesh.peak_bytes or name not in account.peak_steps:
            account.peak_steps[name] = position
        mesh.peak_bytes = max(mesh.peak_bytes, live + extra)
        mesh.host_live_bytes = max(mesh.host_live_bytes, account.now[name, False])
    for users, peak in account.shared_peaks.items():
        if users.isdisjoint(names):
            continue
        live = sum(account.now[name, True] + temporary.get(name, 0) for name in users)
        account.shared_peaks[users] = max(peak, live)


def _key(place) -> tuple[str, bool]:
    return place.mesh.name, place.memory == place.mesh.default_kind
