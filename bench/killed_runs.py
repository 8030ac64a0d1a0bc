#!/usr/bin/env python3
"""Kills or stops a random process of examples/resume.py at a random moment, again and
again: none may hang, each has to say why, and the losses have to be those of a
run without disturbance.

    bench/killed_runs.py [--runs 100] [--processes 2] [--seed 0] [--timeout 8]

Prints a line per run, and how long the others took to end; exit code 1 if any run
hangs, ends without a line that names the process, leaves a process, or trains
to other losses.
"""

import argparse
import contextlib
import os
import pathlib
import queue
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

ROOT = pathlib.Path(__file__).resolve().parent.parent
SCRIPT = ROOT / "examples" / "resume.py"
STEPS, EVERY = 24, 4
GRACE = 180.0  # Seconds beyond the timeout and a start, for a busy machine.
TRIES = 5  # Of a run that a busy machine lets end before it can be disturbed.
# What one run compiled serves the others, also one that was killed while it wrote.
CACHE = tempfile.TemporaryDirectory(prefix="meshwright-cache-")
LAUNCHER = (sys.executable, "-m", "meshwright.launch")
_LOSS = re.compile(r"step (\d+) loss (\S+)")
T = TypeVar("T")


class Over(RuntimeError):
    """A run has ended before it was disturbed: who disturbs it came too late."""


def again_if_over(work: Callable[[], T]) -> T:
    """What `work` returns, which is tried a few times."""
    for _ in range(TRIES - 1):
        with contextlib.suppress(Over):
            return work()
    return work()


def command(
    processes: int,
    timeout: float,
    checkpoints: str,
    options: Sequence[str] = (),
    launcher: Sequence[str] = LAUNCHER,
) -> list[str]:
    launch = [*launcher, "-n", str(processes), "--timeout", str(timeout), *options]
    return [
        *launch,
        str(SCRIPT),
        f"--checkpoints={checkpoints}",
        f"--steps={STEPS}",
        f"--every={EVERY}",
    ]


def start(
    processes: int, timeout: float, checkpoints: str, **others
) -> subprocess.Popen:
    return start_command(command(processes, timeout, checkpoints, **others))


