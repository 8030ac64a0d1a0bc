# SPDX-License-Identifier: Apache-2.0
"""Topologies, configs and what a lowered program says about its meshes."""

from .config.make import make_config, mesh_names
from .config.options import BOOLEAN_OPTIONS, validate_and_merge_partitioning_options
from .core.config import (
    Config,
    FunctionIOMeshAssignment,
    FunctionIOShardingSpecsAndMeshes,
    FunctionNamedShardings,
    MpmdJitShardingInfo,
    NamedSpmdShardingSpec,
    NameToMeshAssignment,
    NameToStageAssignment,
    PartitioningOptions,
    PyTree,
    Topology,
)
from .core.schedule_names import PIPELINE_SCHEDULE_NAMES

__all__ = [
    "BOOLEAN_OPTIONS",
    "Config",
    "FunctionIOMeshAssignment",
    "FunctionIOShardingSpecsAndMeshes",
    "FunctionNamedShardings",
    "MpmdJitShardingInfo",
    "NameToMeshAssignment",
    "NameToStageAssignment",
    "NamedSpmdShardingSpec",
    "PIPELINE_SCHEDULE_NAMES",
    "PartitioningOptions",
    "PyTree",
    "Topology",
    "make_config",
    "mesh_names",
    "validate_and_merge_partitioning_options",
]
