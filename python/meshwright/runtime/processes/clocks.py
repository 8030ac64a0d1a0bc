# SPDX-License-Identifier: Apache-2.0
"""How far the clocks of the processes are apart.

Each process asks process 0 for the time, over a connection of its own, at two
moments. The answer belongs to some instant between question and answer, so half of
the quickest round trip bounds the error. Between the two moments the clocks are
taken to drift evenly.
"""

from __future__ import annotations

import contextlib
import socket
import struct
from collections.abc import Callable
from typing import NamedTuple

from .world import ProcessError, World

_QUESTIONS = 32
_TIME = struct.Struct("!d")


class Reading(NamedTuple):
    """What to add to this process's clock for that of process 0, all in seconds.

    Attributes:
      at: when, by this process's clock.
      error: by how much `offset` can be wrong.
    """

    at: float
    offset: float
    error: float


class Alignment(NamedTuple):
    """From the clock of a process to that of process 0, between two readings."""

    first: Reading
    last: Reading

    @property
    def drift(self) -> float:
        """Seconds that the other clock gains in a second of this one."""
        passed = self.last.at - self.first.at
        return (self.last.offset - self.first.offset) / passed if passed > 0 else 0.0

    @property
    def error(self) -> float:
        return max(self.first.error, self.last.error)

    def shift(self, time: float) -> float:
        """A time of this process by the clock of process 0."""
        return time + self.first.offset + self.drift * (time - self.first.at)


def read_offset(world: World, clock: Callable[[], float]) -> Reading:
    """Compares the clock with that of process 0; all processes have to call it.

    Raises:
      ProcessError: another process did not within the timeout.
    """
    key = f"clock/{world.next_number()}"
    if world.process == world.members.first:
        _answer(world, key, clock)
        return Reading(clock(), 0.0, 0.0)
    return _ask(world, key, clock)


def _answer(world: World, key: str, clock: Callable[[], float]) -> None:
    family = socket.AF_INET6 if ":" in world.bind else socket.AF_INET
    with socket.create_server((world.bind, 0), family=family) as server:
        server.settimeout(world.timeout)
        world.put(key, f"{world.bind} {server.getsockname()[1]}".encode())
        for _ in world.members.processes[1:]:
            try:
                connection, _ = server.accept()
            except TimeoutError as error:
                raise ProcessError(
                    f"process {world.process}: not all processes came to "
                    f"mw.profile() within {world.timeout:g} s; each has to enter it"
                ) from error
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with connection, contextlib.suppress(OSError):
                connection.settimeout(world.timeout)
                while connection.recv(1):
                    connection.sendall(_TIME.pack(clock()))


def _ask(world: World, key: str, clock: Callable[[], float]) -> Reading:
    what = "come to mw.profile()"
    first = world.members.first
    host, port = world.get(key, first, what).decode().split()
    best: Reading | None = None
    try:
        with (
            socket.create_connection((host, int(port)), world.timeout) as peer,
            peer.makefile("rb") as answers,
        ):
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for _ in range(_QUESTIONS):
                asked = clock()
                peer.sendall(b"?")
                if len(answer := answers.read(_TIME.size)) < _TIME.size:
                    raise ConnectionError("the connection was closed")
                (theirs,) = _TIME.unpack(answer)
                answered = clock()
                error, middle = (answered - asked) / 2, (answered + asked) / 2
                if best is None or error < best.error:
                    best = Reading(middle, theirs - middle, error)
    except OSError as error:
        raise ProcessError(
            f"process {world.process}: process {first} does not answer with its "
            f"clock: {error}; find out whether it has ended"
        ) from error
    assert best is not None
    return best
