# SPDX-License-Identifier: Apache-2.0
"""Time in which this process has run: without that in which it was suspended.

A machine that sleeps, a container that is frozen or a job that is stopped is at no
fault for what did not happen meanwhile.
"""

from __future__ import annotations

import time


class Clock:
    """Seconds awake; a thread has to call `tick` about every `period` seconds.

    One that is late by more than a period, as no busy machine makes it, was stopped.
    """

    def __init__(self) -> None:
        self._paused = 0.0
        self._resumed = -float("inf")
        self._ticked: float | None = None
        self._period = 0.0

    def now(self) -> float:
        now = time.monotonic()
        return now - self._paused - self._late(now)

    def tick(self, period: float) -> float:
        """Notes that this process runs; returns for how long it did not, just now."""
        now = time.monotonic()
        pause = self._late(now)
        self._ticked, self._period = now, period
        if pause:
            self._paused += pause
            self._resumed = now
        return pause

    def has_paused(self, seconds: float) -> bool:
        """Whether this process was suspended at some time of the last seconds."""
        now = time.monotonic()
        return self._late(now) > 0 or now - self._resumed < seconds

    def _late(self, now: float) -> float:
        if self._ticked is None:
            return 0.0
        late = now - self._ticked - self._period
        return late if late > self._period else 0.0


#: The clock of this process, which its connection to the watchdog keeps.
clock = Clock()
