# SPDX-License-Identifier: Apache-2.0
"""Where a schedule wants the stages of a pipeline."""

from __future__ import annotations

from collections.abc import Iterable

from ..compiler import native
from ..compiler.schedules import compiler_name
from ..core.names import is_cpu_mesh


def stage_assignment(name: str, meshes: Iterable[str], stages: int) -> dict[int, str]:
    """Says on which mesh a schedule expects each stage.

    Args:
      name: a schedule: `ZeroBubbleV`, `ZERO_BUBBLE_V`, or `file:PATH`.
      meshes: mesh names in pipeline order, or a topology. Those that end in
        `/cpu` take no part in schedules and get no stage.
      stages: number of stages of the whole model, a multiple of the meshes. For
        `DualPipe`, which has the model twice, those of both copies: with P meshes,
        stage P + j is the copy of stage j.

    Returns:
      Stage to mesh name, in order of the stages. With computations named after
      their stages, `name_to_stage_assignment` is their stage, and
      `name_to_mesh_assignment` the mesh of that.

    Raises:
      ValueError: an unknown schedule, no mesh, or a number of stages that the
        schedule cannot have on that many meshes.

    Example:

      >>> stage_assignment("ZeroBubbleV", ["a", "b"], stages=4)
      {0: 'a', 1: 'b', 2: 'b', 3: 'a'}
    """
    names = [mesh for mesh in meshes if not is_cpu_mesh(mesh)]
    schedule = compiler_name("stage_assignment", name)
    places = native.extension().place_stages(schedule, len(names), stages)
    return {stage: names[mesh] for stage, mesh in sorted(places.items())}
