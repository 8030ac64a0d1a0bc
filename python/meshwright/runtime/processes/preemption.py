# SPDX-License-Identifier: Apache-2.0
"""After which step all processes save, once one of them was asked to end.

The watchdog asks each process how far it is, and answers with the step after the
furthest. A thread answers, whatever the main thread waits for; from then on no main
thread begins another step before the decision is there. So none is beyond it.
"""

from __future__ import annotations

import threading


class Preemption:
    """The part of one process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last: int | None = None
        self._asked = False
        self._decided = threading.Event()
        self._step: int | None = None

    def ask(self) -> int | None:
        """The last step that has been issued; None before the first."""
        with self._lock:
            self._asked = True
            return self._last

    def decide(self, step: int | None) -> None:
        """Ends the waiting; None is the next step, whichever that is."""
        self._step = step
        self._decided.set()

    def reached(self, step: int, timeout: float) -> bool:
        """Whether all save now, after this step.

        Raises:
          TimeoutError: there is no decision.
        """
        with self._lock:
            if not self._asked:
                self._last = step
                return False
        if not self._decided.wait(timeout):
            raise TimeoutError
        return self._step is None or step >= self._step
