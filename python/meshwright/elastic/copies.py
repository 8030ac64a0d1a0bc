# SPDX-License-Identifier: Apache-2.0
"""Copies of a state in the memory of hosts, each part on two of them.

A part is what one process has of one leaf. Every few steps each process copies its
parts on its devices, keeps them in a file of a folder in memory, and lets the next
process pull them by JAX's transfers, which keeps them, too. An older step goes when all
have the next one, so no process is further ahead than that. After a fault the newest
step of which every part is still somewhere is put together again, for any number of
processes and any shardings.
"""

from __future__ import annotations

import collections
import contextlib
import json
import math
import os
import pathlib
import queue
import threading
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.sharding import SingleDeviceSharding

from ..core.files import make_private_folder, whole_file
from ..jaxapi import runtime as jax_runtime
from ..runtime.processes.values import place_value, plain_data
from ..runtime.processes.world import current, environment

_WHAT = "restore its copies"
Bounds = tuple[tuple[int, int], ...]


class _Pack(NamedTuple):
    """Parts of one type on one device, which are copied and sent as one array: many
    small ones cost more than their bytes."""

    device: Any
    dtype: Any
    parts: list[_Part]

    @property
    def size(self) -> int:
        return sum(
            math.prod(stop - start for start, stop in part.bounds)
            for part in self.parts
        )


class _Key(NamedTuple):
    """Names a copy: of two the newer one is greater, also where steps were redone."""

    generation: int
    step: int
    owner: int

    @classmethod
    def read(cls, name: str) -> _Key | None:
        """Of a file's name; None of files that are none or not whole."""
        parts = name.split(".")
        is_one = len(parts) == len(cls._fields) and all(map(str.isdecimal, parts))
        return cls(*map(int, parts)) if is_one else None

    @property
    def name(self) -> str:
        return ".".join(map(str, self))


class _Part(NamedTuple):
    """What a process has of a leaf: its position in the tree, and its bounds."""

    leaf: int
    bounds: Bounds


