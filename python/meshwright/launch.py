# SPDX-License-Identifier: Apache-2.0
"""Starts one script in several processes on this machine.

    python -m meshwright.launch -n 4 --devices-per-process 2 script.py args...

The script calls `mw.distributed.initialize()` first. Everything listens on
loopback. The launcher holds JAX's coordinator and the watchdog: when a process
fails, the others end within `--timeout` seconds with a line that names it, and the
launcher ends with the exit code of the process that failed first.
"""

from __future__ import annotations

import argparse
import math
import os
import pathlib
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence

from .jaxapi import runtime as jax_runtime
from .runtime import processes
from .runtime.processes.watch import EXIT_CODE
from .runtime.processes.watchdog import Watchdog

_COORDINATOR = pathlib.Path(processes.__file__).parent / "coordinator.py"
_EXIT_CODE_DELAY = 0.2  # Seconds in which the launcher learns how a process ended.
_LAST_LINES = 1.0  # Seconds in which what a process has written is printed.
_GRACE = 2.0  # Seconds between asking a process to end and killing it.


def _parse(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m meshwright.launch",
        description="Starts one script in several processes on this machine.",
    )
    parser.add_argument(
        "-n", "--processes", type=_positive, required=True, help="how many processes"
    )
    parser.add_argument(
        "--devices-per-process",
        type=_positive,
        default=None,
        help="CPU devices of each process, or accelerators shared out to each "
        "(default: 1)",
    )
    parser.add_argument(
        "--timeout",
        type=_seconds,
        default=30.0,
        help="seconds after which a process that is silent, hangs or cannot connect "
        "ends the run (default: %(default)g)",
    )
    parser.add_argument(
        "--no-prefix",
        action="store_true",
        help="pass output through without the number of the process before each line",
    )
    parser.add_argument("script", help="the Python script to run")
    parser.add_argument(
        "args", nargs=argparse.REMAINDER, help="arguments of the script"
    )
    found = parser.parse_args(argv)
    if not os.path.isfile(found.script):
        parser.error(f"there is no script {found.script}")
    return found


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, got {number}")
    return number


def _seconds(text: str) -> float:
    number = float(text)
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"must be positive and finite, got {text}")
    return number


def _reserve_port() -> socket.socket:
    """Holds a port of loopback for the coordinator, which no other process gets."""
    holder = socket.socket()
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    holder.bind(("127.0.0.1", 0))
    return holder


