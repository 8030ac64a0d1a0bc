# SPDX-License-Identifier: Apache-2.0
"""The processes of a run as one of them sees them.

JAX's coordination service carries the little that all must know (addresses,
digests, small values); a transfer server per process carries arrays, by explicit
ids, so that a process takes part only in what concerns it.
"""

from __future__ import annotations

import collections
import contextlib
import ipaddress
import itertools
import os
import queue
import socket
import threading
from typing import Any

import jax
import numpy as np

from ..runtime import _jax_runtime

#: Seconds that a process waits for another one before it gives up.
DEFAULT_TIMEOUT = 30.0
WINDOW_BYTES = 1 << 26
# The coordination service takes messages of a few megabytes.
_CHUNK_BYTES = 1 << 20


class ProcessError(RuntimeError):
    """Another process is missing, differs from this one, or has failed."""


class World:
    """Coordination client and transfer server of this process.

    Attributes:
      process, count: index of this process, and how many there are.
      timeout: seconds to wait for others.
      bind: address that the transfer server listens on.
      transport: how arrays move between processes; see `initialize`.
      window_bytes: how many bytes one process sends another between two
        acknowledgements; up to three times as many are on offer.
    """

    def __init__(self, timeout: float, bind: str, transport: str, window_bytes: int):
        self.process, self.count = jax.process_index(), jax.process_count()
        self.timeout, self.bind, self.transport = timeout, bind, transport
        self.window_bytes = window_bytes
        self.device = jax.local_devices()[0]
        self._arrivals: queue.SimpleQueue = queue.SimpleQueue()
        self._client = _jax_runtime.coordination_client()
        self._server: Any = None
        self._peers: dict[int, Any] = {}
        self._numbers = itertools.count()

    def next_number(self) -> int:
        """Counts what all processes do together; equal everywhere."""
        return next(self._numbers)

    # Small values.

    def put(self, key: str, value: bytes) -> None:
        self._client.key_value_set_bytes(f"meshwright/{key}", value)

    def get(self, key: str, owner: int, what: str) -> bytes:
        """A value that process `owner` puts.

        Raises:
          ProcessError: it did not within the timeout.
        """
        try:
            return self._client.blocking_key_value_get_bytes(
                f"meshwright/{key}", int(1000 * self.timeout)
            )
        except jax.errors.JaxRuntimeError as error:
            raise ProcessError(
                f"process {self.process}: process {owner} did not {what} within "
                f"{self.timeout:g} s; it ended, hangs, or runs another script"
            ) from error

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

    def drop(self, key: str) -> None:
        self._client.key_value_delete(f"meshwright/{key}")

    def barrier(self, name: str, what: str) -> None:
        """Waits until every process is here."""
        try:
            self._client.wait_at_barrier(f"meshwright/{name}", int(1000 * self.timeout))
        except jax.errors.JaxRuntimeError as error:
            raise ProcessError(
                f"process {self.process}: not all of {self.count} processes came to "
                f"{what} within {self.timeout:g} s: {str(error).splitlines()[0]}"
            ) from error

    # Arrays.

    def start_server(self) -> None:
        """Makes this process's transfer server known; once."""
        if self._server is not None:
            return
        address = f"[{self.bind}]:0" if ":" in self.bind else f"{self.bind}:0"
        self._server = _jax_runtime.start_transfer_server(
            jax.local_devices()[0].client, address, [address] * 2
        )
        self.put(f"transfer/{self.process}", self._server.address().encode())
        watcher = threading.Thread(
            target=self._watch_arrivals, daemon=True, name="meshwright-arrivals"
        )
        watcher.start()
        _jax_runtime.end_at_exit(watcher, lambda: self._arrivals.put(None))

    def offer(self, number: int, array: jax.Array) -> None:
        """Lets one peer pull an array of one device under an id, once."""
        self._server.await_pull(number, [array])

    def pull(self, peer: int, number: int, wanted: jax.ShapeDtypeStruct) -> jax.Array:
        """The array that a peer offers under an id; returns before it is here."""
        found = self._peers.get(peer)
        if found is None:
            address = self.get(f"transfer/{peer}", peer, "offer its address")
            found = self._peers[peer] = self._server.connect(address.decode())
        return found.pull(number, [wanted])[0]

    def await_arrival(
        self, arrays: collections.deque, number: int | None = None
    ) -> None:
        """Keeps arrays until they are here; does not wait.

        Args:
          number: an id under which a token is offered then.
        """
        self._arrivals.put((arrays, number))

    def _watch_arrivals(self) -> None:
        token = jax.device_put(np.zeros(1, np.uint8), self.device)
        while (found := self._arrivals.get()) is not None:
            arrays, number = found
            while arrays:
                # Donated by now: somebody computes with it. In error: whoever uses
                # it hears of that, and the sender must not wait.
                with contextlib.suppress(RuntimeError):
                    arrays.popleft().block_until_ready()
            if number is not None:
                self.offer(number, token)


_world: World | None = None


def current() -> World | None:
    """The processes of this run; None if there is only one.

    Also found where a script called `jax.distributed.initialize` by itself.
    """
    global _world
    if _world is None and _jax_runtime.coordination_client() is not None:
        set_world(DEFAULT_TIMEOUT, None, "transfer", WINDOW_BYTES)
    return _world


def set_world(
    timeout: float, bind: str | None, transport: str, window_bytes: int
) -> World:
    """Makes the world of this process, which has joined the others."""
    global _world
    _world = World(timeout, bind or default_bind_address(), transport, window_bytes)
    return _world


def default_bind_address() -> str:
    """Loopback if the coordinator is there, else the address that reaches it."""
    coordinator = _jax_runtime.coordinator_address() or "127.0.0.1:0"
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
