# SPDX-License-Identifier: Apache-2.0
"""Topologies, configs and what a lowered program says about its meshes."""

from __future__ import annotations

import dataclasses
import logging
import numbers
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import jax
from jax.experimental.layout import Format
from jax.sharding import AbstractMesh, Mesh, NamedSharding

from ._options import TYPES as COMPILER_OPTIONS
from .pipeline import ByPath, PipelineSchedule
from .schedule_names import PIPELINE_SCHEDULE_NAMES, compiler_name
from .utils import (
    MEMORY_KIND_SEPARATOR,
    MEMORY_KINDS,
    mesh_without_memory_kind,
    unknown_name,
)

__all__ = [
    "BOOLEAN_OPTIONS",
    "Config",
    "FunctionIOMeshAssignment",
    "FunctionNamedShardings",
    "FunctionIOShardingSpecsAndMeshes",
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

_logger = logging.getLogger(__name__)

PyTree = Any
# These can be called, `Topology({"m0": mesh})`; any mapping will do in their place.
# Mesh name to mesh, in pipeline order; the first one is the reference mesh.
Topology = dict[str, Mesh]
# Name of a computation or tensor to a mesh, or `mesh#memory_kind`.
NameToMeshAssignment = dict[str, str]
# Name of a computation to the stage that it belongs to.
NameToStageAssignment = dict[str, int]
PartitioningOptions = dict[str, bool | int | str]

SCHEDULE_OPTION = "mpmd_pipeline_schedule"
LATE_MERGING_OPTION = "mpmd_merge_inferred_after_scheduling"
# For programs that only run forwards, and known to the commands alone: what trains
# always sends gradients to earlier meshes.
_FORWARD_ONLY_OPTION = "mpmd_fail_on_backward_deps"
OPTION_TYPES = {
    name: kind
    for name, kind in COMPILER_OPTIONS.items()
    if name != _FORWARD_ONLY_OPTION
}
BOOLEAN_OPTIONS = tuple(name for name, kind in OPTION_TYPES.items() if kind == "bool")

# What parts a mesh from a memory kind, what ends a text, and what is none.
_NOT_IN_MESH_NAMES = re.compile(r'[#"\\\x00-\x1f\x7f\ud800-\udfff]')


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
    # Into how many stages to divide a program without marks, and how it was done.
    auto_stages: int | None = None
    divisions: tuple[Any, ...] = ()

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
        options = _with_compiler_name(self.partitioning_options or {})
        return {"mpmd_complete_schedule": True, **options}

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
        found = {} if self.placement is None else self.placement.assignment(names)
        given = self.mesh_and_stage_assignment.items()
        return {**found, **{name: where for name, where in given if name in names}}


def _check_topology(topology: Topology) -> None:
    if not topology:
        raise ValueError(
            "topology: must have at least one mesh, got none; "
            "give a dict of mesh names to jax.sharding.Mesh"
        )
    for name in topology:
        if "@" in name:
            raise ValueError(
                f"topology: mesh name {name!r} must not contain '@'; rename the mesh"
            )
    for name in topology:
        for kind in MEMORY_KINDS:
            if name.endswith(MEMORY_KIND_SEPARATOR + kind):
                raise ValueError(
                    f"topology: mesh name {name!r} must not end with the memory kind "
                    f"'#{kind}'; memory kinds belong into assignments"
                )
        if not name or _NOT_IN_MESH_NAMES.search(name):
            raise ValueError(
                f"topology: mesh name {name!r} must not be empty, and must contain "
                "neither '#' nor a quotation mark, a backslash or a control "
                "character; rename the mesh"
            )


def _check_devices(topology: Topology) -> None:
    for name, mesh in topology.items():
        if not isinstance(mesh, Mesh):
            raise TypeError(
                f"topology: mesh {name!r} must be a jax.sharding.Mesh, got {mesh!r} of "
                f"type {type(mesh).__name__}; build one, for example "
                'jax.sharding.Mesh(jax.devices()[:2], ("x",))'
            )
        if mesh.size == 0:
            found = len(jax.devices())
            raise ValueError(
                f"topology: mesh {name!r} has no devices; {len(topology)} meshes need "
                f"at least {len(topology)} devices, found {found} "
                f"({jax.default_backend()}), and a slice behind the last one is empty. "
                "To try without more, call "
                f'jax.config.update("jax_num_cpu_devices", {max(len(topology), 8)}) '
                "before the first use of JAX"
            )


def _check_mapping(what: str, value: Any, example: str) -> None:
    if not isinstance(value, Mapping):
        raise TypeError(
            f"{what}: must be a dict, such as {example}, got {value!r} of type "
            f"{type(value).__name__}"
        )
    for name in value:
        if not isinstance(name, str):
            raise TypeError(
                f"{what}: names must be strings, as in {example}, got {name!r} of type "
                f"{type(name).__name__}"
            )


def _is_index(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _check_option(key: str, value: Any) -> None:
    kind = OPTION_TYPES[key]
    if kind == "schedule":
        compiler_name(f"partitioning_options: {key}", value)
        return
    if kind == "bool":
        is_right, expected = isinstance(value, bool), "a bool"
    elif kind == "text":
        is_right, expected = isinstance(value, str), "a str"
    elif kind == "int":
        least = -1 if key == "mpmd_error_limit" else 0
        is_right = isinstance(value, int) and not isinstance(value, bool)
        is_right = is_right and value >= least
        expected = f"an int of {least} or more"
    else:
        is_right = isinstance(value, Sequence) and all(
            isinstance(pair, Sequence) and len(pair) == 2 and all(map(_is_index, pair))
            for pair in value
        )
        expected = "a list of pairs (input, output) of indices"
    if not is_right:
        raise ValueError(
            f"partitioning_options: {key} must be {expected}, got {value!r} of type "
            f"{type(value).__name__}"
        )


def _check_options(options: PartitioningOptions | None) -> None:
    for key, value in (options or {}).items():
        if key not in OPTION_TYPES:
            raise ValueError(unknown_name("partitioning_options", key, OPTION_TYPES))
        _check_option(key, value)


def _check_meshes(what: str, meshes: Iterable[Any], topology: Topology) -> None:
    for mesh in meshes:
        if not isinstance(mesh, str):
            raise ValueError(
                f"{what}: meshes are given by name, got {mesh!r} of type "
                f"{type(mesh).__name__}"
            )
        if mesh_without_memory_kind(mesh) not in topology:
            raise ValueError(unknown_name(f"{what}: mesh", mesh, topology))
        kind = mesh.partition(MEMORY_KIND_SEPARATOR)[2]
        if kind and mesh not in topology and kind not in MEMORY_KINDS:
            # Which kinds there are is up to the device, so this is no error.
            _logger.warning(
                "%s", unknown_name(f"{what}: memory kind", kind, MEMORY_KINDS)
            )


def _with_compiler_name(options: PartitioningOptions) -> dict[str, bool | str | int]:
    named = dict(options)
    if SCHEDULE_OPTION in named:
        named[SCHEDULE_OPTION] = compiler_name(SCHEDULE_OPTION, named[SCHEDULE_OPTION])
    return named


def validate_and_merge_partitioning_options(
    user_options: PartitioningOptions | None,
    pipeline_options: PartitioningOptions | PipelineSchedule | None,
) -> PartitioningOptions | None:
    """The user's options plus those that a schedule cannot do without.

    Args:
      user_options: what `make_config` takes as `partitioning_options`.
      pipeline_options: a schedule, or its `required_mpmd_options`.

    Returns:
      All options; `user_options` itself if the schedule requires none.

    Raises:
      ValueError: an unknown option or value, or options that the user set to
        another value than the schedule requires; the text lists all of them.
    """
    if isinstance(pipeline_options, PipelineSchedule):
        pipeline_options = pipeline_options.required_mpmd_options
    required = dict(pipeline_options or {})
    _check_options(user_options)
    if not required:
        return user_options
    _check_options(required)
    given = dict(user_options or {})
    named = _with_compiler_name(given)
    conflicts = [
        f"{key} is {given[key]!r} but must be {value!r}"
        for key, value in _with_compiler_name(required).items()
        if key in named and named[key] != value
    ]
    if conflicts:
        raise ValueError(
            "partitioning_options: in conflict with what pipeline_schedule requires: "
            + "; ".join(conflicts)
        )
    added = {key: value for key, value in required.items() if key not in given}
    if added:
        _logger.info("pipeline_schedule sets partitioning options: %s", added)
    return {**given, **added}


def _stage_meshes(given: Any, topology: Topology) -> dict[int, str] | None:
    """Stage to mesh, from either form of `stage_to_mesh`."""
    if given is None:
        return None
    if isinstance(given, (list, tuple)):
        given = dict(enumerate(given))
    if not isinstance(given, Mapping):
        raise TypeError(
            "stage_to_mesh: must be a dict, such as {0: 'm0', 1: 'm1'}, or a list of "
            f"meshes, got {given!r} of type {type(given).__name__}"
        )
    for stage in given:
        if isinstance(stage, bool) or not isinstance(stage, numbers.Integral):
            raise TypeError(
                f"stage_to_mesh: stages are numbers, got {stage!r} of type "
                f"{type(stage).__name__}"
            )
        if stage < 0:
            raise ValueError(f"stage_to_mesh: stages count from 0, got {stage}")
    _check_meshes("stage_to_mesh", given.values(), topology)
    return {int(stage): mesh for stage, mesh in given.items()}


def make_config(
    topology: Topology,
    name_to_mesh_assignment: NameToMeshAssignment | ByPath | None = None,
    *,
    name_to_stage_assignment: NameToStageAssignment | None = None,
    input_mesh_assignment: PyTree = (),
    output_mesh_assignment: PyTree = (),
    partitioning_options: PartitioningOptions | None = None,
    read_input_output_mesh_from_shardings: bool = False,
    pipeline_schedule: PipelineSchedule | None = None,
    stage_to_mesh: Mapping[int, str] | Sequence[str] | None = None,
) -> Config:
    """Checks and bundles what `jit` needs beside the function.

    Args:
      topology: mesh name to mesh. The order is the order of the pipeline; the
        first mesh is the one that shardings refer to. A mesh whose name ends in
        `/cpu` takes no part in schedules.
      name_to_mesh_assignment: name of a computation or tensor to the name of its
        mesh, optionally with a memory kind: `tpu0#pinned_host`, `tpu0#device`. Or
        what `pipeline.by_path` returned, which also gives stages, and meshes of
        arguments and results; transfers and reductions between meshes are then
        inferred, unless an option turns that off. Not needed for stages that
        `stage_boundary` divides.
      name_to_stage_assignment: name of a computation to its stage. Computations
        of one stage become one fragment.
      input_mesh_assignment: pytree prefix of the tuple of arguments; a leaf is a
        mesh name (or None) and holds for the whole subtree.
      output_mesh_assignment: the same for the result.
      partitioning_options: options of the compiler by name; docs/config.md lists
        them with their types.
      read_input_output_mesh_from_shardings: take both assignments from the
        `in_shardings` and `out_shardings` of `jit`.
      pipeline_schedule: rules on the order and merging of fragments. Give either
        this (`get_pipeline_schedule`) or the option `mpmd_pipeline_schedule`, which
        is a schedule by either of its names, `ZeroBubbleV` or `ZERO_BUBBLE_V`, or
        `file:PATH`. What a schedule needs beside, such as split backward
        fragments, is on unless an option turns it off.
      stage_to_mesh: mesh of each stage that `stage_boundary` divides, a dict or a
        sequence. By default the mesh where the schedule wants it.

    Returns:
      A frozen `Config`.

    Raises:
      TypeError: an argument, a mesh or a stage of another type.
      ValueError: an empty topology, an unusable mesh name, a mesh without devices,
        an unknown option or option value, an assignment to an unknown mesh, a
        negative stage, meshes given twice, or options that the schedule cannot work
        with.
    """
    _check_mapping("topology", topology, "{'m0': mesh}")
    _check_topology(topology)
    _check_devices(topology)
    if partitioning_options is not None:
        example = "{'mpmd_infer_transfers': True}"
        _check_mapping("partitioning_options", partitioning_options, example)
    _check_options(partitioning_options)
    placement = None
    if isinstance(name_to_mesh_assignment, ByPath):
        placement, name_to_mesh_assignment = name_to_mesh_assignment, {}
        _check_meshes("by_path", placement.mesh_names, topology)
        inferred = ("mpmd_infer_transfers", "mpmd_infer_cross_mesh_reductions")
        partitioning_options = {
            **dict.fromkeys(inferred, True),
            **(partitioning_options or {}),
        }
    name_to_mesh_assignment = (
        {} if name_to_mesh_assignment is None else name_to_mesh_assignment
    )
    stage_meshes = _stage_meshes(stage_to_mesh, topology)
    _check_mapping("name_to_mesh_assignment", name_to_mesh_assignment, "{'f': 'm0'}")
    _check_meshes("name_to_mesh_assignment", name_to_mesh_assignment.values(), topology)
    _check_meshes(
        "input_mesh_assignment", jax.tree.leaves(input_mesh_assignment), topology
    )
    _check_meshes(
        "output_mesh_assignment", jax.tree.leaves(output_mesh_assignment), topology
    )
    if name_to_stage_assignment is not None:
        _check_mapping("name_to_stage_assignment", name_to_stage_assignment, "{'f': 0}")
    stages = dict(name_to_stage_assignment or {})
    for name, stage in stages.items():
        if isinstance(stage, bool) or not isinstance(stage, numbers.Integral):
            raise TypeError(
                f"name_to_stage_assignment: stage of {name!r} must be an int, got "
                f"{stage!r} of type {type(stage).__name__}"
            )
        if name not in name_to_mesh_assignment and placement is None:
            _logger.warning(
                "%s. A name without a mesh has no stage",
                unknown_name("name_to_stage_assignment", name, name_to_mesh_assignment),
            )
        if stage < 0:
            raise ValueError(
                f"name_to_stage_assignment: stage of {name!r} must not be negative, "
                f"got {stage}"
            )
    if pipeline_schedule is not None and not isinstance(
        pipeline_schedule, PipelineSchedule
    ):
        raise TypeError(
            "pipeline_schedule: must be a PipelineSchedule, got "
            f"{pipeline_schedule!r} of type {type(pipeline_schedule).__name__}; "
            "mw.get_pipeline_schedule gives one by its name"
        )
    assigned = jax.tree.leaves((input_mesh_assignment, output_mesh_assignment))
    if read_input_output_mesh_from_shardings and assigned:
        raise ValueError(
            "read_input_output_mesh_from_shardings: input_mesh_assignment and "
            "output_mesh_assignment must be left out, the meshes come from the "
            "in_shardings and out_shardings of jit"
        )
    options = validate_and_merge_partitioning_options(
        partitioning_options, pipeline_schedule
    )
    return Config(
        topology=topology,
        name_to_mesh_assignment=name_to_mesh_assignment,
        name_to_stage_assignment=stages,
        input_mesh_assignment=input_mesh_assignment,
        output_mesh_assignment=output_mesh_assignment,
        partitioning_options=options,
        read_input_output_mesh_from_shardings=read_input_output_mesh_from_shardings,
        pipeline_schedule=pipeline_schedule,
        stage_to_mesh=stage_meshes,
        placement=placement,
    )


def _mesh_of(leaf: Any) -> Mesh | AbstractMesh | None:
    if leaf is None or isinstance(leaf, (Mesh, AbstractMesh)):
        return leaf
    if isinstance(leaf, (jax.Array, jax.ShapeDtypeStruct, Format)):
        sharding = leaf.sharding
        return sharding.mesh if isinstance(sharding, NamedSharding) else None
    if isinstance(leaf, NamedSharding):
        return leaf.mesh
    raise ValueError(
        f"mesh_names: cannot tell the mesh of {leaf!r} of type {type(leaf).__name__}; "
        "expected an array, a ShapeDtypeStruct, a NamedSharding, a Mesh or None"
    )


def mesh_names(pytree: PyTree, topology: Topology) -> PyTree:
    """Maps a tree to the names of the meshes that its leaves are on.

    Args:
      pytree: leaves are arrays, `ShapeDtypeStruct`s, `NamedSharding`s, meshes or
        None.
      topology: mesh name to mesh.

    Returns:
      A tree of mesh names; None for None, for a missing sharding and for an
      abstract mesh.

    Raises:
      ValueError: a mesh that is not in the topology, or a leaf of another type.
    """

    def name_of(leaf: Any) -> str | None:
        mesh = _mesh_of(leaf)
        if mesh is None or isinstance(mesh, AbstractMesh):
            return None
        for name, known in topology.items():
            if known == mesh:
                return name
        raise ValueError(
            f"mesh_names: {mesh} is not in the topology, whose meshes are "
            f"{', '.join(topology)}"
        )

    return jax.tree.map(name_of, pytree, is_leaf=lambda leaf: leaf is None)
