# SPDX-License-Identifier: Apache-2.0
"""A pipeline of a function that says nothing about stages."""

from __future__ import annotations

import dataclasses
import operator
import sys
from collections.abc import Callable, Mapping
from typing import Any, TextIO

from jax.sharding import Mesh

from ._jit import MpmdWrapped
from ._stage_auto import Division
from .pipeline import PipelineSchedule, stage_assignment
from .stages import Lowered
from .types import SCHEDULE_OPTION, Config, PartitioningOptions, make_config
from .utils import is_cpu_mesh

__all__ = ["AutoWrapped", "auto"]


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
        text = "\n\n".join(
            _text(self.name, division, self.mpmd_config.stage_to_mesh)
            for division in self.divisions
        )
        print(text, file=file or sys.stdout)


def _text(name: str, division: Division, places: Mapping[int, str]) -> str:
    mean = sum(division.flops) / len(division.flops)
    lines = [
        f"{name}: {len(division.flops)} stages, the costliest "
        f"{100 * (division.evenness - 1):.1f} % above the mean of {mean:.3g} FLOPs "
        "(forward and backward of one call)"
    ]
    for stage, flops in enumerate(division.flops):
        share = 100 * flops / sum(division.flops) if mean else 0
        lines.append(
            f"  stage {stage} on {places.get(stage)}: {flops:.3g} FLOPs, {share:.1f} %"
        )
        if stage < len(division.cuts):
            cut = division.cuts[stage]
            sent = f"{cut.values} values of {cut.bytes} bytes cross, both directions"
            if cut.parameter_bytes:
                sent += f", and {cut.parameter_bytes} bytes of inputs that both read"
            lines.append(
                f"    cut between {cut.operations[0]} at {cut.before} and "
                f"{cut.operations[1]} at {cut.behind}: {sent}"
            )
    lines.append(
        f"  of all ways to cut at {division.places} places that keep the stages as "
        "even, this one sends least"
    )
    operation, place, share = division.largest
    if share * len(division.flops) > 1:
        advice = "nothing in it can be divided"
        if operation == "scan":
            advice = "mw.pipeline.scan in its place divides its layers"
        lines.append(
            f"  uneven because of {operation} at {place}, {100 * share:.1f} % of the "
            f"work in one piece; {advice}"
        )
    return "\n".join(lines)


def auto(
    step: Callable[..., Any],
    meshes: Mapping[str, Mesh],
    *,
    num_stages: int | None = None,
    pipeline_schedule: PipelineSchedule | None = None,
    partitioning_options: PartitioningOptions | None = None,
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
      **options: those of `jit`, such as `donate_argnums`.

    Returns:
      What `jit` returns, with `report()`, which prints where the function was cut.

    Raises:
      TypeError: `num_stages` is no int.
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
    config = make_config(
        meshes,
        partitioning_options=partitioning_options,
        pipeline_schedule=pipeline_schedule,
    )
    names = [mesh for mesh in meshes if not is_cpu_mesh(mesh)]
    count = len(names) if num_stages is None else operator.index(num_stages)
    if count < 1:
        raise ValueError(f"auto: num_stages must be 1 or more, got {count}")
    places = _places(config, names, count)
    config = dataclasses.replace(config, auto_stages=count, stage_to_mesh=places)
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
