# SPDX-License-Identifier: Apache-2.0
"""The processes of one run, from start to end."""

from __future__ import annotations

import collections
import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

from ..jaxapi import coordination
from ..runtime import processes
from ..runtime.processes.connection import EXIT_CODE, hold_port
from ..runtime.processes.exits import PREEMPTED
from ..runtime.processes.watchdog import Watchdog
from . import tether
from .printing import Printer
from .signals import Stop

_COORDINATOR = pathlib.Path(processes.__file__).parent / "coordinator.py"
# Seconds in which the launcher learns how a process ended, on a busy machine.
_EXIT_CODE_DELAY = 5.0
_LAST_LINES = 3.0  # The same, in which what a process has written is printed.
_LAST_SECONDS = 2.0  # That a process may take to end by itself.
_INFORMED_SECONDS = 10.0  # The same for one that knows of a fault, and has to say so.


@dataclass(frozen=True)
class Run:
    """What is started.

    Attributes:
      command: the script and its arguments.
      processes: how many.
      devices: of each process.
      timeout: seconds of silence, or at one place, that are a fault.
      prefix: whether lines get the number of their process.
      grace: seconds between asking a process to end and killing it.
    """

    command: Sequence[str]
    processes: int
    devices: int
    timeout: float
    prefix: bool
    grace: float


