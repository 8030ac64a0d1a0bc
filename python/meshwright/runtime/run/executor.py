# SPDX-License-Identifier: Apache-2.0
"""Loads a partitioned program onto devices and runs it.

All work happens at load: the plan, the executables, and for every step a function
of the list of arrays. A run checks its arguments, then calls these functions one
after the other. None of them waits for a device.
"""

from __future__ import annotations

import collections
import functools
import sys
import threading
import traceback
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
from jax.sharding import Mesh, NamedSharding

from ...aot.names import clock_rate, memory_limit
from ...core import collector, interrupts
from ...core.phases import phase
from ...core.progress import waiting
from ...jaxapi import runtime as jax_runtime
from ..load.cache import open_cache
from ..load.compilation import compile_all, resolve_options
from ..load.layouts import make_formats, settle_layouts
from ..load.saved import Saved
from ..processes.share import Share, find_processes, join_processes
from ..program.argument_errors import ArgumentErrors
from ..program.errors import FragmentError
from ..program.loaded import Loaded
from ..program.lost import explain
from ..program.placement import ProgramMesh, bind_meshes
from ..program.plan import Plan, Planner
from ..program.schedule import Schedule, read_schedule
from ..program.source import Source
from ..program.steps import FirstShard, Issue, Launch, Step, bind_steps
from ..watch.cycles import count_cycles
from ..watch.fit import Fit, FragmentMetrics, MeshFit
from ..watch.memory import Account, MeshMemory, keep_account
from ..watch.peaks import find_peak
from ..watch.profile import current as current_recording
from ..watch.traffic import Traffic, measure_traffic
from .boundary import Boundary
from .floats import FloatChecks

# Launches from several threads can deadlock two programs, so only one issues.
_issuing = threading.RLock()


@dataclass(frozen=True)
class FragmentSummary:
    """What became of one distinct fragment.

    Attributes:
      name, mesh, origins: as in the program.
      calls: how often a run calls it.
      flops: of one call, over the whole mesh; None if unknown.
      compile_seconds: time to compile it, or to load what was compiled for others;
        0 where other processes compile it.
      compiled_for_others: whether it is a copy of an equal fragment's executable.
      from_cache: whether it was found on disk (docs/runtime.md).
    """

    name: str
    mesh: str
    origins: tuple[str, ...]
    calls: int
    flops: float | None
    compile_seconds: float
    compiled_for_others: bool
    from_cache: bool = False


def load(
    program: dict | Schedule,
    fragments: Mapping[str, str],
    meshes: Mapping[str, Mesh],
    *,
    compile_options: Mapping[str, Any] | None = None,
    host_callbacks: Sequence[Callable] | None = (),
    keep_oversized: bool = False,
    saved: Saved | None = None,
) -> ProgramExecutor:
    """Compiles a partitioned program for the devices of some meshes.

    Args:
      program: the schedule that the compiler wrote (`schedule.json` of version 1), or
        what the compiler gives in this process.
      fragments: text of the StableHLO module of each fragment, by its name.
      meshes: a jax Mesh per mesh of the program, with its axes.
      compile_options: XLA options for all meshes, or one dict per mesh name.
      host_callbacks: Python functions that the modules call, by their index; None for a
        program that is compiled and not run.
      keep_oversized: a fragment that is too large for devices that are only described
        is no error; the memory account says what it would take.
      saved: gives the executables; then nothing is compiled.

    Returns:
      A :class:`ProgramExecutor`.

    Raises:
      ProgramError: program, fragments and meshes do not fit; a ValueError.
      FragmentError: a fragment does not compile; names it.
    """
    with phase("plan"), collector.paused():
        schedule = read_schedule(program)
        bound = bind_meshes(schedule.meshes, dict(meshes))
    if saved:
        saved.check(bound)
    options = resolve_options(compile_options, list(bound))
    world = find_processes(bound)
    reading = waiting("reading the program")
    paused = collector.paused()
    with phase("plan"), reading, paused, jax_runtime.make_ir_context():
        planner = Planner(schedule, dict(fragments), bound, options)
        plan = planner.build()
    share = join_processes(planner, world, options)
    needed = share.sources if share else range(len(plan.sources))
    cache = None if saved else open_cache()
    if share and not saved:
        with phase("agree"):
            share.agree_on_cache(cache, [plan.sources[index] for index in needed])

    def build(sources: list[Source], needed: Collection[int]) -> list[Loaded | None]:
        if saved:
            return saved.load_all(sources, needed)
        return compile_all(sources, host_callbacks, needed, cache, keep_oversized)

    with phase("compile"):
        loaded = build(plan.sources, needed)
    if share:
        with phase("agree"):
            share.warm_up(lambda sources: build(sources, range(len(sources))))
    with phase("bind"):
        return ProgramExecutor(schedule, plan, bound, loaded, share, options)


