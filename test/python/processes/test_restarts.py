"""Runs that go on after a fault, and runs that are asked to end."""

import concurrent.futures
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys

import pytest
from support.launching import (
    LIMIT,
    PATIENCE,
    SCRIPTS,
    descendants,
    environment,
    free_port,
    launch,
    reports,
    slurm,
)

# The restarts that are allowed, what happens, the exit code, what is said.
CASES = {
    "goes on": (3, ["kill", "raise"], 0, "starts all processes again (2 of 3)"),
    "crash loop": (
        1,
        ["exit", "kill"],
        5,
        "gives up after 1 restarts; at first process 1",
    ),
}


def start(*arguments: str) -> subprocess.Popen:
    command = [sys.executable, "-m", "meshwright.launch", "-n", "2"]
    return subprocess.Popen(
        [*command, "--timeout", str(PATIENCE), *arguments],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.fixture(scope="module")
def ended(tmp_path_factory) -> dict:
    # Not in the threads, of which two that begin would make a base folder each.
    folders = {case: tmp_path_factory.mktemp("restarts") for case in CASES}

    def run(case):
        count, faults, _, _ = CASES[case]
        words = "restarts.py", str(folders[case] / "step"), *faults
        options = ("--restart", str(count))
        # One as by users, who start Python for each process.
        return launch(2, 1, *words, options=options, forks=case != "goes on")

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return dict(zip(CASES, pool.map(run, CASES), strict=True))


@pytest.mark.parametrize("case", CASES)
def test_a_run_is_started_again_as_often_as_it_may_be(case, ended):
    code, out, errors = ended[case]
    _, _, wanted, text = CASES[case]
    assert code == wanted, errors
    assert text in errors


def test_a_run_that_is_started_again_goes_on_where_it_was(ended):
    _, out, _ = ended["goes on"]
    firsts = [line.partition("] ")[2] for line in out.splitlines() if "from" in line]
    assert firsts[0] == "attempt 0 from step 0"
    assert {line.split()[1] for line in firsts} == {"0", "1", "2"}
    assert out.count("end 19") == 2
    assert "from step 0" not in "".join(x for x in firsts if "attempt 2" in x)


def test_the_first_cause_of_a_crash_loop_is_named(ended):
    _, _, errors = ended["crash loop"]
    (line,) = [line for line in errors.splitlines() if "gives up" in line]
    assert line.endswith("ended with exit code 5")


def worker(launcher: int, script: str) -> int:
    """A process of the script that this launcher has started."""
    children = pathlib.Path(f"/proc/{launcher}/task/{launcher}/children").read_text()
    lines = {int(n): pathlib.Path(f"/proc/{n}/cmdline") for n in children.split()}
    return max(n for n, line in lines.items() if script.encode() in line.read_bytes())


def ask(processes: list[int]) -> None:
    """Asks to end; some may have done so meanwhile."""
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGTERM)


@pytest.mark.parametrize("target", ["launcher", "process", "all"])
def test_all_save_the_same_step_when_asked_to_end(target, tmp_path):
    """`all` is what systemd does, and SLURM: also what the launcher has beside it."""
    script = str(SCRIPTS / "preempted.py")
    with start("--grace", str(LIMIT), script, str(tmp_path)) as launcher:
        for _ in range(2):
            assert launcher.stdout.readline().endswith("running\n")
        if target == "all":
            ask([*descendants(launcher.pid), launcher.pid])
        else:
            ask(
                [launcher.pid if target == "launcher" else worker(launcher.pid, script)]
            )
        _, errors = launcher.communicate(timeout=LIMIT)
    assert launcher.returncode == 75, errors
    assert len(saved_steps(tmp_path)) == 1


def saved_steps(folder: pathlib.Path) -> set[int]:
    """At which processes saved (preempted.py)."""
    return {json.loads((folder / f"{n}.json").read_text()) for n in range(2)}


def test_all_tasks_of_a_cluster_save_the_same_step_when_asked_to_end(tmp_path):
    """SLURM asks whatever a step has started: the watchdog beside process 0, too."""
    port = free_port()
    processes = [
        subprocess.Popen(
            [sys.executable, str(SCRIPTS / "preempted.py"), str(tmp_path)],
            env=environment(JAX_NUM_CPU_DEVICES="1", **slurm(port, number)),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(2)
    ]
    try:
        for process in processes:
            assert process.stdout.readline() == "running\n"
        pids = [process.pid for process in processes]
        watchdogs = [child for pid in pids for child in descendants(pid)]
        assert watchdogs
        ask([*watchdogs, *pids])
        errors = [process.communicate(timeout=LIMIT)[1] for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.communicate()
    assert [process.returncode for process in processes] == [75, 75], errors
    assert len(saved_steps(tmp_path)) == 1


def test_a_host_that_is_gone_costs_the_steps_since_the_last_copy():
    """Also one that is lost next, which had what the first one had."""
    found = reports(launch(2, 2, "copied.py", options=("--restart", "2")))
    assert [report["process"] for report in found] == [0, 1]
    for report in found:
        assert report["first"] in (3, 5)  # After a step that was copied.
        # The last copy, which no older one is newer than: it is of the last start.
        assert report["kept"] == [[2, 6]]
        assert report["a"] == [8.0] * 8
        assert report["b"] == [8.0 * sum(range(1, 9))] * 3
        assert report["key"] == [0.0, 7.0]
        assert report["folder"].startswith("/dev/shm/")
        assert not pathlib.Path(report["folder"]).exists()


POSITIONS = ("0", "-1")


@pytest.fixture(scope="module")
def interrupted() -> list[dict]:
    return reports(launch(2, 2, "interrupted.py", *POSITIONS))


@pytest.mark.parametrize("position", POSITIONS)
def test_ctrl_c_in_a_donating_step_leaves_each_process_its_state(position, interrupted):
    assert [report["process"] for report in interrupted] == [0, 1]
    for report in interrupted:
        assert report["found"][position] == {
            "calls": 9,
            "interrupts": 1,
            "a": [9] * 8,
            "b": [8 * 45] * 3,
        }
