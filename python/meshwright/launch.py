# SPDX-License-Identifier: Apache-2.0
"""Starts one script in several processes on this machine.

    python -m meshwright.launch -n 4 --devices-per-process 2 script.py args...

The script calls `mw.distributed.initialize()` first. Everything listens on
loopback. The launcher holds JAX's coordinator and the watchdog: when a process
fails, the others end within `--timeout` seconds with a line that names it, and the
launcher ends with the exit code of the process that failed first, or, with `--restart`,
starts all of them again.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
from collections.abc import Callable, Sequence

from .core.ending import end_process
from .launching.attempt import Run
from .launching.restarts import run_again
from .launching.signals import Stop


def _parse(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m meshwright.launch",
        description="Starts one script in several processes on this machine.",
    )
    parser.add_argument(
        "-n", "--processes", type=_at_least(1), required=True, help="how many processes"
    )
    parser.add_argument(
        "--devices-per-process",
        type=_at_least(1),
        default=1,
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
    parser.add_argument(
        "--restart",
        type=_at_least(0),
        default=0,
        metavar="N",
        help="how many times all processes are started again after a fault; the "
        "script goes on from what it has saved (default: %(default)s)",
    )
    parser.add_argument(
        "--grace",
        type=_seconds,
        default=2.0,
        help="seconds between asking the processes to end (SIGTERM) and killing them "
        "(default: %(default)g)",
    )
    parser.add_argument("script", help="the Python script to run")
    parser.add_argument(
        "args", nargs=argparse.REMAINDER, help="arguments of the script"
    )
    found = parser.parse_args(argv)
    if not os.path.isfile(found.script):
        parser.error(f"there is no script {found.script}")
    return found


def _at_least(least: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        found = int(text)
        if found < least:
            raise argparse.ArgumentTypeError(f"must be at least {least}, got {found}")
        return found

    return number


def _seconds(text: str) -> float:
    number = float(text)
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"must be positive and finite, got {text}")
    return number


def _keep_descriptors() -> None:
    """Gives what is closed of the standard files an end.

    Else the next file or socket takes its number, and is written to as the output.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)


def main(argv: Sequence[str] | None = None) -> int:
    options = _parse(sys.argv[1:] if argv is None else argv)
    _keep_descriptors()
    run = Run(
        (options.script, *options.args),
        options.processes,
        options.devices_per_process,
        options.timeout,
        not options.no_prefix,
        options.grace,
    )
    return run_again(run, options.restart, Stop())


if __name__ == "__main__":
    # A reader that is stopped must not keep Python from its end.
    end_process(main())
