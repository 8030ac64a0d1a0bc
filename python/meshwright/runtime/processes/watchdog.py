# SPDX-License-Identifier: Apache-2.0
"""The end of the connections that all processes of a run hold (watch.py).

    python -m meshwright.runtime.processes.watchdog HOST PROCESSES TIMEOUT

reads its token, prints the address that it listens on, and ends when all processes
have left.
"""

from __future__ import annotations

import contextlib
import json
import secrets
import select
import signal
import socket
import sys
import threading
import time
from typing import Any

from ...core import ending
from .awake import Clock
from .connection import BEATS_PER_TIMEOUT, keep_alive

_LINE_BYTES = 1 << 16
_FAILURE_DELAY = 0.5
# Seconds in which a closed connection is reported, on a busy machine.
_CLOSED_SECONDS = 5.0
# Seconds in which a process gets what another one has put before it came to its end.
_IN_VAIN_SECONDS = 5.0
# Linux tells of a closed connection whose last lines have not been read, too.
_HUNG_UP = getattr(select, "POLLRDHUP", 0) | select.POLLHUP


class Watchdog:
    """Listens to the processes of one run; lives in the launcher.

    Attributes:
      address: what the processes connect to.
      token: what they have to know, so that no other user of the host ends the run.
      fault: the first fault, as one line; None while all is well.
      culprit: the process that it was noticed in.
      lost: processes without which the others go on, and why they are gone.
      generation: how often those in the run have changed.
      code: the exit code with which that one says that it ends; None if it does not.

    Args:
      timeout: seconds of silence, or at the same place, that are a fault.
      processes: how many there are.
      host: address to listen on.
      exit_code_delay: seconds to wait at most, after a closed connection, for a report
        of how the process ended.
      token: a random one by default.
      generation: from which they count how often they regroup.
    """

    def __init__(
        self,
        timeout: float,
        processes: int,
        host: str = "127.0.0.1",
        exit_code_delay: float = 0.0,
        token: str | None = None,
        generation: int = 0,
    ):
        self.token = secrets.token_hex(16) if token is None else token
        self.timeout, self.processes = timeout, processes
        self._exit_code_delay = exit_code_delay
        self.fault: str | None = None
        self.code: int | None = None
        self.culprit: int | None = None
        self._lock = threading.RLock()
        self._peers: dict[int, _Peer] = {}
        self._ended: set[int] = set()
        self.lost: dict[int, str] = {}
        self._asked: set[str] = set()  # What for they were asked how far they are.
        self._decided: dict[str, int | None] = {}  # After which step they meet.
        self._recoverable = False  # Once all have joined and say that they are.
        self._members, self._gone = set(range(processes)), set[int]()
        self.generation = generation
        self._since: dict[int, int] = {}
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._server = socket.create_server((host, 0), family=family)
        port = self._server.getsockname()[1]
        self.address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        threading.Thread(target=self._accept, daemon=True).start()
        threading.Thread(target=self._check, daemon=True).start()

    def describe(self, process: int) -> str:
        """Names a process, its host, and where it was last."""
        peer = self._peers.get(process)
        if peer is None:
            return f"process {process}"
        where = f", in {peer.beat['where']}" if peer.beat else ""
        return f"process {process} (pid {peer.pid} on {peer.host}{where})"

    def report(self, process: int, what: str) -> None:
        """Notes the first fault and tells every other process.

        What a process itself said of its end comes before what others saw of it.
        """
        with self._lock:
            if self.fault is not None or process in self.lost:
                return
            peer = self._peers.get(process)
            what = (peer and peer.failure) or what
            fault = f"{self.describe(process)} {what}"
            if peer is not None:
                peer.ended.set()
            if self._is_dispensable(process):
                self.lost[process] = fault
                self._report_lost(process, fault)
                return
            self.code = peer.code if peer else None
            if peer is not None and peer.first is not None:
                process, fault = peer.first  # Its script may have gone on.
            self.culprit, self.fault = process, fault
            # While the lock is held: an answer that waits for this comes after it.
            for other in self._peers.values():
                other.send({"fault": fault})
                other.ended.set()

    def report_end(self, process: int, what: str) -> None:
        """`report` for a process that has ended, once all that it has said is read."""
        peer = self._peers.get(process)
        if peer is not None:
            # Not if something that it has started holds its connection open.
            peer.read.wait(_CLOSED_SECONDS)
        self.report(process, what)

    def _await_closed(self, asking: _Peer) -> None:
        """Waits until all have been reported that have closed their connections.

        What a process hears of another one's end through JAX comes after this: the
        connection to this watchdog is the first that a death closes.
        """
        with self._lock:
            others = [peer for peer in self._peers.values() if peer is not asking]
        for peer in others:
            if peer.has_closed():
                peer.over.wait(self._exit_code_delay + _CLOSED_SECONDS)

    def informed(self) -> set[int]:
        """Those that are connected, and know of the fault of another one."""
        with self._lock:
            peers = self._peers.items()
            return {number for number, peer in peers if peer.open} - {self.culprit}

    def _report_peer(self, process: int, peer: _Peer, what: str) -> None:
        """Reports unless another one has taken the place meanwhile."""
        with self._lock:
            if self._peers.get(process) is peer:
                self.report(process, what)

    def _running(self) -> dict[int, _Peer]:
        """Those that take part, or want to."""
        return {n: peer for n, peer in self._staying().items() if peer.open}

    def _staying(self) -> dict[int, _Peer]:
        """Those that have not left, or whose loss has not been reported yet."""
        return {
            number: peer
            for number, peer in self._peers.items()
            if not (peer.done or peer.ending or number in self.lost)
        }

    def _is_dispensable(self, process: int) -> bool:
        """Whether others go on without a process."""
        peer = self._peers.get(process)
        others = self._members & self._running().keys() - {process}
        return self._recoverable and bool(others) and not (peer and peer.needed)

    def _report_lost(self, process: int, why: str) -> None:
        if (peer := self._peers.get(process)) is not None:
            peer.send({"fault": why})  # It may be there still, and hang.
        if process in self._members:
            self._members.discard(process)
            self._gone.add(process)
            for number, peer in self._peers.items():
                if number not in self.lost and not peer.done:
                    peer.send({"gone": sorted(self._gone), "why": why})
        self._wait_for_fewer()

    def _wait_for_fewer(self) -> None:
        """Decides what waited only for one that is gone. Holds the lock."""
        for what in self._asked:
            self._decide_step(what)
        self._try_regroup()

    def _try_regroup(self) -> None:
        """Lets all regroup that wait for it, if all members do. Holds the lock."""
        running = self._running()
        waiting = {n: peer for n, peer in running.items() if peer.counters is not None}
        # A closed connection is reported first: all hear who is gone, then regroup.
        members = self._members & self._staying().keys()
        if not members:
            for peer in waiting.values():  # They come too late.
                peer.done = True
                peer.send({"over": True})
            return
        if not members <= waiting.keys():
            return
        self.generation += 1
        absent = waiting.keys() - self._members
        # After a loss the others go on with programs that they have, also of all
        # processes. One that is back already does not know these: it joins later.
        joining = {} if self._gone else {number: waiting[number] for number in absent}
        waiting = {
            n: p for n, p in waiting.items() if n in self._members or n in joining
        }
        self._since |= dict.fromkeys(joining, self.generation)
        self._members = set(waiting)
        self._gone.clear()
        self._asked.discard("return")
        self._decided.pop("return", None)
        # Those that have asked the others meet with them, too.
        for peer in joining.values():
            for what in self._asked:
                peer.send({"which step": what})
                if what in self._decided:
                    peer.send({"meet after": self._decided[what], "for": what})
        counters = (peer.counters for peer in waiting.values())
        message = {
            "formed": sorted(waiting),
            "generation": self.generation,
            "since": self._since,
            "counters": [max(found) for found in zip(*counters, strict=True)],
        }
        for peer in waiting.values():
            peer.counters = None
            peer.steps.pop("return", None)
            peer.send(message)
        if absent and not joining:
            self._ask_steps("return")

    def note_end(self, process: int) -> None:
        """Notes that a process has ended well, perhaps before it has connected."""
        with self._lock:
            self._ended.add(process)
            peer = self._peers.get(process)
        if peer is not None:
            peer.ended.set()
        self._check_ended()

    def _check_ended(self) -> None:
        """Reports a process that the others would wait for in vain."""
        with self._lock:
            missing = sorted(self._ended - self._peers.keys()) if self._peers else []
        if missing:
            self.report(
                missing[0],
                "ended with exit code 0 before it called mw.distributed.initialize()",
            )

    def expect(self, process: int) -> None:
        """Forgets one that is gone: another one will take its place."""
        with self._lock:
            self.lost.pop(process, None)
            self._peers.pop(process, None)
            self._ended.discard(process)

    def is_over(self) -> bool:
        """Whether processes have connected, and all of those have left."""
        with self._lock:
            peers = list(self._peers.values())
        return bool(peers) and not any(peer.open for peer in peers)

    def is_unused(self) -> bool:
        return not self._peers

    def close(self) -> None:
        self._server.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._server.accept()
                threading.Thread(
                    target=self._serve, args=(connection,), daemon=True
                ).start()

    def _serve(self, connection: socket.socket) -> None:
        lines = connection.makefile("r")
        try:
            connection.settimeout(self.timeout)
            hello = json.loads(lines.readline(_LINE_BYTES))
            connection.settimeout(None)
            if not secrets.compare_digest(hello["token"], self.token):
                raise ValueError("a token of another run")
            peer = _Peer(connection, hello["pid"], hello["host"])
            process = int(hello["process"])
        except Exception:  # An unknown peer may send anything.
            connection.close()
            return
        with self._lock:
            if process in self.lost:
                self.expect(process)
            returned = self._recoverable and process not in self._members
            known = self._peers.setdefault(process, peer)
            if known is peer:  # Before any fault that is noted from here on.
                back = {"returned": True} if returned else {}
                first = {"timeout": self.timeout, "generation": self.generation}
                peer.send(first | back)
                if self.fault is not None:
                    peer.send({"fault": self.fault})
        if known is not peer:
            peer.send(
                {
                    "refused": f"{self.describe(process)} has joined already; give "
                    "each process a number of its own, and let what it starts not "
                    "call mw.distributed.initialize()"
                }
            )
            connection.close()
            return
        keep_alive(connection, self.timeout)
        self._check_ended()
        with contextlib.suppress(OSError, ValueError), connection, lines:
            for line in lines:
                self._handle(process, peer, json.loads(line))
        peer.open = False
        peer.read.set()
        if not peer.done:
            peer.ended.wait(self._exit_code_delay)
            self._report_peer(process, peer, "has died")
        peer.over.set()

    def _handle(self, process: int, peer: _Peer, message: dict[str, Any]) -> None:
        peer.heard = time.monotonic()
        if message.get("done"):
            peer.done = True
            self._send_last()
        elif "failed" in message:
            # It may have failed because another one died: that one first.
            with self._lock:
                peer.failure = f"failed: {message['failed']}"
                peer.code = 1
                peer.needed |= bool(message.get("all"))
                peer.first = message.get("first")
            self._report_soon(process, peer)
        elif "run failed" in message:
            peer.run_failed = peer.heard, message["run failed"]
        elif "exit" in message:
            with self._lock:
                peer.failure = f"ended with exit code {message['exit']}"
                peer.code = int(message["exit"])
            self._report_soon(process, peer)
        elif message.get("ending"):
            peer.ending = True
            with self._lock:
                self._wait_for_fewer()
        elif "ready" in message:
            self._note_ready(peer, message)
        elif "regroup" in message:
            self._note_regroup(process, peer, message["regroup"])
        elif message.get("preempted"):
            self._ask_steps("preemption")
        elif "who is gone" in message:
            arguments = peer, message["who is gone"]
            threading.Thread(target=self._answer, args=arguments, daemon=True).start()
        elif "step" in message:
            with self._lock:
                peer.steps[message["for"]] = message["step"]
                self._decide_step(message["for"])
        else:
            # A process of another release, whose version is yet to be compared, may not
            # say what it awaits.
            peer.beat = dict(message["beat"])
            peer.awaits = dict(message.get("awaits", {}))
            self._report_in_vain(process, peer)
            if peer.seconds > self.timeout:
                self._report_hang()

    def _report_soon(self, process: int, peer: _Peer) -> None:
        arguments = process, peer
        threading.Timer(_FAILURE_DELAY, self._report_failure, arguments).start()

    def _report_failure(self, process: int, peer: _Peer) -> None:
        self._await_closed(peer)
        self._report_peer(process, peer, "")

    def _answer(self, peer: _Peer, question: int) -> None:
        """Answers once a process knows of all that are gone or fail by now."""
        with self._lock:
            failing = [other for other in self._peers.values() if other.failure]
        for other in failing:
            if other is not peer:  # It closes JAX's connections before its own.
                other.ended.wait(2 * (self._exit_code_delay + _CLOSED_SECONDS))
        self._await_closed(peer)
        with self._lock:
            peers = self._peers.items()
            failed = [(*p.run_failed, n) for n, p in peers if p.run_failed]
        found = [
            (n, f"{self.describe(n)} failed: {what}") for _, what, n in sorted(failed)
        ]
        peer.send({"answered": question, "failed": found})

    def _note_ready(self, peer: _Peer, message: dict[str, Any]) -> None:
        peer.ready, peer.needed = bool(message["ready"]), bool(message["needed"])
        with self._lock:
            peers = self._peers.values()
            if len(peers) == self.processes and all(p.ready for p in peers):
                self._recoverable = True

    def _note_regroup(self, process: int, peer: _Peer, counters: list[int]) -> None:
        with self._lock:
            peer.counters = counters
            self._try_regroup()
            if process not in self._members:
                self._ask_steps("return")

    def _ask_steps(self, what: str) -> None:
        with self._lock:
            peers = self._peers_to_ask() if what not in self._asked else []
            self._asked.add(what)
            for peer in peers:
                peer.send({"which step": what})

    def _peers_to_ask(self) -> list[_Peer]:
        """Those that do something after the same step."""
        running = self._running()
        return [running[number] for number in running.keys() & self._members]

    def _decide_step(self, what: str) -> None:
        """Lets all meet after the step that follows that of the furthest one.

        Once: they go on then, and may be beyond what others would decide. Holds the
        lock.
        """
        peers = self._peers_to_ask()
        if what in self._decided or not peers:
            return
        if not all(what in peer.steps for peer in peers):
            return
        steps = [step for p in peers if (step := p.steps[what]) is not None]
        last = self._decided[what] = max(steps) + 1 if steps else None
        for peer in peers:
            peer.send({"meet after": last, "for": what})

    def _send_last(self) -> None:
        """Lets process 0, which may hold what the others need, know of their end."""
        with self._lock:
            left = {number for number, peer in self._peers.items() if peer.done}
            left |= self.lost.keys()
            first = self._peers.get(0)
        if first is not None and left >= set(range(1, self.processes)):
            first.send({"others have left": True})

    def _report_in_vain(self, process: int, peer: _Peer) -> None:
        """Reports a process at its end that another one waits for outside of programs.

        Where processes may be lost, the one that waits finds out by itself.
        """
        wait, awaited = peer.awaits.get("wait"), peer.awaits.get("process")
        with self._lock:
            ended = [
                number
                for number, other in self._peers.items()
                if awaited in (None, number) and (other.ending or other.done)
            ]
        if self._recoverable or wait is None or not ended:
            peer.in_vain = None
            return
        if peer.in_vain is None or peer.in_vain[0] != wait:
            peer.in_vain = wait, peer.awaits["seconds"]
        if peer.awaits["seconds"] - peer.in_vain[1] >= _IN_VAIN_SECONDS:
            self.report(
                min(ended),
                f"has come to its end, but {_what_waits(process, peer.awaits)}; let "
                "all processes do the same steps",
            )

    def _report_hang(self) -> None:
        """Blames the process that has got least far; the others wait for it.

        No process while one sends no beats: others may wait for that one, which is
        reported once it has been silent for long enough.
        """
        with self._lock:
            if self._silent(time.monotonic() - self.timeout / 2):
                return
            waiting = [
                (tuple(peer.beat["place"]), process, peer.beat["where"])
                for process, peer in self._peers.items()
                if peer.beat and not peer.done and process not in self.lost
            ]
            ending = [number for number, peer in self._peers.items() if peer.ending]
            awaits = [(n, p.awaits) for n, p in self._peers.items() if p.awaits]
        if not waiting:
            return  # Reported already.
        (program, *_), process, _ = min(waiting)
        what = f"has made no progress for {self.timeout:g} s"
        if ending:
            what += f"; process {min(ending)} has come to its end"
        elif elsewhere := [each for each in waiting if each[0][0] != program]:
            _, other, where = elsewhere[0]
            what += (
                f"; process {other} is in another program, in {where}: it waits for "
                "this one there, or the processes call programs in different orders"
            )
        else:
            for other, awaited in awaits:
                if other != process and awaited["process"] in (None, process):
                    what += (
                        f"; {_what_waits(other, awaited)}: that is still to come, or "
                        "the processes call programs and mw.fetch in different orders"
                    )
                    break
        self.report(process, what)

    def _check(self) -> None:
        period, clock = self.timeout / BEATS_PER_TIMEOUT, Clock()
        clock.tick(period)
        while self._server.fileno() >= 0:
            time.sleep(period)
            now = time.monotonic()
            if pause := clock.tick(period):
                self._shift_clocks(now, pause)
            self._check_missing(now)
            with self._lock:
                silent = self._silent(now - self.timeout)
            what = f"has been silent for {self.timeout:g} s; it is stopped"
            for process, peer in silent:
                self._report_peer(process, peer, what)

    def _silent(self, since: float) -> list[tuple[int, _Peer]]:
        """Those that have sent nothing since then. Holds the lock."""
        return [
            (process, peer)
            for process, peer in self._peers.items()
            if peer.open and not peer.done and peer.heard < since
            if process not in self.lost
        ]

    def _shift_clocks(self, now: float, pause: float) -> None:
        """Ignores a time in which this process was stopped itself."""
        with self._lock:
            for peer in self._peers.values():
                peer.heard = now
                peer.connected += pause

    def _check_missing(self, now: float) -> None:
        """Reports who has not connected long after the first one did."""
        with self._lock:
            since = min((peer.connected for peer in self._peers.values()), default=now)
            missing = sorted(set(range(self.processes)) - self._peers.keys())
        if missing and not self._recoverable and now - since > self.timeout:
            self.report(
                missing[0],
                "did not call mw.distributed.initialize() within "
                f"{self.timeout:g} s of the first process that did",
            )


