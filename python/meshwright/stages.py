# SPDX-License-Identifier: Apache-2.0
"""Lowered, compiled and executable programs."""

from .programs.stages import (
    AxisOrigin,
    Compiled,
    Executable,
    ExplainedValue,
    Lowered,
    MpmdCompiled,
    MpmdExecutable,
    MpmdLowered,
    PartitioningResult,
    Remark,
    ShardingExplanation,
    ShardingStep,
)

__all__ = [
    "AxisOrigin",
    "Compiled",
    "Executable",
    "ExplainedValue",
    "Lowered",
    "MpmdCompiled",
    "MpmdExecutable",
    "MpmdLowered",
    "PartitioningResult",
    "Remark",
    "ShardingExplanation",
    "ShardingStep",
]
