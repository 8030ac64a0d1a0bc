# SPDX-License-Identifier: Apache-2.0
"""Copies of a state in the memory of hosts, each part on two of them.

A part is what one process has of one leaf. Every few steps each process copies its
parts on its devices, keeps them in a file of a folder in memory, and lets the next
process pull them by JAX's transfers, which keeps them, too. After a restart the newest
step of which every part is still somewhere is put together again, for any number of
processes and any shardings.
"""

from __future__ import annotations

import collections
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

from ..core.files import whole_file
from ..jaxapi import runtime as jax_runtime
from ..runtime.processes.values import place_value
from ..runtime.processes.world import current, environment

_KEPT = 2  # Steps; the newest may lack the part of a process that has died.
_WHAT = "restore its copies"
Bounds = tuple[tuple[int, int], ...]


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
        me = self._world.process if self._world else 0
        self._folder = pathlib.Path(folder) / str(me)
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._queue: queue.Queue = queue.Queue(1)
        self._failure: Exception | None = None
        self._writer: threading.Thread | None = None

    def save(self, step: int, state: Any) -> None:
        """Copies the state if it is the turn of this step; waits for no device.

        Args:
          step: a number that grows; a multiple of `every` is copied.
          state: a pytree of arrays, the same in all processes. It may be donated.

        Raises:
          OSError: an earlier copy could not be written.
        """
        if step % self.every:
            return
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure
        leaves = [_data(leaf) for leaf in jax.tree.leaves(state)]
        count = self._world.count if self._world else 1
        parts = [_parts_of(leaves, process) for process in range(count)]
        mine, theirs = self._exchange(leaves, parts)
        if self._writer is None:
            self._writer = threading.Thread(
                target=self._write_all, daemon=True, name="meshwright-copies"
            )
            self._writer.start()
            jax_runtime.end_at_exit(self._writer, lambda: self._queue.put(None))
        header = {
            "count": count,
            "shapes": [leaf.shape for leaf in leaves],
            "dtypes": [leaf.dtype.name for leaf in leaves],
        }
        self._queue.put((step, header, [mine, theirs]))

    def _exchange(self, leaves: list, parts: list[list[_Part]]) -> tuple:
        """What this process has, and what it gets of the one before it."""
        world = self._world
        me, count = (world.process, world.count) if world else (0, 1)
        copies = [
            jax_runtime.copy_shard(_shard(leaves[part.leaf], part))
            for part in parts[me]
        ]
        mine = me, parts[me], copies
        if count == 1:
            return mine, None
        world.start_server()
        first = world.reserve(sum(map(len, parts)))
        starts = np.cumsum([0, *map(len, parts)])
        for number, copy in enumerate(copies):
            world.offer(first + int(starts[me]) + number, copy)
        before, pulled = (me - 1) % count, []
        sharding = SingleDeviceSharding(world.device)
        for number, part in enumerate(parts[before]):
            shape = tuple(stop - start for start, stop in part.bounds)
            wanted = jax.ShapeDtypeStruct(
                shape, leaves[part.leaf].dtype, sharding=sharding
            )
            number += first + int(starts[before])
            pulled.append(world.pull(before, number, wanted))
        return mine, (before, parts[before], pulled)

    def _write_all(self) -> None:
        while (found := self._queue.get()) is not None:
            step, header, holdings = found
            try:
                for owner, parts, arrays in filter(None, holdings):
                    self._write(step, header | {"parts": parts}, owner, arrays)
            except Exception as error:
                self._failure = error

    def _write(self, step: int, header: dict, owner: int, arrays: list) -> None:
        with whole_file(self._folder / f"{owner}.{step}", "wb") as file:
            file.write(json.dumps(header).encode() + b"\n")
            for array in arrays:
                file.write(np.ascontiguousarray(np.asarray(array)).tobytes())
        steps = sorted(n for o, n in self._listed() if o == owner)
        for old in steps[:-_KEPT]:
            (self._folder / f"{owner}.{old}").unlink(missing_ok=True)

    def _listed(self) -> list[tuple[int, int]]:
        """Owner and step of each file here."""
        names = [path.name.split(".") for path in self._folder.iterdir()]
        return [(int(n[0]), int(n[1])) for n in names if len(n) == 2 and n[0].isdigit()]

    def restore(self, like: Any) -> tuple[Any, int] | None:
        """The newest state of which all parts are still in memory, and its step.

        Args:
          like: a pytree of arrays, or of anything that has their shape, dtype and
            sharding; the same tree as that which was saved.

        Returns:
          Arrays with the shardings of `like`; None where parts of each step are lost.

        Raises:
          ProcessError: another process does not call it within the timeout.
          ValueError: the tree has another number of leaves.
        """
        leaves, structure = jax.tree.flatten(like)
        listed = {f"{o}.{n}": self._header(o, n) for o, n in self._listed()}
        everywhere = self._publish(listed)
        step = _newest(everywhere)
        if step is None:
            return None
        owners = next(
            header["count"]
            for files in everywhere.values()
            for name, header in files.items()
            if int(name.split(".")[1]) == step
        )
        data = self._gather(step, owners, everywhere)
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
        return jax.tree.unflatten(structure, arrays), step

    def _header(self, owner: int, step: int) -> dict[str, Any]:
        with open(self._folder / f"{owner}.{step}", "rb") as file:
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
            for process in range(world.count)
        }

    def _gather(
        self, step: int, owners: int, everywhere: dict[int, dict[str, Any]]
    ) -> list[tuple[dict, bytes]]:
        """What each owner has: what it is, and its bytes one after the other."""
        world, found, keys = self._world, [], []
        me = world.process if world else 0
        number = world.next_number() if world else 0
        for owner in range(owners):
            name = f"{owner}.{step}"
            holders = [p for p, files in everywhere.items() if name in files]
            key = f"copies/{number}/{owner}"
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
            for key in keys:
                world.drop(key)
        return found


def _data(leaf: Any) -> jax.Array:
    """The numbers of typed keys."""
    if jax.numpy.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        return jax.random.key_data(leaf)
    return leaf


def _parts_of(leaves: list[jax.Array], process: int) -> list[_Part]:
    found: dict[_Part, None] = {}
    for number, leaf in enumerate(leaves):
        for device, index in leaf.sharding.devices_indices_map(leaf.shape).items():
            if device.process_index == process:
                found[_Part(number, _bounds(index, leaf.shape))] = None
    return list(found)


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


def _newest(everywhere: dict[int, dict[str, Any]]) -> int | None:
    """The newest step of which each owner's part is somewhere."""
    owners: dict[int, set[int]] = {}
    counts: dict[int, int] = {}
    for files in everywhere.values():
        for name, header in files.items():
            owner, step = map(int, name.split("."))
            owners.setdefault(step, set()).add(owner)
            counts[step] = header["count"]
    whole = [n for n, found in owners.items() if found == set(range(counts[n]))]
    return max(whole, default=None)


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
