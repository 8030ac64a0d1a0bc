# SPDX-License-Identifier: Apache-2.0
"""Which meshes, stages and schedule a model should have (`meshwright plan`)."""

from __future__ import annotations

import copy
import dataclasses
import json
import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import jax

from ..aot.names import Target, parse_target
from ..compiler.native import extension
from ..core.files import whole_file
from ..core.names import check_type
from ..tracing.arguments import several
from .candidates import (
    Candidate,
    answer_of,
    candidates_text,
    compile_candidates,
    find_target,
)


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
      candidates: the layouts that were compiled, the best first; empty without
        `compile`.
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
    candidates: tuple[Candidate, ...]
    text: str = dataclasses.field(repr=False)
    _answer: Mapping[str, Any] = dataclasses.field(repr=False)

    def __str__(self) -> str:
        return self.text

    def to_json(self) -> dict[str, Any]:
        """The same as `meshwright plan --json` prints."""
        return copy.deepcopy(dict(self._answer))

    def save(self, path: str | os.PathLike) -> None:
        """Writes the configuration for `meshwright partition`."""
        with whole_file(path) as file:
            json.dump(self.config, file, indent=1)


class PlannedText(NamedTuple):
    """What a file has of a model, for `plan`: a program, or layers as JSON."""

    text: str | bytes
    is_program: bool


def plan(
    layers: Any,
    *,
    device: str | os.PathLike | None = None,
    devices: int | None = None,
    memory: str | float | None = None,
    batch: int | None = None,
    dtype: str | None = None,
    schedules: Sequence[str] = (),
    microbatches: Sequence[int] = (),
    meshes: Sequence[int] = (),
    costs: Sequence[str] = (),
    compile: int | None = None,
    target: str | None = None,
) -> Plan:
    """Chooses meshes, stages, microbatches and a schedule for a model.

    Args:
      layers: what is cut into stages, in order: mappings with the keys of docs/plan.md
        (`name`, `flops`, `parameter_bytes`, `activation_bytes`, …), flops and bytes of
        one example; or a lowered function of `mw.jit` or `mw.auto`, whose named
        computations, or stages, are the layers.
      device: a device that Meshwright knows, or a file of devices; `"h100"` by default.
      devices: how many there are.
      memory: bytes that each may use, or a text such as `"80GB"`; what it has by
        default.
      batch: examples of a step; of mappings only, 1 by default.
      dtype: `"bf16"` (the default) or `"f32"`; of mappings only.
      schedules: names of those to try.
      microbatches: numbers of them to try.
      meshes: numbers of them to try; all that divide the devices by default.
      costs: work of custom calls, such as `"flash_attention=flops:4*b*h*t*t*d"`.
      compile: how many of the best layouts of a lowered function to compile for the
        target, and rank them by what its compiler says (docs/plan.md).
      target: devices to compile for, `"v5p:2x2x4"` or `"h100:16"`, in place of device
        and devices. Without it, that many GPUs of that name, or CPU devices.

    Returns:
      The plan.

    Raises:
      TypeError: layers of another type, or one name where several belong.
      ValueError: an unknown device, target or schedule, a layer without a figure; or
        nothing fits: the text says how much memory would do.
      RuntimeError: the compiler of the target is not installed; the text has the line
        of pip that brings it.

    Example:

      >>> block = dict(flops=1e12, parameter_bytes=4e8, activation_bytes=8e6)
      >>> layers = [dict(name=f"block{i}", **block) for i in range(8)]
      >>> found = plan(layers, device="h100", devices=8, batch=64, memory="6GB")
      >>> found.meshes * found.data * found.tensor
      8
      >>> found.config["assignment"]["block0"]
      ['mesh0', 0]
    """
    text, is_program = _text_of(layers, batch, dtype)
    _check_compile(compile, target, is_program)
    device, devices, place = _devices_of(device, devices, target, compile)
    answer, lines = extension().plan(
        text,
        is_program,
        device,
        devices,
        _memory_text(memory),
        several("plan", "schedules", schedules),
        several("plan", "microbatches", microbatches),
        several("plan", "meshes", meshes),
        several("plan", "costs", costs),
        compile or 0,
    )
    found, candidates = json.loads(answer), ()
    if compile is not None:
        candidates = compile_candidates(
            found["candidates"], text, place, found["memory_bytes"], costs
        )
        lines = f"{candidates[0].text}{candidates_text(candidates, place)}"
        found |= answer_of(candidates, place)
    return _plan_of(found, candidates, lines.rstrip("\n"))


def _check_compile(compile: int | None, target: str | None, is_program: bool) -> None:
    """Refuses to compile 0 layouts, figures of layers, or a target without a number."""
    if compile is None:
        if target is not None:
            raise ValueError(
                "plan: layouts are compiled for a target only if compile= is given; "
                "say how many of them, compile=3, or name device and devices instead"
            )
        return
    if compile < 1:
        raise ValueError(
            f"plan: compile={compile}; expected 1 layout or more, or None to compile "
            "none"
        )
    if not is_program:
        raise ValueError(
            "plan: figures of layers cannot be compiled; give the program, a "
            "lowered function or a file.mlir, or leave compile= out"
        )


def _devices_of(
    device: str | os.PathLike | None,
    devices: int | None,
    target: str | None,
    compile: int | None,
) -> tuple[str, int, Target | None]:
    """The device, the number of devices, and the target to compile for, if any."""
    if target is not None:
        if device is not None or devices is not None:
            raise ValueError(
                f"plan: the target {target!r} says which devices there are, and how "
                "many; leave out device and devices"
            )
        place = parse_target(target)
        return place.entry, place.count, place
    device = os.fspath(device or "h100")
    if devices is None:
        raise ValueError("plan: expected the number of devices, as in devices=16")
    return device, devices, None if compile is None else find_target(device, devices)


def _memory_text(memory: str | float | None) -> str:
    if memory is None or isinstance(memory, str):
        return memory or ""
    return f"{memory:.0f}"  # Without an exponent.


def _plan_of(
    found: Mapping[str, Any], candidates: Sequence[Candidate], text: str
) -> Plan:
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
        candidates=tuple(candidates),
        text=text,
        _answer=found,
    )


def _text_of(layers: Any, batch: int | None, dtype: str | None) -> PlannedText:
    if isinstance(layers, PlannedText):
        return layers
    if isinstance(layers, jax.stages.Lowered):
        if batch is not None or dtype is not None:
            raise ValueError("plan: batch and dtype of a lowered function are its own")
        return PlannedText(layers.as_text("stablehlo"), True)
    if isinstance(layers, (str, bytes, Mapping)) or not isinstance(layers, Sequence):
        raise TypeError(
            "plan: expected a sequence of mappings, one for each layer, or what "
            f"mw.jit(...).lower(...) returns, got {type(layers).__name__}"
        )
    for position, layer in enumerate(layers):
        check_type(f"plan: layer {position} must be a mapping", layer, Mapping)
    request: dict[str, Any] = {"layers": [dict(layer) for layer in layers]}
    given = {"batch": batch, "dtype": dtype}
    request |= {key: value for key, value in given.items() if value is not None}
    return PlannedText(json.dumps(request, default=_plain), False)


def _plain(value: Any) -> Any:
    """A figure that was computed, such as `np.prod(shape)`, as JSON has it."""
    if getattr(value, "shape", None) == () and value.dtype.kind in "iuf":
        return value.item()
    raise TypeError(
        f"plan: expected numbers and texts, got {value!r} of type "
        f"{type(value).__name__}"
    )
