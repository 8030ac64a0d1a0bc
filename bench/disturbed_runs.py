#!/usr/bin/env python3
"""Disturbs runs of examples/resume.py at a random moment, under `--restart`: a process
is killed, stopped, or finds the disk full; the terminal is closed, the run interrupted,
or its launcher killed.

    python -m bench.disturbed_runs [--runs 200] [--seed 0] [--timeout 8]
        [--kind KIND]

The run has to go on by itself to its end: under `nohup` where the terminal is closed,
and in a loop of the shell where its launcher is killed (docs/distributed.md). After
Ctrl-C it has to end, and go on when it is started once more. No run may hang or leave a
process running, and the losses have to be those of a run that was not disturbed. Prints
a line per run and a table; exit code 1 if any is not so.
"""

import argparse
import collections
import contextlib
import functools
import os
import pathlib
import queue
import random
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence

from bench import killed_runs

# What is sent to the launcher, and what it is started by.
_SIGNALS = {
    "terminal closed": signal.SIGHUP,
    "Ctrl-C": signal.SIGINT,
    "launcher killed": signal.SIGKILL,
}
_STARTERS = {
    "terminal closed": ("nohup",),
    "launcher killed": ("sh", "-c", 'until "$@"; do :; done', "sh"),
}
KINDS = ("killed", "stopped", "disk full", *_SIGNALS)


def disturb(
    seed: int,
    timeout: float,
    wanted: dict[int, str],
    launcher: Sequence[str] = killed_runs.LAUNCHER,
) -> tuple[str, str]:
    """One training of 2 to 4 processes; what happened, and how it went on.

    Args:
      wanted: losses by step.
      launcher: what is run as `python -m meshwright.launch`.

    Raises:
      RuntimeError: what must not happen did.
    """
    return killed_runs.again_if_over(lambda: _disturb(seed, timeout, wanted, launcher))


def _disturb(
    seed: int, timeout: float, wanted: dict[int, str], launcher: Sequence[str]
) -> tuple[str, str]:
    rng = random.Random(seed)
    kind = KINDS[seed % len(KINDS)]
    processes = rng.randint(2, 4)
    victim, moment = rng.randrange(processes), rng.randrange(killed_runs.STEPS - 6)
    with tempfile.TemporaryDirectory() as folder:
        start = functools.partial(_start, processes, timeout, folder, launcher)
        run = start(_STARTERS.get(kind, ()))
        seen: dict[int, str] = {}
        reader = _until(run, moment, rng.random(), seen)
        pids = _strike(run, kind, victim)
        began = time.monotonic()
        code, errors = _end(run, seed, timeout)
        reader.join()
        took = time.monotonic() - began
        _await_none(pids, seed)
        goes_on = "by itself"
        if kind == "Ctrl-C":
            if not code:
                raise killed_runs.Over(f"run {seed} was over before Ctrl-C")
            if code != 128 + signal.SIGINT:
                raise RuntimeError(f"run {seed}: {kind}, exit code {code}:\n{errors}")
            again = start(())
            reader = threading.Thread(
                target=_read, args=(again, seen, queue.SimpleQueue())
            )
            reader.start()
            code, errors = _end(again, seed, timeout)
            reader.join()
            goes_on = "started once more"
        if code:
            raise RuntimeError(f"run {seed}: {kind}, exit code {code}:\n{errors}")
    if seen != wanted:
        raise RuntimeError(f"run {seed}: {kind}, losses {seen}, wanted {wanted}")
    where = f"process {victim} of {processes} after step {moment}"
    return kind, f"run {seed}: {kind}, {where}; {goes_on}, {took:.1f} s"


def _strike(run: subprocess.Popen, kind: str, victim: int) -> list[int]:
    """Does to a run what it is to outlive; returns its processes until then.

    Raises:
      Over: it has ended.
    """
    find = (lambda: _child(run.pid)) if kind == "launcher killed" else None
    while True:
        pids = killed_runs.await_workers(run, victim + 1, find)
        with contextlib.suppress(OSError, IndexError):  # It has ended meanwhile.
            if kind in _SIGNALS:
                os.kill(find() if find else run.pid, _SIGNALS[kind])
            elif kind == "disk full":
                # Writes beyond a file's limit fail as those to a full disk do.
                resource.prlimit(pids[victim], resource.RLIMIT_FSIZE, (16, 16))
            else:
                name = signal.SIGKILL if kind == "killed" else signal.SIGSTOP
                os.kill(pids[victim], name)
            return pids


def _start(
    processes: int,
    timeout: float,
    checkpoints: str,
    launcher: Sequence[str],
    starter: Sequence[str],
) -> subprocess.Popen:
    command = killed_runs.command(
        processes, timeout, checkpoints, ("--restart", "2"), launcher
    )
    return killed_runs.start_command([*starter, *command])


def _child(pid: int) -> int:
    children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return int(children.split()[0])


def _read(run: subprocess.Popen, seen: dict[int, str], steps: queue.SimpleQueue):
    with run.stdout:
        for line in run.stdout:
            found = killed_runs.losses(line)
            seen |= found
            for step in found:
                steps.put(step)
    steps.put(None)


def _until(run: subprocess.Popen, moment: int, rest: float, seen: dict[int, str]):
    """Waits until a run has come to this step; who reads its losses from then on."""
    steps: queue.SimpleQueue = queue.SimpleQueue()
    reader = threading.Thread(target=_read, args=(run, seen, steps), daemon=True)
    reader.start()
    while (step := steps.get()) is not None and step < moment:
        pass
    time.sleep(0.05 * rest)
    return reader


def _end(run: subprocess.Popen, seed: int, timeout: float):
    """Exit code and errors of a run."""
    errors: list[str] = []

    def read() -> None:
        with run.stderr:
            errors.append(run.stderr.read())

    reader = threading.Thread(target=read)
    reader.start()
    try:
        code = run.wait(timeout + killed_runs.GRACE)
    except subprocess.TimeoutExpired:
        run.kill()
        raise RuntimeError(f"run {seed}: hangs") from None
    reader.join()
    return code, errors[0]


def _await_none(pids: list[int], seed: int) -> None:
    limit = time.monotonic() + killed_runs.GRACE
    while left := [pid for pid in pids if pathlib.Path(f"/proc/{pid}").exists()]:
        if time.monotonic() > limit:
            raise RuntimeError(f"run {seed}: processes {left} are left")
        time.sleep(0.05)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--timeout", type=float, default=8.0)
    parser.add_argument("--kind", choices=KINDS, help="only those of the runs")
    options = parser.parse_args()
    # A shell lets what it starts in the background ignore Ctrl-C, and so do launchers.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    wanted, failures = killed_runs.undisturbed(2, options.timeout), 0
    well: collections.Counter = collections.Counter()
    runs: collections.Counter = collections.Counter()
    for seed in range(options.seed, options.seed + options.runs):
        if options.kind not in (None, KINDS[seed % len(KINDS)]):
            continue
        runs[KINDS[seed % len(KINDS)]] += 1
        try:
            kind, line = disturb(seed, options.timeout, wanted)
            well[kind] += 1
        except RuntimeError as error:
            line, failures = str(error), failures + 1
        print(line, flush=True)
    for kind, count in runs.items():
        print(f"{kind:16} {well[kind]:4} of {count:4}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
