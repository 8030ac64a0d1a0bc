# SPDX-License-Identifier: Apache-2.0
"""Keeps arrays that other processes send until they are here, and then says so.

A computation that reads such an array may be over before it has arrived, so a thread
waits for it. To wake that thread costs more than to issue a small transfer: what only
has to be kept is left for it to find when it looks, as it does while there is some.
"""

from __future__ import annotations

import collections
import contextlib
import queue
import threading
from collections.abc import Callable, Iterable
from typing import Any

# Small arrays that have arrived are kept about this much longer.
_LOOK_SECONDS = 0.05
_LOOK = (), ()


class Arrivals:
    """Waits for arrays. One thread at a time calls `keep` and `await_all`; a thread of
    its own calls `then`."""

    def __init__(self, then: Callable[..., None]):
        """`then` is called, beside the issuing thread, for what has arrived."""
        self._then = then
        self._asked: queue.SimpleQueue = queue.SimpleQueue()
        self._held: collections.deque = collections.deque()
        self._looks = False  # Whether the thread will look at `_held` by itself.
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Starts the thread; once."""
        if self._thread is None:
            self._thread = threading.Thread(
                target=self.run, daemon=True, name="meshwright-arrivals"
            )
            self._thread.start()

    def keep(self, arrays: Iterable[Any]) -> None:
        """Keeps small arrays until they are here, and a little longer."""
        self._held.extend(arrays)
        if not self._looks:
            self._asked.put(_LOOK)

    def await_all(self, arrays: collections.deque, *then: Any) -> None:
        """Keeps arrays until they are here; does not wait.

        Args:
          *then: what the function `then` gets when these and all before them are here;
            it is not called without any.
        """
        if then and self._held:
            # A deque of its own for what is kept later, which may only arrive once
            # `then` has been called.
            before, self._held = self._held, collections.deque()
            before.extend(arrays)
            arrays = before
        self._asked.put((arrays, then))

    def end(self, seconds: float) -> None:
        """Ends the thread when everything has arrived, or abandons it.

        Python unwinds a thread that is left when it wants the GIL back, and C++ code
        of JAX that is unwound aborts the process.
        """
        if self._thread is not None:
            self._asked.put((self._held, ()))
            self._asked.put(None)
            self._thread.join(seconds)

    def run(self) -> None:
        """What the thread does."""
        while True:
            # Counted first: of what has to be called before these can arrive, nothing
            # is left in the queue if that is empty afterwards.
            held, count = self._held, len(self._held)
            try:
                found = self._asked.get(timeout=_LOOK_SECONDS if self._looks else None)
            except queue.Empty:
                _wait(held, count)
                if not count:
                    self._looks = False
                    self._looks = bool(self._held)  # Kept just before, without a call.
                continue
            if found is None:
                return
            self._looks |= found is _LOOK
            arrays, then = found
            _wait(arrays, len(arrays))
            if then:
                self._then(*then)


def _wait(arrays: Any, count: int) -> None:
    """Waits for the first of some arrays and lets go of them."""
    for _ in range(count):
        # Donated by now: a computation uses it. In error: its user gets the error, and
        # the sender must not wait.
        with contextlib.suppress(RuntimeError):
            arrays.popleft().block_until_ready()