class ProgramExecutor:
    """A program on devices. Call it with its arrays, in the order of its inputs.

    Attributes:
      schedule: what it does.
      steps: the steps of a run, in the order of issue.
      input_shardings, output_shardings: a NamedSharding per input and output.
      input_formats, output_formats: the same with layouts, where they are not the
        default ones.
      fragments: a :class:`FragmentSummary` per distinct fragment.
      options: XLA options of each mesh, by its name.
      described: names of meshes whose devices are only described; with any, the
        program can be asked, but not called.
    """

    def __init__(
        self,
        schedule: Schedule,
        plan: Plan,
        meshes: dict,
        loaded: list[Loaded | None],
        share: Share | None = None,
        options: Mapping[str, Mapping[str, Any]] | None = None,
    ):
        self.schedule = schedule
        self.options = dict(options or {})
        self.input_shardings: list[NamedSharding] = [p.sharding for p in plan.inputs]
        self.output_shardings: list[NamedSharding] = [p.sharding for p in plan.outputs]
        self.output_avals = [p.aval for p in plan.outputs]
        self._plan, self._meshes, self._loaded = plan, meshes, loaded
        _check_compiled(plan, loaded)
        self._divide_oversized()
        orders, output_orders = settle_layouts(plan, loaded, schedule)
        self.steps = plan.steps
        self.input_formats = make_formats(plan.inputs, orders)
        self.output_formats = make_formats(plan.outputs, output_orders)
        self._tokens: list[Any] = []
        self._failed: str | None = None
        self.described = [name for name, mesh in meshes.items() if mesh.is_described]
        self._issues: list[Issue] = []
        if not self.described:
            self._issues = bind_steps(plan.steps, loaded, self._tokens)
        self._blank = [None] * (plan.slot_count - len(plan.inputs))
        names = [entry.get("name") for entry in schedule.inputs]
        self._boundary = Boundary(plan.inputs, orders, names, plan.donated)
        self._boundary.last_failure = self._last_failure
        self._share = share
        self._launches = [s for s in plan.steps if isinstance(s, Launch)]

    def _divide_oversized(self) -> None:
        """Says of fragments that are too large what of that are their arrays."""
        for step in self._plan.steps:
            target = self._loaded[step.source] if isinstance(step, Launch) else None
            if target is not None and target.is_oversized:
                sides = step.reads, step.writes
                target.executable.divide(*(sum(map(self.bytes_of, s)) for s in sides))

    def __call__(self, *arrays: jax.Array) -> list[jax.Array]:
        """Issues one run and returns its results, which need not be ready yet.

        Raises:
          TypeError, ValueError, RuntimeError: an argument does not fit or is
            deleted; nothing was issued.
          FragmentError: a fragment failed while it was issued.
          FloatingPointError: a result is not finite, and JAX's configuration says
            that this is an error; names the fragment that made it so.
        """
        find_lost = functools.partial(self._find_lost, arrays)
        return self.run(arrays, self.find_new(arrays), find_lost)

    def set_errors(self, errors: ArgumentErrors) -> None:
        """Rewords errors about arguments from now on."""
        self._boundary.errors = errors

    def check_devices(self) -> None:
        """Raises RuntimeError if devices of some meshes are only described."""
        if not self.described:
            return
        listed = ", ".join(
            f"{name!r} ({self._meshes[name].devices[0].device_kind})"
            for name in self.described
        )
        raise RuntimeError(
            f"this program was compiled for devices that are not here, those of "
            f"meshes {listed}: it can be asked (memory_analysis, traffic, as_text), "
            "but not called; to run it, lower it where they are, for meshes of "
            "jax.devices()"
        )

    def find_new(self, arrays: Sequence[Any]) -> list[int]:
        """Positions of what does not look like an argument of an earlier run.

        Raises:
          TypeError: the wrong number of arrays.
          RuntimeError: the devices are not here.
        """
        self.check_devices()
        return self._boundary.find_new(arrays)

    def run(
        self,
        arrays: Sequence[jax.Array],
        unknown: Sequence[int],
        find_lost: Callable[[], Mapping[str, Any]],
    ) -> list[Any]:
        """A call that looks closely at the arguments in `unknown` only.

        Args:
          find_lost: the caller's donated arrays that are deleted now, by name; asked
            if the run fails.
        """
        with interrupts.scope(), _issuing:
            pending = self._boundary.check(arrays, unknown)
            slots = [*arrays, *self._blank]
            for position in pending:
                slots[position] = self._plan.inputs[position].copy(arrays[position])
            del arrays
            if self._plan.donated:
                interrupts.hold()
            self._tokens.clear()
            self._failed, before = None, sys.exc_info()[1]
            try:
                return self._issue_all(slots)
            except BaseException as error:
                slots.clear()
                _forget_frames(error, before)
                reported = self._share.abandon_run(error) if self._share else error
                found = explain(reported, find_lost())
                if found is error:
                    raise
                raise found from (error.__cause__ if reported is error else error)

    def _issue_all(self, slots: list) -> list[Any]:
        if self._share:
            self._share.start_run()
        recorder, checks = current_recording(), FloatChecks.wanted()
        with jax_runtime.explicit_transfers():
            if recorder or checks or self._share:
                self._issue_watched(slots, recorder, checks)
            else:
                self._issue(slots)
        for slot in self._plan.unread:
            slots[slot].delete()
        outputs = [slots[slot] for slot in self._plan.output_slots]
        if checks:
            checks.finish(outputs)
        # What passes through is an array of the caller's.
        taken = range(len(self._plan.inputs))
        self._boundary.expect(
            [slots[s] for s in self._plan.output_slots if s not in taken]
        )
        return outputs

    def _find_lost(self, arrays: Sequence[jax.Array]) -> dict[str, jax.Array]:
        name, donated = self._boundary.errors.name, self._plan.donated
        return {name(p): arrays[p] for p in donated if arrays[p].is_deleted()}

    def _issue(self, slots: list) -> None:
        position = -1
        try:
            for position, issue in enumerate(self._issues):  # noqa: B007
                issue(slots)
        except Exception as error:
            self._explain(position, error)

    def _issue_watched(self, slots: list, recorder: Any, checks: Any) -> None:
        """Issues while a recorder or a check observes each step."""
        share, steps, position = self._share, self._plan.steps, -1
        watch = recorder.start_run(self) if recorder else None
        try:
            if checks:
                checks.start(slots[: len(self._plan.inputs)])
            for position, issue in enumerate(self._issues):
                if share:
                    share.follow(steps[position], self._tokens)
                if watch:
                    watch(position, issue, slots)
                else:
                    issue(slots)
                if checks:
                    checks.after(steps[position], slots)
        except BaseException as error:
            if share:
                share.give_up(self._name(position, error))
            if isinstance(error, Exception):
                self._explain(position, error)
            raise
        if share:
            share.follow(None, self._tokens)

    def wait(self) -> None:
        """Waits until the last run is done.

        Raises:
          FragmentError: something failed; names the first fragment that did.
        """
        if self._failed is not None:
            raise FragmentError(self._failed)
        for step, token in zip(self._launches, list(self._tokens), strict=False):
            try:
                token.block_until_ready()
            except Exception as error:
                raise _failure(step.what, error) from error

    def _explain(self, position: int, error: Exception) -> None:
        """Raises an error that names the step where it all began."""
        self.wait()
        found = self._name(position, error)
        self._failed = str(found)
        raise found from error

    def _name(self, position: int, error: BaseException) -> BaseException:
        """The error of the step at this position."""
        if not isinstance(error, Exception):
            return error
        what = self._plan.steps[position].what if position >= 0 else "the program"
        return _failure(what, error)

    def _last_failure(self) -> str | None:
        try:
            self.wait()
        except FragmentError as error:
            return str(error)
        return None

    @functools.cached_property
    def _reusable_slots(self) -> set[int]:
        """Slots of what may be given away, here or by the caller, and of its views."""
        plan = self._plan
        found = {*plan.consumed, *plan.output_slots, *range(len(plan.inputs))}
        for step in plan.steps:
            if isinstance(step, FirstShard) and step.reads[0] in found:
                found.add(step.writes.start)
        return found

    def end_of(self, step: Step, slots: list) -> Any:
        """Something to wait for that is ready when the step just issued is done.

        None if it made an unused array that is gone.
        """
        if isinstance(step, Launch):
            return self._tokens[-1]
        slot = step.writes.start if step.places else step.reads[0]
        if slot in self._reusable_slots and slots[slot] is not None:
            # The array itself may be donated before anyone could wait for it.
            return jax_runtime.copy_first_shard(slots[slot])
        return slots[slot]

    @property
    def program(self) -> dict[str, Any]:
        """The schedule, written out as version 1 of `schedule.json`."""
        return self.schedule.written_out()

    @property
    def meshes(self) -> Mapping[str, ProgramMesh]:
        """The meshes, on their devices."""
        return dict(self._meshes)

    @property
    def executables(self) -> list[tuple[Source, Loaded]]:
        """What this process has compiled or loaded, beside its modules."""
        found = zip(self._plan.sources, self._loaded, strict=True)
        groups = self._share.groups if self._share else []
        return [*((s, loaded) for s, loaded in found if loaded), *groups]

    def source_of(self, launch: Launch) -> Source:
        """The module that a step runs."""
        return self._plan.sources[launch.source]

    def bytes_of(self, slot: int) -> int:
        """Bytes on each device of the array that steps keep in a slot."""
        return self._plan.bytes_of(slot)

    def _found(self) -> Iterator[tuple[dict, Source | None, Loaded | None]]:
        """The fragments of the schedule, and what this process has of each."""
        indices = self._plan.fragment_sources
        for fragment, index in zip(self.schedule.fragments, indices, strict=True):
            if index is None:
                yield fragment, None, None
            else:
                yield fragment, self._plan.sources[index], self._loaded[index]

    @property
    def fragments(self) -> list[FragmentSummary]:
        calls: collections.Counter = collections.Counter()
        for item, count in self.schedule.kinds():
            if item["kind"] == "call":
                calls[item["fragment"]] += count
        found = []
        for index, (fragment, source, loaded) in enumerate(self._found()):
            found.append(
                FragmentSummary(
                    name=fragment["name"],
                    mesh=fragment["mesh"],
                    origins=tuple(source.origins) if source else (),
                    calls=calls[index],
                    flops=fragment.get("flops"),
                    compile_seconds=loaded.seconds if loaded else 0.0,
                    compiled_for_others=bool(loaded and loaded.copied),
                    from_cache=bool(loaded and loaded.cached),
                )
            )
        return found

    @functools.cached_property
    def account(self) -> Account:
        """Live bytes per mesh, step by step; computed when first asked for."""
        return keep_account(self._plan, self._meshes, self._loaded)

    def hlo_texts(self) -> dict[str, str]:
        """Optimized HLO by the names of fragments; equal ones share their code."""
        return {
            fragment["name"]: loaded.hlo_text()
            for fragment, _, loaded in self._found()
            if loaded is not None
        }

    def traffic(self) -> Traffic:
        """What a step sends, as far as this process has the code that does."""
        return measure_traffic(self.schedule, self.hlo_texts())

    def fit(self) -> Fit:
        """Whether it fits into its devices, and what their compiler says of it."""
        too_large: dict[str, list[str]] = {name: [] for name in self._meshes}
        fragments = {}
        for fragment, _, target in self._found():
            stats = target.memory_stats() if target else None
            if target is None or stats is None:
                continue
            if target.is_oversized:
                too_large[fragment["mesh"]].append(fragment["name"])
            fragments[fragment["name"]] = FragmentMetrics(
                compile_s=target.seconds,
                argument_bytes=stats.argument_size_in_bytes,
                output_bytes=stats.output_size_in_bytes,
                temporary_bytes=stats.temp_size_in_bytes,
                alias_bytes=stats.alias_size_in_bytes,
                code_bytes=stats.generated_code_size_in_bytes,
                estimated_s=_estimate(target),
            )
        meshes = {}
        for name, mesh in self._meshes.items():
            if not mesh.is_here:
                continue  # Its process knows.
            run = self.account, self._plan, self._loaded, self.schedule.inputs
            peak = find_peak(name, *run)
            limit = memory_limit(mesh.devices[0])
            meshes[name] = MeshFit(peak.bytes, limit, peak, tuple(too_large[name]))
        return Fit(fragments, meshes, self.traffic())

    def memory_analysis(self) -> dict[str, MeshMemory]:
        """Bytes on each device of every mesh: arguments, peak of live arrays, …"""
        return dict(self.account.meshes)

    @property
    def peak_memory_bytes(self) -> int:
        """The most that any device needs: live arrays, temporaries and code."""
        meshes = self.account.meshes
        peaks = [m.peak_bytes + m.code_bytes for m in meshes.values()]
        for names, peak in self.account.shared_peaks.items():
            peaks.append(peak + sum(meshes[name].code_bytes for name in names))
        return max(peaks, default=0)

    def cost_analysis(self) -> dict[str, dict[str, float]]:
        """XLA's estimates per mesh, summed over the calls and devices of one run."""
        costs: dict[str, collections.Counter] = {
            name: collections.Counter() for name in self._meshes
        }
        untimed: set[str] = set()
        estimates: dict[int, dict[str, float]] = {}
        for step in self._plan.steps:
            if isinstance(step, Launch):
                if step.source not in estimates:
                    estimates[step.source] = self._loaded[step.source].cost()
                mesh = self._plan.sources[step.source].mesh
                if "optimal_seconds" not in estimates[step.source]:
                    untimed.add(mesh.name)
                for key, value in estimates[step.source].items():
                    costs[mesh.name][key] += value * len(mesh.devices)
        for name in untimed:  # A part of the time would look like all of it.
            costs[name].pop("optimal_seconds", None)
        return {name: dict(found) for name, found in costs.items()}


