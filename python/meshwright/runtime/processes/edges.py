# SPDX-License-Identifier: Apache-2.0
"""Moves between meshes whose devices belong to several processes.

An edge is one move of one array: pieces of it go from device to device. A process
issues only the pieces that start or end on its own devices. What crosses to
another process is offered there under an id that both sides compute alike; no other
process takes part, and order is free. Every piece has an id of its own: arrays of
several devices under one id never arrive.
"""

from __future__ import annotations

import collections
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.sharding import SingleDeviceSharding

from ...jaxapi import runtime as jax_runtime
from ..program.loaded import Loaded
from ..program.placement import Place
from ..program.steps import Issue, Step

# Every program has a range of ids of its own, one for each (run, item, position of the
# target device); an id is used up long before the number of the run starts again.
_RUNS = 1 << 16
_WINDOW_PIECES = 256
# So much may be kept somewhat longer than until it is here.
_SMALL_BYTES = 1 << 20


class Channel:
    """What the edges of one program share: the other processes, and the run.

    What is on offer keeps its memory until it is pulled, so a process must not run
    far ahead of the one it sends to. Both sides count what passes between them and
    so agree where a window ends; the receiver acknowledges a window when all of it
    is there, and the sender begins no third one before that.
    """

    def __init__(self, world: Any, program: int, items: int, devices: int):
        """For a program of that many items, on meshes of up to that many devices.

        Attributes:
          last: the item that a move after all of them has.
          offered, pulled: pieces of this run that were the last to be.
        """
        self.world = world
        self.program = program
        self._devices = max(devices, world.count)  # Which acknowledge, as one item.
        self.last = items
        self._acknowledge = (items + 1) * self._devices
        self._pieces = self._acknowledge + self._devices
        self._first = world.reserve(self._pieces * _RUNS)
        self.offered: int | None = None
        self.pulled: int | None = None
        self._begin()

    def _begin(self) -> None:
        """Runs and windows count from here on, at both ends."""
        self.run, self._base = 0, self._first
        self._generation = self.world.members.generation
        self._sent: dict[int, _Window] = collections.defaultdict(_Window)
        self._received: dict[int, _Window] = collections.defaultdict(_Window)
        self._pending: dict[int, collections.deque] = collections.defaultdict(
            collections.deque
        )

    def next_run(self) -> None:
        self.world.check_joined()
        if self._generation != self.world.members.generation:
            self._begin()
            self.world.start_server()
        self.run += 1
        self._base = self._run_base(self.run)
        self.offered = self.pulled = None

    def _run_base(self, run: int) -> int:
        return self._first + run % _RUNS * self._pieces

    def piece(self, item: int, target: int) -> int:
        """The part of an id that is the same in every run."""
        return item * self._devices + target

    def offer(self, piece: int, process: int, array: jax.Array, size: int) -> None:
        """Offers an array of one device to a process.

        Args:
          piece: what `piece` returned.
          size: of the array, in bytes.
        """
        self.offered = piece
        self.world.offer(self._base + piece, array)
        window = self._sent[process]
        if not window.add(size, self.world.window_bytes):
            return
        pending = self._pending[process]
        number = self._acknowledgement(window.count, self.world.process)
        sharding = SingleDeviceSharding(self.world.device)
        wanted = jax.ShapeDtypeStruct((1,), np.uint8, sharding=sharding)
        token = self.world.pull(process, number, wanted)
        self.world.expect(token)
        pending.append(token)
        if len(pending) > 2:
            pending.popleft().block_until_ready()

    def pull(self, piece: int, process: int, wanted: Any, size: int) -> jax.Array:
        """The array that a process offers; returns before it is here."""
        self.pulled = piece
        array = self.world.pull(process, self._base + piece, wanted)
        window = self._received[process]
        arrays = window.arrays
        while arrays and (arrays[0].is_deleted() or arrays[0].is_ready()):
            arrays.popleft()
        arrays.append(array)
        window.taken += size
        if window.add(size, self.world.window_bytes):
            number = self._acknowledgement(window.count, process)
            self.world.acknowledge(window.take(), number)
        return array

    def end_run(self) -> None:
        """Lets go of what is still on its way: who reads it may be done first."""
        for window in self._received.values():
            if window.arrays:
                is_small, arrivals = window.taken < _SMALL_BYTES, self.world.arrivals
                (arrivals.keep if is_small else arrivals.await_all)(window.take())

    def _acknowledgement(self, window: int, sender: int) -> int:
        return self._run_base(window) + self._acknowledge + sender


