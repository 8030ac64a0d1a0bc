"""The end of a run whose terminal, reader, disk or launcher is gone."""

import contextlib
import io
import json
import os
import pathlib
import select
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest
from meshwright.launching.printing import Printer
from meshwright.runtime.processes.connection import EXIT_CODE
from meshwright.runtime.processes.watchdog import Watchdog
from support.launching import LIMIT, environment, is_alive

# Importing takes most of the time, so one process does it and starts the others.
WATCHED = """
import json, os, sys, time
from meshwright.runtime.processes import watch

def be_watched(kind, address, token):
    if kind == "missing":
        sys.stderr = None
    if kind == "replaced":
        class Failing:
            def write(self, text): raise RuntimeError("no")
            def flush(self): raise RuntimeError("no")
        sys.stderr = sys.stdout = Failing()
    watch.connect(address, 0, token)
    if kind == "raises":
        def show(*exception): sys.stderr.write("x" * (1 << 20))
        sys.excepthook, watch.current()._hook = watch.current()._fail, show
        raise KeyError("lost")
    time.sleep(1000)

children = {}
for kind, address, token, errors in json.loads(sys.argv[1]):
    child = os.fork()
    if not child:
        os.dup2(errors, 1)
        os.dup2(errors, 2)
        be_watched(kind, address, token)
    children[child] = kind
codes = {}
while len(codes) < len(children):
    child, status = os.wait()
    codes[children[child]] = os.waitstatus_to_exitcode(status)
print(json.dumps(codes))
"""
CONNECTED = """
import signal, socket, sys
from meshwright.runtime.processes import watch
host, port = sys.argv[1].split(":")
watch.connect(sys.argv[1], 0)
others = [socket.create_connection((host, int(port))) for _ in range(3)]
signal.pause()
"""
FAMILY = """
import os, signal, subprocess, sys, time
if "deaf" in sys.argv:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen(["sleep", "1000"])
print(os.getpid(), child.pid, flush=True)
time.sleep(1000)
"""
UNREADABLE = {
    "full": lambda: os.open("/dev/full", os.O_WRONLY),
    "closed": lambda: broken_pipe(),
    "stopped": lambda: full_pipe(),
    "raises": lambda: full_pipe(),
    "missing": lambda: os.open(os.devnull, os.O_WRONLY),
    "replaced": lambda: os.open(os.devnull, os.O_WRONLY),
}
_kept = []


def broken_pipe() -> int:
    reader, writer = os.pipe()
    os.close(reader)
    return writer


