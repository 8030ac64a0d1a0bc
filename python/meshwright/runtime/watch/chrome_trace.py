# SPDX-License-Identifier: Apache-2.0
"""Recordings in the format of chrome://tracing and Perfetto."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .events import Event

_LANES = {"fragment": 0, "reshard": 1, "transfer": 2}


def make_trace(events: Sequence[Event], by_process: bool) -> dict[str, Any]:
    """Each event twice: when it was issued, and when the devices worked on it."""
    trace, places = (_by_process if by_process else _by_mesh)(events)
    for event in events:
        arguments = {
            "run": event.run,
            "item": event.item,
            "origins": event.origins,
            "bytes": event.bytes,
        }
        issuer, devices = places(event)
        trace.append(_span(event, devices, event.start, event.stop, arguments))
        done = event.issued + event.issue_seconds
        trace.append(_span(event, issuer, event.issued, done, arguments))
    return {"traceEvents": trace, "displayTimeUnit": "ms"}


# Names of rows, and of an event the row of its issuing thread and of its devices.
_Rows = tuple[list[dict], Callable[[Event], tuple[tuple[int, int], tuple[int, int]]]]


def _by_mesh(events: Sequence[Event]) -> _Rows:
    """A process of the trace for each mesh, and one for the issuing thread."""
    meshes = list(dict.fromkeys(event.mesh for event in events))
    names = [_name("process_name", 0, 0, "issuing thread")]
    for pid, mesh in enumerate(meshes, 1):
        names.append(_name("process_name", pid, 0, mesh))
        for kind, tid in _LANES.items():
            names.append(_name("thread_name", pid, tid, f"{kind}s"))
    return names, lambda event: (
        (0, 0),
        (meshes.index(event.mesh) + 1, _LANES[event.kind]),
    )


def _by_process(events: Sequence[Event]) -> _Rows:
    """The processes of the run: an issuing thread each, and rows for its meshes."""
    names, rows = [], {}
    for process in sorted({event.process for event in events}):
        names.append(_name("process_name", process, 0, f"process {process}"))
        names.append(_name("thread_name", process, 0, "issuing thread"))
    for key in sorted({_key(event) for event in events}):
        process, mesh, lane = key
        rows[key] = tid = len(rows) + 1
        names.append(
            _name("thread_name", process, tid, f"{mesh}: {list(_LANES)[lane]}s")
        )
    return names, lambda event: ((event.process, 0), (event.process, rows[_key(event)]))


def _key(event: Event) -> tuple[int, str, int]:
    return event.process, event.mesh, _LANES[event.kind]


def _name(kind: str, pid: int, tid: int, value: str) -> dict:
    return {"ph": "M", "name": kind, "pid": pid, "tid": tid, "args": {"name": value}}


def _span(event: Event, row: tuple[int, int], start, stop, arguments) -> dict:
    return {
        "ph": "X",
        "name": event.name,
        "cat": event.kind,
        "pid": row[0],
        "tid": row[1],
        "ts": start * 1e6,
        "dur": (stop - start) * 1e6,
        "args": arguments,
    }
