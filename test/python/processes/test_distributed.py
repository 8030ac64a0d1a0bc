"""One script in several processes: the same numbers, and no wait without end."""

import concurrent.futures
import contextlib
import hashlib
import json
import re
import socket
import subprocess
import sys

import numpy as np
import pytest
from meshwright.runtime.processes.connection import hold_port
from support.launching import (
    LIMIT,
    SCRIPTS,
    environment,
    free_port,
    launch,
    launch_all,
    reports,
    run_forked,
    slurm,
    usual_path,
)

from meshwright import launch as launcher

# Seconds that a process waits for another one: where they have to pass, and beyond what
# a test may take.
TIMEOUT, NEVER = 12, 2 * LIMIT


@pytest.fixture(scope="module")
def alone() -> dict:
    """What the script says when it is started as any other script."""
    done = subprocess.run(
        [sys.executable, str(SCRIPTS / "train.py"), "transfer", "own"],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["processes"] == 1
    return found["found"]["own"]


TRAINING = {
    "transfer": (2, ["own", "spanning", "small first", "small last"]),
    "device_put": (1, ["own"]),  # Every process issues all.
}


@pytest.fixture(scope="module")
def trained() -> dict:
    cases = {
        transport: (2, devices, "train.py", transport, *kinds)
        for transport, (devices, kinds) in TRAINING.items()
    }
    return launch_all(cases)


CASES = [(transport, kind) for transport, (_, ks) in TRAINING.items() for kind in ks]


@pytest.mark.parametrize("transport, kind", CASES)
def test_processes_train_like_one(transport, kind, trained, alone):
    reported = reports(trained[transport])
    assert [each["process"] for each in reported] == [0, 1]
    for each in reported:
        assert each["processes"] == 2
        found = each["found"][kind]
        np.testing.assert_allclose(found["losses"], alone["losses"], rtol=1e-5)
        np.testing.assert_allclose(found["sum"], alone["sum"], rtol=1e-5)


FAULTS = {
    "kill": (137, "was killed by SIGKILL"),
    "stop": (70, f"has been silent for {TIMEOUT} s"),
    "raise": (1, "failed: KeyError: 'lost'"),
    "exit": (3, "ended with exit code 3"),
    "hang": (70, 'from dec) on mesh "m1") has made no progress'),
    "differ": (1, "about to run different programs: fragments, "),
    "late": (70, "did not call mw.distributed.initialize()"),
    "early": (4, "ended with exit code 4"),
    "unfetched": (70, "come to its end, but process 0 waits for it to call mw.fetch;"),
    "through": (70, f"no progress for {TIMEOUT} s; process 0 has come to its end"),
}


# The others are noticed in another way.
BY_TIMEOUT = {"stop", "hang", "late", "through", "unfetched"}
PREFIX = {"early": ["--no-prefix"]}


@pytest.fixture(scope="module")
def failed() -> dict:
    def run(fault):
        timeout = TIMEOUT if fault in BY_TIMEOUT else NEVER
        options = ["--timeout", str(timeout), *PREFIX.get(fault, ())]
        return launch(2, 1, "fault.py", fault, options=options)

    faults = sorted({*FAULTS, "elsewhere"}, key=lambda x: (x not in BY_TIMEOUT, x))
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        return dict(zip(faults, pool.map(run, faults), strict=True))


@pytest.mark.parametrize("fault", FAULTS)
def test_everyone_ends_when_one_fails(fault, failed):
    done, (code, text) = failed[fault], FAULTS[fault]
    assert done.returncode == code, done.stderr
    culprit = "process 1"
    (line,) = [x for x in done.stderr.splitlines() if x.startswith("meshwright.launch")]
    assert text in line
    assert culprit in line
    if fault not in ("differ", *PREFIX):
        assert f"[0] {line.replace('.launch', '', 1)}" in done.stderr


def test_a_value_for_a_mesh_elsewhere_is_refused(failed):
    lines = failed["elsewhere"].stderr.splitlines()
    (line,) = [line for line in lines if "mw.distributed.place" in line]
    assert line.startswith("[1] ValueError: ")
    assert "its mesh 'm0' is on devices of other processes" in line


def test_the_value_of_an_array_elsewhere_points_to_fetch(failed):
    done = failed["elsewhere"]
    assert done.returncode == 1
    assert "mw.fetch(array) gives its value on every process" in done.stderr


def test_a_process_does_not_run_far_ahead_of_one_that_it_sends_to():
    done = launch(2, 1, "ahead.py")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("sum 861.7 of 100") == 2


@pytest.fixture(scope="module")
def ends() -> dict:
    """They end as those of a user, whose collector runs once more then."""
    cases = {name: (2, 1, f"{name}.py") for name in ("leave", "straggler")}
    return launch_all(cases, forks=False, PYTHONPATH=usual_path())


def test_a_process_waits_for_those_who_need_what_it_offered(ends):
    (report,) = reports(ends["leave"])
    assert report["values"] == [2.0 * (1 << 16)] * 4
    assert not ends["leave"].stderr


def test_nothing_runs_over_processes_after_shutdown(ends):
    (report,) = reports(ends["leave"])
    for use in ("call", "fetch"):
        assert "process 1 has left the others" in report[use]


def test_a_process_does_not_wait_forever_at_its_end(ends):
    done = ends["straggler"]
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("through") == 2
    (line,) = done.stderr.splitlines()
    text = (
        "[0] meshwright: process 0 leaves without process 1, not at its end within 3 s"
    )
    assert line.startswith(text)


def _digest_of_table(process: int) -> str:
    table = np.arange(1 << 16, dtype=np.float32) + process
    return hashlib.blake2b(table.tobytes(), digest_size=16).hexdigest()


DIFFERENCES = {
    "version of jax": ('version of jax is "', '"0.0.1"'),
    "version of jaxlib": ('version of jaxlib is "', '"0.0.1"'),
    "version of meshwright": ('version of meshwright is "', '"0.0.1"'),
    "XLA_FLAGS": ('XLA_FLAGS is ""', '"--xla_cpu_enable_fast_math=false"'),
    "device counts": (", 'm1', is \"1:2048\"", '"1:2048 1:2049"'),
    "large constants": (
        f'large constants is ["{_digest_of_table(0)}"]',
        f'["{_digest_of_table(1)}"]',
    ),
    "topology": (", 'm0', is \"1:2048\"", '"0:0"'),
}


@pytest.fixture(scope="module")
def differing() -> list[dict]:
    return reports(launch(2, 1, "differ.py"))


@pytest.mark.parametrize("case", DIFFERENCES)
def test_what_differs_is_named_on_every_process(case, differing):
    assert [report["process"] for report in differing] == [0, 1]
    first, second = (report["errors"][case] for report in differing)
    assert first == second
    here, there = DIFFERENCES[case]
    assert first.startswith("the processes are about to run different programs: ")
    assert f"{here}" in first
    assert f" in process 0 and {there} in process 1; start the same script" in first


UNLAUNCHED = {
    "kill": "has died",
    "exit": "ended with exit code 3",
    "hang": 'on mesh "m1") has made no',
    "hook": "ended with exit code 1",
    "loader": "has died",
}


def mpirun(port: int, process: int) -> dict[str, str]:
    """What `mpirun` of Open MPI leaves for a process."""
    job = (port - (65536 - 4096)) * 4096
    return {
        "OMPI_MCA_orte_hnp_uri": f"{job}.0;tcp://127.0.0.1:34911",
        "OMPI_COMM_WORLD_SIZE": "2",
        "OMPI_COMM_WORLD_RANK": str(process),
        "OMPI_COMM_WORLD_LOCAL_RANK": str(process),
    }


def listener(address: str) -> socket.socket:
    """A program that has nothing to do with JAX."""
    host, port = address.split(":")
    return socket.create_server((host, int(port)))


MISSING = {
    # The one that is there, its exit code, and what it says.
    0: (70, "meshwright: process 0 on .*: not all 2 processes reached the coordinator"),
    1: (1, "ProcessError: process 1: no process listens at 127.0.0.1:.* for 4 s"),
}


CLUSTERS = (slurm, mpirun)
# The last is a run whose coordinator does not listen yet.
TAKERS = (listener, hold_port)


@pytest.fixture(scope="module")
def forked(tmp_path_factory) -> dict:
    """What the processes of all runs say that have no launcher."""
    jobs: dict = {}
    for fault in UNLAUNCHED:
        timeout = str(TIMEOUT if fault in BY_TIMEOUT else NEVER)
        words = ["fault.py", fault, str(free_port()), timeout]
        meeting = str(tmp_path_factory.mktemp("meeting"))
        for number in range(2):
            variables = {"MESHWRIGHT_PROCESS": str(number), "MEETING": meeting}
            jobs[fault, number] = words, variables
    for cluster in CLUSTERS:
        port = free_port()
        for number in range(2):
            jobs[cluster, number] = ["where.py"], cluster(port, number)
    for number in MISSING:
        words = ["fault.py", "alone", str(free_port()), "4"]
        jobs["missing", number] = words, {"MESHWRIGHT_PROCESS": str(number)}
    with contextlib.ExitStack() as taken:
        for other in TAKERS:
            port = str(free_port())
            taken.enter_context(other(f"127.0.0.1:{port}"))
            words = ["fault.py", "alone", port, "5"]
            jobs[other, port] = words, {"MESHWRIGHT_PROCESS": "0"}
        return run_forked(jobs)


@pytest.mark.parametrize("fault", UNLAUNCHED)
def test_processes_without_a_launcher_watch_each_other(fault, forked):
    done = forked[fault, 0]
    assert done.returncode == 70
    line = done.stderr.splitlines()[-1]
    assert line.startswith("meshwright: process 1 (pid ")
    assert UNLAUNCHED[fault] in line


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_processes_of_a_cluster_find_each_other(cluster, forked):
    for number in range(2):
        done = forked[cluster, number]
        assert done.returncode == 0, done.stderr
        wanted = {"process": number, "processes": 2, "value": 2.0}
        assert json.loads(done.stdout.splitlines()[-1]) == wanted


@pytest.mark.parametrize("other", TAKERS)
def test_a_taken_port_is_named(other, forked):
    ((port, done),) = ((key[1], x) for key, x in forked.items() if key[0] is other)
    assert done.returncode == 1
    assert f"the coordinator cannot listen on 127.0.0.1:{port}" in done.stderr


@pytest.mark.parametrize("process", MISSING)
def test_a_missing_process_is_noticed_without_a_launcher(process, forked):
    done = forked["missing", process]
    code, text = MISSING[process]
    assert done.returncode == code
    assert re.search(text, done.stderr.splitlines()[-1])


def test_output_without_prefix(failed):
    lines = failed["early"].stderr.splitlines()
    assert "meshwright: process 1 ended with exit code 4" in lines


@pytest.mark.parametrize(
    "arguments, text",
    [
        (["-n", "0", "x.py"], "must be at least 1"),
        (["-n", "2", "nowhere.py"], "there is no script nowhere.py"),
        (["-n", "2", "--timeout", "-1", __file__], "must be positive"),
    ],
)
def test_launcher_refuses_what_makes_no_sense(arguments, text, capsys):
    with pytest.raises(SystemExit) as end:
        launcher.main(arguments)
    assert end.value.code == 2
    assert text in capsys.readouterr().err
