# SPDX-License-Identifier: Apache-2.0
"""Where on many devices the meshes of a program are."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jax.experimental import mesh_utils
from jax.sharding import Mesh

from ...aot.names import Target
from ...aot.plugins import find_devices
from ..program.errors import ProgramError


def place_meshes(
    target: Target, described: Sequence[Mapping[str, Any]]
) -> dict[str, Mesh]:
    """The meshes of a program on parts of a target, one after the other.

    Args:
      target: the devices.
      described: the meshes, as schedule.json has them.
    """
    sizes = {mesh["name"]: math.prod(shape_of(mesh)) for mesh in described}
    needed = sum(sizes.values())
    if needed > target.count:
        listed = ", ".join(f"{name} {count}" for name, count in sizes.items())
        raise ProgramError(
            f"the program needs {needed} devices ({listed}), and {target.name} has "
            f"{target.count}; take a larger target"
        )
    return cut_meshes(find_devices(target), described)


def shape_of(mesh: Mapping[str, Any]) -> tuple[int, ...]:
    return tuple(int(size) for _, size in mesh["axes"])


def cut_meshes(
    devices: Sequence[Any], described: Sequence[Mapping[str, Any]]
) -> dict[str, Mesh]:
    """Meshes of parts of enough devices, one after the other."""
    start, meshes = 0, {}
    for mesh in described:
        shape = shape_of(mesh)
        part = devices[start : start + math.prod(shape)]
        start += len(part)
        meshes[mesh["name"]] = Mesh(
            arrange(part, shape), tuple(axis for axis, _ in mesh["axes"])
        )
    return meshes


def arrange(devices: Sequence[Any], shape: tuple[int, ...]) -> np.ndarray:
    """Devices such that neighbours along an axis are neighbours of the torus."""
    if devices[0].platform == "tpu" and len(devices) > 1:
        try:
            return mesh_utils.create_device_mesh(shape, devices)
        except (NotImplementedError, ValueError, AssertionError):
            pass  # It knows no way for this part: then in the order of the list.
    return np.array(devices, dtype=object).reshape(shape)
