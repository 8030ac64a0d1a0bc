# SPDX-License-Identifier: Apache-2.0
"""The processes of a run as one of them sees them.

JAX's coordination service carries the little that all must know (addresses,
digests, small values); a transfer server per process carries arrays, by explicit
ids, so that a process takes part only in what concerns it.
"""

from __future__ import annotations

import atexit
import collections
import contextlib
import ipaddress
import itertools
import os
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from ...core import ending
from ...jaxapi import runtime as jax_runtime
from . import exits
from .arrivals import Arrivals
from .awake import clock
from .failures import ProcessError as ProcessError
from .failures import ProcessFailure, note_first
from .following import awaiting
from .members import Members, close_connections

#: Seconds that a process waits for another one before it gives up.
DEFAULT_TIMEOUT = 30.0
WINDOW_BYTES = 1 << 26
# The coordination service takes messages of a few megabytes.
_CHUNK_BYTES = 1 << 20
_GIVE_UP_SECONDS = 1.0
# What waits for the coordinator looks so often whether a process is gone.
_LOOK_MILLISECONDS = 200
_PROBE_SECONDS = 5.0
_REASON_SECONDS = 2.0
_GONE = "meshwright/gone"
_MOST_IDS = 1 << 63


class World:
    """Coordination client and transfer server of this process.

    Attributes:
      process, count: index of this process, and how many JAX knows.
      members: which of them are in the run.
      timeout: seconds to wait for others.
      bind: address that the transfer server listens on.
      transport: how arrays move between processes; see `initialize`.
      window_bytes: how many bytes one process sends another between two
        acknowledgements; up to three times as many are on offer.
      left: whether this process has left the others.
      watchdog: this process's connection to it (watch.py); None without one.
      arrivals: keeps arrays of other processes until they are here.
    """

    def __init__(
        self,
        timeout: float,
        bind: str,
        transport: str,
        window_bytes: int,
        recoverable: bool = False,
    ):
        self.process, self.count = jax.process_index(), jax.process_count()
        self.members = Members(self.count, recoverable)
        self.timeout, self.bind, self.transport = timeout, bind, transport
        self.window_bytes = window_bytes
        self.device = jax.local_devices()[0]
        self.left = False
        self.watchdog: Any = None
        self.arrivals = Arrivals(self._acknowledge)
        self._token: jax.Array | None = None
        self._expected: collections.deque = collections.deque()
        self._client = jax_runtime.coordination_client()
        self._server: Any = None
        self._peers: dict[int, Any] = {}
        self._addresses: set[str] = set()
        self._next_number, self._next_id = 0, 0
        self._met: str | None = None
        self._met_aside: str | None = None
        os.register_at_fork(after_in_child=self._forget)

    def _forget(self) -> None:
        """In a forked child, which is none of the processes."""
        self.left = True
        atexit.unregister(leave_at_exit)
        jax_runtime.forget_processes()

    def check_joined(self) -> None:
        """Called where this process does something together with others.

        Raises:
          ProcessError: it has left them.
          ProcessFailure: some of them are gone.
        """
        exits.forget()
        if self.left:
            raise ProcessError(
                f"process {self.process} has left the others; nothing can run over "
                "several processes after mw.distributed.shutdown(), nor in a child "
                "that was forked"
            )
        self.members.check()

    def next_number(self) -> int:
        """Counts what all processes do together; equal everywhere."""
        number, self._next_number = self._next_number, self._next_number + 1
        return number

    def reserve(self, count: int) -> int:
        """The first of some ids for arrays; equal everywhere, never given again."""
        first, self._next_id = self._next_id, self._next_id + count
        if self._next_id > _MOST_IDS:
            raise ProcessError(
                f"process {self.process}: all {_MOST_IDS} ids of transfers are used; "
                "start the processes again, and compile each program once"
            )
        return first

    # Other processes that are gone, or come back.

    def lose(self, processes: Sequence[int], text: str) -> None:
        """Lets all that waits for others fail; called by the thread that hears of it.

        What is on its way from a process that is not gone may be waiting for one that
        is, so all connections are closed.
        """
        self.members.lose(processes, text)
        close_connections(tuple(self._addresses))  # The main thread may add to them.

    def note_failure(self, error: BaseException) -> None:
        """Lets others know, if they ask, that a run has failed here first."""
        if self.watchdog is not None:
            self.watchdog.note_failure(error)

    def explain(self, error: BaseException) -> BaseException:
        """What to raise for an error of something that others take part in.

        An error that comes of a run that has failed in another process stays what it
        is, and gets a note.
        """
        members = self.members
        if not isinstance(error, RuntimeError) or isinstance(error, ProcessFailure):
            return error
        if not isinstance(error, jax.errors.JaxRuntimeError):
            return (members.recoverable and members.await_failure(0)) or error
        # JAX knows at once that a connection is closed; why it is, comes later, from
        # another host even later.
        failed = self.watchdog.await_news() if self.watchdog is not None else []
        if members.recoverable and (lost := members.await_failure(_REASON_SECONDS)):
            return lost
        others = [found for found in failed if found[0] != self.process]
        if others and jax_runtime.was_refused(error):
            note_first(error, *others[-1])
        return error

    @contextlib.contextmanager
    def explaining(self) -> Iterator[None]:
        """Raises what `explain` makes of errors."""
        try:
            yield
        except RuntimeError as error:
            found = self.explain(error)
            if found is error:
                raise
            raise found from error

    def counters(self) -> tuple[int, int]:
        """What a new generation counts on from: the furthest of all processes."""
        return self._next_number, self._next_id

    def form(
        self,
        generation: int,
        processes: Sequence[int],
        since: Mapping[int, int],
        counters: Sequence[int],
    ) -> None:
        """Begins a new generation, with transfer servers and connections of its own:
        what is still on offer in the old ones can never be taken for something new."""
        close_connections(self._addresses)
        self._server, self._peers, self._addresses = None, {}, set()
        self._expected.clear()
        self._next_number, self._next_id = counters
        self.members.form(generation, processes, since)

    # Small values.

    def put(self, key: str, value: bytes) -> None:
        self._client.key_value_set_bytes(f"meshwright/{key}", value)

    def get(self, key: str, owner: int, what: str) -> bytes:
        """A value that process `owner` puts.

        Raises:
          ProcessError: it did not within the timeout.
        """
        try:
            with awaiting(what, owner):
                return self._wait(
                    lambda rest, _: self._client.blocking_key_value_get_bytes(
                        f"meshwright/{key}", rest
                    )
                )
        except jax.errors.JaxRuntimeError as error:
            raise ProcessError(
                f"process {self.process}: process {owner} did not {what} within "
                f"{self.timeout:g} s; it ended, hangs, or runs another script"
            ) from error

    def _wait(self, wait: Callable[[int, int], Any]) -> Any:
        """What a call returns that waits for this many milliseconds.

        Time in which this process was suspended does not count: JAX's limit ends with
        it, but another attempt may succeed.

        Args:
          wait: gets the milliseconds, and the number of the attempt.
        """
        end = clock.now() + self.timeout
        for attempt in itertools.count():
            self.members.check()
            rest = max(1, int(1000 * (end - clock.now())))
            if self.members.recoverable:
                rest = min(rest, _LOOK_MILLISECONDS)
            try:
                return wait(rest, attempt)
            except jax.errors.JaxRuntimeError as error:
                looks = self.members.recoverable and "DEADLINE_EXCEEDED" in str(error)
                goes_on = looks or clock.has_paused(self.timeout)
                if clock.now() > end or not goes_on:
                    raise
        raise AssertionError("attempts have no end")

    def put_large(self, key: str, data: bytes) -> list[str]:
        """Puts a value of any size; returns the keys to drop when all have it."""
        starts = range(0, max(1, len(data)), _CHUNK_BYTES)
        self.put(f"{key}/size", str(len(starts)).encode())
        for number, start in enumerate(starts):
            self.put(f"{key}/{number}", data[start : start + _CHUNK_BYTES])
        return [f"{key}/size", *(f"{key}/{number}" for number in range(len(starts)))]

    def get_large(self, key: str, owner: int, what: str) -> bytes:
        count = int(self.get(f"{key}/size", owner, what))
        return b"".join(self.get(f"{key}/{n}", owner, what) for n in range(count))

    def drop(self, *keys: str) -> None:
        for key in keys:
            self._client.key_value_delete(f"meshwright/{key}")

    def barrier(self, name: str, what: str) -> None:
        """Waits until every process is here."""
        if self.members.recoverable:
            self._barrier_of_members(name, what)
            return
        try:
            # One that has failed stays so.
            with awaiting(f"come to {what}", None):
                self._wait(
                    lambda rest, attempt: self._client.wait_at_barrier(
                        f"meshwright/{name}/{attempt}", rest
                    )
                )
        except jax.errors.JaxRuntimeError as error:
            raise ProcessError(
                f"process {self.process}: not all of {self.count} processes came to "
                f"{what} within {self.timeout:g} s: {str(error).splitlines()[0]}; "
                "find out which of them hang or have ended"
            ) from error

    def _barrier_of_members(self, name: str, what: str) -> None:
        """A barrier that ends where a process is gone, as JAX's does not."""
        self.put(f"met/{name}/{self.process}", b"1")
        for process in self.members.processes:
            if process != self.process:
                self.get(f"met/{name}/{process}", process, f"come to {what}")
        # All have come here, so all have left the one before.
        met, self._met = self._met, f"met/{name}/{self.process}"
        if met is not None:
            self.drop(met)

    def barrier_aside(self, name: str, generation: int) -> bool:
        """A barrier for a thread beside the main one; whether all came.

        Not all do within the timeout, or if a process is gone, or was gone since this
        generation.
        """
        end = clock.now() + self.timeout
        self.put(f"{name}/{self.process}", b"1")
        for process in self.members.processes:
            key = f"meshwright/{name}/{process}"
            while True:
                try:
                    self._client.blocking_key_value_get_bytes(key, _LOOK_MILLISECONDS)
                    break
                except jax.errors.JaxRuntimeError:
                    changed = self.members.generation != generation
                    if changed or self.members.is_any_gone or clock.now() > end:
                        return False
        met, self._met_aside = self._met_aside, f"{name}/{self.process}"
        if met is not None:
            self.drop(met)
        return True

    # Arrays.

    def nothing(self, size: int) -> jax.Array:
        """What is in error where it is pulled as something of this many bytes."""
        return jax.device_put(np.zeros(2 if size == 1 else 1, np.uint8), self.device)

    def start_server(self) -> None:
        """Makes this process's transfer server known; once."""
        if self._server is not None:
            return
        address = f"[{self.bind}]:0" if ":" in self.bind else f"{self.bind}:0"
        self._server = jax_runtime.start_transfer_server(
            jax.local_devices()[0].client, address, [address] * 2
        )
        self._addresses.add(self._server.address())
        self.put(self._address_key(self.process), self._server.address().encode())
        self.arrivals.start()

    def _address_key(self, process: int) -> str:
        return f"transfer/{self.members.generation}/{process}"

    def offer(self, number: int, array: jax.Array) -> None:
        """Lets one peer pull an array of one device under an id, once."""
        self._server.await_pull(number, [array])

    def pull(self, peer: int, number: int, wanted: jax.ShapeDtypeStruct) -> jax.Array:
        """The array that a peer offers under an id; returns before it is here."""
        found = self._peers.get(peer)
        if found is None:
            found = self._peers[peer] = self._connect(peer)
        self.members.check()  # What is closed then was open before.
        return found.pull(number, [wanted])[0]

    def _connect(self, peer: int) -> Any:
        address = self.get(self._address_key(peer), peer, "offer its address").decode()
        if self.members.recoverable:
            # JAX waits forever for a process that does not listen any more.
            host, port = address.rsplit(":", 1)
            try:
                socket.create_connection(
                    (host.strip("[]"), int(port)), _PROBE_SECONDS
                ).close()
            except OSError as error:
                failure = self.members.await_failure(self.timeout)
                raise failure or ProcessError(
                    f"process {self.process}: process {peer} cannot be reached at "
                    f"{address}: {error}"
                ) from error
        self._addresses.add(address)
        return self._server.connect(address)

    def expect(self, token: jax.Array) -> None:
        """Keeps in mind what `pull` returned until it is here; does not wait."""
        expected = self._expected
        while expected and expected[0].is_ready():
            expected.popleft()
        expected.append(token)

    def acknowledge(self, arrays: collections.deque, number: int) -> None:
        """Offers a token under an id once arrays are here; does not wait."""
        self.arrivals.await_all(arrays, number, self.members.generation)

    def _acknowledge(self, number: int, generation: int) -> None:
        # What is offered to an older generation is late, and no error.
        server = self._server
        if server is None or generation != self.members.generation:
            return
        if self._token is None:
            self._token = jax.device_put(np.zeros(1, np.uint8), self.device)
        server.await_pull(number, [self._token])

    def leave(self) -> None:
        """A barrier: waits until all processes have called it.

        Raises:
          ProcessError: not all came to their end within the timeout.
        """
        if self.left:
            return
        self.left, deadline = True, time.monotonic() + self.timeout
        # What this process pulls has to be here before the others may go.
        self._end_arrivals(self.timeout)
        try:
            self.put(f"{self._end_key}/{self.process}", b"1")
            self._await_end(deadline)
        except ProcessFailure:
            return  # It has nothing to do any more that the others need.
        except jax.errors.JaxRuntimeError as error:
            missing = ", ".join(map(str, self._not_at_end())) or "another process"
            raise ProcessError(
                f"process {self.process} leaves without process {missing}, not at "
                f"its end within {self.timeout:g} s; what that one still needs of "
                "this one is lost. A longer timeout lets it wait"
            ) from error

    def _await_end(self, deadline: float) -> None:
        client = self._client

        def rest() -> int:
            return max(1000, int(1000 * (deadline - time.monotonic())))

        if self.members.recoverable:
            for process in self.members.processes:
                self.get(f"{self._end_key}/{process}", process, "come to its end")
            return
        if self._is_any_gone():
            # A barrier would wait for that one, too.
            for process in self._not_at_end():
                client.blocking_key_value_get_bytes(
                    f"meshwright/{self._end_key}/{process}", rest()
                )
            return
        try:
            client.wait_at_barrier("meshwright/end", rest())
        except jax.errors.JaxRuntimeError:
            client.key_value_set(_GONE, "", allow_overwrite=True)
            raise

    def _is_any_gone(self) -> bool:
        try:
            self._client.key_value_try_get(_GONE)
        except jax.errors.JaxRuntimeError:
            return False
        return True

    @property
    def _end_key(self) -> str:
        # One that has come back comes to its end once more.
        return f"end/{self.members.generation}"

    def give_up(self) -> None:
        """Leaves at once, after an error."""
        self.left = True
        self._end_arrivals(_GIVE_UP_SECONDS)

    def _end_arrivals(self, seconds: float) -> None:
        self.arrivals.await_all(self._expected)
        self.arrivals.end(seconds)

    def _not_at_end(self) -> list[int]:
        with contextlib.suppress(jax.errors.JaxRuntimeError):
            found = self._client.key_value_dir_get_bytes(f"meshwright/{self._end_key}/")
            there = {int(key.rpartition("/")[2]) for key, _ in found}
            return sorted(set(self.members.processes) - there)
        return []


