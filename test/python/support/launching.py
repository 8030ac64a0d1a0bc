"""Starts scripts in several processes, and reads what they print."""

import concurrent.futures
import json
import os
import subprocess
import sys

from support.tools import ROOT

SCRIPTS = ROOT / "test" / "python" / "processes"


def environment(**variables: str) -> dict[str, str]:
    paths = [ROOT / "python", os.environ["MESHWRIGHT_EXTENSION"]]
    given = {
        "PYTHONPATH": os.pathsep.join(map(str, paths)),
        "JAX_NUM_CPU_DEVICES": "4",
        "JAX_PLATFORMS": "cpu",
    }
    return os.environ | given | variables


def bare_environment(**variables: str) -> dict[str, str]:
    """Nothing of what this process was told by its user or has set for itself; what
    programs need that run under a sanitizer stays (scripts/sanitizers.sh)."""
    sanitizer = ("LD_PRELOAD", "ASAN_OPTIONS", "UBSAN_OPTIONS", "ASAN_SYMBOLIZER_PATH")
    kept = {name: os.environ[name] for name in sanitizer if name in os.environ}
    path = environment()["PYTHONPATH"]
    return {"PYTHONPATH": path, "JAX_PLATFORMS": "cpu"} | kept | variables


def launch(
    processes: int, devices: int, script: str, *args: str, options=(), **variables: str
) -> subprocess.CompletedProcess:
    """A script of the folder under the launcher, to its end."""
    command = [sys.executable, "-m", "meshwright.launch", "-n", str(processes)]
    command += ["--devices-per-process", str(devices), *options]
    return subprocess.run(
        [*command, str(SCRIPTS / script), *args],
        env=environment(**variables),
        capture_output=True,
        text=True,
        timeout=240,
    )


def launch_all(cases: dict, **options) -> dict:
    """Several launches at once: they mostly wait."""
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        jobs = {
            name: pool.submit(launch, *case, **options) for name, case in cases.items()
        }
        return {name: job.result() for name, job in jobs.items()}


def reports(done: subprocess.CompletedProcess) -> list[dict]:
    """What the processes of a run that must succeed say, in their order."""
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [line.partition("] ")[2] for line in done.stdout.splitlines()]
    found = [json.loads(line) for line in lines if line.startswith("{")]
    return sorted(found, key=lambda report: report["process"])
