# SPDX-License-Identifier: Apache-2.0
"""The end of the connections that all processes of a run hold (watch.py).

    python -m meshwright.runtime.processes.watchdog HOST PROCESSES TIMEOUT

prints the address that it listens on and ends when all processes have left.
"""

from __future__ import annotations

import contextlib
import json
import socket
import sys
import threading
import time
from typing import Any

from .watch import BEATS_PER_TIMEOUT

_LINE_BYTES = 1 << 16
_FAILURE_DELAY = 0.5


class Watchdog:
    """Listens to the processes of one run; lives in the launcher.

    Attributes:
      address: what the processes connect to.
      fault: the first fault, as one line; None while all is well.
      culprit: the process that it was noticed in.
      raised: whether that one says that it ends with an exception.

    Args:
      timeout: seconds of silence, or at the same place, that are a fault.
      processes: how many there are.
      host: address to listen on.
      exit_code_delay: seconds to wait, after a closed connection, for a report of
        how the process ended.
    """

    def __init__(
        self,
        timeout: float,
        processes: int,
        host: str = "127.0.0.1",
        exit_code_delay: float = 0.0,
    ):
        self.timeout, self.processes = timeout, processes
        self._exit_code_delay = exit_code_delay
        self.fault: str | None = None
        self.raised = False
        self.culprit: int | None = None
        self._lock = threading.Lock()
        self._peers: dict[int, _Peer] = {}
        self._ended: set[int] = set()
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
            if self.fault is not None:
                return
            peer = self._peers.get(process)
            what = (peer and peer.failure) or what
            self.raised = bool(peer and peer.raised)
            self.culprit = process
            self.fault = f"{self.describe(process)} {what}"
            peers = list(self._peers.values())
        for peer in peers:
            peer.tell({"fault": self.fault})

    def note_end(self, process: int) -> None:
        """Notes that a process has ended well, perhaps before it has connected."""
        with self._lock:
            self._ended.add(process)
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
            hello = json.loads(lines.readline(_LINE_BYTES))
            peer = _Peer(connection, hello["pid"], hello["host"])
            process = int(hello["process"])
        except (ValueError, KeyError, TypeError, OSError):
            connection.close()  # An unknown peer.
            return
        peer.tell({"timeout": self.timeout})
        with self._lock:
            self._peers[process] = peer
            if self.fault is not None:  # Before this one came.
                peer.tell({"fault": self.fault})
        self._check_ended()
        with contextlib.suppress(OSError, ValueError):
            for line in lines:
                self._hear(process, peer, json.loads(line))
        peer.open = False
        if not peer.done:
            time.sleep(self._exit_code_delay)
            self.report(process, "has died")

    def _hear(self, process: int, peer: _Peer, message: dict[str, Any]) -> None:
        peer.heard = time.monotonic()
        if message.get("done"):
            peer.done = True
            self._tell_last()
            return
        if "failed" in message:
            # It may have failed because another one died: that one first.
            peer.failure, peer.raised = f"failed: {message['failed']}", True
            threading.Timer(_FAILURE_DELAY, self.report, (process, "")).start()
            return
        if "exit" in message:
            peer.failure = f"ended with exit code {message['exit']}"
            threading.Timer(_FAILURE_DELAY, self.report, (process, "")).start()
            return
        if message.get("ending"):
            peer.ending = True
            return
        peer.beat = dict(message["beat"])
        if peer.seconds > self.timeout:
            self._report_hang()

    def _tell_last(self) -> None:
        """Lets process 0, which may hold what the others need, know of their end."""
        with self._lock:
            left = {number for number, peer in self._peers.items() if peer.done}
            first = self._peers.get(0)
        if first is not None and left >= set(range(1, self.processes)):
            first.tell({"others have left": True})

    def _report_hang(self) -> None:
        """Blames the process that has got least far; the others wait for it."""
        with self._lock:
            waiting = [
                (tuple(peer.beat["place"]), process)
                for process, peer in self._peers.items()
                if peer.beat
            ]
            ending = [number for number, peer in self._peers.items() if peer.ending]
        _, process = min(waiting)
        what = f"has made no progress for {self.timeout:g} s"
        if ending:
            what += f"; process {min(ending)} has come to its end"
        self.report(process, what)

    def _check(self) -> None:
        period = self.timeout / BEATS_PER_TIMEOUT
        while self._server.fileno() >= 0:
            asleep = time.monotonic()
            time.sleep(period)
            now = time.monotonic()
            if now - asleep > 2 * period:
                self._hear_later(now, now - asleep)
            self._check_missing(now)
            with self._lock:
                silent = [
                    process
                    for process, peer in self._peers.items()
                    if peer.open and not peer.done and now - peer.heard > self.timeout
                ]
            for process in silent:
                self.report(
                    process, f"has been silent for {self.timeout:g} s; it is stopped"
                )

    def _hear_later(self, now: float, pause: float) -> None:
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
        if missing and now - since > self.timeout:
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
        self.connected = self.heard = time.monotonic()
        self.ending, self.done, self.open = False, False, True
        self.failure, self.raised = "", False

    @property
    def seconds(self) -> float:
        """For how long it has been at the same place."""
        return float(self.beat.get("seconds", 0.0))

    def tell(self, message: dict[str, Any]) -> None:
        with contextlib.suppress(OSError):
            self.connection.sendall((json.dumps(message) + "\n").encode())


def main() -> None:
    host, processes, timeout = sys.argv[1:]
    watchdog = Watchdog(float(timeout), int(processes), host)
    print(watchdog.address, flush=True)
    start = time.monotonic()
    while not watchdog.is_over():
        time.sleep(0.1)
        unused = watchdog.is_unused() and time.monotonic() - start > watchdog.timeout
        if unused:
            break


if __name__ == "__main__":
    main()
