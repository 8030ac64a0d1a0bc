# SPDX-License-Identifier: Apache-2.0
"""Records when fragments and transfers run.

    with meshwright.profile() as recording:
        step(params, batch)
    recording.save("step.json")
    recording.save_chrome_trace("step.trace.json")

Watching threads wait for each launch and note when it is done; the issuing thread
goes on meanwhile. An end is exact to about a millisecond. A start is the later of
the end before it on the same mesh, the end of what it reads, and its issue.

Where several processes run one program, each records its own part, and process 0
gets all of them, by its clock.
"""

from __future__ import annotations

import atexit
import collections
import contextlib
import json
import os
import queue
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import jax

from ...compiler.native import extension
from ...core.files import whole_file
from ..processes import recordings
from ..processes.edges import Edge
from ..program.steps import Launch, issued_before
from .chrome_trace import make_trace
from .events import Event

_active: Recording | None = None
_clock = time.perf_counter


def current() -> Recording | None:
    """The recording that runs now, if any."""
    return _active


@contextlib.contextmanager
def profile(
    path: str | os.PathLike | None = None, *, merge: bool = True, every: int = 1
) -> Iterator[Recording]:
    """Records runs of programs inside the `with` block.

    Args:
      path: where to write the recording at the end: a Chrome trace if it ends in
        `.trace.json`, else plain JSON. Nothing is written without it.
      merge: with several processes, whether process 0 gets the events of all, by its
        own clock, and alone writes the file. All processes have to enter and leave
        the block then. Otherwise each keeps, and writes, its own.
      every: of each program the first run is recorded, and from there on one of this
        many: what a recording costs is paid in those alone.

    Raises:
      ValueError: `every` is less than 1.
      RuntimeError: inside another `profile()`.
      ProcessError: another process does not enter or leave the block.
    """
    if every < 1:
        raise ValueError(f"every must be at least 1, got {every}")
    merger, recording = None, Recording(every)
    try:
        _activate(recording)
        if merge and jax.process_count() > 1:
            merger = recordings.start(_clock)
            recording.began = _clock()
        yield recording
    finally:
        # If it was finished at exit, this may run when the functions are gone.
        if not recording._finished:
            _deactivate(recording)
            recording.finish()
    if merger is not None:
        merged = merger.merge(recording.began, recording.to_json()["events"])
        if merged is None:
            return
        recording.take(*merged)
    if path is not None:
        if os.fspath(path).endswith(".trace.json"):
            recording.save_chrome_trace(path)
        else:
            recording.save(path)


_activating = threading.Lock()


def _activate(recording: Recording) -> None:
    global _active
    with _activating:
        if _active is not None:
            raise RuntimeError("profile() is active already; end that block first")
        _active = recording


def _deactivate(recording: Recording) -> None:
    global _active
    if _active is recording:
        _active = None


@atexit.register
def _finish_at_exit() -> None:
    """Ends a block that no one has left: its threads must not outlive Python."""
    recording = _active
    if recording is not None:
        _deactivate(recording)
        recording.finish()


@dataclass
class _Entry:
    """An event on its way: its lane, what it waits for, what tells its end, and
    whether that has come."""

    event: Event
    lane: str
    after: list[Event]
    done: Any
    over: bool = False


