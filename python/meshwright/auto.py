# SPDX-License-Identifier: Apache-2.0
"""A pipeline of a function that says nothing about stages."""

from __future__ import annotations

import dataclasses
import operator
import sys
from collections.abc import Callable, Mapping
from typing import Any, TextIO

from jax.sharding import Mesh

from .config.make import make_config
from .core.config import SCHEDULE_OPTION, Config, PartitioningOptions
from .core.fragments import PipelineSchedule
from .core.names import is_cpu_mesh
from .frontend.jit import MpmdWrapped
from .programs.stages import Lowered
from .schedules.assignment import stage_assignment
from .staging.auto import Division

__all__ = ["AutoWrapped", "auto", "auto_config"]


class AutoWrapped(MpmdWrapped):
    """A function that was divided into stages by cost; what `auto` returns.

    Beside `report` and `divisions` it is what `meshwright.jit` returns.
    """

    _divisions: tuple[Division, ...] = ()

    def _lower(self, *args: Any) -> Lowered:
        lowered = super()._lower(*args)
        self._divisions = lowered.divisions
        return lowered

    @property
    def divisions(self) -> tuple[Division, ...]:
        """How each distinct microbatch function, or the whole step, was divided.

        Raises:
          RuntimeError: the function was neither called nor lowered yet.
        """
        if not self._divisions:
            raise RuntimeError(
                f"{self.name}: nothing is divided yet; call the function or lower it "
                "first, stages depend on the shapes of its arguments"
            )
        return self._divisions

    def report(self, file: TextIO | None = None) -> None:
        """Prints where the function was divided, and why there.

        Args:
          file: where to print; standard output by default.

        Raises:
          RuntimeError: the function was neither called nor lowered yet.
        """
        places = self.mpmd_config.stage_to_mesh or {}
        for division in self.divisions:
            text = "\n  ".join(division.lines(places))
            print(f"{self.name}: {text}", file=file or sys.stdout)


def auto_config(
    meshes: Mapping[str, Mesh],
    *,
    num_stages: int | None = None,
    pipeline_schedule: PipelineSchedule | None = None,
    partitioning_options: PartitioningOptions | None = None,
    max_loop_trips: int | None = None,
) -> Config:
    """A config with which functions are divided into stages by cost; see `auto`.

    For `mw.nnx.jit`, and wherever else a config is wanted.

    Args:
      meshes: as for `auto`, as are the others.
      num_stages: as many as there are meshes by default.
      pipeline_schedule: as for `make_config`.
      partitioning_options: as for `make_config`.
      max_loop_trips: as for `make_config`.

    Returns:
      The config.

    Raises:
      TypeError: `num_stages` is no int.
      ValueError: a number of stages that the meshes or the schedule cannot have.
    """
    config = make_config(
        meshes,
        partitioning_options=partitioning_options,
        pipeline_schedule=pipeline_schedule,
        max_loop_trips=max_loop_trips,
    )
    names = [mesh for mesh in meshes if not is_cpu_mesh(mesh)]
    if not names:
        raise ValueError(
            "auto: no mesh takes a stage, all are of hosts (/cpu): "
            f"{', '.join(meshes)}; give a mesh of devices for each stage"
        )
    count = len(names) if num_stages is None else operator.index(num_stages)
    if count < 1:
        raise ValueError(f"auto: num_stages must be 1 or more, got {count}")
    places = _places(config, names, count)
    return dataclasses.replace(config, auto_stages=count, stage_to_mesh=places)


def auto(
    step: Callable[..., Any],
    meshes: Mapping[str, Mesh],
    *,
    num_stages: int | None = None,
    pipeline_schedule: PipelineSchedule | None = None,
    partitioning_options: PartitioningOptions | None = None,
    max_loop_trips: int | None = None,
    **options: Any,
) -> AutoWrapped:
    """Makes a pipeline of a function without marks and names.

    What the function computes is traced and cut into stages of about the same number
    of FLOPs, where the fewest bytes cross. Microbatches (`pipeline.accumulate`, or
    `call`) are divided each; a function without any is divided as a whole. The
    backward pass of a stage is on its mesh, the optimizer where its parameters are.

    Args:
      step: as for `jit`: the whole step, with its gradients.
      meshes: mesh name to mesh, in pipeline order.
      num_stages: into how many stages; as many as there are meshes by default, `/cpu`
        ones apart. More need a schedule that has several stages on a mesh.
      pipeline_schedule: as for `make_config`.
      partitioning_options: as for `make_config`.
      max_loop_trips: as for `make_config`.
      **options: those of `jit`, such as `donate_argnums`.

    Returns:
      What `jit` returns, with `report()`, which prints where the function was cut.

    Raises:
      TypeError: `num_stages` is no int, or an option that `jit` does not have.
      ValueError: a number of stages that the meshes or the schedule cannot have. When
        it is lowered, also: a function with fewer operations, or with marks.

    Example: two stages of two layers.

      >>> import jax, jax.numpy as jnp
      >>> meshes = {f"m{i}": Mesh(jax.devices()[i : i + 1], "x") for i in range(2)}
      >>> def model(ws, x):
      ...     for w in ws:
      ...         x = jnp.tanh(x @ w)
      ...     return x
      >>> step = auto(model, meshes)
      >>> result = step([jnp.eye(8)] * 4, jnp.ones((2, 8)))
      >>> [round(flops) for flops in step.divisions[0].flops]
      [544, 544]
    """
    config = auto_config(
        meshes,
        num_stages=num_stages,
        pipeline_schedule=pipeline_schedule,
        partitioning_options=partitioning_options,
        max_loop_trips=max_loop_trips,
    )
    return AutoWrapped(step, config, **options)


def _places(config: Config, names: list[str], count: int) -> dict[int, str]:
    schedule = (config.partitioning_options or {}).get(SCHEDULE_OPTION)
    if schedule in (None, "None", "NONE"):
        if count > len(names):
            raise ValueError(
                f"auto: num_stages is {count}, but there are {len(names)} meshes "
                f"({', '.join(names)}); ask for fewer stages, or give a "
                "pipeline_schedule that has several stages on a mesh, such as "
                "Interleaved1F1B"
            )
        return {stage: names[stage] for stage in range(count)}
    try:
        return stage_assignment(str(schedule), names, count)
    except ValueError as error:
        raise ValueError(f"auto: num_stages: {error}") from None
