# SPDX-License-Identifier: Apache-2.0
"""Which processes are in the run, of all that JAX knows of.

At first all of them. Where processes may be lost, those that are left form a new
generation, with those that have come back; JAX's numbers of processes and devices stay.
"""

from __future__ import annotations

import os
import socket
import stat
import threading
from collections.abc import Collection, Mapping, Sequence

from .failures import ProcessError, ProcessFailure


class Members:
    """What one process knows of that.

    Attributes:
      processes: numbers of those in the run.
      recoverable: whether they outlive each other.
      generation: how often they have changed.
      noticed: whether the main thread of this process knows that others are gone.
    """

    def __init__(self, count: int, recoverable: bool):
        self.processes = tuple(range(count))
        self.recoverable, self.generation = recoverable, 0
        self.noticed = True
        # Since which generation a process is here; others since the first.
        self._since: Mapping[int, int] = {}
        self._meshes: dict[str, frozenset[int]] = {}
        self._gone: tuple[str, Sequence[int]] | None = None
        self._changed = threading.Event()

    @property
    def first(self) -> int:
        """The process that does what only one does."""
        return self.processes[0]

    @property
    def is_any_gone(self) -> bool:
        return self._gone is not None

    def check(self) -> None:
        """Raises ProcessFailure where processes are gone."""
        if self._gone is not None:
            self.noticed = True
            raise self._failure(*self._gone)

    def await_failure(self, seconds: float) -> ProcessFailure | None:
        """The failure that made a launch or transfer fail, perhaps not known yet."""
        if self._gone is None and not self._changed.wait(seconds):
            return None
        try:
            self.check()
        except ProcessFailure as failure:
            return failure
        return None

    def lose(self, processes: Sequence[int], text: str) -> None:
        """Notes that these are gone; called by the thread that hears of it."""
        self.noticed = False
        self._gone = text, processes
        self._changed.set()

    def form(
        self, generation: int, processes: Sequence[int], since: Mapping[int, int]
    ) -> None:
        """A new generation; `since` has the processes that were not in the first."""
        self.processes, self.generation = tuple(processes), generation
        self._since, self._gone = since, None
        self.noticed = True
        self._meshes.clear()
        self._changed.clear()

    def note_meshes(self, meshes: Mapping[str, Collection[int]]) -> None:
        """Remembers which processes the meshes of a program need."""
        self._meshes |= {name: frozenset(found) for name, found in meshes.items()}

    def check_program(
        self, meshes: Mapping[str, Collection[int]], generation: int
    ) -> None:
        """Raises unless a program can run that was compiled in this generation.

        Raises:
          ProcessFailure: processes of its meshes are gone.
          ProcessError: one of them has come back since.
        """
        needed = {process for found in meshes.values() for process in found}
        gone = sorted(needed - set(self.processes))
        if gone:
            self._meshes |= {name: frozenset(found) for name, found in meshes.items()}
            listed = ", ".join(map(str, gone))
            raise self._failure(f"process {listed} is gone, which runs a mesh", gone)
        back = [p for p in sorted(needed) if self._since.get(p, 0) > generation]
        if back:
            raise ProcessError(
                f"process {back[0]} has come back since this program was compiled, and "
                "does not know it; compile it again after mw.elastic.regroup()"
            )

    def has_changed(self, processes: Collection[int]) -> bool:
        """Whether any of these was away for a time."""
        return any(process in self._since for process in processes)

    def _failure(self, text: str, gone: Sequence[int]) -> ProcessFailure:
        meshes = sorted(n for n, found in self._meshes.items() if found & set(gone))
        if meshes:
            text += f" (meshes {', '.join(map(repr, meshes))})"
        failure = ProcessFailure(text, gone, meshes)
        failure.add_note("mw.elastic.regroup() goes on without what is gone.")
        return failure


def close_connections(addresses: Collection[str]) -> None:
    """Shuts down what this process has open from or to these addresses.

    JAX lets an array be in error whose connection was closed, and lets it wait
    forever where the other side never offers it.

    Args:
      addresses: as `host:port`.
    """
    wanted = {_endpoint(*address.rsplit(":", 1)) for address in addresses}
    for name in os.listdir("/dev/fd"):
        try:
            if not stat.S_ISSOCK(os.fstat(int(name)).st_mode):
                continue
            connection = socket.socket(fileno=os.dup(int(name)))
        except OSError:  # The folder itself, or what another thread has closed.
            continue
        with connection:
            try:
                ends = connection.getsockname(), connection.getpeername()
                if any(_endpoint(*end[:2]) in wanted for end in ends):
                    connection.shutdown(socket.SHUT_RDWR)
            except (OSError, TypeError, ValueError):
                continue  # It listens, or belongs to another family.


def _endpoint(host: str, port: str | int) -> tuple[str, int]:
    return host.strip("[]").removeprefix("::ffff:"), int(port)
