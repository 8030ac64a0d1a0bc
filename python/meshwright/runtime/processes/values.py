# SPDX-License-Identifier: Apache-2.0
"""Values between a script and arrays that other processes hold."""

from __future__ import annotations

import io
import itertools
import json
from typing import Any

import jax
import numpy as np

from ...core.tracebacks import at_users_line
from ...jaxapi import runtime as jax_runtime
from .world import ProcessError, World, current


@at_users_line
def fetch(tree: Any) -> Any:
    """The values of arrays, on every process.

    For losses and metrics: each array goes once from a process that has it to the
    others, through the coordinator. Every process has to call it with the same
    tree, and it waits for all of them.

    Args:
      tree: a pytree of arrays on any mesh, NumPy arrays and Python scalars.

    Returns:
      The same pytree with a NumPy array for each array, everything else as it is.

    Raises:
      ProcessError: a process did not call it within the timeout.
      ProcessFailure: a process is gone (`mw.elastic.regroup`).
      RuntimeError: an array was deleted.
    """
    leaves, structure = jax.tree.flatten(tree)
    leaves = [plain_data(leaf) if _is_array(leaf) else leaf for leaf in leaves]
    world = current()
    if world is None:
        values = [np.asarray(leaf) if _is_array(leaf) else leaf for leaf in leaves]
        return jax.tree.unflatten(structure, values)
    # Also where this process fails, so that its next call meets the others' next.
    number = world.next_number()
    with world.explaining():
        values = _fetch(world, number, leaves)
    return jax.tree.unflatten(structure, values)


def _fetch(world: World, number: int, leaves: list) -> list:
    plans = [_owners(leaf) if _is_array(leaf) else None for leaf in leaves]
    parts = {
        (position, number): np.asarray(_shard(leaves[position], index))
        for position, plan in enumerate(plans)
        for number, (owner, index) in enumerate(plan or ())
        if owner == world.process
    }
    owners = sorted({owner for plan in plans for owner, _ in plan or ()})
    descriptions = [
        None if plan is None else _describe(leaf, plan)
        for leaf, plan in zip(leaves, plans, strict=True)
    ]
    found = _exchange(world, number, descriptions, parts, owners)
    return [
        leaf if plan is None else _assemble(leaf, plan, position, found)
        for position, (leaf, plan) in enumerate(zip(leaves, plans, strict=True))
    ]


def _is_array(leaf: Any) -> bool:
    return isinstance(leaf, jax.Array)


def plain_data(leaf: jax.Array) -> jax.Array:
    """An array, or the numbers of typed keys."""
    if jax.numpy.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        return jax.random.key_data(leaf)
    return leaf


def _owners(leaf: jax.Array) -> list[tuple[int, tuple[slice, ...]]]:
    """Each distinct part of an array, and the process that sends it."""
    if leaf.is_deleted():
        raise RuntimeError(
            "mw.fetch: an array has been deleted; it was donated to a call"
        )
    owners: dict[Any, tuple[int, tuple[slice, ...]]] = {}
    for device, index in leaf.sharding.devices_indices_map(leaf.shape).items():
        key = tuple((part.start, part.stop) for part in index)
        process = device.process_index
        if key not in owners or process < owners[key][0]:
            owners[key] = process, index
    return list(owners.values())


def _shard(leaf: jax.Array, index: tuple[slice, ...]) -> Any:
    for shard in leaf.addressable_shards:
        if shard.index == index:
            return shard.data
    raise AssertionError("a process sends what it does not have")


def _describe(leaf: jax.Array, plan: list[tuple[int, tuple[slice, ...]]]) -> list:
    """What has to be equal on all processes, as JSON has it.

    Owners may differ: an array that a process made for itself is its own.
    """
    parts = [[[part.start, part.stop] for part in index] for _, index in plan]
    return [leaf.dtype.name, list(leaf.shape), parts]


def _exchange(
    world: World,
    number: int,
    descriptions: list,
    parts: dict[tuple[int, int], np.ndarray],
    owners: list[int],
) -> dict[tuple[int, int], np.ndarray]:
    """The parts of all processes, in all processes.

    Raises:
      ProcessError: an owner was given another tree, whose parts are not these.
    """
    keys = []
    if parts:
        buffer = io.BytesIO()
        buffer.write(json.dumps(descriptions).encode() + b"\n")
        for (position, part), value in parts.items():
            # NumPy's format knows no bfloat16 and the like; all agree on the types.
            raw = np.frombuffer(np.ascontiguousarray(value).tobytes(), np.uint8)
            np.save(buffer, np.array([position, part, raw.size]))
            np.save(buffer, raw)
        keys = world.put_large(f"fetch/{number}/{world.process}", buffer.getvalue())
    found: dict[tuple[int, int], np.ndarray] = {}
    for owner in owners:
        if owner == world.process:
            continue
        key = f"fetch/{number}/{owner}"
        data = io.BytesIO(world.get_large(key, owner, "call mw.fetch"))
        _check_same(world, owner, descriptions, json.loads(data.readline()))
        while data.tell() < len(data.getbuffer()):
            position, part, _ = np.load(data)
            found[int(position), int(part)] = np.load(data)
    world.barrier(f"fetch/{number}", "mw.fetch")
    world.drop(*keys)
    return found | parts


