# SPDX-License-Identifier: Apache-2.0
"""Makes the config of a function, and reads meshes off its arguments."""

from __future__ import annotations

import logging
import numbers
from collections.abc import Mapping, Sequence
from typing import Any

import jax
from jax.experimental.layout import Format
from jax.sharding import AbstractMesh, Mesh, NamedSharding

from ..core.by_path import ByPath
from ..core.config import (
    SCHEDULE_OPTION,
    Config,
    NameToMeshAssignment,
    NameToStageAssignment,
    PartitioningOptions,
    PyTree,
    Topology,
    Tower,
)
from ..core.fragments import PipelineSchedule
from ..core.names import check_type, unknown_name
from .checks import (
    check_devices,
    check_mapping,
    check_meshes,
    check_topology,
    check_towers,
    check_trips,
    stage_meshes,
)
from .options import (
    check_options,
    merge_options,
    with_compiler_name,
)

_logger = logging.getLogger(__name__)

# What `by_path` needs unless an option turns it off.
_INFERRED = dict.fromkeys(
    ("mpmd_infer_transfers", "mpmd_infer_cross_mesh_reductions"), True
)


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
    max_loop_trips: int | None = None,
    towers: Mapping[str, Tower | Sequence[str]] | None = None,
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
      max_loop_trips: the most trips of a loop of `jax.lax` with a `stage_boundary` or
        microbatches inside, such as a line search, or training steps. These loops are
        written out: all trips are computed, and of a conditional all branches. A
        loop that goes on after them fails when it runs. By default such loops are
        refused.
      towers: for a model whose marks name towers, the meshes of each: names in the
        order of its stages, or a `pipeline.Tower` that has a schedule as well. By
        default each stage has a mesh of its own, in the order of the topology.

    Returns:
      A frozen `Config`.

    Raises:
      TypeError: an argument, a mesh or a stage of another type.
      ValueError: an empty topology, an unusable mesh name, a mesh without devices,
        an unknown option or option value, an assignment to an unknown mesh, a
        negative stage, meshes given twice, or options that the schedule cannot work
        with.
    """
    check_mapping("topology", topology, "{'m0': mesh}")
    check_topology(topology)
    check_devices(topology)
    if partitioning_options is not None:
        example = "{'mpmd_infer_transfers': True}"
        check_mapping("partitioning_options", partitioning_options, example)
    check_options(partitioning_options)
    placement = None
    if isinstance(name_to_mesh_assignment, ByPath):
        placement, name_to_mesh_assignment = name_to_mesh_assignment, {}
        check_meshes("by_path", placement.mesh_names, topology)
        partitioning_options = _INFERRED | dict(partitioning_options or {})
    elif name_to_mesh_assignment is None:
        name_to_mesh_assignment = {}
    meshes_of_stages = stage_meshes(stage_to_mesh, topology)
    check_trips(max_loop_trips)
    check_mapping("name_to_mesh_assignment", name_to_mesh_assignment, "{'f': 'm0'}")
    check_meshes("name_to_mesh_assignment", name_to_mesh_assignment.values(), topology)
    given, wanted = map(
        jax.tree.leaves, (input_mesh_assignment, output_mesh_assignment)
    )
    check_meshes("input_mesh_assignment", given, topology)
    check_meshes("output_mesh_assignment", wanted, topology)
    known = name_to_mesh_assignment if placement is None else None
    stages = _checked_stages(name_to_stage_assignment, known)
    if pipeline_schedule is not None:
        check_type(
            "pipeline_schedule: must be a PipelineSchedule",
            pipeline_schedule,
            PipelineSchedule,
            "; mw.get_pipeline_schedule gives one by its name",
        )
    if read_input_output_mesh_from_shardings and (given or wanted):
        raise ValueError(
            "read_input_output_mesh_from_shardings: input_mesh_assignment and "
            "output_mesh_assignment must be left out, the meshes come from the "
            "in_shardings and out_shardings of jit"
        )
    options = merge_options(pipeline_schedule, partitioning_options)
    return Config(
        topology=topology,
        name_to_mesh_assignment=name_to_mesh_assignment,
        name_to_stage_assignment=stages,
        input_mesh_assignment=input_mesh_assignment,
        output_mesh_assignment=output_mesh_assignment,
        partitioning_options=options,
        read_input_output_mesh_from_shardings=read_input_output_mesh_from_shardings,
        pipeline_schedule=pipeline_schedule,
        stage_to_mesh=meshes_of_stages,
        placement=placement,
        max_loop_trips=max_loop_trips,
        towers=check_towers(towers, topology),
        schedule_name=with_compiler_name(options or {}).get(SCHEDULE_OPTION),
    )


def _checked_stages(
    stages: NameToStageAssignment | None, known: NameToMeshAssignment | None
) -> dict[str, int]:
    """The stages of names; warns about a name that is not in `known`, if given."""
    if stages is not None:
        check_mapping("name_to_stage_assignment", stages, "{'f': 0}")
    for name, stage in (stages or {}).items():
        text = f"name_to_stage_assignment: stage of {name!r} must be an int"
        check_type(text, stage, numbers.Integral)
        if known is not None and name not in known:
            _logger.warning(
                "%s. A name without a mesh has no stage",
                unknown_name("name_to_stage_assignment", name, known),
            )
        if stage < 0:
            raise ValueError(
                f"name_to_stage_assignment: stage of {name!r} must not be negative, "
                f"got {stage}"
            )
    # A stage may be an integer of NumPy.
    return {name: int(stage) for name, stage in (stages or {}).items()}


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
