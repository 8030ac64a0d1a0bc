# SPDX-License-Identifier: Apache-2.0
"""This process's share of a program that runs over several processes."""

from __future__ import annotations

import contextlib
import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from ...core.phases import phase
from ...jaxapi import runtime as jax_runtime
from ..load.cache import FragmentCache
from ..program.errors import ProgramError
from ..program.loaded import Loaded
from ..program.placement import AxisPart, ProgramMesh, Split
from ..program.plan import Planner
from ..program.source import Source, read_source
from ..program.steps import Launch, Step, identity_text
from . import agreement, following
from .awake import clock
from .edges import Channel, Edge
from .failures import GroupError
from .projection import project
from .world import current


class Share:
    """What one process compiles and issues, and its way to the others.

    Attributes:
      sources: those that this process has to compile.
      groups: what was run besides, for the processes of a mesh to know each other.
    """

    def __init__(self, planner: Planner, world: Any):
        self.world = world
        self._meshes: Mapping[str, ProgramMesh] = planner.meshes
        self._processes = {name: m.processes for name, m in planner.meshes.items()}
        self._generation = world.members.generation
        self._checked: int | None = None  # In which generation this was found to run.
        world.members.note_meshes(self._processes)
        self._channel = Channel(
            world,
            world.next_number(),
            planner.schedule.count,
            max(len(mesh.devices) for mesh in planner.meshes.values()),
        )
        self.groups: list[tuple[Source, Loaded]] = []
        self._launched: Step | None = None
        self._plan = planner.plan
        self._at: Step | None = None  # The step of the run that is being issued.
        self._worker = following.worker()
        self.sources = project(planner.plan, self._channel)
        self._items = planner.schedule.count
        self._ranks = dict(zip(planner.items, planner.ranks.tolist(), strict=True))
        world.start_server()

    def start_run(self) -> None:
        """Called before the steps of a run are issued; the same run everywhere."""
        members = self.world.members
        if members.generation != self._checked:
            generation = members.generation
            members.check_program(self._processes, self._generation)
            self._checked = generation
        self._channel.next_run()
        self._at = self._plan.steps[0] if self._plan.steps else None

    def give_up(self, error: BaseException) -> None:
        """Called where a run fails, before anything is waited for.

        Others wait for what this process would have sent, and it perhaps for them.
        """
        at, self._at = self._at, None
        if at is None or self.world.members.is_any_gone:
            return
        steps = itertools.dropwhile(lambda step: step is not at, self._plan.steps)
        left = [step for step in steps if isinstance(step, Edge)]
        if left and not jax_runtime.was_refused(error):
            self.world.note_failure(error)
        # Of what is broken itself its user gets the error.
        with contextlib.suppress(Exception):
            for step in left:
                step.give_up()
            self._channel.end_run()

    def abandon_run(self, error: BaseException) -> BaseException:
        """Called where a run ends by an error; what to raise instead."""
        if self._worker is not None:
            self._worker.issuing = None
        self._launched = None
        return self.world.explain(error)

    def follow(self, step: Step | None, tokens: list) -> None:
        """Lets the watchdog know where this process is.

        Args:
          step: what is issued next; None after the last one.
          tokens: of the launches issued so far in this run.
        """
        self._at = step
        if step is None:
            self._channel.end_run()
        if self._worker is None:
            return
        launched, self._launched = self._launched, step
        if isinstance(launched, Launch):
            self._worker.wait_for(self._place(launched), launched.what, tokens[-1])
        place = None if step is None else self._place(step)
        self._worker.issuing = place and (place, step.what, clock.now())

    def _place(self, step: Step) -> tuple[int, int, int]:
        """Where a step is in the order that all processes share."""
        channel, item = self._channel, step.item
        rank = self._items if item is None else self._ranks[item]
        return channel.program, channel.run, rank

    def agree_on_cache(
        self, cache: FragmentCache | None, sources: Sequence[Source]
    ) -> None:
        """Lets all processes of a mesh load a fragment from disk, or none of them.

        Compiling is a joint work of theirs on some backends.
        """
        number = self.world.next_number()
        joint = [source for source in sources if len(source.mesh.processes) > 1]
        if not joint:
            return
        found = [cache.digest(source) for source in joint] if cache else []
        ours = sorted(digest for digest in set(found) if cache.has(digest))
        key, what = f"cached/{number}", "load this program"
        self.world.put(f"{key}/{self.world.process}", json.dumps(ours).encode())
        others = {process for source in joint for process in source.mesh.processes}
        theirs = {
            process: set(json.loads(self.world.get(f"{key}/{process}", process, what)))
            for process in others - {self.world.process}
        }
        for source, digest in zip(joint, found, strict=False):
            partners = source.mesh.processes - {self.world.process}
            if any(digest not in theirs[process] for process in partners):
                cache.ignore([digest])

    def warm_up(self, build: Callable[[list[Source]], list[Loaded | None]]) -> None:
        """Makes the groups of meshes that span processes known to each other.

        The first collective of a group has to be joined by all its processes
        within seconds, and compiling may have taken them longer than that.
        """
        number = self.world.next_number()
        self.world.barrier(f"compiled/{number}", "the end of compiling")
        for mesh in self._meshes.values():
            if len(mesh.processes) > 1 and mesh.is_here:
                self._check_group(mesh)
                self.groups.append(_join_group(mesh, build))

    def _check_group(self, mesh: ProgramMesh) -> None:
        """Refuses what JAX cannot: on CPU it connects the same devices once only."""
        is_cpu = mesh.devices[0].platform == "cpu"
        if is_cpu and self.world.members.has_changed(mesh.processes):
            raise GroupError(
                f"mesh {mesh.name!r} has devices of several processes, one of which "
                "has come back; JAX on CPU does not connect such devices again. Start "
                "all processes again, or use meshes of one process each"
            )


