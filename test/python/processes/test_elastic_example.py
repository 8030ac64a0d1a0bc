"""examples/elastic.py: a process that is killed is left out, and taken in again."""

import os
import re
import signal
import subprocess
import sys

import pytest
from support.launching import LIMIT, environment
from support.tools import ROOT

EVERY, VICTIM = 5, 1
EVERYONE, LEFT = (0, 1, 2), (0, 2)
PAIR = (0, 1)  # With as many of them the losses are the same.
_STEP = re.compile(r"step (\d+) loss (\S+) of \((.*)\)")
_PID = re.compile(r"process (\d+) is (\d+)")


def start(processes: int, steps: int, *options: str) -> subprocess.Popen:
    command = [sys.executable, "-m", "meshwright.launch", "-n", str(processes)]
    command += ["--restart", "1", "--timeout", str(2 * LIMIT)]
    command += [str(ROOT / "examples" / "elastic.py")]
    return subprocess.Popen(
        [*command, "--steps", str(steps), "--every", str(EVERY), *options],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


class Run:
    """What a run has printed so far: losses by step, and numbers of processes."""

    def __init__(self, members: tuple[int, ...], *given):
        self.process = start(len(members), *given)
        self.losses, self.pids, self.again = {}, {}, 0

    def until(self, members: tuple[int, ...], step: int = 0) -> int:
        """Reads on to a step of these processes, from this one on."""
        for line in self.process.stdout:
            if found := _PID.search(line):
                self.pids[int(found[1])] = int(found[2])
            if found := _STEP.search(line):
                number, value = int(found[1]), float(found[2])
                # Some are done again, with the same loss.
                self.again += number in self.losses
                before = self.losses.setdefault(number, value)
                assert value == pytest.approx(before, abs=1e-5)
                those = tuple(int(n) for n in found[3].split(",") if n)
                if those == members and number >= step:
                    return number
        raise AssertionError(self.process.communicate()[1])


@pytest.fixture(scope="module")
def runs():
    undisturbed = Run(PAIR, 4 * EVERY)
    # Those that are left go on until the other one is back, seconds later.
    run = Run(EVERYONE, 10**6, "--pause=0.05")
    try:
        undisturbed.until(PAIR, 4 * EVERY - 1)
        assert undisturbed.process.communicate(timeout=LIMIT)[1] == ""
        killed = run.until(EVERYONE, 2 * EVERY + 2)
        os.kill(run.pids.pop(VICTIM), signal.SIGKILL)
        first = run.until(LEFT)
        back = run.until(EVERYONE, first + 1)
        run.until(EVERYONE, back + EVERY)
        run.process.terminate()
        errors = run.process.communicate(timeout=LIMIT)[1]
        yield undisturbed, run, (killed, first, back), errors
    finally:
        for each in (undisturbed, run):
            each.process.kill()
            each.process.communicate()


def test_the_losses_are_those_of_an_undisturbed_run(runs):
    undisturbed, run, _, _ = runs
    assert undisturbed.process.returncode == 0
    assert sorted(run.losses) == list(range(max(run.losses) + 1))
    for step, loss in undisturbed.losses.items():
        assert run.losses[step] == pytest.approx(loss, abs=1e-5)


def test_no_more_than_the_steps_since_the_last_copy_are_done_again(runs):
    _, run, (_, first, back), errors = runs
    assert first % EVERY == 1  # After one that was copied.
    assert back % EVERY == 1
    # Two copies may still be on their way, and the third one is not due yet.
    assert run.again < 3 * EVERY
    assert f"starts process {VICTIM} again (0 more)" in errors
    assert VICTIM in run.pids  # Another one of that number.
