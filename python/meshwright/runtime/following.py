# SPDX-License-Identifier: Apache-2.0
"""Where this process is: what it issues, and which launch is not done yet.

A thread waits for the launches in their order. It is only there when somebody
watches this process (meshwright.distributed.watch).
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from typing import Any

import jax

from . import _jax_runtime

# (program, run, rank of the item), equal in all processes.
Place = tuple[int, int, int]


class Follower(threading.Thread):
    """Waits for launches, and can say for how long it has waited for this one.

    Attributes:
      issuing: what the issuing thread is at, and since when; None between runs.
    """

    def __init__(self):
        super().__init__(name="meshwright-follow", daemon=True)
        self.issuing: tuple[Place, str, float] | None = None
        self._waiting: tuple[Place, str, float] | None = None
        self._queue: queue.SimpleQueue = queue.SimpleQueue()
        self.start()
        _jax_runtime.end_at_exit(self, self._queue)

    def wait_for(self, place: Place, what: str, token: Any) -> None:
        self._queue.put((place, what, token))

    def run(self) -> None:
        while (entry := self._queue.get()) is not None:
            place, what, token = entry
            self._waiting = place, what, time.monotonic()
            # Whoever uses the results hears of an error.
            with contextlib.suppress(jax.errors.JaxRuntimeError):
                token.block_until_ready()
            self._waiting = None
            del entry, token

    def where(self) -> dict[str, Any]:
        """The oldest thing that is not done: its place, name, and seconds so far."""
        oldest = self._waiting or self.issuing
        if oldest is None:
            return {}
        place, what, since = oldest
        return {"place": place, "where": what, "seconds": time.monotonic() - since}


_follower: Follower | None = None


def follower() -> Follower | None:
    """The one follower of this process; None if nobody watches."""
    return _follower


def start() -> Follower:
    global _follower
    if _follower is None:
        _follower = Follower()
    return _follower