def start_command(words: list[str]) -> subprocess.Popen:
    paths = [ROOT / "python", ROOT / "build" / "python"]
    paths += filter(None, [os.environ.get("PYTHONPATH")])
    return subprocess.Popen(
        words,
        env=os.environ
        | {
            "PYTHONPATH": os.pathsep.join(map(str, paths)),
            "JAX_PLATFORMS": "cpu",
            "MESHWRIGHT_CACHE_DIR": CACHE.name,
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def workers(launcher: int) -> list[int]:
    """Processes of the script that this launcher started, in their order."""
    children = pathlib.Path(f"/proc/{launcher}/task/{launcher}/children").read_text()
    found = []
    for child in map(int, children.split()):
        with contextlib.suppress(OSError):  # It has ended meanwhile.
            words = pathlib.Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0")
            is_script = str(SCRIPT).encode() in words
            is_script &= b"meshwright.launch" not in words
            if is_script and os.getsid(child) == child:  # As the launcher starts it.
                found.append(child)
    return found


def await_workers(
    run: subprocess.Popen, count: int, launcher: Callable[[], int] | None = None
) -> list[int]:
    """At least this many processes of a run that has not ended.

    Raises:
      Over: it has.
    """
    while run.poll() is None:
        with contextlib.suppress(OSError, IndexError):
            found = workers(run.pid if launcher is None else launcher())
            if len(found) >= count:
                return found
        time.sleep(0.02)
    raise Over("the run was over before it was disturbed")


def losses(text: str) -> dict[int, str]:
    return {int(step): loss for step, loss in _LOSS.findall(text)}


def undisturbed(
    processes: int, timeout: float, checkpoints: str | None = None, **others
) -> dict[int, str]:
    """The losses of a run. Its checkpoints are deleted, unless a folder is given."""
    kept = contextlib.nullcontext(checkpoints)
    with kept if checkpoints else tempfile.TemporaryDirectory() as folder:
        run = start(processes, timeout, folder, **others)
        out, errors = run.communicate(timeout=300)
    if run.returncode:
        raise RuntimeError(f"the undisturbed run failed:\n{errors}")
    return losses(out)


def disturb(
    seeds: Sequence[int], processes: int, timeout: float, wanted: dict, **others
) -> str:
    """A training that is disturbed once for each seed, and goes on each time.

    Returns:
      What happened, in a line.

    Raises:
      RuntimeError: what must not happen did.
    """
    return again_if_over(lambda: _disturb(seeds, processes, timeout, wanted, **others))


def _disturb(
    seeds: Sequence[int], processes: int, timeout: float, wanted: dict, **others
) -> str:
    seen, lines = {}, []
    # Steps that a run may do before it is disturbed, so that some are left.
    most = (STEPS - 2) // len(seeds) - 3
    with tempfile.TemporaryDirectory() as folder:
        for seed in seeds:
            found, line = disturb_once(seed, processes, timeout, folder, most, **others)
            seen |= found
            lines.append(line)
        again = start(processes, timeout, folder, **others)
        out, errors = again.communicate(timeout=300)
        if again.returncode:
            raise RuntimeError(f"runs {list(seeds)}: do not go on:\n{errors}")
        seen |= losses(out)
    if seen != wanted:
        raise RuntimeError(f"runs {list(seeds)}: losses {seen}, wanted {wanted}")
    return "\n".join(lines)


def disturb_once(
    seed: int,
    processes: int,
    timeout: float,
    checkpoints: str,
    most: int,
    launcher: Sequence[str] = LAUNCHER,
) -> tuple[dict[int, str], str]:
    """One run up to its end by a fault; its losses, and what happened.

    One that is disturbed while it starts has the usual launcher.
    """
    rng = random.Random(seed)
    how = rng.choice([signal.SIGKILL, signal.SIGSTOP])
    victim, moment = rng.randrange(processes), rng.randrange(-1, most)
    chosen = LAUNCHER if moment < 0 else launcher
    with start(processes, timeout, checkpoints, launcher=chosen) as run:
        out, lines = [], queue.SimpleQueue()

        def read():
            # What a loop over lines has read ahead is lost for `communicate`.
            for line in run.stdout:
                out.append(line)
                lines.put(line)
            lines.put(None)

        reader = threading.Thread(target=read)
        reader.start()
        if moment < 0:  # While it starts.
            await_workers(run, processes)
            time.sleep(2 * rng.random())
        else:
            seen = {}
            while len(seen) <= moment and (line := lines.get()) is not None:
                seen |= losses(line)
            time.sleep(0.05 * rng.random())
        pids = await_workers(run, victim + 1)
        with contextlib.suppress(ProcessLookupError):
            os.kill(pids[victim], how)
        began = time.monotonic()
        try:
            run.wait(timeout + GRACE)
        except subprocess.TimeoutExpired:
            run.kill()
            raise RuntimeError(f"run {seed}: hangs after {how.name}") from None
        took = time.monotonic() - began
        reader.join()
        errors = run.stderr.read()
    if not run.returncode:
        raise Over(f"run {seed} was over before it was disturbed")
    left = [pid for pid in pids if pathlib.Path(f"/proc/{pid}").exists()]
    if left:
        raise RuntimeError(f"run {seed}: processes {left} are left")
    if f"meshwright.launch: process {victim}" not in errors:
        raise RuntimeError(f"run {seed}: no error names process {victim}:\n{errors}")
    line = f"run {seed}: {how.name} to {victim} at {moment}, over after {took:.1f} s"
    return losses("".join(out)), line


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--timeout", type=float, default=8.0)
    options = parser.parse_args()
    wanted, failures = undisturbed(options.processes, options.timeout), 0
    for seed in range(options.seed, options.seed + options.runs):
        try:
            line = disturb([seed], options.processes, options.timeout, wanted)
        except RuntimeError as error:
            line, failures = str(error), failures + 1
        print(line, flush=True)
    print(f"{options.runs - failures} of {options.runs} runs are as they should be")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