class _Peer:
    """The watchdog's end of a connection."""

    def __init__(self, connection: socket.socket, pid: int, host: str):
        self.connection, self.pid, self.host = connection, pid, host
        self.beat: dict[str, Any] = {}
        self.awaits: dict[str, Any] = {}  # Of another process, outside of programs.
        # A wait for one that has come to its end, and its seconds when that was seen.
        self.in_vain: tuple[int, float] | None = None
        self.connected = self.heard = time.monotonic()
        self.ending, self.done, self.open = False, False, True
        self.read = threading.Event()  # All that it has said, to its end.
        self.ended = threading.Event()  # It is known how, or that the run has failed.
        self.over = threading.Event()  # And that it has closed its connection.
        self.failure = ""
        self.run_failed: tuple[float, str] | None = None  # When, and why.
        # In which other process its run failed first, and how.
        self.first: tuple[int, str] | None = None
        self.code: int | None = None  # With which it says that it ends.
        self.steps: dict[str, int | None] = {}  # That it is at, by what for.
        self.ready, self.needed = False, False  # Whether the others end with it.
        self.counters: list[int] | None = None  # While it waits to regroup.

    @property
    def seconds(self) -> float:
        """For how long it has been at the same place."""
        return float(self.beat.get("seconds", 0.0))

    def has_closed(self) -> bool:
        """Whether the other end of the connection is closed, read so far or not."""
        if not self.open:
            return True
        poll = select.poll()
        with contextlib.suppress(OSError, ValueError):  # Closed here meanwhile.
            poll.register(self.connection, _HUNG_UP)
            return bool(poll.poll(0))
        return True

    def send(self, message: dict[str, Any]) -> None:
        with contextlib.suppress(OSError):
            self.connection.sendall((json.dumps(message) + "\n").encode())


def _what_waits(process: int, awaits: dict[str, Any]) -> str:
    """Says what a process waits for, of the process in question or of all."""
    whom = "it" if awaits["process"] is not None else "all"
    return f"process {process} waits for {whom} to {awaits['what']}"


def main() -> None:
    # A scheduler asks whatever a step has started. Those that are watched may save
    # something then, and this ends when they have.
    for number in ending.SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    host, processes, timeout = sys.argv[1:]
    # Arguments are for all users to see.
    token = sys.stdin.readline().strip()
    watchdog = Watchdog(float(timeout), int(processes), host, token=token)
    print(watchdog.address, flush=True)
    start = time.monotonic()
    while not watchdog.is_over():
        time.sleep(0.1)
        unused = watchdog.is_unused() and time.monotonic() - start > watchdog.timeout
        if unused:
            break


if __name__ == "__main__":
    main()
    # At once: no process of the run outlives it for as long as Python tidies up.
    ending.end_process(0)
