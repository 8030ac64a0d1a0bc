# SPDX-License-Identifier: Apache-2.0
"""How long each fragment and transfer of a recording took.

An end that is noticed late makes its event too long and the next one on its mesh as
much too short. Only the sum of both is right, so a time here is a mean: the calls of a
run together take what they took. A run that was held up as a whole, such as the first
one, which warms up, is left out instead.

`meshwright/Cost/Profile.cpp` does the same with a recording that a command reads.
"""

from __future__ import annotations

import collections
import statistics
from collections.abc import Iterable, Sequence
from typing import Any

from .events import Event

# A run that takes this many times the median of its program was held up.
_HELD_UP = 1.5


def make_profile(events: Sequence[Event]) -> dict[str, Any]:
    """What the cost model reads in place of its estimates (docs/cost-model.md).

    Some lines for each distinct program, however many runs there were.
    """
    fragments: dict[tuple, list[tuple[int, float]]] = {}
    for event in events:
        if event.kind == "fragment" and event.error is None:
            key = event.name, event.mesh, tuple(event.origins), event.flops
            seconds = event.stop - event.start
            fragments.setdefault(key, []).append((event.run, seconds))
    moves: dict[tuple, list[Event]] = {}
    for event in events:
        if event.kind == "transfer":
            moves.setdefault((event.run, event.item), []).append(event)
    transfers: dict[tuple, list[tuple[int, float]]] = {}
    for steps in moves.values():
        if all(step.error is None for step in steps):
            key = steps[0].name, _target(steps), steps[0].bytes
            times = transfers.setdefault(key, [])
            times.append((steps[0].run, _move_seconds(steps)))
    held_up = _find_held_up(events, (*fragments.values(), *transfers.values()))
    issues = [
        event.issue_seconds
        for event in events
        if event.error is None and event.issue_seconds > 0
    ]
    return {
        "format": "meshwright-profile",
        "version": 1,
        "fragments": [
            {
                "name": name,
                "mesh": mesh,
                "origins": list(origins),
                "flops": flops,
                **_mean(times, held_up),
            }
            for (name, mesh, origins, flops), times in fragments.items()
        ],
        "transfers": [
            {"name": name, "mesh": mesh, "bytes": size, **_mean(times, held_up)}
            for (name, mesh, size), times in transfers.items()
        ],
        # Some waited for a device, which is no work of the issuing thread.
        "issue_seconds": statistics.median(issues) if issues else 0.0,
    }


def _target(steps: Sequence[Event]) -> str:
    """The mesh that a transfer goes to; resharding before it is on the other one."""
    ends = [step.mesh for step in steps if step.name.endswith(f" -> {step.mesh}")]
    return ends[0] if ends else steps[-1].mesh


def _move_seconds(steps: Sequence[Event]) -> float:
    """How long a transfer took, of one or more steps in one or more processes."""
    found: collections.Counter = collections.Counter()
    for step in steps:
        found[step.process] += step.stop - step.start
    return max(found.values())


def _find_held_up(
    events: Sequence[Event], timed: Iterable[list[tuple[int, float]]]
) -> set[int]:
    """Runs that took much longer than most runs of the same program."""
    totals: collections.Counter = collections.Counter()
    for times in timed:
        for run, seconds in times:
            totals[run] += seconds
    programs: dict[int, set[tuple[str, str]]] = {}
    for event in events:
        programs.setdefault(event.run, set()).add((event.name, event.mesh))
    alike: dict[frozenset, list[int]] = {}
    for run, names in programs.items():
        alike.setdefault(frozenset(names), []).append(run)
    held_up = set()
    for runs in alike.values():
        # Of two, there is no saying which is the usual one.
        if len(runs) > 2:
            most = _HELD_UP * statistics.median(totals[run] for run in runs)
            held_up |= {run for run in runs if totals[run] > most}
    return held_up


def _mean(times: Sequence[tuple[int, float]], held_up: set[int]) -> dict[str, float]:
    kept = [seconds for run, seconds in times if run not in held_up]
    # What ran in no other run has no other time.
    kept = kept or [seconds for _, seconds in times]
    return {
        "calls": len(times),
        "seconds": statistics.fmean(kept),
        "longest": max(seconds for _, seconds in times),
    }
