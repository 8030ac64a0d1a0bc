# SPDX-License-Identifier: Apache-2.0
"""Topologies, configs and what a lowered program says about its meshes."""

from typing import Any

from .compiler.schedules import schedule_names
from .config.make import make_config, mesh_names
from .config.options import boolean_options, validate_and_merge_partitioning_options
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

BOOLEAN_OPTIONS: tuple[str, ...]
PIPELINE_SCHEDULE_NAMES: tuple[str, ...]


def __getattr__(name: str) -> Any:
    # Asked of the compiler, which is not loaded before it is needed.
    if name == "BOOLEAN_OPTIONS":
        return boolean_options()
    if name == "PIPELINE_SCHEDULE_NAMES":
        return schedule_names()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