def _estimate(target: Loaded) -> float | None:
    """Seconds that a compiler thinks its code takes, if it has some worth taking.

    The sum of its cost analysis is none: it is the same for all precisions.
    """
    clock = clock_rate(target.devices[0])
    cycles = count_cycles(target.hlo_text()) if clock else None
    return cycles / clock if cycles else None


def _forget_frames(error: BaseException, before: BaseException | None) -> None:
    """Lets go of what the frames of an error hold.

    A kept error keeps its frames, and the next run needs the memory.

    Args:
      before: what was handled when the run began; it is not of this run.
    """
    found: BaseException | None = error
    while found is not None and found is not before:
        traceback.clear_frames(found.__traceback__)
        found = found.__cause__ or found.__context__


def _failure(what: str, error: Exception) -> FragmentError:
    text = str(error)
    if what in text:  # Said already, within what JAX says about callbacks.
        return FragmentError(text[text.index(what) :])
    return FragmentError(f"{what} failed: {text}")


def _check_compiled(plan: Plan, loaded: list[Loaded]) -> None:
    """Compares what XLA made of the shardings with what the plan relies on."""
    seen: set[int] = set()
    for step in plan.steps:
        if not isinstance(step, Launch) or step.source in seen:
            continue
        seen.add(step.source)
        target = loaded[step.source]
        if len(target.devices) == 1:
            continue
        compiled = jax_runtime.compiled_shardings(target.executable)
        if compiled is None:
            continue
        reads = [plan.slots[slot] for slot in step.reads]
        for side, places, found in (
            ("argument", reads, compiled[0]),
            ("result", step.places, compiled[1]),
        ):
            if not places:
                continue  # XLA gives the empty tuple a sharding, too.
            for position, (place, sharding) in enumerate(
                zip(places, found, strict=True)
            ):
                if not jax_runtime.same_hlo_sharding(place.hlo, sharding):
                    raise FragmentError(
                        f"{step.what}: XLA compiled {side} {position} with sharding "
                        f"{sharding}, the program says {place.hlo}"
                    )
