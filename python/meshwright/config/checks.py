# SPDX-License-Identifier: Apache-2.0
"""Checks of topologies and of what is assigned to their meshes."""

from __future__ import annotations

import logging
import numbers
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import jax
from jax.sharding import Mesh

from ..compiler.schedules import compiler_name
from ..core.config import Tower
from ..core.names import (
    MEMORY_KIND_SEPARATOR,
    MEMORY_KINDS,
    check_type,
    mesh_without_memory_kind,
    unknown_name,
)
from ..jaxapi.described import mixed_backends

_logger = logging.getLogger(__name__)

# What parts a mesh from a memory kind, what ends a text, and what is none.
_NOT_IN_MESH_NAMES = re.compile(r'[#"\\\x00-\x1f\x7f\ud800-\udfff]')


def check_topology(topology: Mapping[str, Mesh]) -> None:
    if not topology:
        raise ValueError(
            "topology: must have at least one mesh, got none; "
            "give a dict of mesh names to jax.sharding.Mesh"
        )
    for name in topology:
        if "@" in name:
            raise ValueError(
                f"topology: mesh name {name!r} must not contain '@'; rename the mesh"
            )
    for name in topology:
        for kind in MEMORY_KINDS:
            if name.endswith(MEMORY_KIND_SEPARATOR + kind):
                raise ValueError(
                    f"topology: mesh name {name!r} must not end with the memory kind "
                    f"'#{kind}'; write the kind where the mesh is assigned"
                )
        # "*" represents all other meshes where meshes are inferred.
        if name in ("", "*") or _NOT_IN_MESH_NAMES.search(name):
            raise ValueError(
                f"topology: mesh name {name!r} must not be empty or '*', and must "
                "contain neither '#' nor a quotation mark, a backslash or a control "
                "character; rename the mesh"
            )


def check_devices(topology: Mapping[str, Mesh]) -> None:
    for name, mesh in topology.items():
        check_type(
            f"topology: mesh {name!r} must be a jax.sharding.Mesh",
            mesh,
            Mesh,
            '; build one, for example jax.sharding.Mesh(jax.devices()[:2], ("x",))',
        )
        if mesh.size == 0:
            found = len(jax.devices())
            raise ValueError(
                f"topology: mesh {name!r} has no devices; {len(topology)} meshes need "
                f"at least {len(topology)} devices, found {found} "
                f"({jax.default_backend()}), and a slice past the last one is empty. "
                "To try without more, call "
                f'jax.config.update("jax_num_cpu_devices", {max(len(topology), 8)}) '
                "before the first use of JAX"
            )
        if mixed := mixed_backends(mesh.devices.flat):
            raise ValueError(f"topology: mesh {name!r} {mixed}")


def check_mapping(what: str, value: Any, example: str) -> None:
    check_type(f"{what}: must be a dict, such as {example}", value, Mapping)
    for name in value:
        check_type(f"{what}: names must be strings, as in {example}", name, str)


def check_meshes(
    what: str, meshes: Iterable[Any], topology: Mapping[str, Mesh]
) -> None:
    for mesh in meshes:
        if not isinstance(mesh, str):
            raise ValueError(
                f"{what}: meshes are given by name, got {mesh!r} of type "
                f"{type(mesh).__name__}"
            )
        if mesh_without_memory_kind(mesh) not in topology:
            raise ValueError(unknown_name(f"{what}: mesh", mesh, topology))
        kind = mesh.partition(MEMORY_KIND_SEPARATOR)[2]
        if kind and mesh not in topology and kind not in MEMORY_KINDS:
            # Which kinds there are is up to the device, so this is no error.
            _logger.warning(
                "%s", unknown_name(f"{what}: memory kind", kind, MEMORY_KINDS)
            )


def stage_meshes(given: Any, topology: Mapping[str, Mesh]) -> dict[int, str] | None:
    """Stage to mesh, from either form of `stage_to_mesh`."""
    if given is None:
        return None
    if isinstance(given, (list, tuple)):
        given = dict(enumerate(given))
    forms = "a dict, such as {0: 'm0', 1: 'm1'}, or a list of meshes"
    check_type(f"stage_to_mesh: must be {forms}", given, Mapping)
    for stage in given:
        check_type("stage_to_mesh: stages are numbers", stage, numbers.Integral)
        if stage < 0:
            raise ValueError(f"stage_to_mesh: stages count from 0, got {stage}")
    check_meshes("stage_to_mesh", given.values(), topology)
    return {int(stage): mesh for stage, mesh in given.items()}


def check_trips(given: Any) -> None:
    """Refuses what is no number of trips of a loop."""
    if given is None:
        return
    text = "max_loop_trips: must be an int, the most trips of a loop"
    check_type(text, given, numbers.Integral)
    if given < 1:
        raise ValueError(f"max_loop_trips: must be at least 1, got {given}")


def check_towers(given: Any, topology: Mapping[str, Mesh]) -> dict[str, Tower] | None:
    """Towers by name, from either form of `towers`, with the compiler's schedules."""
    if given is None:
        return None
    check_mapping("towers", given, "{'vision': ['m0', 'm1']}")
    found = {}
    for name, tower in given.items():
        where = f"towers: {name!r}"
        if not isinstance(tower, Tower):
            tower = Tower(tower)
        meshes = tower.meshes
        if isinstance(meshes, str) or not isinstance(meshes, Sequence) or not meshes:
            raise TypeError(
                f"{where}: must be a list of meshes, at least one, or a "
                f"pipeline.Tower, got {meshes!r}"
            )
        check_meshes(where, meshes, topology)
        if twice := [mesh for mesh in meshes if meshes.count(mesh) > 1]:
            raise ValueError(
                f"{where}: mesh {twice[0]!r} is given twice; a mesh takes several "
                "stages of a tower if its schedule says so"
            )
        schedule = compiler_name(f"{where}: schedule", tower.schedule)
        found[name] = Tower(tuple(meshes), schedule)
    return found