class Copies:
    """Keeps copies of a state; all processes make one and use it alike::

        copies = mw.elastic.Copies(every=20)
        found = copies.restore(state)
        state, first = (found[0], found[1] + 1) if found else (state, 0)
        for step in range(first, steps):
            state, loss = compiled(state, *batch(step))
            copies.save(step, state)

    Args:
      every: steps from one copy to the next.
      folder: of this host, in memory (`/dev/shm`), and left alone by what ends the
        processes; by default one that the launcher makes with `--restart`, and
        removes at its end.

    Raises:
      ValueError: there is no folder, or `every` is less than 1.
      PermissionError: the folder is another user's.
    """

    def __init__(self, every: int = 20, folder: str | os.PathLike | None = None):
        if every < 1:
            raise ValueError(f"every must be at least 1, got {every}")
        folder = folder or environment("COPIES")
        if folder is None:
            raise ValueError(
                "there is no folder for copies; start the script by the launcher with "
                "--restart, or give a folder in memory, such as /dev/shm/NAME"
            )
        self.every = every
        self._world = current()
        self._me = self._world.process if self._world else 0
        self._folder = pathlib.Path(folder) / str(self._me)
        make_private_folder(self._folder)
        self._queue: queue.Queue = queue.Queue(1)
        self._failure: tuple[int, Exception] | None = None  # And its generation.
        self._packed: tuple[tuple, dict[int, list[_Pack]]] | None = None
        self._writer: threading.Thread | None = None

    @property
    def _processes(self) -> tuple[int, ...]:
        return self._world.members.processes if self._world else (0,)

    def save(self, step: int, state: Any) -> bool:
        """Copies the state if it is the turn of this step; waits for no device.

        Args:
          step: a number that grows; a multiple of `every` is copied.
          state: a pytree of arrays, the same in all processes. It may be donated.

        Returns:
          Whether it was the turn of this step.

        Raises:
          OSError: an earlier copy could not be written.
          ProcessFailure: a process is gone (`mw.elastic.regroup`).
        """
        if step % self.every:
            return False
        self._keep(step, state)
        return True

    def _keep(self, step: int, state: Any) -> None:
        """Copies the state of a step, whichever it is."""
        if self._world is not None:
            self._world.check_joined()
        generation = self._world.members.generation if self._world else 0
        failure, self._failure = self._failure, None
        if failure is not None and failure[0] == generation:
            raise self._world.explain(failure[1]) if self._world else failure[1]
        leaves = list(map(plain_data, jax.tree.leaves(state)))
        packs = self._packs(leaves)
        with self._world.explaining() if self._world else contextlib.nullcontext():
            mine, theirs = self._exchange(leaves, packs)
        if self._writer is None:
            self._writer = threading.Thread(
                target=self._write_all, daemon=True, name="meshwright-copies"
            )
            self._writer.start()
            jax_runtime.end_at_exit(self._writer, lambda: self._queue.put(None))
        header = {
            "owners": self._processes,
            "shapes": [leaf.shape for leaf in leaves],
            "dtypes": [leaf.dtype.name for leaf in leaves],
        }
        number = self._world.next_number() if self._world else 0
        self._queue.put((generation, step, number, header, [mine, theirs]))

    def _packs(self, leaves: list[jax.Array]) -> dict[int, list[_Pack]]:
        """What each process has; found out once for states that are alike."""
        kind = self._processes, [(x.shape, x.dtype, x.sharding) for x in leaves]
        if self._packed is None or self._packed[0] != kind:
            packs = {process: _packs_of(leaves, process) for process in kind[0]}
            self._packed = kind, packs
        return self._packed[1]

    def _exchange(self, leaves: list, packs: dict[int, list[_Pack]]) -> tuple:
        """What this process has, and what it gets of the one before it."""
        world, me, processes = self._world, self._me, tuple(packs)
        copies = [_copy(leaves, pack) for pack in packs[me]]
        mine = me, packs[me], copies
        if len(processes) == 1:
            return mine, None
        world.start_server()
        starts, end = {}, 0
        for process, found in packs.items():
            starts[process], end = end, end + len(found)
        first = world.reserve(end)
        for number, copy in enumerate(copies):
            world.offer(first + starts[me] + number, copy)
        before, pulled = processes[processes.index(me) - 1], []
        sharding = SingleDeviceSharding(world.device)
        for number, pack in enumerate(packs[before], first + starts[before]):
            wanted = jax.ShapeDtypeStruct((pack.size,), pack.dtype, sharding=sharding)
            pulled.append(world.pull(before, number, wanted))
        return mine, (before, packs[before], pulled)

    def _write_all(self) -> None:
        while (found := self._queue.get()) is not None:
            generation, step, number, header, holdings = found
            try:
                for owner, packs, arrays in filter(None, holdings):
                    key = _Key(generation, step, owner)
                    parts = [part for pack in packs for part in pack.parts]
                    self._write(key, header | {"parts": parts}, arrays)
                self._drop_older(_Key(generation, step, 0), number)
            except Exception as error:
                self._failure = generation, error
            del found, holdings
            self._queue.task_done()

    def _write(self, key: _Key, header: dict, arrays: list) -> None:
        with whole_file(self._folder / key.name, "wb") as file:
            file.write(json.dumps(header).encode() + b"\n")
            for array in arrays:
                file.write(np.asarray(array).view(np.uint8))

    def _drop_older(self, key: _Key, number: int) -> None:
        """Removes what is older, once every process has this one."""
        name = f"copied/{number}"
        if self._world is None or self._world.barrier_aside(name, key.generation):
            for old in self._listed():
                if old < key:
                    (self._folder / old.name).unlink(missing_ok=True)

    def _listed(self) -> list[_Key]:
        """What is here, the oldest first."""
        found = (_Key.read(path.name) for path in self._folder.iterdir())
        return sorted(key for key in found if key is not None)

    def restore(self, like: Any) -> tuple[Any, int] | None:
        """The newest state of which all parts are still in memory, and its step.

        It is copied at once: what was left of it may be on one host alone.

        Args:
          like: a pytree of arrays, or of anything that has their shape, dtype and
            sharding; the same tree as that which was saved.

        Returns:
          Arrays with the shardings of `like`; None where parts of each step are lost.

        Raises:
          ProcessError: another process does not call it within the timeout.
          ProcessFailure: a process is gone (`mw.elastic.regroup`).
          ValueError: the tree has another number of leaves.
        """
        leaves, structure = jax.tree.flatten(like)
        self._queue.join()  # What was saved just now is a copy, too.
        self._failure = None
        everywhere = self._publish(
            {key.name: self._header(key) for key in self._listed()}
        )
        keys = _newest(everywhere)
        if keys is None:
            return None
        data = self._gather(keys, everywhere)
        header, pieces = data[0][0], _pieces_of(data)
        if len(leaves) != len(header["shapes"]):
            raise ValueError(
                f"the state that was copied has {len(header['shapes'])} leaves, "
                f"this one has {len(leaves)}; restore with the tree that was saved"
            )
        kinds = zip(header["shapes"], header["dtypes"], strict=True)
        arrays = [
            _assemble(*kind, pieces[number], leaf)
            for number, (kind, leaf) in enumerate(zip(kinds, leaves, strict=True))
        ]
        state = jax.tree.unflatten(structure, arrays)
        self._keep(keys[0].step, state)
        return state, keys[0].step

    def _header(self, key: _Key) -> dict[str, Any]:
        with open(self._folder / key.name, "rb") as file:
            return json.loads(file.readline())

    def _publish(self, listed: dict[str, Any]) -> dict[int, dict[str, Any]]:
        """What each process has."""
        world = self._world
        if world is None:
            return {0: listed}
        key = f"copies/{world.next_number()}"
        world.put_large(f"{key}/{world.process}", json.dumps(listed).encode())
        return {
            process: json.loads(world.get_large(f"{key}/{process}", process, _WHAT))
            for process in self._processes
        }

    def _gather(
        self, wanted: list[_Key], everywhere: dict[int, dict[str, Any]]
    ) -> list[tuple[dict, bytes]]:
        """What each owner has: what it is, and its bytes one after the other."""
        world, found, keys, me = self._world, [], [], self._me
        number = world.next_number() if world else 0
        for copy in wanted:
            name = copy.name
            holders = [p for p, files in everywhere.items() if name in files]
            key = f"copies/{number}/{copy.owner}"
            data = None
            if me in holders:
                with open(self._folder / name, "rb") as file:
                    file.readline()
                    data = file.read()
                if me == holders[0] and len(holders) < len(everywhere):
                    keys += world.put_large(key, data)
            else:
                data = world.get_large(key, holders[0], _WHAT)
            found.append((everywhere[holders[0]][name], data))
        if world:
            world.barrier(f"copies/{number}", "the restoring of copies")
            world.drop(*keys)
        return found