class Launcher:
    """The processes of one run, from start to end."""

    def __init__(self, options: argparse.Namespace):
        self.options = options
        self.watchdog = Watchdog(
            options.timeout, options.processes, exit_code_delay=_EXIT_CODE_DELAY
        )
        self._port = _reserve_port()
        self.coordinator = f"127.0.0.1:{self._port.getsockname()[1]}"
        # Its log says what the watchdog says better.
        self.service = subprocess.Popen(
            [
                sys.executable,
                "-P",
                str(_COORDINATOR),
                jax_runtime.coordinator_module(),
                self.coordinator,
                str(options.processes),
                str(max(1, round(options.timeout))),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self.processes: list[subprocess.Popen] = []
        self.printers: dict[int, list[threading.Thread]] = {}
        self._printing = threading.Lock()
        self._unread: set = set()  # Of stdout and stderr, those whose reader has gone.

    def run(self) -> int:
        """Runs the script everywhere; returns the exit code."""
        try:
            for number in range(self.options.processes):
                self._start(number)
            return self._wait()
        except KeyboardInterrupt as stopped:
            (number,) = stopped.args or (signal.SIGINT,)
            return 128 + number
        finally:
            self._end()

    def _start(self, number: int) -> None:
        environment = os.environ | {
            "MESHWRIGHT_COORDINATOR": self.coordinator,
            "MESHWRIGHT_PROCESSES": str(self.options.processes),
            "MESHWRIGHT_PROCESS": str(number),
            "MESHWRIGHT_TIMEOUT": str(self.options.timeout),
            "MESHWRIGHT_WATCHDOG": self.watchdog.address,
            "PYTHONUNBUFFERED": "1",
        }
        count = self.options.devices_per_process or 1
        environment["JAX_NUM_CPU_DEVICES"] = str(count)
        first = number * count
        for visible in ("CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"):
            all_visible = os.environ.get(visible)
            # An empty text is none of them, and stays that.
            ids = None if all_visible is None else all_visible.split(",")
            chosen = ids[first : first + count] if ids else range(first, first + count)
            environment[visible] = ",".join(map(str, chosen))
        prefixed = not self.options.no_prefix
        process = subprocess.Popen(
            [sys.executable, self.options.script, *self.options.args],
            env=environment,
            stdout=subprocess.PIPE if prefixed else None,
            stderr=subprocess.PIPE if prefixed else None,
            start_new_session=True,
        )
        self.processes.append(process)
        if prefixed:
            for source, target in (
                (process.stdout, sys.stdout),
                (process.stderr, sys.stderr),
            ):
                printer = threading.Thread(
                    target=self._print, args=(number, source, target), daemon=True
                )
                printer.start()
                self.printers.setdefault(number, []).append(printer)

    def _print(self, number: int, source, target) -> None:
        encoding = target.encoding or "utf-8"
        for line in source:
            text = line.decode(errors="replace").rstrip("\n")
            text = text.encode(encoding, "replace").decode(encoding)
            try:
                with self._printing:
                    target.write(f"[{number}] {text}\n")
                    target.flush()
            except OSError:
                # As of `head`. The process hears of it when it prints more; it would
                # wait forever for a reader.
                source.close()
                self._unread.add(target)
                return

    def _wait(self) -> int:
        """Waits for all, or for the first that fails and then for the rest."""
        running = dict(enumerate(self.processes))
        code, deadline = 0, None
        while running:
            for number, process in list(running.items()):
                found = _status(process)
                if found is None:
                    continue
                del running[number]
                status = 128 - found if found < 0 else found
                if status and not code:
                    self.watchdog.report(number, _how(found))
                if status and (not code or number == self.watchdog.culprit):
                    code = status
            if self.watchdog.fault is not None and deadline is None:
                for number in self.printers.keys() - running.keys():
                    self._join_printers(number, _LAST_LINES)
                self._say(self.watchdog.fault)
                ended = self.service.poll()
                if ended is not None:  # JAX says that another process has died.
                    self._say(f"before that the coordinator {_how(ended)}")
                deadline = time.monotonic() + _GRACE
            if deadline is not None and time.monotonic() > deadline:
                # The one that raised may take longer to end than those that it ended.
                return 1 if self.watchdog.raised else code or EXIT_CODE
            time.sleep(0.02)
        return code

    def _join_printers(self, number: int, seconds: float) -> None:
        """Waits until all is printed that a process has written."""
        for printer in self.printers[number]:
            printer.join(seconds)

    def _say(self, fault: str) -> None:
        with self._printing:
            sys.stderr.write(f"meshwright.launch: {fault}\n")
            sys.stderr.flush()

    def _end(self) -> None:
        """Leaves no process, no port and no half line."""
        alive = self.processes
        for send in (signal.SIGTERM, signal.SIGKILL):
            for process in alive:
                _reach(process, signal.SIGCONT)
                _reach(process, send)
            limit = time.monotonic() + _GRACE
            while alive := [p for p in alive if _reach(p, 0)]:
                if time.monotonic() > limit:
                    break
                time.sleep(0.02)
        for number in self.printers:
            self._join_printers(number, _GRACE)
        for target in self._unread:  # Python fails to write what is left there.
            os.dup2(os.open(os.devnull, os.O_WRONLY), target.fileno())
        self.watchdog.close()
        self.service.kill()
        self.service.communicate()
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


def main(argv: Sequence[str] | None = None) -> int:
    launcher = Launcher(_parse(sys.argv[1:] if argv is None else argv))

    def stop(number, frame):
        raise KeyboardInterrupt(number)

    signal.signal(signal.SIGTERM, stop)
    return launcher.run()


if __name__ == "__main__":
    sys.exit(main())
