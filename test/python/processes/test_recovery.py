"""Processes that outlive one that is gone, and take it in again (`mw.elastic`)."""

import collections
import concurrent.futures
import contextlib
import itertools
import json
import os
import pickle
import queue
import socket
import time

import jax
import pytest
from meshwright.elastic import ProcessFailure
from meshwright.runtime.processes.arrivals import Arrivals
from meshwright.runtime.processes.awake import Clock
from meshwright.runtime.processes.members import Members, close_connections
from meshwright.runtime.processes.watchdog import Watchdog
from meshwright.runtime.processes.world import World
from support.launching import LIMIT, launch

TIMEOUT = 15  # Seconds after which a process is taken to be stopped.
# Processes, restarts; what happens to which of them, and how long the run goes on.
CASES = {
    "first is gone": (3, 0, "killed", "0", "left"),
    "fewer replicas": (3, 0, "spanning", "1", "left"),
    "JAX waits": (3, 0, "waits", "1", "left"),
    "back": (3, 1, "killed", "0", "back"),
    "stopped": (2, 1, "stops", "1", "back"),
    "raises": (2, 1, "raises", "0", "back"),
    "two at once": (3, 2, "killed", "01", "back"),
    "all": (2, 2, "killed", "01", "back"),
    "no such group again": (3, 2, "spanning", "1", "back"),
}
BACK = [name for name, case in CASES.items() if case[-1] == "back"]
LEFT = [name for name, case in CASES.items() if case[-1] == "left"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> dict:
    # Not in the threads, of which two that begin would make a base folder each.
    folders = {name: tmp_path_factory.mktemp("copies") for name in CASES}
    cache = str(tmp_path_factory.mktemp("cache"))

    def run(name):
        processes, restarts, *words = CASES[name]
        # What is not stopped is noticed in another way.
        timeout = TIMEOUT if name == "stopped" else 2 * LIMIT
        options = ("--restart", str(restarts), "--timeout", str(timeout))
        folder = str(folders[name])
        case = processes, 2, "recovering.py", *words, folder
        # Forked, they are back before the others have regrouped without them.
        return launch(*case, options=options, MESHWRIGHT_CACHE_DIR=cache)

    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        return dict(zip(CASES, pool.map(run, CASES), strict=True))


def reports(done) -> dict[int, dict]:
    """What processes say at their end."""
    assert done.returncode == 0, done.stdout + done.stderr
    lines = (line.partition("] ")[2] for line in done.stdout.splitlines())
    found = [json.loads(line) for line in lines if line.startswith("{")]
    assert found, done.stdout + done.stderr
    return {report["process"]: report for report in found}


@pytest.mark.parametrize("name", CASES)
def test_the_state_is_that_of_a_run_without_a_fault(name, runs):
    for report in reports(runs[name]).values():
        steps = report["steps"]
        assert report["a"] == [steps] * 8
        assert report["b"] == [8 * steps * (steps + 1) // 2] * 3


@pytest.mark.parametrize("name", LEFT)
def test_those_that_are_left_go_on_with_a_plan_made_ahead(name, runs):
    processes, _, _, victim, _ = CASES[name]
    left = [p for p in range(processes) if p != int(victim)]
    found = reports(runs[name])
    assert sorted(found) == left
    for report in found.values():
        (whole, first), (world, number) = report["worlds"]
        assert (whole, first, world) == ([*range(processes)], 0, left)
        assert number == 5  # Step 4 was the last that all had copied.
        assert report["steps"] == 16
        ((text, gone, meshes),) = report["failures"]
        assert text.startswith(f"process {victim} (pid ")
        assert "was killed by SIGKILL" in text
        assert gone == [int(victim)]
        assert meshes == ["m0" if victim == "0" or "spanning" in CASES[name] else "m1"]


@pytest.mark.parametrize("name", BACK)
def test_a_process_that_comes_back_is_taken_in(name, runs):
    processes = CASES[name][0]
    found = reports(runs[name])
    assert sorted(found) == [*range(processes)]
    # Each has got the same, at the same step.
    lasts = [report["worlds"][-1] for report in found.values()]
    assert lasts == [lasts[0]] * processes
    assert lasts[0][0] == [*range(processes)]


def test_a_process_comes_back_to_those_that_never_ended(runs):
    found = reports(runs["back"])
    assert [len(found[p]["worlds"]) for p in range(3)] == [1, 3, 3]
    assert "starts process 0 again (0 more)" in runs["back"].stderr
    assert "starts all" not in runs["back"].stderr


def test_a_process_that_is_stopped_is_ended_and_started_again(runs):
    line = f"has been silent for {TIMEOUT} s; it is stopped; the others go on"
    assert line in runs["stopped"].stderr


def test_what_jax_cannot_connect_again_starts_all_again(runs):
    errors = runs["no such group again"].stderr
    assert "JAX on CPU does not connect such devices again" in errors
    assert "starts all processes again (2 of 2)" in errors


def test_a_failure_names_meshes_of_programs_and_can_be_sent():
    members = Members(3, True)
    members.note_meshes({"m0": {0}, "m1": {1, 2}})
    members.check()
    members.lose([2], "process 2 has died")
    with pytest.raises(ProcessFailure, match="died .meshes 'm1'.\nmw.elastic") as found:
        members.check()
    failure = pickle.loads(pickle.dumps(found.value))
    assert (failure.processes, failure.meshes) == ((2,), ("m1",))
    members.form(1, [0, 1], {})
    members.check()
    with pytest.raises(ProcessFailure, match="process 2 is gone, which runs a mesh"):
        members.check_program({"m0": {0}, "m1": {1, 2}}, 0)
    members.form(2, [0, 1, 2], {2: 2})
    with pytest.raises(RuntimeError, match="process 2 has come back since .* again"):
        members.check_program({"m1": {1, 2}}, 1)
    members.check_program({"m1": {1, 2}}, 2)


def test_connections_are_closed_by_their_address_and_no_others():
    servers = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
    ends = [socket.create_connection(s.getsockname(), LIMIT) for s in servers]
    before = len(os.listdir("/dev/fd"))
    close_connections({"{}:{}".format(*servers[0].getsockname())})
    assert len(os.listdir("/dev/fd")) == before
    assert ends[0].recv(1) == b""
    accepted = servers[1].accept()[0]
    accepted.sendall(b"x")
    assert ends[1].recv(1) == b"x"
    for one in (*servers, *ends, accepted):
        one.close()


def test_what_arrives_while_others_regroup_ends_no_thread():
    world = object.__new__(World)
    world.members, world.device = Members(2, True), jax.devices()[0]
    world._server, found = None, []

    def acknowledge(*number):
        found.append(number)
        world._acknowledge(*number)

    world.arrivals = Arrivals(acknowledge)
    for number in (5, 6):
        world.acknowledge(collections.deque(), number)
        world.members.generation += 1
    world.arrivals.start()
    world.arrivals.end(LIMIT)
    assert found == [(5, 0), (6, 1)]


_opened = contextlib.ExitStack()


@pytest.fixture(autouse=True)
def closed():
    """Closes what a test has opened, also where it fails."""
    with _opened:
        yield


def watch(*args, **options) -> Watchdog:
    watchdog = Watchdog(*args, **options)
    _opened.callback(watchdog.close)
    return watchdog


class Peer:
    """A process as the watchdog sees it."""

    def __init__(self, watchdog: Watchdog, number: int, ready: bool | None = True):
        host, port = watchdog.address.rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)), LIMIT)
        self.lines = self.socket.makefile("r")
        _opened.callback(self.close)
        self.say(process=number, pid=1, host="here", token=watchdog.token)
        self.hello = self.hear()
        if ready is not None:
            self.say(ready=ready, needed=False)

    def say(self, **message) -> None:
        self.socket.sendall((json.dumps(message) + "\n").encode())

    def hear(self) -> dict:
        return json.loads(self.lines.readline())

    def close(self) -> None:
        self.lines.close()
        self.socket.close()


