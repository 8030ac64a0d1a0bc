# SPDX-License-Identifier: Apache-2.0
"""Notices that a process has died, was stopped, or hangs, and ends the others.

Every process keeps a TCP connection to the watchdog, in the launcher. The system
closes the connection of a process that dies, within milliseconds; one that is
stopped sends no more beats; one that hangs in a fragment says so itself, because
its beats come from a thread. The watchdog tells all others, which print one line
and leave. JAX alone would abort them without a word, or let them wait.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import socket
import sys
import threading
import time
from typing import Any

from ..runtime import following

#: Exit code of a process that ends because another one failed.
EXIT_CODE = 70
_BEATS_PER_TIMEOUT = 10
_LINE_BYTES = 1 << 16
_EXIT_CODE_DELAY = 0.2

_client: Client | None = None


def current() -> Client | None:
    """The connection of this process to the watchdog, if there is one."""
    return _client


def connect(address: str | None, process: int | None) -> None:
    """Connects this process to the launcher's watchdog; nothing without one."""
    global _client
    if address is not None and _client is None:
        _client = Client(address, int(process or 0))


class Client:
    """Sends beats that say where this process is; leaves when told to."""

    def __init__(self, address: str, process: int):
        host, port = address.rsplit(":", 1)
        self.process = process
        self._follower = following.start()
        self._socket = socket.create_connection((host.strip("[]"), int(port)), 10)
        self._socket.settimeout(None)
        self._send({"process": process, "pid": os.getpid(), "host": hostname()})
        hello = json.loads(self._socket.makefile("r").readline())
        self.timeout = float(hello["timeout"])
        self._code = EXIT_CODE
        self._hook, sys.excepthook = sys.excepthook, self._fail
        atexit.register(self._finish)
        for work in (self._beat, self._listen):
            threading.Thread(target=work, daemon=True, name="meshwright-watch").start()

    def _send(self, message: dict[str, Any]) -> None:
        self._socket.sendall((json.dumps(message) + "\n").encode())

    def _beat(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                self._send({"beat": self._follower.where()})
                time.sleep(self.timeout / _BEATS_PER_TIMEOUT)

    def _listen(self) -> None:
        lines = self._socket.makefile("r")
        with contextlib.suppress(OSError):
            for line in lines:
                self._leave(json.loads(line)["fault"])
        self._leave("the launcher has ended")

    def _fail(self, kind, error, traceback) -> None:
        """Tells the others of an exception, behind which JAX would wait for them."""
        if "non-addressable" in str(error):
            error.add_note(
                "This process has no copy of the array. mw.fetch(array) gives its "
                "value on every process."
            )
        self._hook(kind, error, traceback)
        self._code = 1
        sys.stderr.flush()
        with contextlib.suppress(OSError):
            self._send({"failed": f"{kind.__name__}: {error}".splitlines()[0]})

    def _finish(self) -> None:
        """Says that this process ends as it should."""
        if self._code == EXIT_CODE:
            with contextlib.suppress(OSError):
                self._send({"done": True})

    def _leave(self, fault: str) -> None:
        """Ends this process; a thread that waits in JAX cannot be interrupted."""
        if self._code == EXIT_CODE:
            sys.stderr.write(f"meshwright: {fault}\n")
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(self._code)


def hostname() -> str:
    return socket.gethostname()


class Watchdog:
    """Listens to the processes of one run; lives in the launcher.

    Attributes:
      address: what the processes connect to.
      fault: the first fault, as one line; None while all is well.
      culprit: the process that it was noticed in.
    """

    def __init__(self, timeout: float, processes: int, host: str = "127.0.0.1"):
        self.timeout, self.processes = timeout, processes
        self.fault: str | None = None
        self.culprit: int | None = None
        self._lock = threading.Lock()
        self._peers: dict[int, _Peer] = {}
        self._server = socket.create_server((host, 0))
        self.address = f"{host}:{self._server.getsockname()[1]}"
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
        """Notes the first fault and tells every other process."""
        with self._lock:
            if self.fault is not None:
                return
            self.fault = f"{self.describe(process)} {what}"
            self.culprit = process
            peers = list(self._peers.values())
        for peer in peers:
            peer.tell({"fault": self.fault})

    def is_done(self, process: int) -> bool:
        """Whether a process said that it has finished."""
        peer = self._peers.get(process)
        return peer is not None and peer.done

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
            connection.close()  # Whoever that was.
            return
        with self._lock:
            self._peers[process] = peer
        peer.tell({"timeout": self.timeout})
        with contextlib.suppress(OSError, ValueError):
            for line in lines:
                self._hear(process, peer, json.loads(line))
        peer.open = False
        if not peer.done:
            time.sleep(_EXIT_CODE_DELAY)  # The launcher may know how it ended.
            self.report(process, "has died")

    def _hear(self, process: int, peer: _Peer, message: dict[str, Any]) -> None:
        peer.heard = time.monotonic()
        if message.get("done"):
            peer.done = True
            return
        if "failed" in message:
            self.report(process, f"failed: {message['failed']}")
            return
        peer.beat = dict(message["beat"])
        if peer.seconds > self.timeout:
            self._report_hang()

    def _report_hang(self) -> None:
        """Blames the process that is furthest behind; the others wait for it."""
        with self._lock:
            waiting = [
                (tuple(peer.beat["place"]), process)
                for process, peer in self._peers.items()
                if peer.beat
            ]
        _, process = min(waiting)
        self.report(process, f"has made no progress for {self.timeout:g} s")

    def _check(self) -> None:
        while self._server.fileno() >= 0:
            time.sleep(self.timeout / _BEATS_PER_TIMEOUT)
            now = time.monotonic()
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
        self.done, self.open = False, True

    @property
    def seconds(self) -> float:
        """For how long it has been at the same place."""
        return float(self.beat.get("seconds", 0.0))

    def tell(self, message: dict[str, Any]) -> None:
        with contextlib.suppress(OSError):
            self.connection.sendall((json.dumps(message) + "\n").encode())
