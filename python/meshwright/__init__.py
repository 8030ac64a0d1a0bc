# SPDX-License-Identifier: Apache-2.0
"""Meshwright: one annotated JAX function, many meshes.

    import meshwright as mw

Name computations and tensors, say on which mesh each name lives, and `mw.jit`
makes one program of it: fragments per mesh, transfers, an order (docs/python.md).
"""

from typing import Any as _Any

from .core import python_version as _python_version  # noqa: F401

# isort: split
from .core import collector as _collector
from .core import started as _started

if _started.NEEDS_JAX:
    # Each full collection would look at all objects of JAX.
    with _collector.paused_for_imports():
        from . import aot as aot
        from . import distributed as distributed
        from . import elastic as elastic
        from .auto import auto as auto
        from .auto import auto_config as auto_config
        from .config.make import make_config as make_config
        from .config.make import mesh_names as mesh_names
        from .core.config import Config as Config
        from .core.config import FunctionIOMeshAssignment as FunctionIOMeshAssignment
        from .core.config import FunctionNamedShardings as FunctionNamedShardings
        from .core.config import MpmdJitShardingInfo as MpmdJitShardingInfo
        from .core.config import NameToMeshAssignment as NameToMeshAssignment
        from .core.config import NameToStageAssignment as NameToStageAssignment
        from .core.config import PartitioningOptions as PartitioningOptions
        from .core.config import Topology as Topology
        from .core.fragments import FragmentInfo as FragmentInfo
        from .core.fragments import FragmentMergeRule as FragmentMergeRule
        from .core.fragments import FragmentMergeRules as FragmentMergeRules
        from .core.fragments import FragmentOrigin as FragmentOrigin
        from .core.fragments import FragmentScheduleRule as FragmentScheduleRule
        from .core.fragments import FragmentScheduleRules as FragmentScheduleRules
        from .core.fragments import PipelineContext as PipelineContext
        from .core.fragments import PipelineSchedule as PipelineSchedule
        from .core.fragments import SplitFragmentType as SplitFragmentType
        from .core.logging import set_verbosity as set_verbosity
        from .core.version import __version__ as __version__
        from .distributed import fetch as fetch
        from .frontend.jit import MpmdWrapped as MpmdWrapped
        from .frontend.jit import jit as jit
        from .pipeline_registry import get_pipeline_schedule as get_pipeline_schedule
        from .programs.loading import load as load
        from .programs.planning import Plan as Plan
        from .programs.planning import plan as plan
        from .programs.stages import Compiled as Compiled
        from .programs.stages import Executable as Executable
        from .programs.stages import Lowered as Lowered
        from .runtime import FragmentError as FragmentError
        from .runtime import ProgramError as ProgramError
        from .runtime import profile as profile
        from .staging.marked import marked as marked
        from .staging.marks import stage_boundary as stage_boundary
        from .tracing import checkify as _checkify  # noqa: F401
        from .tracing.ops import broadcast as broadcast
        from .tracing.ops import call as call
        from .tracing.ops import enumerated_for as enumerated_for
        from .tracing.ops import fori_loop as fori_loop
        from .tracing.ops import named_computation as named_computation
        from .tracing.ops import named_tensor as named_tensor
        from .tracing.ops import reduce as reduce


def __getattr__(name: str) -> _Any:
    # Flax is imported by those who use it.
    if name == "nnx":
        import importlib

        return importlib.import_module(".nnx", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
