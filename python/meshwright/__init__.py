# SPDX-License-Identifier: Apache-2.0
"""Meshwright: one annotated JAX function, many meshes.

    import meshwright as mw

Name computations and tensors, say on which mesh each name lives, and `mw.jit`
makes one program of it: fragments per mesh, transfers, an order (docs/python.md).
"""

from typing import Any as _Any

from . import _python as _python

# isort: split
from . import _checkify as _checkify
from . import distributed as distributed
from ._jit import MpmdWrapped as MpmdWrapped
from ._jit import jit as jit
from ._logging import set_verbosity as set_verbosity
from ._stage_marks import stage_boundary as stage_boundary
from ._version import __version__ as __version__
from .auto import auto as auto
from .auto import auto_config as auto_config
from .distributed import fetch as fetch
from .ops import broadcast as broadcast
from .ops import call as call
from .ops import enumerated_for as enumerated_for
from .ops import fori_loop as fori_loop
from .ops import named_computation as named_computation
from .ops import named_tensor as named_tensor
from .ops import reduce as reduce
from .pipeline import FragmentInfo as FragmentInfo
from .pipeline import FragmentMergeRule as FragmentMergeRule
from .pipeline import FragmentMergeRules as FragmentMergeRules
from .pipeline import FragmentOrigin as FragmentOrigin
from .pipeline import FragmentScheduleRule as FragmentScheduleRule
from .pipeline import FragmentScheduleRules as FragmentScheduleRules
from .pipeline import PipelineContext as PipelineContext
from .pipeline import PipelineSchedule as PipelineSchedule
from .pipeline import SplitFragmentType as SplitFragmentType
from .pipeline_registry import get_pipeline_schedule as get_pipeline_schedule
from .planning import Plan as Plan
from .planning import plan as plan
from .runtime import FragmentError as FragmentError
from .runtime import ProgramError as ProgramError
from .runtime import profile as profile
from .stages import Compiled as Compiled
from .stages import Executable as Executable
from .stages import Lowered as Lowered
from .types import Config as Config
from .types import FunctionIOMeshAssignment as FunctionIOMeshAssignment
from .types import FunctionNamedShardings as FunctionNamedShardings
from .types import MpmdJitShardingInfo as MpmdJitShardingInfo
from .types import NameToMeshAssignment as NameToMeshAssignment
from .types import NameToStageAssignment as NameToStageAssignment
from .types import PartitioningOptions as PartitioningOptions
from .types import Topology as Topology
from .types import make_config as make_config
from .types import mesh_names as mesh_names


def __getattr__(name: str) -> _Any:
    # Flax is imported by those who use it.
    if name == "nnx":
        import importlib

        return importlib.import_module(".nnx", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