def find_processes(meshes: Mapping[str, ProgramMesh]) -> Any | None:
    """The other processes of this run (`distributed.world.World`), if there are any."""
    # For devices that are only described each process compiles everything.
    if jax.process_count() == 1 or any(mesh.is_described for mesh in meshes.values()):
        return None
    found = current()
    if found is None:
        raise ProgramError(
            "some meshes are on devices of other processes; call "
            "mw.distributed.initialize() first thing in the script"
        )
    if found.transport == "device_put":
        spanning = [name for name, mesh in meshes.items() if len(mesh.processes) > 1]
        if spanning:
            raise ProgramError(
                f"meshes {', '.join(map(repr, spanning))} have devices of several "
                'processes, which transport="device_put" cannot; use the default one'
            )
        for mesh in meshes.values():
            mesh.is_here = True  # Every process issues every step.
    return found


def join_processes(
    planner: Planner, world: Any, options: Mapping[str, Any]
) -> Share | None:
    """Compares programs, then reduces the plan to this process's share.

    Args:
      planner: has built its plan.
      world: what `find_processes` found.

    Returns:
      The share; None if this process issues everything.

    Raises:
      ProcessError: the processes are about to run different programs.
    """
    if world is None:
        return None

    def describe(has_locations: bool) -> dict[str, Any]:
        return agreement.describe(
            planner.schedule,
            planner.modules,
            planner.order,
            {name: mesh.devices for name, mesh in planner.meshes.items()},
            options,
            has_locations,
        )

    with phase("agree"):
        agreement.agree(world, describe(True), lambda: describe(False))
    if world.transport == "device_put":
        return None
    with phase("plan"):
        return Share(planner, world)


def _join_group(
    mesh: ProgramMesh, build: Callable[[list[Source]], list[Loaded | None]]
) -> tuple[Source, Loaded]:
    """Runs one small collective over all devices of a mesh; returns what it ran."""
    count = len(mesh.devices)
    axes = tuple(AxisPart(axis, 1, size) for axis, size in mesh.axes.items())
    split = mesh.intern("f32", (count,), Split((axes,)), None)
    whole = mesh.replicated(split)
    with jax_runtime.make_ir_context():
        source = read_source("group", mesh, identity_text(split, whole), {})
    loaded = build([source])
    slots = [
        jax.make_array_from_callback(
            split.shape, split.sharding, lambda index: np.ones(1, np.float32)
        ),
        None,
    ]
    Launch(None, (0,), range(1, 2), (whole,), source.describe()).bind(loaded, [])(slots)
    slots[1].block_until_ready()
    return source, loaded[0]
