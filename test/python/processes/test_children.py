"""What the processes of a run fork, spawn and start, and machines that sleep."""

import os
import pathlib
import signal
import socket
import subprocess
import sys
from types import SimpleNamespace

import pytest
from meshwright.runtime.processes.awake import Clock
from meshwright.runtime.processes.edges import Channel
from meshwright.runtime.processes.members import Members
from meshwright.runtime.processes.watch import Client
from meshwright.runtime.processes.watchdog import Watchdog
from meshwright.runtime.processes.world import ProcessError, World
from support.launching import LIMIT, SCRIPTS, environment, launch

KINDS = ("none", "spawn", "forkserver", "subprocess", "exit", "raise", "use")


def test_what_a_process_starts_is_none_of_the_run():
    done = launch(2, 1, "children.py", *KINDS, options=("--timeout", str(LIMIT)))
    assert done.returncode == 0, done.stderr
    lines = [line.partition("] ")[2] for line in done.stdout.splitlines()]
    assert lines.count("end 2.0 2") == 2
    assert lines.count("child 1 True") == 2
    assert lines.count("child ['end', '2.0', '1']") == 1
    assert lines.count("child has ended") == 3


def test_a_second_process_with_a_number_is_refused():
    watchdog = Watchdog(LIMIT, 2)
    me = {"process": 1, "pid": 77, "host": "first", "token": watchdog.token}
    host, port = watchdog.address.rsplit(":", 1)
    with socket.create_connection((host, int(port))) as first:
        first.sendall(f"{me}\n".replace("'", '"').encode())
        assert b"timeout" in first.recv(1 << 10)
        with pytest.raises(ProcessError, match=r"process 1 \(pid 77 on first\) has jo"):
            Client(watchdog.address, 1, watchdog.token, False)
        assert watchdog.fault is None
        first.sendall(b'{"done": true}\n')
    watchdog.close()


@pytest.mark.parametrize(
    "line",
    [b"{}", b"[]", b"7", b"\xff", b'{"token": 3}', b"", b"[" * 50000],
    ids=lambda line: repr(line[:20]),
)
@pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_stranger_at_the_port_ends_nothing(line):
    watchdog = Watchdog(LIMIT, 1)
    host, port = watchdog.address.rsplit(":", 1)
    with socket.create_connection((host, int(port)), LIMIT) as stranger:
        stranger.sendall(line + b"\n")
        assert stranger.recv(1 << 10) == b""
    other = {"process": 0, "pid": 1, "host": "x", "token": "0" * 32}
    with socket.create_connection((host, int(port)), LIMIT) as stranger:
        stranger.sendall(f"{other}\n".replace("'", '"').encode())
        assert stranger.recv(1 << 10) == b""
    assert watchdog.is_unused()
    assert watchdog.fault is None
    watchdog.close()


def test_ids_of_transfers_never_repeat():
    world = SimpleNamespace(
        process=0,
        count=3,
        members=Members(3, recoverable=False),
        check_joined=lambda: None,
        _next_id=0,
    )
    world.reserve = lambda count: World.reserve(world, count)
    seen = []
    for number, (steps, devices) in enumerate([(5, 2), (1, 8), (5, 2)] * 1000):
        channel = Channel(world, number, steps, devices)
        if number < 6:
            for _ in range(3):
                channel.next_run()
                pieces = [(s, d) for s in range(steps) for d in range(devices)]
                seen += [channel._base + channel.piece(*piece) for piece in pieces]
                seen += [channel._acknowledgement(channel.run, p) for p in range(3)]
        else:
            assert channel._first > max(seen)
    assert len(seen) == len(set(seen))


def test_a_clock_leaves_out_what_was_slept(monkeypatch):
    now = 100.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    clock = Clock()
    assert clock.tick(1.0) == 0
    begin = clock.now()
    for step, pause in ((1.0, 0.0), (1.9, 0.0), (61.0, 60.0), (1.0, 0.0)):
        now += step
        assert clock.has_paused(5.0) == (pause > 0 or now > 160)
        assert clock.tick(1.0) == pause
    assert clock.now() - begin == pytest.approx(4.9)


def test_a_machine_that_sleeps_blames_no_process(tmp_path):
    """All processes of the run are stopped for longer than the timeout."""
    timeout, marker, meeting = 12, tmp_path / "resumed", tmp_path / "meeting"
    meeting.mkdir()
    command = [sys.executable, "-m", "meshwright.launch", "-n", "2"]
    command += ["--timeout", str(timeout), str(SCRIPTS / "suspended.py"), str(marker)]
    with subprocess.Popen(
        command,
        env=environment(JAX_NUM_CPU_DEVICES="1", MEETING=str(meeting)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as launcher:
        for _ in range(2):
            assert launcher.stdout.readline().endswith("running\n")
        children = f"/proc/{launcher.pid}/task/{launcher.pid}/children"
        found = [launcher.pid, *map(int, pathlib.Path(children).read_text().split())]
        for process in found:
            os.kill(process, signal.SIGSTOP)
        subprocess.run(["sleep", str(1.5 * timeout)], check=True)
        for process in found:
            os.kill(process, signal.SIGCONT)
        marker.touch()
        out, errors = launcher.communicate(timeout=LIMIT)
    assert launcher.returncode == 0, errors
    assert out.count("end") == 2
