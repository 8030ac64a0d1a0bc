# SPDX-License-Identifier: Apache-2.0
"""Names of functions and meshes, and shardings as the compiler writes them."""

from .core.names import CPU_MESH_SUFFIX as CPU_MESH_SUFFIX
from .core.names import MEMORY_KINDS as MEMORY_KINDS
from .core.names import function_name as function_name
from .core.names import is_cpu_mesh as is_cpu_mesh
from .core.names import mesh_without_memory_kind as mesh_without_memory_kind
from .core.names import (
    meshes_and_sdy_specs_to_named_shardings as meshes_and_sdy_specs_to_named_shardings,
)
from .core.names import named_sharding as named_sharding
from .core.names import unknown_name as unknown_name
