# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of a state whose leaves live in different processes.

    import orbax.checkpoint as ocp
    from meshwright.distributed import orbax

    orbax.register()
    with ocp.StandardCheckpointer() as checkpointer:
        checkpointer.save(path, state)

Orbax refuses arrays that live in one process while there are others: it takes them
for copies of which every process has one. With the handler that `register` puts in
place each process writes the shards that it has, in Orbax's own format, which any
number of processes, with any meshes, can restore.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax

try:
    import orbax.checkpoint as ocp
    from orbax.checkpoint import type_handlers
except ImportError as error:
    raise ImportError(
        "meshwright.distributed.orbax needs Orbax: pip install orbax-checkpoint"
    ) from error


class _Shards:
    """An array as something that has shards, of which other processes have more."""

    def __init__(self, array: jax.Array):
        self._array = array

    def __getattr__(self, name: str) -> Any:
        return getattr(self._array, name)


class MeshArrayHandler(type_handlers.ArrayHandler):
    """Writes and reads the shards of this process, of arrays on any mesh."""

    def __init__(self, **options: Any):
        # Every process writes the metadata of what it has; there is no primary one
        # that has something of everything.
        super().__init__(primary_host=None, use_replica_parallel=False, **options)

    async def serialize(
        self, values: Sequence[Any], infos: Sequence[Any], args: Any = None
    ) -> Sequence[Any]:
        args = args or [ocp.SaveArgs()] * len(values)
        own = [
            (_Shards(value), info, arg)
            for value, info, arg in zip(values, infos, args, strict=True)
            if value.sharding.addressable_devices
        ]
        if not own:
            return []
        shards, infos, args = map(list, zip(*own, strict=True))
        return await super().serialize(shards, infos, args)

    async def deserialize(
        self, infos: Sequence[Any], args: Any = None
    ) -> Sequence[jax.Array]:
        if args is None or jax.process_count() == 1:
            return await super().deserialize(infos, args)
        found: list[Any] = [None] * len(infos)
        here, elsewhere = [], []
        for position, arg in enumerate(args):
            sharding = getattr(arg, "sharding", None)
            there = isinstance(sharding, jax.sharding.Sharding) and not (
                sharding.addressable_devices
            )
            (elsewhere if there else here).append(position)
        if here:
            read = await super().deserialize(
                [infos[i] for i in here], [args[i] for i in here]
            )
            for position, array in zip(here, read, strict=True):
                found[position] = array
        if elsewhere:
            described = await self.metadata([infos[i] for i in elsewhere])
            for position, entry in zip(elsewhere, described, strict=True):
                arg = args[position]
                found[position] = jax.make_array_from_single_device_arrays(
                    tuple(arg.global_shape or entry.shape),
                    arg.sharding,
                    [],
                    dtype=arg.dtype or entry.dtype,
                )
        return found


def register() -> None:
    """Lets every checkpointer of Orbax take arrays of any mesh; once a process.

    Raises:
      ImportError: (when this module is imported) Orbax is not installed.
    """
    type_handlers.register_type_handler(jax.Array, MeshArrayHandler(), override=True)
