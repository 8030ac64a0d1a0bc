# SPDX-License-Identifier: Apache-2.0
"""Shardings without a mesh: a bare `PartitionSpec`, or one for each mesh.

P("data")                           on whichever mesh the value is
{"m0": P("data"), "m1": P()}        what is on m0 is split, what is on m1 is not
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

from ..core.config import PyTree, Topology
from ..core.names import mesh_without_memory_kind


def _is_per_mesh(node: Any, topology: Topology) -> bool:
    return (
        isinstance(node, dict)
        and bool(node)
        and all(name in topology for name in node)
        and all(isinstance(spec, PartitionSpec) for spec in node.values())
    )


def _axes(spec: PartitionSpec) -> set[str]:
    entries = [dim for dim in spec if dim not in (None, PartitionSpec.UNCONSTRAINED)]
    return {axis for entry in entries for axis in np.atleast_1d(entry)}


def _named(spec: PartitionSpec, topology: Topology, what: str) -> NamedSharding:
    """A spec on the first mesh that has its axes."""
    axes = _axes(spec)
    for mesh in topology.values():
        if axes <= set(mesh.axis_names):
            return NamedSharding(mesh, spec)
    known = "; ".join(
        f"{name}: {', '.join(map(str, mesh.axis_names))}"
        for name, mesh in topology.items()
    )
    raise ValueError(
        f"{what}: no mesh of the topology has all axes of {spec}; axes are {known}"
    )


def known_before(tree: PyTree, topology: Topology, what: str) -> PyTree:
    """Shardings that do not depend on where a value is; None for those that do.

    Raises:
      ValueError: a spec has axes that no mesh has.
    """

    def known(node: Any) -> Any:
        if _is_per_mesh(node, topology):
            return None
        return _named(node, topology, what) if isinstance(node, PartitionSpec) else node

    return jax.tree.map(
        known,
        tree,
        is_leaf=lambda node: (
            node is None
            or isinstance(node, PartitionSpec)
            or _is_per_mesh(node, topology)
        ),
    )


def by_mesh(
    prefix: PyTree, tree: Any, meshes: Sequence[str | None], topology: Topology
) -> dict[int, NamedSharding]:
    """Shardings of the leaves whose prefix has one for each mesh.

    Args:
      prefix: shardings as the user gave them.
      tree: structure of the whole tree.
      meshes: the mesh assigned to each leaf, or None.

    Returns:
      Flat positions with shardings. Leaves without a mesh, or on one that is not
      among those given, are left to the compiler.

    Raises:
      ValueError: a spec has axes that its mesh does not have.
    """
    found: dict[int, NamedSharding] = {}

    def assign(node: Any, subtree: Any) -> None:
        if not _is_per_mesh(node, topology):
            return
        if isinstance(subtree, Mapping) and set(subtree) == set(node):
            # A dict of the tree's own, whose keys are like names of meshes.
            for key, spec in node.items():
                sharding = _named(spec, topology, "shardings")
                found.update(dict.fromkeys(jax.tree.leaves(subtree[key]), sharding))
            return
        for index in jax.tree.leaves(subtree):
            name = mesh_without_memory_kind(meshes[index] or "")
            if name in node:
                only = {name: topology[name]}
                found[index] = _named(node[name], only, f"mesh {name!r}")

    full = jax.tree.unflatten(tree, range(tree.num_leaves))
    jax.tree.map(
        assign,
        prefix,
        full,
        is_leaf=lambda node: node is None or _is_per_mesh(node, topology),
    )
    return found