def settle(peers: list[Peer], what: str = "nothing") -> None:
    """Waits until the watchdog has heard what all have said, and said what it would."""
    for peer in peers:
        peer.say(step=1, **{"for": what})
    for peer in peers:
        assert peer.hear() == {"meet after": 2, "for": what}


def test_processes_end_together_if_one_of_them_wants_that():
    watchdog = watch(LIMIT, 2)
    peers = [Peer(watchdog, 0), Peer(watchdog, 1, ready=False)]
    settle(peers)
    peers[1].close()
    assert "has died" in peers[0].hear()["fault"]
    assert not watchdog.lost


def test_the_watchdog_waits_for_all_that_are_left():
    watchdog = watch(LIMIT, 3)
    peers = [Peer(watchdog, number) for number in range(3)]
    settle(peers)
    peers[0].say(regroup=[3, 70])
    peers[1].say(regroup=[5, 60])
    peers[2].close()
    for peer in peers[:2]:
        assert peer.hear()["gone"] == [2]
        formed = peer.hear()
        assert formed == {
            "formed": [0, 1],
            "generation": 1,
            "since": {},
            "counters": [5, 70],
        }
    back = Peer(watchdog, 2, ready=None)
    assert back.hello["returned"]
    back.say(regroup=[0, 0])
    for number, peer in enumerate(peers[:2]):
        assert peer.hear() == {"which step": "return"}
        peer.say(step=7 + number, **{"for": "return"})
    for peer in peers[:2]:
        assert peer.hear() == {"meet after": 9, "for": "return"}
        peer.say(regroup=[8, 80])
    for peer in (*peers[:2], back):
        formed = peer.hear()
        assert (formed["formed"], formed["since"]) == ([0, 1, 2], {"2": 2})
        peer.say(done=True)
        peer.close()


