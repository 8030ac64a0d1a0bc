# SPDX-License-Identifier: Apache-2.0
"""Where this process is: what it issues, and which launch is not done yet.

A thread looks through the launches in their order, now and then. It is only there
when a watchdog watches this process (meshwright.runtime.processes.watch).
"""

from __future__ import annotations

import collections
import contextlib
import itertools
import threading
from collections.abc import Iterator
from typing import Any

import jax

from ...jaxapi import runtime as jax_runtime
from .awake import clock

# (program, run, rank of the item), equal in all processes.
Place = tuple[int, int, int]


class Worker(threading.Thread):
    """Finds the oldest launch that is not done, and for how long it has not been.

    Attributes:
      issuing: what the issuing thread is at, and since when; None between runs.
      period: seconds from one look to the next. Waking the thread for each launch
        would cost the issuing thread more than the launch.
    """

    def __init__(self):
        super().__init__(name="meshwright-follow", daemon=True)
        self.issuing: tuple[Place, str, float] | None = None
        self.period = 1.0
        # What is awaited of a process, or of all (None); which wait it is; since when.
        # By number; threads that fetch, and the one that issues, wait at the same time.
        self._awaited: dict[int, tuple[str, int | None, float]] = {}
        self._waits = itertools.count()
        self._waiting: tuple[Place, str, float] | None = None
        self._launched: collections.deque = collections.deque()
        self._stopped = threading.Event()
        self.start()
        jax_runtime.end_at_exit(self, self._stopped.set)

    def wait_for(self, place: Place, what: str, token: Any) -> None:
        self._launched.append((place, what, token))

    def run(self) -> None:
        while not self._stopped.wait(self.period):
            # Those that come meanwhile are for the next look.
            for _ in range(len(self._launched)):
                place, what, token = self._launched.popleft()
                self._waiting = place, what, clock.now()
                # The user of the results gets an error.
                with contextlib.suppress(jax.errors.JaxRuntimeError):
                    token.block_until_ready()
                self._waiting = None
                del token

    def where(self) -> dict[str, Any]:
        """The oldest thing that is not done: its place, name, and seconds so far."""
        oldest = self._waiting or self.issuing
        if oldest is None:
            return {}
        place, what, since = oldest
        return {"place": place, "where": what, "seconds": clock.now() - since}

    @contextlib.contextmanager
    def awaiting(self, what: str, process: int | None) -> Iterator[None]:
        """Notes that this process waits for another one, or all, to do something."""
        number = next(self._waits)
        self._awaited[number] = what, process, clock.now()
        try:
            yield
        finally:
            del self._awaited[number]

    def awaits(self) -> dict[str, Any]:
        """What is awaited now, of which process, and for how many seconds: the newest
        of several."""
        awaited = self._awaited.copy()
        if not awaited:
            return {}
        number = max(awaited)
        what, process, since = awaited[number]
        seconds = clock.now() - since
        return {"what": what, "process": process, "wait": number, "seconds": seconds}


_worker: Worker | None = None


def worker() -> Worker | None:
    """The one worker of this process; None without a watchdog."""
    return _worker


def awaiting(what: str, process: int | None) -> contextlib.AbstractContextManager:
    """`Worker.awaiting` of the worker of this process, if there is one."""
    return _worker.awaiting(what, process) if _worker else contextlib.nullcontext()


def start() -> Worker:
    global _worker
    if _worker is None:
        _worker = Worker()
    return _worker
