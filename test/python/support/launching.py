"""Starts scripts in several processes, and reads what they print."""

import concurrent.futures
import contextlib
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
from collections.abc import Hashable

from support import forking
from support.tools import ROOT

SCRIPTS = ROOT / "test" / "python" / "processes"
FORKING = (sys.executable, str(forking.SERVER))  # As the launcher, that forks.
LIMIT = 400  # Seconds: what takes longer hangs, also on a busy machine.
PATIENCE = 120  # Seconds that a process of a run waits for another one there.


def environment(**variables: str) -> dict[str, str]:
    paths = [forking.STARTED, ROOT / "python", os.environ["MESHWRIGHT_EXTENSION"]]
    given = {
        "PYTHONPATH": os.pathsep.join(map(str, paths)),
        "JAX_NUM_CPU_DEVICES": "4",
        "JAX_PLATFORMS": "cpu",
    }
    return os.environ | given | variables


def bare_environment(**variables: str) -> dict[str, str]:
    """Nothing of what this process was given by its user or has set for itself; what
    programs need that run under a sanitizer stays (scripts/sanitizers.sh)."""
    sanitizer = ("LD_PRELOAD", "ASAN_OPTIONS", "UBSAN_OPTIONS", "ASAN_SYMBOLIZER_PATH")
    kept = {name: os.environ[name] for name in sanitizer if name in os.environ}
    return {"PYTHONPATH": usual_path(), "JAX_PLATFORMS": "cpu"} | kept | variables


def usual_path() -> str:
    """Without the settings that make starts and ends of tests' processes short."""
    return environment()["PYTHONPATH"].removeprefix(f"{forking.STARTED}{os.pathsep}")


def launch(
    processes: int,
    devices: int,
    script: str,
    *args: str,
    options=(),
    forks=True,
    **variables: str,
) -> forking.Done:
    """A script of the folder under the launcher, to its end.

    What begins with `meet()` (processes/meeting.py) begins in all of them together.

    Args:
      forks: whether processes are forked from one that has imported the package; they
        then all have one order of what is in sets.
    """
    words = ["-n", str(processes), "--devices-per-process", str(devices)]
    # A later option counts.
    words += ["--timeout", str(PATIENCE), *options, str(SCRIPTS / script), *args]
    # These scripts import this package, too.
    path = os.pathsep.join([environment()["PYTHONPATH"], str(SCRIPTS.parent)])
    with tempfile.TemporaryDirectory() as meeting:
        given = environment(**{"MEETING": meeting, "PYTHONPATH": path} | variables)
        if forks:
            return forking.run(words, given, LIMIT, launches=True)
        done = subprocess.run(
            [sys.executable, "-m", "meshwright.launch", *words],
            env=given,
            capture_output=True,
            text=True,
            timeout=LIMIT,
        )
        return forking.Done(done.returncode, done.stdout, done.stderr)


def run_forked(jobs: dict[Hashable, tuple]) -> dict:
    """Runs scripts at once that have no launcher; how each has ended.

    Args:
      jobs: the words of a command, from the name of a script on, and variables.
    """

    def run(job: tuple) -> forking.Done:
        (script, *words), variables = job
        given = environment(JAX_NUM_CPU_DEVICES="1", **variables)
        return forking.run([str(SCRIPTS / script), *words], given, LIMIT)

    with concurrent.futures.ThreadPoolExecutor(len(jobs)) as pool:
        return dict(zip(jobs, pool.map(run, jobs.values()), strict=True))


def launch_all(cases: dict, **options) -> dict:
    """Several launches at once: they mostly wait."""
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        jobs = {
            name: pool.submit(launch, *case, **options) for name, case in cases.items()
        }
        return {name: job.result() for name, job in jobs.items()}


def reports(done: forking.Done) -> list[dict]:
    """What the processes of a run that must succeed say, in their order."""
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [line.partition("] ")[2] for line in done.stdout.splitlines()]
    found = [json.loads(line) for line in lines if line.startswith("{")]
    assert found, "no process has reported:\n" + done.stdout + done.stderr
    return sorted(found, key=lambda report: report["process"])


def reports_of_each(processes: int, devices: int, *scripts: str, **variables) -> dict:
    """The reports of several scripts that share one start, by script."""
    found = reports(launch(processes, devices, "several.py", *scripts, **variables))
    assert [report["process"] for report in found] == [*range(processes)]
    return {script: [report[script] for report in found] for script in scripts}


# The names that hold the ports which this process has given away.
_held_ports: list[socket.socket] = []


def free_port() -> int:
    """A port for one run of a test: nothing listens there, and no other test gets it.

    Above those that Linux gives to connections, and held by a name of its own, since
    a port that is looked up and released may be handed out twice before it is used.
    """
    for port in range(61440, 65536):
        name = socket.socket(socket.AF_UNIX)
        try:
            name.bind(f"\0meshwright-test-port-{port}")
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", port))
        except OSError:
            name.close()
            continue
        _held_ports.append(name)
        return port
    raise OSError("no port is free")


def slurm(port: int, process: int) -> dict[str, str]:
    """What `srun` leaves for a task of a job on this host."""
    return {
        "SLURM_JOB_ID": str(port - (65536 - 4096)),
        "SLURM_STEP_NODELIST": "localhost",
        "SLURM_NTASKS": "2",
        "SLURM_PROCID": str(process),
        "SLURM_LOCALID": str(process),
    }


def descendants(process: int) -> list[int]:
    """What a process has started, and what that has started in turn."""
    found = []
    with contextlib.suppress(OSError):  # It has ended.
        for task in pathlib.Path(f"/proc/{process}/task").iterdir():
            for child in map(int, (task / "children").read_text().split()):
                found += [child, *descendants(child)]
    return found


def is_alive(process: int) -> bool:
    try:
        state = pathlib.Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False
    return state.rpartition(")")[2].split()[0] != "Z"