class Recording:
    """Events of the runs inside one `profile()` block; complete once it is left.

    Attributes:
      events: in the order of issue.
      runs: how many were recorded.
      clocks: in process 0 of several, for each process by how many seconds its clock
        was late (`offset`), how much later it got each second (`drift`),
        and by how much its times may be wrong (`error`).
    """

    def __init__(self, every: int = 1):
        self.events: list[Event] = []
        self.runs, self._every = 0, every
        self._seen: collections.Counter = collections.Counter()  # Runs by program.
        self.clocks: dict[int, dict[str, float]] = {}
        self.began = _clock()
        self._watchers: dict[str, _Watcher] = {}
        self._entries: list[_Entry] = []
        self._lock = threading.Lock()
        self._finished = False

    def start_run(self, executor) -> Callable | None:
        """What the executor calls instead of each step's own function; None if this
        run is not recorded."""
        seen = self._seen[id(executor)]
        self._seen[id(executor)] += 1
        if seen % self._every:
            return None
        run = _Run(self, executor, self.runs)
        self.runs += 1
        return run.step

    def now(self) -> float:
        return _clock() - self.began

    def take(
        self, events: list[dict[str, Any]], clocks: dict[int, dict[str, float]]
    ) -> None:
        """Has the events of all processes from now on."""
        self.events, self.clocks = [Event(**event) for event in events], clocks

    def watch(self, entry: _Entry) -> None:
        """Adds an event; one that comes after the block, from another thread, is none
        of it."""
        with self._lock:
            if self._finished:
                return
            if entry.lane not in self._watchers:
                self._watchers[entry.lane] = _Watcher(self, entry.lane)
            self.events.append(entry.event)
            self._entries.append(entry)
            self._watchers[entry.lane].queue.put(entry)

    def finish(self) -> None:
        """Waits for everything that was issued, then dates the starts.

        Where it is interrupted, what is not done yet is left out.
        """
        with self._lock:
            self._finished = True
            watchers, self._watchers = self._watchers, {}
            entries, self._entries = self._entries, []
            for watcher in watchers.values():
                watcher.queue.put(None)
        try:
            for watcher in watchers.values():
                watcher.join()
        finally:
            self._set_times(entries)

    def _set_times(self, entries: list[_Entry]) -> None:
        ends: dict[str, float] = {}
        undone = {id(entry.event) for entry in entries if not entry.over}
        for entry in entries:
            event = entry.event
            ready = [before.stop for before in entry.after]
            start = max(event.issued, ends.get(entry.lane, 0.0), *ready)
            event.start = min(start, event.stop)
            ends[entry.lane] = event.stop
        if undone:
            self.events = [event for event in self.events if id(event) not in undone]

    def summary(self) -> dict[str, dict[str, float]]:
        """Calls and seconds (total, mean, longest) by name and mesh."""
        found: dict[str, dict[str, float]] = {}
        for event in self.events:
            row = found.setdefault(
                f"{event.name} @ {event.mesh}",
                {"calls": 0, "seconds": 0.0, "longest": 0.0},
            )
            seconds = event.stop - event.start
            row["calls"] += 1
            row["seconds"] += seconds
            row["longest"] = max(row["longest"], seconds)
        for row in found.values():
            row["mean"] = row["seconds"] / row["calls"]
        return found

    def stragglers(self) -> dict[str, dict[str, float]]:
        """Which mesh was late, and by how much, over the runs of the recording.

        Returns:
          By mesh, the latest first: `seconds`, the mean time that its fragments took in
          a run; `late`, by how many seconds that is above the mean of the other meshes;
          and `runs`, in how many runs it took longest.
        """
        busy: dict[int, collections.Counter] = {}
        for event in self.events:
            if event.kind == "fragment":
                run = busy.setdefault(event.run, collections.Counter())
                run[event.mesh] += event.stop - event.start
        longest = collections.Counter(max(run, key=run.get) for run in busy.values())
        meshes = dict.fromkeys(mesh for run in busy.values() for mesh in run)
        mean = {m: sum(r[m] for r in busy.values()) / len(busy) for m in meshes}
        found = {}
        for mesh in sorted(mean, key=mean.get, reverse=True):
            seconds = mean[mesh]
            others = [mean[m] for m in meshes if m != mesh] or [seconds]
            late = seconds - sum(others) / len(others)
            found[mesh] = {"seconds": seconds, "late": late, "runs": longest[mesh]}
        return found

    def to_json(self) -> dict[str, Any]:
        return {
            "version": 1,
            "runs": self.runs,
            "clocks": self.clocks,
            "events": [asdict(event) for event in self.events],
            "summary": self.summary(),
        }

    def save(self, path: str | os.PathLike) -> None:
        with whole_file(path) as file:
            json.dump(self.to_json(), file, indent=1)

    def to_profile(self) -> dict[str, Any]:
        """How long each fragment and transfer took, in the mean.

        What the cost model reads in place of its estimates (docs/cost-model.md): some
        lines for each distinct program, however many runs there were. Runs that were
        held up as a whole are left out where there are three or more.
        """
        return json.loads(extension().profile(json.dumps(self.to_json())))

    def save_profile(self, path: str | os.PathLike) -> None:
        """Writes `to_profile`, for `--profile` of the commands."""
        with whole_file(path) as file:
            json.dump(self.to_profile(), file, indent=1)

    def chrome_trace(self) -> dict[str, Any]:
        """For chrome://tracing and Perfetto.

        A process of the trace for each mesh, and one for the issuing thread; or,
        with several processes, those, and a row for each of their meshes.
        """
        return make_trace(self.events, by_process=bool(self.clocks))

    def save_chrome_trace(self, path: str | os.PathLike) -> None:
        with whole_file(path) as file:
            json.dump(self.chrome_trace(), file)


