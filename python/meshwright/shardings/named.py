# SPDX-License-Identifier: Apache-2.0
"""Shardings between the user's meshes, the reference mesh and the compiler."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np
from jax.experimental.layout import Format
from jax.sharding import (
    AbstractMesh,
    Mesh,
    NamedSharding,
    PartitionSpec,
    SingleDeviceSharding,
)

from ..core.config import PyTree, Topology
from ..core.names import named_sharding
from .joint import joint_meshes, piece_sharding


def _axes(mesh: Any) -> str:
    return ", ".join(f"{name}={size}" for name, size in mesh.shape.items()) or "none"


def _is_same(mesh: Mesh | AbstractMesh, known: Mesh) -> bool:
    """Whether a mesh, if it has devices, is the known one; axis types do not count."""
    if tuple(mesh.shape.items()) != tuple(known.shape.items()):
        return False
    return isinstance(mesh, AbstractMesh) or np.array_equal(mesh.devices, known.devices)


def move(sharding: Any, topology: Topology, what: str) -> tuple[Any, Any]:
    """Tells what JAX may know of a sharding, for it lowers for the first mesh only.

    Args:
      sharding: a `NamedSharding`, a `Format` around one, or anything else, which
        is returned as it is.
      what: the argument to name in errors.

    Returns:
      The sharding on the first mesh and None, if its mesh has the axes of the
      first one; else None and the sharding.
    """
    named = sharding.sharding if isinstance(sharding, Format) else sharding
    piece = piece_sharding(named, topology)
    if piece is not None:  # Of layers that are on several meshes.
        sharding = named = piece
    first = next(iter(topology.values()))
    if not isinstance(named, NamedSharding) or named.mesh == first:
        return sharding, None
    axes = tuple(named.mesh.shape.items())
    if axes == tuple(first.shape.items()):
        moved = NamedSharding(first, named.spec, memory_kind=named.memory_kind)
        if isinstance(sharding, Format):
            return Format(sharding.layout, moved), None
        return moved, None
    if any(_is_same(named.mesh, mesh) for mesh in topology.values()):
        return None, sharding
    known = dict.fromkeys(map(_axes, topology.values()))
    raise ValueError(
        f"{what}: {named} is on a mesh with axes {_axes(named.mesh)}, but the meshes "
        f"of the topology have axes {' or '.join(known)}; use one of these meshes, or "
        "config.sharding_mesh, which has the axes of the first one, as other devices "
        "may have, too"
    )


def of_memory(sharding: Any, mesh: Mesh) -> NamedSharding | None:
    """What a sharding of one device says of the memory: whole, on a mesh.

    None if that is the device's own. Where a device is, is no wish.
    """
    if not isinstance(sharding, SingleDeviceSharding):
        return None
    (device,) = sharding.device_set
    if sharding.memory_kind in (None, device.default_memory().kind):
        return None
    return NamedSharding(mesh, PartitionSpec(), memory_kind=sharding.memory_kind)


def on_mesh(sharding: Any, mesh: Mesh) -> Any:
    """The same split on another mesh; the sharding itself if that lacks its axes."""
    if isinstance(sharding, SingleDeviceSharding):
        return NamedSharding(mesh, PartitionSpec(), memory_kind=sharding.memory_kind)
    if not isinstance(sharding, NamedSharding):
        return sharding
    used = {axis for entry in sharding.spec for axis in np.atleast_1d(entry or [])}
    if not used <= set(mesh.axis_names):
        return sharding
    return NamedSharding(mesh, sharding.spec, memory_kind=sharding.memory_kind)


def move_tree(tree: PyTree, topology: Topology, what: str) -> tuple[PyTree, PyTree]:
    """Splits a tree of shardings into what JAX may know and the rest; see `move`."""

    def is_none(leaf: Any) -> bool:
        return leaf is None

    leaves, structure = jax.tree.flatten(tree, is_leaf=is_none)
    moved = [move(leaf, topology, what) for leaf in leaves]
    return tuple(
        jax.tree.unflatten(structure, [pair[side] for pair in moved])
        for side in range(2)
    )


def check_divisible(sharding: Any, aval: Any, what: str) -> None:
    """Raises ValueError if a sharding does not divide a value, as JAX does."""
    named = sharding.sharding if isinstance(sharding, Format) else sharding
    try:
        named.shard_shape(aval.shape)
    except ValueError as error:
        raise ValueError(f"{what}: {aval.str_short()} cannot be split: {error}") from (
            None
        )


def from_spec(spec: Mapping[str, Any], topology: Topology, ndim: int) -> NamedSharding:
    """A sharding as the compiler reports it, on the mesh of the topology.

    Args:
      spec: `mesh`, `dims` (axes per dimension), `unreduced`, `memory_kind`.
      ndim: number of dimensions that the user sees; a typed key has one less than
        its data.

    Returns:
      The `NamedSharding`, without trailing replicated dimensions; memory kind
      `device` is the default one.
    """
    kind = spec["memory_kind"]
    return named_sharding(
        topology[spec["mesh"]],
        spec["dims"][:ndim],
        spec["unreduced"],
        None if kind == "device" else kind,
    )


def retarget(topology: Topology, devices: Sequence[jax.Device]) -> dict[str, Mesh]:
    """The meshes of a topology on other devices.

    Args:
      devices: devices to use, consumed mesh by mesh in topology order.
    """
    needed = sum(mesh.size for mesh in topology.values())
    if len(devices) < needed:
        sizes = ", ".join(f"{name}: {mesh.size}" for name, mesh in topology.items())
        raise ValueError(
            f"device_assignment: the topology needs {needed} devices ({sizes}), got "
            f"{len(devices)}"
        )
    meshes, start = {}, 0
    for name, mesh in topology.items():
        chosen = np.empty(mesh.size, dtype=object)
        chosen[:] = devices[start : start + mesh.size]
        start += mesh.size
        meshes[name] = Mesh(
            chosen.reshape(mesh.devices.shape),
            mesh.axis_names,
            axis_types=mesh.axis_types,
        )
    return meshes


def describe(sharding: Any, topology: Topology) -> str:
    """A sharding for messages, with the topology's name of its mesh."""
    if not isinstance(sharding, NamedSharding):
        return str(sharding)
    names = [name for name, mesh in topology.items() if mesh == sharding.mesh]
    kind = f", memory kind {sharding.memory_kind}" if sharding.memory_kind else ""
    if names:
        return f"{sharding.spec} on mesh {names[0]!r}{kind}"
    if piece_sharding(sharding, topology) is not None:
        joint = joint_meshes(sharding, topology)
        return f"{sharding.spec} on meshes {' and '.join(map(repr, joint))}{kind}"
    ids = [device.id for device in sharding.mesh.devices.flat]
    return (
        f"{sharding.spec} on a mesh that is not in the topology (axes "
        f"{_axes(sharding.mesh)}, devices {ids}){kind}"
    )
