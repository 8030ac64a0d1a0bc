# SPDX-License-Identifier: Apache-2.0
"""Lowered, compiled and executable programs."""

from .programs.explanations import (
    AxisOrigin,
    ExplainedValue,
    ShardingExplanation,
    ShardingStep,
)
from .programs.stages import (
    Compiled,
    Executable,
    Lowered,
    MpmdCompiled,
    MpmdExecutable,
    MpmdLowered,
    PartitioningResult,
    Remark,
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
