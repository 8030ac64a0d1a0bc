"""What the watchdog says of processes that wait for others outside of programs."""

import contextlib
import json
import socket
import time

import pytest
from meshwright.runtime.processes import following, watch
from meshwright.runtime.processes.watchdog import Watchdog
from support.launching import LIMIT

FETCH = {"what": "call mw.fetch", "process": 1, "wait": 3}
IN_STEP = {
    "place": [0, 7, 2],
    "where": 'fragment "f" on mesh "m1"',
    "seconds": LIMIT + 1,
}


@pytest.fixture
def run():
    """A watchdog, and a function by which processes 0 and 1 send it a message each."""
    watchdog = Watchdog(LIMIT, 2)
    host, port = watchdog.address.rsplit(":", 1)
    with contextlib.ExitStack() as opened:
        peers = []
        for process in range(2):
            peer = opened.enter_context(socket.create_connection((host, int(port))))
            me = {"process": process, "pid": process, "host": "here"}
            peers.append((peer, opened.enter_context(peer.makefile("r"))))
            peer.sendall((json.dumps(me | {"token": watchdog.token}) + "\n").encode())
            assert "timeout" in peers[-1][1].readline()

        def send(process: int, **message) -> None:
            """Returns once the watchdog has taken it."""
            question = {"step": time.monotonic_ns(), "for": "taken"}
            for each in (message, question):
                peers[process][0].sendall((json.dumps(each) + "\n").encode())
            limit = time.monotonic() + LIMIT
            while watchdog._peers[process].steps.get("taken") != question["step"]:
                assert time.monotonic() < limit
                time.sleep(0.001)

        yield watchdog, send
    watchdog.close()


def waiting(seconds: float, **changes) -> dict:
    return {"beat": {}, "awaits": FETCH | {"seconds": seconds} | changes}


def test_a_process_at_its_end_is_named_if_another_one_waits_for_it(run):
    watchdog, send = run
    send(0, **waiting(60))  # As long as the other one runs, it may come.
    send(1, ending=True)
    send(0, **waiting(100))
    send(0, **waiting(104))  # What was put before the end is perhaps being read.
    assert watchdog.fault is None
    send(0, **waiting(105))
    assert watchdog.fault == (
        "process 1 (pid 1 on here) has come to its end, but process 0 waits for it to "
        "call mw.fetch; let all processes do the same steps"
    )


def test_waits_for_all_are_in_vain_if_one_is_at_its_end(run):
    watchdog, send = run
    send(1, ending=True)
    for seconds in (1, 6):
        send(0, **waiting(seconds, what="come to mw.fetch", process=None))
    assert "but process 0 waits for all to come to mw.fetch;" in watchdog.fault


def test_each_wait_counts_by_itself(run):
    watchdog, send = run
    send(1, ending=True)
    for number in range(5):
        send(0, **waiting(100 * number, wait=number))
    send(0, **waiting(4, wait=7, process=0))
    send(0, **waiting(400, wait=7, process=0))
    assert watchdog.fault is None


def test_a_hang_names_who_waits_elsewhere(run):
    watchdog, send = run
    send(0, **waiting(2))
    send(1, beat=IN_STEP, awaits={})
    assert watchdog.fault.endswith(
        f"has made no progress for {LIMIT} s; process 0 waits for it to call mw.fetch: "
        "that is still to come, or the processes call programs and mw.fetch in "
        "different orders"
    )


def test_what_is_awaited_is_known_until_it_comes():
    worker = following.Worker()
    try:
        with worker.awaiting("call mw.fetch", 1):
            with worker.awaiting("come to mw.fetch", None):
                inner = worker.awaits()
            outer = worker.awaits()
        assert (inner["what"], inner["process"]) == ("come to mw.fetch", None)
        assert (outer["what"], outer["process"]) == ("call mw.fetch", 1)
        assert inner["wait"] != outer["wait"]
        assert worker.awaits() == {}
    finally:
        worker._stopped.set()


def test_threads_wait_at_the_same_time():
    worker = following.Worker()
    try:
        first, second = worker.awaiting("fetch", 1), worker.awaiting("join", None)
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert worker.awaits()["what"] == "join"
        second.__exit__(None, None, None)
        assert worker.awaits() == {}
    finally:
        worker._stopped.set()


def test_a_process_of_another_release_says_nothing_of_what_it_awaits(run):
    watchdog, send = run
    send(0, **waiting(2))
    send(0, beat={})
    assert watchdog._peers[0].awaits == {}


@pytest.mark.parametrize(
    "error, line",
    [
        (KeyboardInterrupt(), "KeyboardInterrupt"),
        (ValueError("one\ntwo"), "ValueError: one"),
        (ValueError("\none"), "ValueError: one"),
    ],
)
def test_the_first_line_of_an_error(error, line):
    assert watch._first_line(error) == line
