# SPDX-License-Identifier: Apache-2.0
"""Notices that a process has died, was stopped, or hangs, and ends the others.

Every process keeps a TCP connection to the watchdog, in the launcher or, without
one, in a process of its own beside process 0. The system
closes the connection of a process that dies, within milliseconds; one that is
stopped sends no more beats; one that hangs in a fragment says so itself, because
its beats come from a thread. The watchdog tells all others, which print one line
and leave. JAX alone would abort them silently, or let them wait.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import itertools
import json
import os
import queue
import resource
import socket
import subprocess
import sys
import threading
import time
from typing import Any

import jax

from ...core import ending
from . import exits, following, world
from .awake import clock
from .connection import BEATS_PER_TIMEOUT, EXIT_CODE, keep_alive
from .failures import GroupError, ProcessError, first_failure
from .preemption import Preemption

# Beyond the numbers of other files, which the system gives from 0 on.
_HIGH_NUMBER = 4095

_client: Client | None = None


def current() -> Client | None:
    """The connection of this process to the watchdog, if there is one."""
    return _client


def connect(
    address: str | None,
    process: int | None,
    token: str = "",
    coordinated: bool = False,
) -> None:
    """Connects this process to a watchdog; nothing without one.

    Args:
      token: what the watchdog wants to hear.
      coordinated: whether process 0 holds JAX's coordinator.
    """
    global _client
    if address is not None and _client is None:
        _client = Client(address, int(process or 0), token, coordinated)


class Client:
    """Sends beats that say where this process is; leaves on request.

    Attributes:
      preemption: after which step all save, once one has been asked to end.
      returning: after which step all regroup, once one has come back.
      generation: in which this process begins; greater in each start of the run.
      has_returned: whether this process is one that comes back.
    """

    def __init__(self, address: str, process: int, token: str, coordinated: bool):
        host, port = address.rsplit(":", 1)
        self.process, self._coordinated = process, coordinated
        self._others_left = threading.Event()
        self.preemption, self.returning = Preemption(), Preemption()
        self._regrouping, self._formed = False, threading.Event()
        self._questions = itertools.count()
        self._answers: dict[int, queue.SimpleQueue] = {}
        self._worker = following.start()
        self._socket = _closed_first(
            socket.create_connection((host.strip("[]"), int(port)), 10)
        )
        me = {"process": process, "pid": os.getpid(), "host": hostname()}
        self._send(me | {"token": token})
        self._lines = self._socket.makefile("r")
        hello = json.loads(self._lines.readline() or "{}")
        if "timeout" not in hello:
            self._socket.close()
            raise ProcessError(
                f"process {process}: "
                + hello.get("refused", "the watchdog has ended, with the run")
            )
        self.timeout = float(hello["timeout"])
        self.generation = int(hello["generation"])
        self.has_returned = bool(hello.get("returned"))
        keep_alive(self._socket, self.timeout)
        self._worker.period = self.timeout / BEATS_PER_TIMEOUT
        self._code = EXIT_CODE
        self._hook, sys.excepthook = sys.excepthook, self._fail
        self._finished = False
        exits.note_exit_codes()
        atexit.register(self.finish)
        os.register_at_fork(after_in_child=self._forget)
        for work in (self._beat, self._listen):
            threading.Thread(target=work, daemon=True, name="meshwright-watch").start()

    def _forget(self) -> None:
        """In a forked child, which is none of the processes.

        It would keep the connection open when this process dies, and report its own
        end as that of this process.
        """
        global _client
        os.close(self._socket.detach())
        atexit.unregister(self.finish)
        _client, self._finished = None, True
        if sys.excepthook == self._fail:
            sys.excepthook = self._hook
        exits.forget()

    def _send(self, message: dict[str, Any]) -> None:
        self._socket.sendall((json.dumps(message) + "\n").encode())

    def _try_send(self, message: dict[str, Any]) -> None:
        with contextlib.suppress(OSError):
            self._send(message)

    def _beat(self) -> None:
        with contextlib.suppress(OSError):
            period = self.timeout / BEATS_PER_TIMEOUT
            while True:
                clock.tick(period)
                self._send(
                    {"beat": self._worker.where(), "awaits": self._worker.awaits()}
                )
                time.sleep(period)

    def _listen(self) -> None:
        with contextlib.suppress(Exception):  # Also of what is not of the watchdog.
            for line in self._lines:
                message = json.loads(line)
                if message.get("others have left"):
                    self._others_left.set()
                elif "which step" in message:
                    kind = message["which step"]
                    asked = self._agreement(kind).ask()
                    self._try_send({"step": asked, "for": kind})
                elif "meet after" in message:
                    self._agreement(message["for"]).decide(message["meet after"])
                elif "answered" in message:
                    if (answer := self._answers.get(message["answered"])) is not None:
                        answer.put(message["failed"])
                elif "gone" in message:
                    self._lose(message["gone"], message["why"])
                elif "formed" in message:
                    self._form(message)
                elif message.get("over"):
                    line = f"process {self.process} is back after the others' end"
                    ending.end_process(0, f"meshwright: {line}")
                else:
                    self._leave(message["fault"])
        self._leave("the watchdog has ended, with the process that started the run")

    def _fail(self, kind, error, traceback) -> None:
        """Notifies the others of an exception, after which JAX would wait for them."""
        if "non-addressable" in str(error):
            error.add_note(
                "This process has no copy of the array. mw.fetch(array) gives its "
                "value on every process."
            )
        if self._finished:  # In a forked child, whose own hook calls this one.
            self._hook(kind, error, traceback)
            return
        self._code = 1
        failed = {
            "failed": _first_line(error),
            "all": issubclass(kind, GroupError),
            "first": self._first_failure(error),
        }
        # What shows the exception may wait for a reader that is stopped, and fail.
        notice = threading.Timer(ending.SECONDS, self._try_send, (failed,))
        notice.daemon = True
        notice.start()
        try:
            self._hook(kind, error, traceback)
        finally:
            ending.say()
            notice.cancel()
            self._try_send(failed)

    def _first_failure(self, error: BaseException) -> tuple[int, str] | None:
        """In which other process the run has failed that this error comes of."""
        found = world.existing()
        if found is not None and not found.members.recoverable:
            found.explain(error)
        return first_failure(error)

    def _agreement(self, kind: str) -> Preemption:
        return self.returning if kind == "return" else self.preemption

    def all_reach(self, kind: str, step: int, why: str) -> bool:
        """Whether all do now, after this step, what they were asked for.

        Args:
          kind: `preemption` or `return`.
          why: they were, for the error.

        Raises:
          ProcessError: another process does not ask this within the timeout.
        """
        limit = 2 * self.timeout
        try:
            return self._agreement(kind).reached(step, limit)
        except TimeoutError as error:
            raise ProcessError(
                f"process {self.process}: {why}, but not all said within {limit:g} s "
                "how far they are; end them, and start again"
            ) from error

    def report_ready(self, recoverable: bool) -> None:
        """Says that this process has joined, and whether it outlives others."""
        holds = self._coordinated and not self.process
        self._try_send({"ready": recoverable, "needed": holds})

    def _lose(self, processes: list[int], why: str) -> None:
        found = world.existing()
        if found is None:
            self._leave(why)
            return
        found.lose(processes, why)
        if self._regrouping:
            found.members.noticed = True
            return

        def end_unless_noticed() -> None:
            if not found.members.noticed and found.members.generation == generation:
                self._leave(f"{why}; process {self.process} waits for it elsewhere")

        generation = found.members.generation
        timer = threading.Timer(2 * self.timeout, end_unless_noticed)
        timer.daemon = True
        timer.start()

    def _form(self, message: dict[str, Any]) -> None:
        since = {int(process): n for process, n in message["since"].items()}
        found = world.existing()
        assert found is not None, "a process without others has formed with others"
        found.form(message["generation"], message["formed"], since, message["counters"])
        self.returning, self._regrouping = Preemption(), False
        self._formed.set()

    def regroup(self, counters: tuple[int, int], seconds: float | None) -> bool:
        """Waits until all that are there want to regroup; whether they did.

        Args:
          seconds: to wait at most; None is without end.
        """
        self._formed.clear()
        self._regrouping = True
        found = world.existing()
        if found is not None:  # Of what the other thread hears from here on, too.
            found.members.noticed = True
        self._try_send({"regroup": counters})
        return self._formed.wait(seconds)

    def await_news(self) -> list[tuple[int, str]]:
        """Waits until this process knows of all that have died by now.

        Returns:
          The processes in which a run has failed, the last of them last, and how.
        """
        question, answer = next(self._questions), queue.SimpleQueue()
        self._answers[question] = answer
        try:
            self._try_send({"who is gone": question})
            return answer.get(timeout=self.timeout)
        except queue.Empty:
            return []
        finally:
            del self._answers[question]

    def note_failure(self, error: BaseException) -> None:
        """Says that a run has failed in this process, and waits until that is known.

        Others that ask have perhaps heard from this process before.
        """
        self._try_send({"run failed": _first_line(error)})
        self.await_news()

    def report_preempted(self) -> None:
        """Lets all processes know that one has been asked to end."""
        self._try_send({"preempted": True})

    def finish_first(self) -> None:
        """Lets `finish` run at exit before what was registered after it."""
        atexit.unregister(self.finish)
        atexit.register(self.finish)

    def finish(self, code: int | None = None) -> None:
        """Says how this process ends, once no process needs it any more; at exit.

        The coordinator ends with process 0, and JAX aborts a process that is still
        connected to it. So the others leave it first, and process 0 waits for them.

        Args:
          code: the exit code, if it is known before the exit.
        """
        if self._code != EXIT_CODE or self._finished:
            return
        self._finished = True
        if code is None:
            # Without a code, an exception that a hook of the script has taken.
            code = exits.exit_code() or int(exits.failed())
        if code and code != exits.PREEMPTED:
            self._try_send({"exit": code})
            return
        self._try_send({"ending": True})
        world.leave_at_exit()
        if self._coordinated and self.process:
            with contextlib.suppress(jax.errors.JaxRuntimeError):
                jax.distributed.shutdown()
        with contextlib.suppress(OSError):
            self._send({"done": True})
            if self._coordinated and not self.process:
                self._others_left.wait()

    def _leave(self, fault: str) -> None:
        """Ends this process; a thread that waits in JAX cannot be interrupted."""
        line = f"meshwright: {fault}" if self._code == EXIT_CODE else ""
        ending.end_process(self._code, line)


def _closed_first(connection: socket.socket) -> socket.socket:
    """A connection under a number so high that it is the first that a death closes.

    Systems close the files of a process that dies from the highest number down. The
    watchdog has to know of the death before others do, by what JAX has opened.
    """
    connection.settimeout(None)
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    number = _HIGH_NUMBER
    if limit != resource.RLIM_INFINITY:
        number = min(number, limit - 1)
    try:
        found = fcntl.fcntl(connection.fileno(), fcntl.F_DUPFD_CLOEXEC, number)
    except OSError:  # It is taken.
        return connection
    connection.close()
    return socket.socket(fileno=found)


def _first_line(error: BaseException) -> str:
    name, text = type(error).__name__, str(error).strip()
    return f"{name}: {text.splitlines()[0]}" if text else name


def hostname() -> str:
    return socket.gethostname()


def start_beside(host: str, processes: int, timeout: float, token: str) -> str:
    """Starts a watchdog in a process of its own; returns its address.

    It outlives the process that starts it for as long as others are connected.
    """
    arguments = [host, str(processes), str(timeout)]
    watchdog = subprocess.Popen(
        [sys.executable, "-m", "meshwright.runtime.processes.watchdog", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
        text=True,
    )
    with contextlib.suppress(OSError):  # It has ended.
        watchdog.stdin.write(token + "\n")
        watchdog.stdin.close()
    address = watchdog.stdout.readline().strip()
    if not address:
        raise RuntimeError(
            f"the watchdog did not start: exit code {watchdog.wait()}; is {host} an "
            "address of this host?"
        )
    return address