def _packs_of(leaves: list[jax.Array], process: int) -> list[_Pack]:
    """What a process has of all leaves, each part once; the same in all processes."""
    seen: set[_Part] = set()
    found: dict[tuple, list[_Part]] = collections.defaultdict(list)
    for number, leaf in enumerate(leaves):
        for device, index in leaf.sharding.devices_indices_map(leaf.shape).items():
            part = _Part(number, _bounds(index, leaf.shape))
            if device.process_index == process and part not in seen:
                seen.add(part)
                found[device, leaf.dtype].append(part)
    return [_Pack(*key, parts) for key, parts in found.items()]


def _copy(leaves: list[jax.Array], pack: _Pack) -> jax.Array:
    """The parts one after the other, on their device; does not wait for it."""
    shards = [_shard(leaves[part.leaf], part) for part in pack.parts]
    memory = pack.device.default_memory().kind
    for number, shard in enumerate(shards):
        if shard.sharding.memory_kind != memory:  # Such as that of the host.
            shards[number] = jax.device_put(shard, SingleDeviceSharding(pack.device))
    return _concatenate(shards)


@jax.jit
def _concatenate(shards: list[jax.Array]) -> jax.Array:
    return jax.numpy.concatenate([shard.ravel() for shard in shards])


def _bounds(index: tuple[slice, ...], shape: tuple[int, ...]) -> Bounds:
    return tuple(
        part.indices(size)[:2] for part, size in zip(index, shape, strict=True)
    )


def _shard(leaf: jax.Array, part: _Part) -> jax.Array:
    return next(
        shard.data
        for shard in leaf.addressable_shards
        if _bounds(shard.index, leaf.shape) == part.bounds
    )


def _newest(everywhere: dict[int, dict[str, Any]]) -> list[_Key] | None:
    """The parts of the newest step of which each owner's part is somewhere."""
    parts: dict[tuple[int, int], set[_Key]] = {}
    owners: dict[tuple[int, int], list[int]] = {}
    for files in everywhere.values():
        for name, header in files.items():
            key = _Key.read(name)
            assert key is not None, "only names of copies are published"
            parts.setdefault(key[:2], set()).add(key)
            owners[key[:2]] = header["owners"]
    whole = [n for n, found in parts.items() if len(found) == len(owners[n])]
    return sorted(parts[max(whole)]) if whole else None


def _pieces_of(data: list[tuple[dict, bytes]]) -> dict[int, list[tuple]]:
    """For each leaf what owners have of it: bounds, and the elements one by one."""
    found = collections.defaultdict(list)
    for header, raw in data:
        start = 0
        for leaf, bounds in header["parts"]:
            dtype = jax.numpy.dtype(header["dtypes"][leaf])
            count = math.prod(stop - first for first, stop in bounds)
            found[leaf].append((bounds, np.frombuffer(raw, dtype, count, start)))
            start += count * dtype.itemsize
    return found


def _assemble(
    shape: list[int], dtype: str, pieces: list[tuple], leaf: Any
) -> jax.Array:
    """A leaf of all pieces that owners have of it."""
    whole = np.empty(shape, jax.numpy.dtype(dtype))
    for bounds, elements in pieces:
        index = tuple(slice(*ends) for ends in bounds)
        whole[index] = elements.reshape(whole[index].shape)
    if jax.numpy.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        whole = jax.random.wrap_key_data(whole, impl=jax.random.key_impl(leaf))
    return place_value(whole, leaf.sharding)
