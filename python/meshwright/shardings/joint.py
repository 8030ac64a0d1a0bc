# SPDX-License-Identifier: Apache-2.0
"""Shardings of arrays that span several meshes of a topology.

Stages that are on meshes of the same axes, with as many layers each, are what a
`NamedSharding` on all of these meshes says: split by stage along the leading axis,
and in each stage as on its mesh.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from ..core.config import Topology

# The axis of the mesh that joins those of the stages.
STAGES = "mpmd_stages"


def _entry(axes: Any) -> tuple[Any, ...]:
    return () if axes is None else (axes,) if isinstance(axes, str) else tuple(axes)


def join_shardings(pieces: Sequence[NamedSharding]) -> NamedSharding | None:
    """The sharding of an array of equal pieces; None if there is none."""
    first = pieces[0]
    meshes = [piece.mesh for piece in pieces]
    devices = [device for mesh in meshes for device in mesh.devices.flat]
    if (
        any(mesh.shape != first.mesh.shape for mesh in meshes)
        or any(mesh.axis_types != first.mesh.axis_types for mesh in meshes)
        or any(piece.spec != first.spec for piece in pieces)
        or any(piece.memory_kind != first.memory_kind for piece in pieces)
        or len(set(devices)) != len(devices)
    ):
        return None
    mesh = Mesh(
        np.stack([mesh.devices for mesh in meshes]),
        (STAGES, *first.mesh.axis_names),
        axis_types=(jax.sharding.AxisType.Auto, *first.mesh.axis_types),
    )
    layers, *others = first.spec or (None,)
    spec = PartitionSpec((STAGES, *_entry(layers)), *others)
    return NamedSharding(mesh, spec, memory_kind=first.memory_kind)


def joint_meshes(sharding: Any, topology: Topology) -> list[str]:
    """Names of the meshes that an array spans; none if it is not of that kind."""
    mesh = getattr(sharding, "mesh", None)
    if not isinstance(mesh, Mesh) or mesh.axis_names[:1] != (STAGES,):
        return []
    found = [
        name
        for devices in mesh.devices
        for name, known in topology.items()
        if np.array_equal(getattr(known, "devices", None), devices)
    ]
    return found if len(found) == len(mesh.devices) else []


def piece_sharding(sharding: Any, topology: Topology) -> NamedSharding | None:
    """How each piece is split, of an array over several meshes of the topology.

    Returns:
      The sharding on the first of them; None if this is no such array.
    """
    names = joint_meshes(sharding, topology)
    if not names:
        return None
    layers, *others = sharding.spec or (None,)
    axes = tuple(axis for axis in _entry(layers) if axis != STAGES)
    spec = PartitionSpec(axes[0] if len(axes) == 1 else axes or None, *others)
    return NamedSharding(topology[names[0]], spec, memory_kind=sharding.memory_kind)
