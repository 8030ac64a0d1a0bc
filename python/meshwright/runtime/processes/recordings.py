# SPDX-License-Identifier: Apache-2.0
"""One recording out of those of all processes (meshwright.profile)."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Sequence
from typing import Any

from .clocks import Alignment, Reading, read_offset
from .world import World, current


class Merger:
    """Compares clocks, then brings the events of all processes to process 0.

    All processes have to make one, and call `merge`, in the same order.

    Raises:
      ProcessError: another process does not, within the timeout.
    """

    def __init__(self, world: World, clock: Callable[[], float]):
        self.world, self._clock = world, clock
        self._first = read_offset(world, clock)

    def merge(
        self, began: float, events: list[dict[str, Any]]
    ) -> tuple[list[dict[str, Any]], dict[int, dict[str, float]]] | None:
        """The events of all processes, in process 0; None in the others.

        Args:
          began: when this process's recording began, by its clock.
          events: of this process; times are seconds since then.

        Returns:
          The events in the order in which they were issued, each with its `process`,
          in seconds since the first process began; and for each process the
          `offset`, `drift` and `error` of its clock.
        """
        world, number = self.world, self.world.next_number()
        mine = Alignment(self._first, read_offset(world, self._clock))
        for event in events:
            event["process"] = world.process
        if world.process != world.members.first:
            found = {"began": began, "clock": mine, "events": events}
            data = zlib.compress(json.dumps(found).encode(), 1)
            keys = world.put_large(f"profile/{number}/{world.process}", data)
            world.barrier(f"profile/{number}", "the end of mw.profile()")
            world.drop(*keys)
            return None
        parts = [(mine, began, events)]
        for process in world.members.processes[1:]:
            key, what = f"profile/{number}/{process}", "end mw.profile()"
            theirs = json.loads(zlib.decompress(world.get_large(key, process, what)))
            clock = Alignment(*map(Reading._make, theirs["clock"]))
            parts.append((clock, theirs["began"], theirs["events"]))
        world.barrier(f"profile/{number}", "the end of mw.profile()")
        return _by_one_clock(parts, world.members.processes)


def _by_one_clock(
    parts: list[tuple[Alignment, float, list[dict]]], processes: Sequence[int]
):
    """Events of each process in its own time, as `Merger.merge` returns them."""
    origin = min(clock.shift(began) for clock, began, _ in parts)
    merged, clocks = [], {}
    for process, (clock, began, events) in zip(processes, parts, strict=True):
        clocks[process] = {
            "offset": clock.first.offset,
            "drift": clock.drift,
            "error": clock.error,
        }
        for event in events:
            for name in ("issued", "start", "stop"):
                event[name] = clock.shift(began + event[name]) - origin
        merged += events
    return sorted(merged, key=lambda event: event["issued"]), clocks


def start(clock: Callable[[], float]) -> Merger | None:
    """Begins what all processes record together; None if there is only one."""
    world = current()
    return None if world is None else Merger(world, clock)
