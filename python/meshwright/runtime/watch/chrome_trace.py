# SPDX-License-Identifier: Apache-2.0
"""Recordings in the format of chrome://tracing and Perfetto."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .events import Event

_LANES = {"fragment": 0, "reshard": 1, "transfer": 2}


def make_trace(events: Sequence[Event], by_process: bool) -> dict[str, Any]:
    """Each event twice: when it was issued, and when the devices worked on it."""
    rows = _ByProcess(events) if by_process else _ByMesh(events)
    trace = rows.names
    for event in events:
        arguments = {
            "run": event.run,
            "item": event.item,
            "origins": event.origins,
            "bytes": event.bytes,
        }
        trace.append(
            _span(event, rows.devices(event), event.start, event.stop, arguments)
        )
        done = event.issued + event.issue_seconds
        trace.append(_span(event, rows.issuer(event), event.issued, done, arguments))
    return {"traceEvents": trace, "displayTimeUnit": "ms"}


class _ByMesh:
    """A process of the trace for each mesh, and one for the issuing thread."""

    def __init__(self, events: Sequence[Event]):
        self._meshes = list(dict.fromkeys(event.mesh for event in events))
        self.names = [_name("process_name", 0, 0, "issuing thread")]
        for pid, mesh in enumerate(self._meshes, 1):
            self.names.append(_name("process_name", pid, 0, mesh))
            for kind, tid in _LANES.items():
                self.names.append(_name("thread_name", pid, tid, f"{kind}s"))

    def issuer(self, event: Event) -> tuple[int, int]:
        return 0, 0

    def devices(self, event: Event) -> tuple[int, int]:
        return self._meshes.index(event.mesh) + 1, _LANES[event.kind]


class _ByProcess:
    """The processes of the run: an issuing thread each, and rows for its meshes."""

    def __init__(self, events: Sequence[Event]):
        self.names, self._rows = [], {}
        for process in sorted({event.process for event in events}):
            self.names.append(_name("process_name", process, 0, f"process {process}"))
            self.names.append(_name("thread_name", process, 0, "issuing thread"))
        for key in sorted({_key(event) for event in events}):
            process, mesh, lane = key
            self._rows[key] = tid = len(self._rows) + 1
            name = f"{mesh}: {list(_LANES)[lane]}s"
            self.names.append(_name("thread_name", process, tid, name))

    def issuer(self, event: Event) -> tuple[int, int]:
        return event.process, 0

    def devices(self, event: Event) -> tuple[int, int]:
        return event.process, self._rows[_key(event)]


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
