# SPDX-License-Identifier: Apache-2.0
"""Lowered, compiled and executable programs."""

from .programs.explanations import AxisOrigin as AxisOrigin
from .programs.explanations import ExplainedValue as ExplainedValue
from .programs.explanations import ShardingExplanation as ShardingExplanation
from .programs.explanations import ShardingStep as ShardingStep
from .programs.stages import Compiled as Compiled
from .programs.stages import Executable as Executable
from .programs.stages import Lowered as Lowered
from .programs.stages import MpmdCompiled as MpmdCompiled
from .programs.stages import MpmdExecutable as MpmdExecutable
from .programs.stages import MpmdLowered as MpmdLowered
from .programs.stages import PartitioningResult as PartitioningResult
from .programs.stages import Remark as Remark
