# SPDX-License-Identifier: Apache-2.0
"""Which meshes, stages and schedule a model should have (`meshwright plan`)."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

import jax

from ..compiler.native import extension
from ..core.files import whole_file
from ..tracing.arguments import several

__all__ = ["Plan", "plan"]


@dataclasses.dataclass(frozen=True)
class Plan:
    """The layout with the shortest step of all that fit; printed, it tells why.

    Attributes:
      step_seconds: of a step, as simulated.
      meshes: how many there are, in a row.
      data, tensor: how the devices of each share a batch, and its layers.
      schedule: name of the pipeline schedule.
      microbatches: parts of the batch.
      recomputation: whether backward passes compute the forward ones again.
      peak_bytes: of the fullest device.
      stages: for each its mesh and its layers.
      config: what `meshwright partition` takes, as `json.dump` writes it.
      runner_up: the same of the second best, as a mapping; None if there is none.
      why: what the second best takes longer for.
      text: all of it for people.
    """

    step_seconds: float
    meshes: int
    data: int
    tensor: int
    schedule: str
    microbatches: int
    recomputation: bool
    peak_bytes: float
    stages: tuple[tuple[str, tuple[str, ...]], ...]
    config: Mapping[str, Any]
    runner_up: Mapping[str, Any] | None
    why: str
    text: str = dataclasses.field(repr=False)

    def __str__(self) -> str:
        return self.text

    def save(self, path: str | os.PathLike) -> None:
        """Writes the configuration for `meshwright partition`."""
        with whole_file(path) as file:
            json.dump(self.config, file, indent=1)


def plan(
    layers: Any,
    *,
    device: str | os.PathLike = "h100",
    devices: int,
    memory: str | float | None = None,
    batch: int | None = None,
    dtype: str | None = None,
    schedules: Sequence[str] = (),
    microbatches: Sequence[int] = (),
    costs: Sequence[str] = (),
) -> Plan:
    """Chooses meshes, stages, microbatches and a schedule for a model.

    Args:
      layers: what is cut into stages, in order: mappings with the keys of docs/plan.md
        (`name`, `flops`, `parameter_bytes`, `activation_bytes`, …), flops and bytes of
        one example; or a lowered function of `mw.jit` or `mw.auto`, whose named
        computations, or stages, are the layers.
      device: a device that Meshwright knows, or a file of devices.
      devices: how many there are.
      memory: bytes that each may use, or a text such as `"80GB"`; what it has by
        default.
      batch: examples of a step; of mappings only, 1 by default.
      dtype: `"bf16"` (the default) or `"f32"`; of mappings only.
      schedules: names of those to try.
      microbatches: numbers of them to try.
      costs: work of custom calls, such as `"flash_attention=flops:4*b*h*t*t*d"`.

    Returns:
      The plan.

    Raises:
      TypeError: layers of another type, or one name where several belong.
      ValueError: an unknown device or schedule, a layer without a figure; or nothing
        fits: the text says how much memory would do.

    Example:

      >>> block = dict(flops=1e12, parameter_bytes=4e8, activation_bytes=8e6)
      >>> layers = [dict(name=f"block{i}", **block) for i in range(8)]
      >>> found = plan(layers, device="h100", devices=8, batch=64, memory="6GB")
      >>> found.meshes * found.data * found.tensor
      8
      >>> found.config["assignment"]["block0"]
      ['mesh0', 0]
    """
    is_program = isinstance(layers, jax.stages.Lowered)
    if is_program:
        if batch is not None or dtype is not None:
            raise ValueError("plan: batch and dtype of a lowered function are its own")
        text = layers.as_text("stablehlo")
    else:
        text = _layers_text(layers, batch, dtype)
    if memory is None:
        memory = ""
    elif not isinstance(memory, str):
        memory = f"{memory:.0f}"  # Without an exponent.
    answer, lines = extension().plan(
        text,
        is_program,
        os.fspath(device),
        devices,
        memory,
        several("plan", "schedules", schedules),
        several("plan", "microbatches", microbatches),
        several("plan", "costs", costs),
    )
    found = json.loads(answer)
    best = found["plan"]
    return Plan(
        step_seconds=best["step_s"],
        meshes=best["meshes"],
        data=best["data"],
        tensor=best["tensor"],
        schedule=best["schedule"],
        microbatches=best["microbatches"],
        recomputation=best["recomputation"],
        peak_bytes=best["peak_bytes"],
        stages=tuple((s["mesh"], tuple(s["layers"])) for s in best["stages"]),
        config=found["config"],
        runner_up=found.get("runner_up"),
        why=found.get("why", ""),
        text=lines.rstrip("\n"),
    )


def _layers_text(layers: Any, batch: int | None, dtype: str | None) -> str:
    if isinstance(layers, (str, bytes, Mapping)) or not isinstance(layers, Sequence):
        raise TypeError(
            "plan: expected a sequence of mappings, one for each layer, or what "
            f"mw.jit(...).lower(...) returns, got {type(layers).__name__}"
        )
    for position, layer in enumerate(layers):
        if not isinstance(layer, Mapping):
            raise TypeError(
                f"plan: expected a mapping for each layer, got {layer!r} as layer "
                f"{position}"
            )
    request: dict[str, Any] = {"layers": [dict(layer) for layer in layers]}
    if batch is not None:
        request["batch"] = batch
    if dtype is not None:
        request["dtype"] = dtype
    return json.dumps(request, default=_plain)


def _plain(value: Any) -> Any:
    """A figure that was computed, such as `np.prod(shape)`, as JSON has it."""
    if getattr(value, "shape", None) == () and value.dtype.kind in "iuf":
        return value.item()
    raise TypeError(
        f"plan: expected numbers and texts, got {value!r} of type "
        f"{type(value).__name__}"
    )