class _Run:
    """One run of one program: issues each step and hands it to a watcher."""

    def __init__(self, recording: Recording, executor, number: int):
        self.recording, self.executor, self.number = recording, executor, number
        self.schedule, self.steps = executor.schedule, executor.steps
        self.last_writer: dict[int, Event] = {}

    def step(self, position: int, issue: Callable, slots: list) -> None:
        step, recording = self.steps[position], self.recording
        sends = isinstance(step, Edge) and not step.places
        if step.places and not step.places[0].mesh.is_here:
            issue(slots)  # Nothing but the shell of what others have.
            return
        # Done when the operand is there; afterwards it may be forgotten.
        done = self.executor.end_of(step, slots) if sends else None
        issued = recording.now()
        issue(slots)
        # Copies that the one before took along cost nothing of their own.
        seconds = 0.0 if issue is issued_before else recording.now() - issued
        event = self._event(step, issued, seconds)
        after = [self.last_writer[s] for s in step.reads if s in self.last_writer]
        self.last_writer |= dict.fromkeys(step.writes, event)
        if not sends:
            done = self.executor.end_of(step, slots)
        recording.watch(_Entry(event, f"{event.kind} {event.mesh}", after, done))

    def _event(self, step, issued: float, seconds: float) -> Event:
        item = None if step.item is None else self.schedule.item(step.item)
        mesh = step.places[0].mesh.name if step.places else ""
        kind, name, origins, size = "reshard", step.what, [], 0
        flops = 0.0
        if item is not None and item["kind"] == "call":
            mesh, origins = item["mesh"], list(item.get("origins", ()))
            if isinstance(step, Launch) and step.fragment:
                kind = "fragment"
                fragment = self.schedule.fragments[item["fragment"]]
                name, flops = fragment["name"], fragment.get("flops", 0.0)
        elif item is not None:
            kind = "transfer"
            name, size = f"{item['from']} -> {item['to']}", item.get("bytes", 0)
            mesh = mesh or item["from"]
        return Event(
            self.number,
            step.item,
            kind,
            name,
            mesh,
            origins,
            size,
            issued,
            seconds,
            flops=float(flops),
        )


class _Watcher(threading.Thread):
    """Waits for the launches of one lane, in their order."""

    def __init__(self, recording: Recording, lane: str):
        super().__init__(name=f"meshwright-watch {lane}", daemon=True)
        self.recording, self.queue = recording, queue.SimpleQueue()
        self.start()

    def run(self) -> None:
        while (entry := self.queue.get()) is not None:
            try:
                if entry.done is not None:
                    entry.done.block_until_ready()
            except Exception as error:
                entry.event.error = str(error)
            entry.event.stop = self.recording.now()
            entry.done, entry.over = None, True