@dataclass
class _Window:
    """What has passed in one direction since the last acknowledgement.

    Attributes:
      arrays: what may not have arrived yet; nothing else is kept alive.
      taken: bytes of what has been among them.
    """

    count: int = 0
    pieces: int = 0
    bytes: int = 0
    arrays: collections.deque = field(default_factory=collections.deque)
    taken: int = 0

    def take(self) -> collections.deque:
        arrays, self.arrays = self.arrays, collections.deque()
        self.taken = 0
        return arrays

    def add(self, size: int, limit: int) -> bool:
        """Whether the window ends with this piece."""
        self.pieces, self.bytes = self.pieces + 1, self.bytes + size
        if self.bytes < limit and self.pieces < _WINDOW_PIECES:
            return False
        self.count, self.pieces, self.bytes = self.count + 1, 0, 0
        return True


class Piece(NamedTuple):
    """A part of the array on its way from one device to another.

    Attributes:
      source, target: devices.
      part: which part of the source's shard; None is all of it.
      shape: of the part.
    """

    source: Any
    target: Any
    part: tuple[slice, ...] | None
    shape: tuple[int, ...]


def find_pieces(source: Place, target: Place) -> list[Piece]:
    """How an array gets from one place to another.

    Either shard i is the same part on both sides, or every device of the source
    has the whole array; then each target device gets its part from a device of its
    own process if there is one, else from one of the others in turn.
    """
    devices = source.mesh.devices, target.mesh.devices
    shard = tuple(target.sharding.shard_shape(target.shape))
    if source.splits_like(target):
        return [Piece(s, t, None, shard) for s, t in zip(*devices, strict=True)]
    parts = target.sharding.devices_indices_map(target.shape)
    pieces = []
    for position, device in enumerate(devices[1]):
        near = [s for s in devices[0] if s.process_index == device.process_index]
        choice = near or devices[0]
        part = None if shard == source.shape else parts[device]
        pieces.append(Piece(choice[position % len(choice)], device, part, shard))
    return pieces


