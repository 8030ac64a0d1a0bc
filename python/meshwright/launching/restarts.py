# SPDX-License-Identifier: Apache-2.0
"""Starts all processes again after a fault."""

from __future__ import annotations

import os
import tempfile

from ..runtime.processes.exits import PREEMPTED
from .attempt import Attempt, Run
from .signals import Stop


def run_again(run: Run, restarts: int, stop: Stop) -> int:
    """Runs the script until it ends well, is asked to end, or has failed too often.

    Args:
      restarts: how many times it is started again.

    Returns:
      The exit code; where it has failed each time, that of the first.
    """
    if not restarts:
        return Attempt(run, stop).run()
    memory = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory(prefix="meshwright-", dir=memory) as copies:
        return _run_again(run, restarts, stop, copies)


def _run_again(run: Run, restarts: int, stop: Stop, copies: str) -> int:
    first_code, first_fault = 0, ""
    left, number, generation = restarts, 0, 0
    while True:
        attempt = Attempt(run, stop, number, copies, left, generation)
        code = attempt.run()
        if not code or code == PREEMPTED or stop.number is not None:
            return code
        fault = attempt.watchdog.fault or f"the run ended with exit code {code}"
        if not first_code:
            first_code, first_fault = code, fault
        if not attempt.restarts:
            attempt.say(f"gives up after {restarts} restarts; at first {first_fault}")
            return first_code
        left, number = attempt.restarts - 1, number + 1
        generation = attempt.watchdog.generation + 1
        attempt.say(f"starts all processes again ({restarts - left} of {restarts})")