class Attempt:
    """One start of the script in all processes.

    Attributes:
      watchdog: knows the first fault.
      restarts: how often processes may still be started again.
    """

    def __init__(
        self,
        run: Run,
        stop: Stop,
        number: int = 0,
        copies: str | None = None,
        restarts: int = 0,
        generation: int = 0,
    ):
        """The start with this number, from 0.

        Args:
          copies: a folder that outlives it.
          restarts: how often a process that the others outlive is started again.
          generation: of the processes, at first.
        """
        self._run, self._stop, self._number = run, stop, number
        self._copies, self.restarts = copies, restarts
        self.watchdog = Watchdog(
            run.timeout,
            run.processes,
            exit_code_delay=_EXIT_CODE_DELAY,
            generation=generation,
        )
        self._port = hold_port("127.0.0.1:0")  # For the coordinator.
        self._coordinator = f"127.0.0.1:{self._port.getsockname()[1]}"
        # Its log says what the watchdog says better.
        self._service = subprocess.Popen(
            [
                sys.executable,
                "-P",
                str(_COORDINATOR),
                coordination.MODULE,
                self._coordinator,
                str(run.processes),
                str(max(1, round(run.timeout))),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._processes: dict[int, subprocess.Popen] = {}
        self._lost_since: dict[int, float] = {}
        self._starts: collections.Counter = collections.Counter()
        self._printer = Printer()

    def run(self) -> int:
        """Runs the script everywhere; returns the exit code."""
        if self._copies:
            self._keep(self._copies)
        try:
            for number in range(self._run.processes):
                if not self._stop.count:
                    self._start(number)
            code = self._wait()
        finally:
            self._end()
        # Asked to end, they have saved what they had. Ctrl-C does not mean that
        # it should be tried again.
        saved = all(p.returncode == PREEMPTED for p in self._processes.values())
        again = saved and self._stop.number in (None, signal.SIGTERM)
        return PREEMPTED if self._processes and again else code

    def _start(self, number: int) -> None:
        prefix = self._run.prefix
        process = subprocess.Popen(
            [
                *(sys.executable, "-I", "-S", tether.__file__, str(os.getpid())),
                *(sys.executable, *self._run.command),
            ],
            env=self._environment(number),
            stdout=subprocess.PIPE if prefix else None,
            stderr=subprocess.PIPE if prefix else None,
            start_new_session=True,
        )
        self._processes[number] = process
        self._starts[number] += 1
        self._keep(str(process.pid))
        if prefix:
            self._printer.follow(number, process.stdout, sys.stdout)
            self._printer.follow(number, process.stderr, sys.stderr)

    def _keep(self, line: str) -> None:
        """Lets the service end a group or remove a folder if this process is killed."""
        with contextlib.suppress(OSError):  # It has ended itself.
            self._service.stdin.write(f"{line}\n".encode())
            self._service.stdin.flush()

    def _environment(self, number: int) -> dict[str, str]:
        count = self._run.devices
        environment = os.environ | {
            "MESHWRIGHT_COORDINATOR": self._coordinator,
            "MESHWRIGHT_PROCESSES": str(self._run.processes),
            "MESHWRIGHT_PROCESS": str(number),
            "MESHWRIGHT_TIMEOUT": str(self._run.timeout),
            "MESHWRIGHT_WATCHDOG": self.watchdog.address,
            "MESHWRIGHT_TOKEN": self.watchdog.token,
            "MESHWRIGHT_ATTEMPT": str(self._number + self._starts[number]),
            "PYTHONUNBUFFERED": "1",
            "JAX_NUM_CPU_DEVICES": str(count),
        }
        if self._copies:
            environment["MESHWRIGHT_COPIES"] = self._copies
        environment.pop("MESHWRIGHT_JOINED", None)  # Of a run that starts this one.
        first = number * count
        for visible in ("CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"):
            all_visible = os.environ.get(visible)
            # An empty text is none of them, and stays that.
            ids = None if all_visible is None else all_visible.split(",")
            chosen = ids[first : first + count] if ids else range(first, first + count)
            environment[visible] = ",".join(map(str, chosen))
        return environment

    def _wait(self) -> int:
        """Waits for all, or for the first that fails and then for the rest."""
        running = dict(self._processes)
        code, known, preempted = 0, None, 0
        while running:
            if self._stop.number is not None:
                return 128 + self._stop.number
            for number, process in list(running.items()):
                found = _status(process)
                if found is None:
                    continue
                del running[number]
                status = 128 - found if found < 0 else found
                if status == PREEMPTED:  # No fault: the others do so, too.
                    preempted, status = PREEMPTED, 0
                if status and not code:
                    self.watchdog.report_end(number, _how(found))
                if not status:
                    self.watchdog.note_end(number)
                if number in self.watchdog.lost:
                    self._start_again(number, running)
                    continue
                if status and (not code or number == self.watchdog.culprit):
                    code = status
            self._end_lost(running)
            if self.watchdog.fault is not None and known is None:
                for number in range(len(self._processes)):
                    if number not in running:
                        self._printer.join(number, _LAST_LINES)
                self.say(self.watchdog.fault)
                ended = self._service.poll()
                if ended is not None:  # JAX says that another process has died.
                    self.say(f"before that the coordinator {_how(ended)}")
                known = time.monotonic()
            if known is not None:
                informed = self.watchdog.informed() & running.keys()
                limit = _INFORMED_SECONDS if informed else _LAST_SECONDS
                if time.monotonic() - known > limit:
                    break
            time.sleep(0.02)
        if self.watchdog.fault is not None:
            # The one at fault may take longer to end than those that it ended.
            return self.watchdog.code or code or EXIT_CODE
        return code or preempted

    def _start_again(self, number: int, running: dict) -> None:
        """Starts a process that is gone and has ended, if it may be."""
        if self.watchdog.fault is not None:
            return
        self._printer.join(number, _LAST_LINES)
        self.say(f"{self.watchdog.lost[number]}; the others go on")
        _reach(self._processes[number], signal.SIGKILL)  # What it has started.
        if self.restarts:
            self.restarts -= 1
            self.say(f"starts process {number} again ({self.restarts} more)")
            self.watchdog.expect(number)
            self._start(number)
            running[number] = self._processes[number]

    def _end_lost(self, running: dict[int, subprocess.Popen]) -> None:
        """Ends those that are taken to be gone, but are only stopped or hang."""
        now = time.monotonic()
        for number in self.watchdog.lost.keys() & running.keys():
            since = self._lost_since.setdefault(running[number].pid, now)
            if now - since > _LAST_SECONDS:
                _reach(running[number], signal.SIGKILL)

    def say(self, line: str) -> None:
        """Writes a line of the launcher's own."""
        self._printer.say(f"meshwright.launch: {line}")

    def _end(self) -> None:
        """Leaves no process, no port and no half line.

        Asked for the end once more, it kills at once.
        """
        alive, asked = list(self._processes.values()), self._stop.count
        ends = ((signal.SIGTERM, self._run.grace), (signal.SIGKILL, _LAST_SECONDS))
        for send, grace in ends:
            for process in alive:
                _reach(process, signal.SIGCONT)
                _reach(process, send)
            limit = time.monotonic() + grace
            while alive := [p for p in alive if _reach(p, 0)]:
                again = send == signal.SIGTERM and self._stop.count > max(1, asked)
                if again or time.monotonic() > limit:
                    break
                time.sleep(0.02)
        self._printer.close(_LAST_LINES)
        self.watchdog.close()
        self._service.kill()
        self._service.communicate()
        self._port.close()


def _status(process: subprocess.Popen) -> int | None:
    """How a process has ended, as `poll` says it, which lets go of its number: what
    the process has left running is known by that."""
    found = os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    if found is None:
        return None
    return found.si_status if found.si_code == os.CLD_EXITED else -found.si_status


def _reach(process: subprocess.Popen, number: int) -> bool:
    """Sends a signal to a process and to what it has started; whether any is left."""
    process.poll()
    try:
        os.killpg(process.pid, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _how(status: int) -> str:
    if status < 0:
        names = {known.value: known.name for known in signal.Signals}
        return f"was killed by {names.get(-status, f'signal {-status}')}"
    return f"ended with exit code {status}"