def test_one_that_is_back_before_the_others_regroup_joins_later():
    """Until then these go on with the plans that they have."""
    watchdog = watch(LIMIT, 3)
    peers = [Peer(watchdog, number) for number in range(3)]
    settle(peers)
    peers[2].close()
    for peer in peers[:2]:
        assert peer.hear()["gone"] == [2]
    back = Peer(watchdog, 2, ready=None)
    back.say(regroup=[0, 0])
    for peer in peers[:2]:
        assert peer.hear() == {"which step": "return"}
        peer.say(regroup=[0, 0])
    for peer in peers[:2]:
        formed = peer.hear()
        assert (formed["formed"], formed["since"]) == ([0, 1], {})
        assert peer.hear() == {"which step": "return"}
        peer.say(step=7, **{"for": "return"})
    for peer in peers[:2]:
        assert peer.hear() == {"meet after": 8, "for": "return"}
        peer.say(regroup=[0, 0])
    for peer in (*peers[:2], back):
        formed = peer.hear()
        assert (formed["formed"], formed["since"]) == ([0, 1, 2], {"2": 2})
        peer.say(done=True)
        peer.close()


def test_all_hear_who_is_gone_before_they_regroup():
    watchdog = watch(LIMIT, 3, exit_code_delay=0.3)
    peers = [Peer(watchdog, number) for number in range(3)]
    settle(peers)
    peers[2].close()
    while watchdog._peers[2].open:  # Closed, and reported after the delay.
        time.sleep(0.01)
    for peer in peers[:2]:
        peer.say(regroup=[0, 0])
    for peer in peers[:2]:
        assert peer.hear()["gone"] == [2]
        assert peer.hear()["formed"] == [0, 1]
        peer.say(done=True)
        peer.close()


def test_a_death_comes_before_what_fails_because_of_it(monkeypatch):
    """Also where the launcher learns late how the process has ended."""
    name = "meshwright.runtime.processes.watchdog._FAILURE_DELAY"
    monkeypatch.setattr(name, 0.0)
    watchdog = watch(LIMIT, 3, exit_code_delay=LIMIT)
    peers = [Peer(watchdog, number, ready=False) for number in range(3)]
    settle(peers)
    peers[2].close()
    while not watchdog._peers[2].has_closed():
        time.sleep(0.01)
    peers[0].say(failed="JaxRuntimeError: closed", first=None)
    peers[1].say(**{"who is gone": 5})
    while not watchdog._peers[0].failure:
        time.sleep(0.01)
    send = watchdog._peers[0].send

    def send_late(message):
        time.sleep(0.05)  # Process 1 hears of the fault only after this.
        send(message)

    monkeypatch.setattr(watchdog._peers[0], "send", send_late)
    watchdog.report(2, "was killed by SIGKILL")
    fault = {"fault": "process 2 (pid 1 on here) was killed by SIGKILL"}
    assert peers[0].hear() == fault
    assert [peers[1].hear() for _ in range(2)] == [
        fault,
        {"answered": 5, "failed": []},
    ]


def test_what_fails_is_known_before_its_connection_is_closed():
    watchdog = watch(LIMIT, 2)
    peers = [Peer(watchdog, number, ready=False) for number in range(2)]
    settle(peers)
    peers[1].say(exit=3)
    while not watchdog._peers[1].failure:
        time.sleep(0.01)
    peers[0].say(**{"who is gone": 5})
    assert [peers[0].hear() for _ in range(2)] == [
        {"fault": "process 1 (pid 1 on here) ended with exit code 3"},
        {"answered": 5, "failed": []},
    ]


def test_one_that_comes_back_meets_with_those_that_were_asked_before():
    """They save after step 8, so it does, whatever it has done by then."""
    watchdog = watch(LIMIT, 2)
    peers = [Peer(watchdog, number) for number in range(2)]
    settle(peers)
    peers[1].close()
    assert peers[0].hear()["gone"] == [1]
    peers[0].say(preempted=True)
    assert peers[0].hear() == {"which step": "preemption"}
    peers[0].say(step=7, **{"for": "preemption"})
    assert peers[0].hear() == {"meet after": 8, "for": "preemption"}
    peers[0].say(regroup=[0, 0])
    assert peers[0].hear()["formed"] == [0]
    back = Peer(watchdog, 1, ready=None)
    back.say(regroup=[0, 0])
    assert peers[0].hear() == {"which step": "return"}
    peers[0].say(regroup=[0, 0])
    heard = [back.hear() for _ in range(2)]
    assert {"which step": "preemption"} in heard
    assert {"meet after": 8, "for": "preemption"} in heard
    assert back.hear()["formed"] == [0, 1]
    back.say(step=None, **{"for": "preemption"})
    back.say(preempted=True)  # Asked again: that is decided.
    assert peers[0].hear()["formed"] == [0, 1]
    settle([peers[0], back], "more")