_world: World | None = None


def current() -> World | None:
    """The processes of this run; None if there is only one.

    Also found where a script called `jax.distributed.initialize` by itself.

    Raises:
      ProcessError: this process has left the others.
    """
    global _world
    if _world is not None:
        _world.check_joined()
    if _world is None and jax_runtime.coordination_client() is not None:
        set_world(DEFAULT_TIMEOUT, None, "transfer", WINDOW_BYTES)
    return _world


def set_world(
    timeout: float,
    bind: str | None,
    transport: str,
    window_bytes: int,
    recoverable: bool = False,
) -> World:
    """Makes the world of this process, which has joined the others."""
    global _world
    bind = bind or default_bind_address()
    _world = World(timeout, bind, transport, window_bytes, recoverable)
    atexit.register(leave_at_exit)
    return _world


def existing() -> World | None:
    """The processes of this run, also where some are gone; None if there is none."""
    return _world


def leave() -> None:
    """Leaves the others, if there are any."""
    if _world is not None:
        _world.leave()


def leave_at_exit() -> None:
    """`leave` at exit, where errors cannot be reported; at once after an error."""
    if _world is None or _world.left:
        return
    if exits.failed():
        _world.give_up()
        return
    try:
        _world.leave()
    except ProcessError as error:
        ending.say(f"meshwright: {error}")


def default_bind_address() -> str:
    """Loopback if the coordinator is there, else the address that reaches it."""
    coordinator = jax_runtime.coordinator_address() or "127.0.0.1:0"
    host = coordinator.rsplit(":", 1)[0].strip("[]")
    if is_loopback(host):
        return "127.0.0.1"
    family = socket.getaddrinfo(host, 9, type=socket.SOCK_DGRAM)[0]
    with socket.socket(family[0], socket.SOCK_DGRAM) as probe:
        probe.connect(family[4])  # Sends nothing; asks the routing table.
        return probe.getsockname()[0]


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def environment(name: str) -> str | None:
    """A value that the launcher left for its processes."""
    return os.environ.get(f"MESHWRIGHT_{name}")