def full_pipe() -> int:
    """The end of a pipe whose reader takes nothing."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    try:
        while True:
            os.write(writer, bytes(1 << 12))
    except BlockingIOError:
        os.set_blocking(writer, True)
    _kept.append(reader)
    return writer


# Commands that begin with these start the rest of their arguments in another state. A
# `preexec_fn` would fork, of which JAX warns in a process that has imported it.
# Tests that run under `nohup` would pass on that they ignore it.
HEARS_HANGUPS = ("env", "--default-signal=HUP")
IGNORES_HANGUPS = ("env", "--ignore-signal=HUP")
HAS_NO_FILES = ("sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh")


def launch(
    script: pathlib.Path, *args: str, options=(), state=HEARS_HANGUPS, **files
) -> subprocess.Popen:
    command = [sys.executable, "-m", "meshwright.launch", *options, str(script), *args]
    defaults = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([*state, *command], env=environment(), **(defaults | files))


def await_end(processes: list[int]) -> None:
    limit = time.monotonic() + LIMIT
    while any(map(is_alive, processes)):
        assert time.monotonic() < limit, f"some of {processes} are left"
        time.sleep(0.02)


@pytest.fixture(scope="module")
def ended(tmp_path_factory) -> dict[str, int]:
    """Exit codes of processes that cannot say why they end."""
    script = tmp_path_factory.mktemp("watched") / "script.py"
    script.write_text(WATCHED)

    watchdogs = {kind: Watchdog(LIMIT, 2) for kind in UNREADABLE}
    errors = {kind: open_file() for kind, open_file in UNREADABLE.items()}
    given = [(k, w.address, w.token, errors[k]) for k, w in watchdogs.items()]
    process = subprocess.Popen(
        [sys.executable, str(script), json.dumps(given)],
        env=environment(),
        stdout=subprocess.PIPE,
        pass_fds=errors.values(),
        start_new_session=True,
    )
    limit = time.monotonic() + LIMIT
    try:
        for kind, watchdog in watchdogs.items():
            os.close(errors[kind])
            while watchdog.is_unused() and time.monotonic() < limit:
                time.sleep(0.02)
            if kind != "raises":
                watchdog.report(1, "has died")
        return json.loads(process.communicate(timeout=LIMIT)[0])
    finally:
        with contextlib.suppress(ProcessLookupError):  # And what it has forked.
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        for watchdog in watchdogs.values():
            watchdog.close()


@pytest.mark.parametrize("kind", UNREADABLE)
def test_a_process_ends_whatever_happens_to_its_last_line(kind, ended):
    assert ended[kind] == (1 if kind == "raises" else EXIT_CODE)


def test_a_process_that_joins_hears_the_time_before_a_fault(monkeypatch):
    watchdog = Watchdog(LIMIT, 2)
    # Called once the process is known.
    name = "meshwright.runtime.processes.watchdog.keep_alive"
    monkeypatch.setattr(name, lambda *_: watchdog.report(1, "has died"))
    host, port = watchdog.address.rsplit(":", 1)
    with socket.create_connection((host, int(port)), LIMIT) as connection:
        me = {"process": 0, "pid": 1, "host": "here", "token": watchdog.token}
        connection.sendall((json.dumps(me) + "\n").encode())
        lines = connection.makefile("r")
        heard = [list(json.loads(lines.readline())) for _ in range(2)]
    watchdog.close()
    assert heard == [["timeout", "generation"], ["fault"]]


def test_a_death_is_known_to_the_watchdog_first():
    """Before it is to others, by connections that the process has opened later."""
    hello = json.dumps({"timeout": LIMIT, "generation": 0}) + "\n"
    with (
        contextlib.ExitStack() as opened,
        socket.create_server(("127.0.0.1", 0)) as server,
        select.epoll() as closed,
        subprocess.Popen(
            [sys.executable, "-c", CONNECTED, "{}:{}".format(*server.getsockname())],
            env=environment(),
        ) as process,
    ):
        opened.callback(process.kill)
        server.settimeout(LIMIT)
        numbers = []
        for _ in range(4):
            connection = opened.enter_context(server.accept()[0])
            closed.register(connection, select.EPOLLRDHUP)
            if not numbers:
                connection.sendall(hello.encode())
            numbers.append(connection.fileno())
        process.kill()
        ((first, _),) = closed.poll(LIMIT, maxevents=1)
    assert numbers.index(first) == 0


def test_what_a_process_has_said_comes_before_how_it_ended(monkeypatch):
    """Also where the launcher knows that it has ended before that is read."""
    watchdog, hear, hears = Watchdog(LIMIT, 2), Watchdog._handle, threading.Event()

    def hear_late(*message):
        hears.set()
        time.sleep(0.2)
        hear(*message)

    monkeypatch.setattr(Watchdog, "_handle", hear_late)
    host, port = watchdog.address.rsplit(":", 1)
    with socket.create_connection((host, int(port)), LIMIT) as connection:
        me = {"process": 0, "pid": 1, "host": "here", "token": watchdog.token}
        for message in (me, {"failed": "KeyError: 'lost'", "first": None}):
            connection.sendall((json.dumps(message) + "\n").encode())
        assert hears.wait(LIMIT)
    watchdog.report_end(0, "ended with exit code 1")
    watchdog.close()
    assert watchdog.fault == "process 0 (pid 1 on here) failed: KeyError: 'lost'"


@pytest.fixture
def family(tmp_path):
    """Starts a launcher whose two processes have a child each."""
    script, started = tmp_path / "family.py", []
    script.write_text(FAMILY)

    def start(*args: str) -> tuple[subprocess.Popen, list[int]]:
        launcher = launch(script, *args, options=("-n", "2"))
        started.append(launcher)
        lines = [launcher.stdout.readline() for _ in range(2)]
        return launcher, [int(n) for line in lines for n in line.split()[1:]]

    yield start
    for launcher in started:
        launcher.kill()
        launcher.communicate()


def test_a_launcher_that_is_killed_takes_all_along(family):
    launcher, processes = family()
    assert len(processes) == 4
    launcher.kill()
    await_end(processes)


@pytest.mark.parametrize("name", ["SIGHUP", "SIGQUIT", "SIGTERM"])
def test_signals_that_end_a_run(name, family):
    launcher, processes = family()
    launcher.send_signal(signal.Signals[name])
    assert launcher.wait(LIMIT) == 128 + signal.Signals[name]
    assert not any(map(is_alive, processes))


def test_a_second_interrupt_leaves_nothing_behind(family):
    launcher, processes = family("deaf")
    for _ in range(20):
        launcher.send_signal(signal.SIGINT)
        time.sleep(0.01)
    assert launcher.wait(LIMIT) == 128 + signal.SIGINT
    assert not any(map(is_alive, processes))


def test_what_nohup_ignores_stays_ignored(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("import sys; print('up', flush=True); sys.stdin.read()")
    launcher = launch(
        script,
        options=("-n", "1"),
        state=IGNORES_HANGUPS,
        stdin=subprocess.PIPE,
    )
    assert launcher.stdout.readline() == "[0] up\n"
    launcher.send_signal(signal.SIGHUP)
    assert launcher.communicate(timeout=LIMIT) == ("", "")
    assert launcher.returncode == 0


@pytest.mark.parametrize("options", [("-n", "2"), ("-n", "2", "--no-prefix")])
def test_no_standard_output_is_no_reason_to_hang(options, tmp_path):
    script = tmp_path / "script.py"
    script.write_text("print('x' * (1 << 20)); open(f'{__file__}.end', 'w').close()")
    launcher = launch(
        script,
        options=options,
        state=HAS_NO_FILES,
        stdout=None,
        stderr=None,
    )
    assert launcher.wait(LIMIT) == 0
    assert (tmp_path / "script.py.end").exists()


def test_a_fault_that_cannot_be_reported_ends_the_launcher(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("import sys; sys.exit(7)")
    for errors in (full_pipe(), os.open("/dev/full", os.O_WRONLY)):
        with launch(script, options=("-n", "1"), stderr=errors) as launcher:
            os.close(errors)
            assert launcher.wait(LIMIT) == 7


def test_progress_is_shown_before_its_line_ends(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import sys\n"
        "for text in ('50%\\r', '90%\\r', 'done? '):\n"
        "    sys.stdout.write(text)\n"
        "    sys.stdout.flush()\n"
        "    sys.stdin.readline()\n"
    )
    launcher = launch(
        script, options=("-n", "1"), stdin=subprocess.PIPE, bufsize=0, text=False
    )
    for wanted in (b"[0] 50%\r", b"[0] 90%\r", b"[0] done? "):
        found = b""
        while len(found) < len(wanted):
            found += os.read(launcher.stdout.fileno(), len(wanted))
        assert found == wanted
        launcher.stdin.write(b"\n")
    out, errors = launcher.communicate(timeout=LIMIT)
    assert (launcher.returncode, out, errors) == (0, b"\n", b"")


def printed(*pieces: tuple[int, str]) -> str:
    """What is shown of these, each written when those before it were shown."""
    target, printer, writers = io.StringIO(), Printer(), {}
    shown = threading.Event()
    write = target.write

    def note(text: str) -> int:
        try:
            return write(text)
        finally:
            shown.set()

    target.write = note
    for number, text in pieces:
        if number not in writers:
            reader, writers[number] = os.pipe()
            printer.follow(number, os.fdopen(reader, "rb", 0), target)
        shown.clear()
        os.write(writers[number], text.encode())
        assert shown.wait(LIMIT)
    for writer in writers.values():
        os.close(writer)
    printer.close(LIMIT)
    return target.getvalue()


@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        ([(0, "a\nb\n\n")], "[0] a\n[0] b\n[0] \n"),
        ([(0, "a"), (1, "b\n"), (0, "c\n")], "[0] a\n[1] b\n[0] c\n"),
        ([(0, "a"), (0, "b"), (1, "c\n"), (0, "\n")], "[0] ab\n[1] c\n"),
        ([(0, "\r1%"), (0, "\r2%"), (0, "\n")], "\r[0] 1%\r[0] 2%\n"),
        ([(0, "1%\r"), (0, "\nend\n")], "[0] 1%\r\n[0] end\n"),
        ([(0, "1%\r"), (1, "x\r\n"), (0, "2%\r")], "[0] 1%\r\n[1] x\r\n[0] 2%\r"),
        ([(0, "no end")], "[0] no end\n"),
    ],
)
def test_lines_of_several_processes_stay_whole(pieces, text):
    assert printed(*pieces) == text


def test_a_script_that_ends_before_it_joins_is_known_at_once(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import os, sys\n"
        "if os.environ['MESHWRIGHT_PROCESS'] == '1': sys.exit()\n"
        "import meshwright as mw\n"
        "mw.distributed.initialize()\n"
    )
    options = ("-n", "2", "--timeout", "1000")
    with launch(script, options=options) as launcher:
        _, errors = launcher.communicate(timeout=LIMIT)
    assert launcher.returncode == EXIT_CODE
    assert (
        "meshwright.launch: process 1 ended with exit code 0 before it called "
        "mw.distributed.initialize()"
    ) in errors.splitlines()
