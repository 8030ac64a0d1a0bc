# SPDX-License-Identifier: Apache-2.0
"""Names of functions and meshes, and shardings as the compiler writes them."""

from .core.names import (
    CPU_MESH_SUFFIX,
    MEMORY_KINDS,
    function_name,
    is_cpu_mesh,
    mesh_without_memory_kind,
    meshes_and_sdy_specs_to_named_shardings,
    named_sharding,
    unknown_name,
)

__all__ = [
    "CPU_MESH_SUFFIX",
    "MEMORY_KINDS",
    "function_name",
    "is_cpu_mesh",
    "mesh_without_memory_kind",
    "meshes_and_sdy_specs_to_named_shardings",
    "named_sharding",
    "unknown_name",
]