def test_one_that_has_come_to_its_end_is_not_waited_for():
    watchdog = watch(LIMIT, 2)
    peers = [Peer(watchdog, number) for number in range(2)]
    settle(peers)
    peers[0].say(preempted=True)
    for peer in peers:
        assert peer.hear() == {"which step": "preemption"}
    peers[0].say(step=7, **{"for": "preemption"})
    while "preemption" not in watchdog._peers[0].steps:
        time.sleep(0.01)
    peers[1].say(ending=True)
    assert peers[0].hear() == {"meet after": 8, "for": "preemption"}


def test_one_that_has_left_is_not_blamed_for_a_later_hang():
    watchdog = watch(LIMIT, 2)
    peers = [Peer(watchdog, number, ready=False) for number in range(2)]
    peers[0].say(beat={"place": [1, 1, 1], "where": "a", "seconds": 0.1}, awaits={})
    peers[0].say(ending=True)
    peers[0].say(done=True)
    while not watchdog._peers[0].done:
        time.sleep(0.01)
    peers[1].say(
        beat={"place": [2, 1, 1], "where": "b", "seconds": LIMIT + 1}, awaits={}
    )
    assert (
        peers[1].hear()["fault"].startswith("process 1 (pid 1 on here, in b) has made")
    )


def test_one_that_is_in_another_program_is_named():
    watchdog = watch(LIMIT, 2)
    peers = [Peer(watchdog, number, ready=False) for number in range(2)]
    peers[1].say(beat={"place": [2, 0, 1], "where": "b", "seconds": 0.1}, awaits={})
    settle(peers)
    peers[0].say(
        beat={"place": [1, 1, 1], "where": "a", "seconds": LIMIT + 1}, awaits={}
    )
    fault = peers[1].hear()["fault"]
    assert fault.startswith("process 0 (pid 1 on here, in a) has made no progress")
    assert "; process 1 is in another program, in b: it waits for this one" in fault


def test_one_that_waits_is_not_blamed_while_another_one_is_silent():
    watchdog = watch(LIMIT, 2)
    peers = [Peer(watchdog, number, ready=False) for number in range(2)]
    settle(peers)
    watchdog._peers[1].heard -= 0.6 * LIMIT
    beat = {"place": [2, 1, 1], "where": "b", "seconds": LIMIT + 1}
    peers[0].say(beat=beat, awaits={})
    peers[0].say(**{"who is gone": 5})
    assert peers[0].hear() == {"answered": 5, "failed": []}
    peers[1].say(beat={}, awaits={})
    settle(peers, "more")
    peers[0].say(beat=beat, awaits={})
    assert "process 0 (pid 1 on here, in b) has made no" in peers[0].hear()["fault"]


@pytest.mark.parametrize("tick", [2, 3, 4])
def test_no_time_in_which_the_watchdog_was_stopped_is_missed(tick, monkeypatch):
    """Whenever it was between two looks at the clock."""
    ticks, heard = itertools.count(1), queue.SimpleQueue()

    class Stopped(Clock):
        def tick(self, period):
            return 7.0 if next(ticks) == tick else 0.0

    monkeypatch.setattr("meshwright.runtime.processes.watchdog.Clock", Stopped)
    monkeypatch.setattr(Watchdog, "_shift_clocks", lambda _, *found: heard.put(found))
    watch(0.1, 1)
    assert heard.get(timeout=LIMIT)[1] == 7.0


def test_who_takes_the_place_of_one_that_ended_late_is_waited_for():
    """One that is lost may still end well: that of the next one is another end."""
    watchdog = watch(LIMIT, 2)
    peers = [Peer(watchdog, number) for number in range(2)]
    settle(peers)
    watchdog.report(1, "has been silent")
    assert peers[0].hear()["gone"] == [1]
    watchdog.note_end(1)
    watchdog.expect(1)
    watchdog.note_end(0)
    assert watchdog.fault is None


def test_a_process_that_comes_back_too_late_hears_so():
    watchdog = watch(LIMIT, 2)
    peers = [Peer(watchdog, number) for number in range(2)]
    settle(peers)
    peers[1].close()
    assert peers[0].hear()["gone"] == [1]
    back = Peer(watchdog, 1, ready=None)
    peers[0].say(ending=True)
    back.say(regroup=[0, 0])
    assert back.hear() == {"over": True}