@dataclass
class Edge(Step):
    """This process's part of a move between meshes of several processes.

    Attributes:
      number: the program's item that it belongs to.
      source, target: places of the value before and after.
      keep: whether the operand's buffer may be given away before the other process
        has pulled it, so that a copy is offered.
      ahead: later receives that are posted together with this one.
      posted: whether an earlier step posts this one.
    """

    channel: Channel | None = None
    number: int = 0
    source: Place | None = None
    target: Place | None = None
    keep: bool = False
    pieces: list[Piece] = field(default_factory=list)
    ahead: list[Edge] = field(default_factory=list)
    posted: bool = False

    @property
    def only_receives(self) -> bool:
        return bool(self.places) and not self.reads

    @property
    def received_bytes(self) -> int:
        return sum(self._bytes(piece) for _, _, piece in self._crossing(1))

    def bind(self, loaded: list[Loaded], tokens: list) -> Issue:
        sends, makers = self._ways()
        arrive = [] if self.posted else [self._arrival(makers)]
        arrive += [edge._arrival(edge._ways()[1]) for edge in self.ahead]
        return self._issue(sends, [each for each in arrive if each])

    def _ways(self) -> tuple[list[tuple[int, int, int, Callable]], list[Callable]]:
        """What is offered, to whom; and what makes the pieces that come here."""
        me = self.channel.world.process
        local = [d for d in self.source.mesh.devices if d.process_index == me]
        position = {device: index for index, device in enumerate(local)}
        sends: list[tuple[int, int, int, Callable]] = []
        makers: list[Callable] = []
        for number, piece in enumerate(self.pieces):
            ends = piece.source.process_index, piece.target.process_index
            key, size = self.channel.piece(self.number, number), self._bytes(piece)
            if ends[0] == me:
                take = _taker(position[piece.source], piece.part)
                if ends[1] == me:
                    makers.append(_mover(take, self._sharding(piece)))
                else:
                    if self.keep:
                        take = _copier(take)
                    sends.append((key, ends[1], size, take))
            elif ends[1] == me:
                makers.append(self._puller(ends[0], key, size, piece))
        return sends, makers

    def give_up(self) -> None:
        """Does what is left of this step for others, in a run that has failed.

        They get an error at once in place of what they would wait for. What they send
        is dropped, and counts: both ends agree on where a window ends.
        """
        channel = self.channel
        sends = _after(channel.offered, self._crossing(0))
        edges = self.ahead if self.posted else [self, *self.ahead]
        pulls = [(*found, edge) for edge in edges for found in edge._crossing(1)]
        pulls = _after(channel.pulled, pulls)
        for key, process, piece in sends:
            size = self._bytes(piece)
            channel.offer(key, process, channel.world.nothing(size), size)
        for key, process, piece, edge in pulls:
            channel.pull(key, process, edge._wanted(piece), edge._bytes(piece))

    def _crossing(self, end: int) -> list[tuple[int, int, Piece]]:
        """Keys of pieces that leave this process (0) or come to it (1), the process
        at the other end, and the pieces."""
        me, found = self.channel.world.process, []
        for number, piece in enumerate(self.pieces):
            ends = piece.source.process_index, piece.target.process_index
            if ends[end] == me != ends[1 - end]:
                key = self.channel.piece(self.number, number)
                found.append((key, ends[1 - end], piece))
        return found

    def _bytes(self, piece: Piece) -> int:
        return math.prod(piece.shape) * self.target.dtype.itemsize

    def _sharding(self, piece: Piece) -> Any:
        """Of a piece, in the process that it goes to.

        That of the whole array if the piece is all of it.
        """
        whole = self.target.sharding
        if len(self.pieces) == 1:
            return whole
        return SingleDeviceSharding(piece.target, memory_kind=whole.memory_kind)

    def _wanted(self, piece: Piece) -> jax.ShapeDtypeStruct:
        # It arrives in the devices' own memory.
        plain = self._sharding(piece).with_memory_kind(self.target.mesh.default_kind)
        return jax.ShapeDtypeStruct(piece.shape, self.target.dtype, sharding=plain)

    def _puller(self, process: int, key: int, size: int, piece: Piece) -> Callable:
        pull, target = self.channel.pull, self._sharding(piece)
        wanted = self._wanted(piece)
        if self.target.memory == self.target.mesh.default_kind:
            return lambda shards: pull(key, process, wanted, size)
        return lambda shards: jax.device_put(pull(key, process, wanted, size), target)

    def _arrival(self, makers: list[Callable]) -> Callable | None:
        """Writes the result, of this process's pieces of the operand and of others."""
        if not makers:
            return None
        write, target = self.writes.start, self.target
        if len(self.pieces) == 1:
            (make,) = makers

            def arrive(slots, shards):
                slots[write] = make(shards)

            return arrive

        def arrive_in_pieces(slots, shards):
            slots[write] = target.assemble([make(shards) for make in makers])

        return arrive_in_pieces

    def _issue(self, sends: list, arrive: list[Callable]) -> Issue:
        offer, reads, finish = self.channel.offer, self.reads, self.finish()

        def issue(slots):
            shards = slots[reads[0]]._arrays if reads else ()
            for key, process, size, take in sends:
                offer(key, process, take(shards), size)
            for each in arrive:
                each(slots, shards)
            if finish:
                finish(slots)

        return issue


def _after(key: int | None, entries: list[tuple]) -> list[tuple]:
    """Those after the one with this key; all, if there is none."""
    keys = [entry[0] for entry in entries]
    return entries[keys.index(key) + 1 :] if key in keys else entries


def _taker(position: int, part: tuple[slice, ...] | None) -> Callable:
    if part is None:
        return lambda shards: shards[position]
    return lambda shards: shards[position][part]


def _copier(take: Callable) -> Callable:
    return lambda shards: jax_runtime.copy_shard(take(shards))


def _mover(take: Callable, sharding: Any) -> Callable:
    return lambda shards: jax.device_put(take(shards), sharding)


@dataclass
class Elsewhere(Step):
    """Represents a result of the program that is on devices of other processes."""

    def bind(self, loaded: list[Loaded], tokens: list) -> Issue:
        write, place = self.writes.start, self.places[0]

        def issue(slots):
            slots[write] = place.assemble([])

        return issue
