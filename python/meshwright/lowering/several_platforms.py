# SPDX-License-Identifier: Apache-2.0
"""Programs whose meshes are on devices of several platforms, GPUs beside CPUs.

JAX lowers some operations in another way for each platform, and a function for one
platform at a time. So a function is lowered once for each platform of its topology,
and each fragment is taken from the program for the platform that it runs on. The
programs differ inside of fragments only, which is checked.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from jax.sharding import Mesh

from ..core.config import Topology
from ..jaxapi import described


def platform_of(mesh: Mesh) -> str:
    """The platform of the devices of a mesh, such as `cpu`."""
    return described.lowering_platform(mesh.devices.flat[0])


def platforms_of(topology: Topology) -> dict[str, str]:
    """The platform of each mesh, that of the first one first."""
    return {name: platform_of(mesh) for name, mesh in topology.items()}


def pick_fragments(
    results: Mapping[str, Any], platforms: Mapping[str, str]
) -> dict[str, str]:
    """The modules of the fragments of a program, each for its own platform.

    Args:
      results: what the partitioner made of the module for each platform.
      platforms: mesh name to platform.

    Returns:
      Fragment name to module.

    Raises:
      NotImplementedError: the programs for two platforms differ outside of
        fragments.
    """
    if len(results) == 1:
        return dict(next(iter(results.values())).fragments)
    programs = {key: json.loads(result.program) for key, result in results.items()}
    (first, program), *others = programs.items()
    for platform, other in others:
        if _outline(program) != _outline(other):
            raise NotImplementedError(
                f"the function becomes other fragments on {first} than on {platform}; "
                "name what differs between the platforms with mw.named_computation"
            )
    modules = {key: dict(result.fragments) for key, result in results.items()}
    return {
        fragment["name"]: modules[platforms[fragment["mesh"]]][fragment["name"]]
        for fragment in program["fragments"]
    }


def _outline(program: Mapping[str, Any]) -> Any:
    """What two programs must have in common to exchange fragments."""
    fragments = [
        [fragment[key] for key in ("name", "mesh", "arguments", "results")]
        for fragment in program["fragments"]
    ]
    items = [
        {key: value for key, value in item.items() if key != "location"}
        for item in program["items"]
    ]
    return fragments, items, program["values"]
