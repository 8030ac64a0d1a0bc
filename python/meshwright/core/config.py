# SPDX-License-Identifier: Apache-2.0
"""Configs, and what a lowered program says about its meshes."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from jax.sharding import AbstractMesh, Mesh

from .by_path import ByPath
from .fragments import PipelineSchedule

PyTree = Any
# These can be called, `Topology({"m0": mesh})`; any mapping will do in their place.
# Mesh name to mesh, in pipeline order; the first one is the reference mesh.
Topology = dict[str, Mesh]
# Name of a computation or tensor to a mesh, or `mesh#memory_kind`.
NameToMeshAssignment = dict[str, str]
# Name of a computation to the stage that it belongs to.
NameToStageAssignment = dict[str, int]


@dataclasses.dataclass(frozen=True)
class Tower:
    """A chain of stages with meshes and a schedule of its own.

    Attributes:
      meshes: names of meshes, in the order of the tower's pipeline. Towers may share
        them.
      schedule: a schedule of one chain, by either of its names, which schedule `Towers`
        keeps among the stages of this tower.

    Example: two stages in the order of GPipe, for `make_config(..., towers=)`.

      >>> {"vision": Tower(["m0", "m1"], "GPipe")}["vision"].schedule
      'GPipe'
    """

    meshes: Sequence[str]
    schedule: str = "1F1B"


@dataclasses.dataclass(frozen=True)
class FunctionIOMeshAssignment:
    """The mesh of each input and output of a function.

    Attributes:
      input_meshes: tree like the arguments; leaves are mesh names.
      output_meshes: tree like the result; leaves are mesh names.
    """

    input_meshes: PyTree = ()
    output_meshes: PyTree = ()


@dataclasses.dataclass(frozen=True)
class FunctionNamedShardings:
    """The sharding of each input and output of a function.

    Attributes:
      input_specs: tree like the arguments; leaves are `NamedSharding`s.
      output_specs: tree like the result; leaves are `NamedSharding`s.
    """

    input_specs: PyTree
    output_specs: PyTree


@dataclasses.dataclass(frozen=True)
class NamedSpmdShardingSpec:
    """How the partitioner split a value, and where.

    Attributes:
      mesh_name: the mesh that it is on.
      tensor_spec: names of axes per dimension, major to minor.
      unreduced_axes: axes over which it has yet to be summed.
      memory_kind: None for the default one.
    """

    mesh_name: str
    tensor_spec: Sequence[Sequence[str]]
    unreduced_axes: Sequence[str] = ()
    memory_kind: str | None = None


@dataclasses.dataclass(frozen=True)
class FunctionIOShardingSpecsAndMeshes:
    """How the partitioner split the inputs and outputs of a program.

    Attributes:
      input_specs: one per input that the program uses, constants first.
      output_specs: one per output.
    """

    input_specs: Sequence[NamedSpmdShardingSpec]
    output_specs: Sequence[NamedSpmdShardingSpec]


@dataclasses.dataclass(frozen=True)
class MpmdJitShardingInfo:
    """Where a lowered function's names, inputs and outputs are.

    Attributes:
      topology: mesh name to mesh.
      name_to_mesh_map: name of a computation or tensor to mesh name.
      named_shardings: shardings of inputs and outputs.
      io_mesh_assignment: mesh names of inputs and outputs.
    """

    topology: Topology
    name_to_mesh_map: NameToMeshAssignment
    named_shardings: FunctionNamedShardings
    io_mesh_assignment: FunctionIOMeshAssignment


PartitioningOptions = dict[str, bool | int | str]
SCHEDULE_OPTION = "mpmd_pipeline_schedule"
PASSES_OPTION = "mpmd_microbatch_passes"
LATE_MERGING_OPTION = "mpmd_merge_inferred_after_scheduling"


@dataclasses.dataclass(frozen=True)
class Config:
    """What `meshwright.jit` needs to know beside the function; see `make_config`."""

    topology: Topology
    name_to_mesh_assignment: NameToMeshAssignment
    name_to_stage_assignment: NameToStageAssignment = dataclasses.field(
        default_factory=dict
    )
    input_mesh_assignment: PyTree = ()
    output_mesh_assignment: PyTree = ()
    partitioning_options: PartitioningOptions | None = None
    read_input_output_mesh_from_shardings: bool = False
    pipeline_schedule: PipelineSchedule | None = None
    stage_to_mesh: Mapping[int, str] | None = None
    placement: ByPath | None = None
    towers: Mapping[str, Tower] | None = None
    # Into how many stages to divide a program without marks, and how it was done.
    auto_stages: int | None = None
    divisions: tuple[Any, ...] = ()
    # The most trips of a loop of JAX with stages inside, which is written out.
    max_loop_trips: int | None = None
    # What the compiler calls the schedule that the options name; None if none does.
    schedule_name: str | None = None

    @property
    def sharding_mesh(self) -> AbstractMesh:
        """The first mesh without its devices.

        For sharding annotations inside the function, which say how a value is
        split and not on which mesh of the topology it lives.
        """
        return next(iter(self.topology.values())).abstract_mesh

    @property
    def compiler_options(self) -> dict[str, bool | str | int]:
        """The partitioning options as the compiler takes them.

        Schedules go by the compiler's names, and are followed to the letter, with
        what they need on by itself, unless the user turns that off.
        """
        options = {"mpmd_complete_schedule": True, **(self.partitioning_options or {})}
        if self.schedule_name is not None:
            options[SCHEDULE_OPTION] = self.schedule_name
        return options

    @property
    def schedule(self) -> str:
        """The compiler's name of the schedule, or `file:PATH`."""
        return str(self.compiler_options.get(SCHEDULE_OPTION, "None"))

    @property
    def mesh_and_stage_assignment(self) -> dict[str, str | tuple[str, int]]:
        """Name to mesh, or to (mesh, stage) where the name has a stage."""
        stages = self.name_to_stage_assignment
        return {
            name: (mesh, stages[name]) if name in stages else mesh
            for name, mesh in self.name_to_mesh_assignment.items()
        }

    def assignment_of(self, names: Collection[str]) -> dict[str, Any]:
        """Mesh, or mesh and stage, of those names that have one."""
        found: dict[str, Any] = {}
        if self.placement is not None:
            scheduled = self.schedule != "None" or self.pipeline_schedule is not None
            found = self.placement.assignment(names, scheduled)
        given = self.mesh_and_stage_assignment.items()
        return {**found, **{name: where for name, where in given if name in names}}