def _check_same(world: World, owner: int, ours: list, theirs: list) -> None:
    for position, (here, there) in enumerate(itertools.zip_longest(ours, theirs)):
        if here != there:
            raise ProcessError(
                f"the processes call mw.fetch with different trees: leaf {position} is "
                f"{_show(there)} in process {owner} and {_show(here)} in process "
                f"{world.process}; every process has to call it as often as the "
                "others, and each time with the same tree as they"
            )


def _show(descriptions: list | None) -> str:
    if descriptions is None:
        return "no array"
    dtype, shape, parts = descriptions
    split = f" in {len(parts)} parts" if len(parts) > 1 else ""
    return f"{dtype}[{','.join(map(str, shape))}]{split}"


def _assemble(
    leaf: jax.Array,
    plan: list[tuple[int, tuple[slice, ...]]],
    position: int,
    found: dict[tuple[int, int], np.ndarray],
) -> np.ndarray:
    dtype = leaf.dtype
    whole = np.empty(leaf.shape, dtype)
    for number, (_, index) in enumerate(plan):
        part = found[position, number]
        target = whole[index]
        if part.dtype != dtype or part.shape != target.shape:
            part = np.frombuffer(part.tobytes(), dtype).reshape(target.shape)
        whole[index] = part
    return whole


@at_users_line
def place(tree: Any, shardings: Any) -> Any:
    """Arrays from values that every process has, without talking to the others.

    Args:
      tree: a pytree of NumPy arrays, Python scalars or arrays of this process; the
        same values on every process. Arrays that have their sharding stay as they are.
      shardings: a pytree prefix of shardings, such as `compiled.input_shardings[0]`.

    Returns:
      The same pytree of `jax.Array`s. A process keeps the parts for its own devices.

    Raises:
      ValueError: an array is, in part, on devices of other processes, and has another
        sharding.
    """

    def put(sharding, subtree):
        return jax.tree.map(lambda leaf: place_value(leaf, sharding), subtree)

    return jax.tree.map(put, shardings, tree)


def place_value(value: Any, sharding: Any) -> jax.Array:
    """One array with this sharding; shards of other processes are theirs to make.

    CPU devices may share the memory of a NumPy array, which its owner is free to
    change, whatever JAX is asked for; so a copy is placed.
    """
    if not isinstance(value, jax.Array) and hasattr(value, "__array__"):
        value = np.array(value)
    if isinstance(value, jax.Array) and not value.is_fully_addressable:
        if value.sharding.is_equivalent_to(sharding, value.ndim):
            return value
        raise ValueError(
            f"mw.distributed.place: an array {value.aval.str_short()} is on devices "
            f"{_devices(value.sharding)}, not all of this process, and is wanted on "
            f"devices {_devices(sharding)} or split otherwise; place its value, "
            "mw.fetch(array)"
        )
    if sharding.is_fully_addressable:
        return jax.device_put(value, sharding)
    if type(value) in (int, float, complex):
        value = jax.device_put(value)  # Refuses what does not fit.
    if isinstance(value, jax.Array) and (data := plain_data(value)) is not value:
        return jax.random.wrap_key_data(
            place_value(data, sharding), impl=jax.random.key_impl(value)
        )
    host = np.asarray(value)
    host = host.astype(jax.dtypes.canonicalize_dtype(host.dtype), copy=False)
    array = jax.make_array_from_callback(
        host.shape, sharding, lambda index: host[index], dtype=host.dtype
    )
    if not getattr(value, "weak_type", False):
        return array
    # As where all of it is here, else processes would trace different programs.
    shards = [shard.data for shard in array.addressable_shards]
    return jax_runtime.make_array(array.aval.update(weak_type=True), sharding, shards)


def _devices(sharding: Any) -> list[int]:
    return sorted(device.id for device in sharding.device_set)


def without_shards(array: jax.Array, sharding: Any) -> jax.Array:
    """What this process sees of an array that others have moved to this sharding."""
    if (data := plain_data(array)) is not array:
        return jax.random.wrap_key_data(
            without_shards(data, sharding), impl=jax.random.key_impl(array)
        )
    return jax_runtime.make_array(array.aval, sharding, [])
