"""The launcher and its children: what it passes on, tells, and leaves behind."""

import concurrent.futures
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest
from meshwright.core import started
from meshwright.runtime.processes import exits
from support.launching import LIMIT, environment, free_port, is_alive

import meshwright as mw

SCRIPTS = {
    "well": """
sys.stdout.buffer.write('h\\xe9 \\u2192\\n'.encode())
print('more')
print("left", subprocess.Popen(['sleep', '600']).pid)
print("visible", json.dumps(os.environ['CUDA_VISIBLE_DEVICES']))
""",
    "odd signal": "os.kill(os.getpid(), signal.SIGRTMIN + 6)",
    "coordinator": """
first = os.environ["MESHWRIGHT_PROCESS"] == "0"
for entry in pathlib.Path("/proc").glob("[0-9]*" if first else "none"):
    try:
        words = (entry / "cmdline").read_bytes().split(b"\\0")
        parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        continue
    ours = any(word.endswith(b"coordinator.py") for word in words)
    if ours and parent == os.getppid():
        os.kill(int(entry.name), signal.SIGKILL)
        while (entry / "stat").read_text().rpartition(")")[2].split()[0] != "Z":
            time.sleep(0.02)
        sys.exit(5)
time.sleep(1000)
""",
}


def start(folder: pathlib.Path, code: str, processes: int = 1, **variables: str):
    script = folder / "script.py"
    script.write_text(
        f"import json, os, pathlib, signal, subprocess, sys, time\n{code}\n"
    )
    return subprocess.Popen(
        [sys.executable, "-m", "meshwright.launch", "-n", str(processes), str(script)],
        env=environment(**variables),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.fixture(scope="module")
def ended(tmp_path_factory) -> dict:
    """Exit code, output and errors of each script."""
    folders = {name: tmp_path_factory.mktemp("launched") for name in SCRIPTS}

    def run(name):
        variables = {"CUDA_VISIBLE_DEVICES": "", "PYTHONIOENCODING": "ascii"}
        process = start(folders[name], SCRIPTS[name], processes=2, **variables)
        out, errors = process.communicate(timeout=LIMIT)
        return process.returncode, out, errors

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return dict(zip(SCRIPTS, pool.map(run, SCRIPTS), strict=True))


def said(ended, number: int) -> list[str]:
    """What a process of the run that ends well has printed."""
    code, out, errors = ended["well"]
    assert (code, errors) == (0, "")
    lines = (line.split("] ", 1) for line in out.splitlines())
    return [text for start, text in lines if start == f"[{number}"]


def test_what_the_terminal_has_no_letters_for_is_passed_on(ended):
    for number in range(2):
        assert said(ended, number)[:2] == ["h? ?", "more"]


def test_what_a_process_has_started_ends_with_it(ended):
    left = [int(said(ended, number)[2].removeprefix("left ")) for number in range(2)]
    assert not any(map(is_alive, left))


def test_a_signal_without_a_name_is_reported(ended):
    number = signal.SIGRTMIN + 6
    code, _, errors = ended["odd signal"]
    assert code == 128 + number
    assert f"was killed by signal {number}" in errors


def test_the_end_of_the_coordinator_is_reported(ended):
    code, _, errors = ended["coordinator"]
    assert code == 5
    assert errors.splitlines()[-1] == (
        "meshwright.launch: before that the coordinator was killed by SIGKILL"
    )


@pytest.mark.parametrize(
    ("given", "code"), [(None, 0), (3, 3), (256, 0), (-1, 255), ("text", 1), (True, 1)]
)
def test_exit_codes_are_those_of_the_system(given, code, monkeypatch):
    monkeypatch.setattr(exits, "_code", given)
    assert exits.exit_code() == code


def test_accelerators_that_are_hidden_stay_hidden(ended):
    for number in range(2):
        assert said(ended, number)[3:] == ['visible ""']


def test_nothing_waits_for_a_reader_that_has_gone(tmp_path):
    with start(tmp_path, "while True: print('x' * 50)") as process:
        assert process.stdout.readline() == f"[0] {'x' * 50}\n"
        process.stdout.close()
        errors = process.stderr.read()
        assert process.wait(timeout=LIMIT) == 1
    assert "[0] BrokenPipeError" in errors
    assert errors.endswith("meshwright.launch: process 0 ended with exit code 1\n")


def test_what_a_process_said_comes_before_how_it_ended(tmp_path):
    """Also where it takes time to print that."""
    script = tmp_path / "script.py"
    script.write_text(
        "import sys\nfor i in range(40): print(i, file=sys.stderr)\n1 / 0"
    )
    slow = """
import sys, time
from meshwright import launch
write = sys.stderr.write
sys.stderr.write = lambda text: (time.sleep(0.01), write(text))
sys.exit(launch.main())
"""
    done = subprocess.run(
        [sys.executable, "-c", slow, "-n", "1", str(script)],
        env=environment(),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert done.stderr.splitlines()[-2:] == [
        "[0] ZeroDivisionError: division by zero",
        "meshwright.launch: process 0 ended with exit code 1",
    ]


def test_the_exit_code_is_that_of_the_signal(tmp_path):
    with start(tmp_path, "print('up'); time.sleep(100)") as process:
        assert process.stdout.readline() == "[0] up\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=LIMIT) == 128 + signal.SIGTERM


def test_a_watchdog_that_was_stopped_blames_none():
    """As the one in a launcher is, by Ctrl-Z."""
    module = ["-m", "meshwright.runtime.processes.watchdog", "127.0.0.1", "1", "6"]
    watchdog = subprocess.Popen(
        [sys.executable, *module],
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    watchdog.stdin.write("secret\n")
    watchdog.stdin.flush()
    heard, ended = [], threading.Event()
    try:
        host, port = watchdog.stdout.readline().strip().rsplit(":", 1)
        with socket.create_connection((host, int(port))) as connection:
            lines = connection.makefile()
            hello = {"process": 0, "pid": 1, "host": "here", "token": "secret"}
            connection.sendall(json.dumps(hello).encode() + b"\n")
            listener = threading.Thread(target=lambda: heard.extend(lines), daemon=True)
            listener.start()

            def beat():
                while not ended.wait(0.1):
                    connection.sendall(b'{"beat": {}, "awaits": {}}\n')

            beating = threading.Thread(target=beat)
            beating.start()
            for _ in range(2):  # Who wakes first is a matter of chance.
                time.sleep(0.3)
                os.kill(watchdog.pid, signal.SIGSTOP)
                time.sleep(9)
                os.kill(watchdog.pid, signal.SIGCONT)
            time.sleep(0.5)
            ended.set()
            beating.join()
    finally:
        ended.set()
        watchdog.kill()
        watchdog.communicate()
    listener.join(LIMIT)
    assert [json.loads(line) for line in heard] == [{"timeout": 6.0, "generation": 0}]


@pytest.mark.parametrize(
    ("arguments", "options", "error", "text"),
    [
        (("host0", 2, 1), {}, ValueError, "must be a host and a port, .* got 'host0'"),
        (("host0:http", 2, 1), {}, ValueError, "got 'host0:http'"),
        (("host0:0", 2, 1), {}, ValueError, "got 'host0:0'"),
        (("host0:65536", 2, 1), {}, ValueError, "got 'host0:65536'"),
        (("host0:1", "2", 1), {}, TypeError, "num_processes must be an int, got '2'"),
        (("host0:1", 2, "0"), {}, TypeError, "process_id must be an int, got '0'"),
        (("host0:1", 2, 2), {}, ValueError, "less than num_processes, got 2 of 2"),
        (("host0:1", 2, -1), {}, ValueError, "at least 0 .*, got -1 of 2"),
        ((), {"timeout": 0}, ValueError, "timeout must be positive and finite, got 0"),
        ((), {"timeout": float("inf")}, ValueError, "timeout must be .*, got inf"),
        (
            (),
            {"transport": "device_put", "recoverable": True},
            ValueError,
            "leave transport= or recoverable= out",
        ),
    ],
)
def test_arguments_that_make_no_sense(arguments, options, error, text, monkeypatch):
    from meshwright.runtime.processes import start

    monkeypatch.setattr(start.jax_runtime, "backends_started", lambda: False)
    with pytest.raises(error, match=text):
        mw.distributed.initialize(*arguments, **options)
    assert not mw.distributed.is_initialized()


def test_a_second_call_is_refused(monkeypatch):
    from meshwright.runtime.processes import start

    monkeypatch.setattr(start, "_started", True)
    with pytest.raises(RuntimeError, match="call it once in each process"):
        mw.distributed.initialize()


def test_an_address_that_cannot_be_reached_is_reported(tmp_path):
    """Such as the loopback that a host's own name often means."""
    script = tmp_path / "script.py"
    script.write_text(
        "import meshwright as mw\n"
        "from meshwright.runtime.processes import start\n"
        "start._watchdog_address = lambda world, seconds: '127.0.0.1:1'\n"
        "mw.distributed.initialize(timeout=10)\n"
    )
    task = {"JOB_ID": "4", "STEP_NODELIST": "localhost", "NTASKS": "1"}
    task |= {"PROCID": "0", "LOCALID": "0"}
    done = subprocess.run(
        [sys.executable, str(script)],
        env=environment(**{f"SLURM_{name}": value for name, value in task.items()}),
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
    assert done.returncode == 1
    line = done.stderr.splitlines()[-1]
    assert "ProcessError: process 0: process 0 cannot be reached at 127.0.0.1:1" in line
    assert line.endswith("give it an address that the others reach (bind_address)")


def test_a_connection_to_itself_is_no_listener(monkeypatch):
    """The system may give what asks for a port that is free just this one."""
    from meshwright.runtime.processes import start

    def connect(address, timeout):
        found = socket.socket()
        found.bind(address)
        found.connect(address)
        return found

    address = f"127.0.0.1:{free_port()}"
    monkeypatch.setattr(socket, "create_connection", connect)
    with pytest.raises(start.ProcessError, match="no process listens at"):
        start._await_listener(1, address, 0.1)
    monkeypatch.undo()
    host, port = address.split(":")
    with socket.socket() as coordinator:  # None of that is in its way.
        coordinator.bind((host, int(port)))


def test_a_port_of_the_other_loopback_is_looked_at():
    from meshwright.runtime.processes.connection import hold_port
    from meshwright.runtime.processes.failures import ProcessError

    port = free_port()
    with socket.socket(socket.AF_INET6) as taken:
        try:
            taken.bind(("::1", port))
        except OSError:
            pytest.skip("there is no IPv6 here")
        taken.listen()
        with pytest.raises(ProcessError, match="Address already in use"):
            hold_port(f"[::1]:{port}")
    hold_port(f"[::1]:{port}").close()


@pytest.mark.parametrize("module", ["launch", "runtime.processes.watchdog"])
def test_what_watches_processes_imports_no_jax(module, tmp_path):
    """It would take a second of processor time, and 150 MB."""
    script = tmp_path / "script.py"
    script.write_text("")
    of_module = {
        "launch": ["-n", "1", str(script)],
        "runtime.processes.watchdog": ["127.0.0.1", "1", "0.01"],
    }
    command = ["-X", "importtime", "-m", f"meshwright.{module}", *of_module[module]]
    done = subprocess.run(
        [sys.executable, *command],
        env=environment(),
        input="token\n",
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
    assert done.returncode == 0, done.stderr
    names = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "meshwright.runtime.processes.awake" in names
    assert not {name.split(".")[0] for name in names} & {"jax", "jaxlib", "numpy"}


@pytest.mark.parametrize(
    "arguments, command, needs",
    [
        (["-m", "-n", "2"], ["python", "-m", "meshwright.launch", "-n", "2"], False),
        (["-m"], ["python", "-X", "dev", "-um", "meshwright.launch"], False),
        (
            ["-m", "meshwright.launch"],
            ["python", "-m", "pip", "meshwright.launch"],
            True,
        ),
        (["-m"], ["python", "-m", "meshwright.doctor"], True),
        (["x.py", "-m"], ["python", "x.py", "-m"], True),
        (["-c"], ["python", "-c", "import meshwright"], True),
        ([""], ["python"], True),
        ([], ["python"], True),
    ],
)
def test_all_but_what_watches_processes_needs_jax(arguments, command, needs):
    assert started._needs_jax(arguments, command) == needs
