# SPDX-License-Identifier: Apache-2.0
"""What compilers say of the best layouts of a plan."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax

from ..aot.names import GENERATIONS, Target, parse_target
from ..aot.plugins import find_devices
from ..compiler import native
from ..core.tables import aligned, seconds_text, size_text
from ..runtime import load
from ..runtime.program.schedule_ranges import read_text
from ..runtime.run.places import cut_meshes, place_meshes

# Said of a program whose shardings are for the meshes it was lowered for.
_OTHER_AXES = "unknown axis name"


@dataclass(frozen=True)
class Candidate:
    """A layout that was compiled.

    Attributes:
      layout: meshes, schedule and microbatches, as a line.
      rank: its place by the cost model alone, from 1.
      model_seconds: of a step, by the cost model alone.
      step_seconds: of a step, with the compilers' memory, and their times where they
        have some worth taking; None if it does not compile.
      peak_bytes: of the fullest device; None if it does not compile.
      fits: whether that is within the memory of the plan.
      error: why it does not compile, or an empty text.
      config: what `meshwright partition` takes for it.
      plan: its figures, with the keys of `meshwright plan --json`.
    """

    layout: str
    rank: int
    model_seconds: float
    step_seconds: float | None
    peak_bytes: int | None
    fits: bool
    error: str
    config: Mapping[str, Any] = field(repr=False)
    plan: Mapping[str, Any] = field(repr=False)
    text: str = field(repr=False)


def find_target(device: str, devices: int) -> Target | None:
    """What to compile for; None for the CPU devices of this process."""
    if device == "cpu":
        there = len(jax.devices("cpu"))
        if there < devices:
            raise ValueError(
                f"plan: compiling for {devices} CPU devices needs that many, and JAX "
                f"has {there}; set jax_num_cpu_devices, or name a target, such as "
                "h100:16"
            )
        return None
    if device.removeprefix("tpu-") in GENERATIONS:
        raise ValueError(
            f"plan: {devices} devices of {device!r} may be slices of several shapes; "
            'name the one to compile for, such as "v5p:2x2x4", as the target'
        )
    return parse_target(device, devices)


def compile_candidates(
    entries: Sequence[Mapping[str, Any]],
    module: str | bytes,
    target: Target | None,
    memory: float,
    costs: Sequence[str],
) -> list[Candidate]:
    """Compiles layouts, and puts them in order by what compilers say.

    Those that fit come first, then by the time of a step.

    Args:
      entries: the candidates of a plan, the best first.
      target: what to compile for; None for CPU devices.
      memory: bytes of each device.

    Raises:
      ValueError: none compiles and fits; the text says why not.
      RuntimeError: the compiler of the target is not installed.
    """
    if target:
        find_devices(target)  # Without a compiler there is no use in going on.
    found = [
        _compile(rank, entry, module, target, memory, costs)
        for rank, entry in enumerate(entries, 1)
    ]
    found.sort(key=lambda one: (not one.fits, one.step_seconds or 0.0, one.rank))
    if not found[0].fits:
        where = target.name if target else "CPU devices"
        reasons = "; ".join(f"{one.layout}: {_reason_not_to_fit(one)}" for one in found)
        does = f"fits into {size_text(int(memory))} on each device"
        remedy = "compile more of them, or take more devices"
        if all(one.peak_bytes is None for one in found):
            does = "compiles"
        if all(_OTHER_AXES in one.error for one in found):
            remedy = (
                'meshes of plans have the axes "data" and "tensor": lower the program '
                "without shardings, or with these axes"
            )
        raise ValueError(
            f"no plan of the {len(found)} that were compiled for {where} {does}: "
            f"{reasons}; {remedy}"
        )
    return found


def _reason_not_to_fit(candidate: Candidate) -> str:
    if candidate.peak_bytes is None:
        return candidate.error
    return f"{size_text(candidate.peak_bytes)} by its compiler"


def _compile(
    rank: int,
    entry: Mapping[str, Any],
    module: str | bytes,
    target: Target | None,
    memory: float,
    costs: Sequence[str],
) -> Candidate:
    step, peak, fits, error = None, None, False, ""
    try:
        parted = native.partition(module, entry["config"])
        schedule = read_text(parted.program)
        meshes = (
            place_meshes(target, schedule.meshes)
            if target
            else cut_meshes(jax.devices("cpu"), schedule.meshes)
        )
        fit = load(
            schedule,
            parted.fragments,
            meshes,
            host_callbacks=None,
            keep_oversized=True,
        ).fit()
        figures = {"target": target.name if target else "", **fit.as_json()}
        text, _, _ = native.extension().simulate(
            parted,
            target.entry if target else "cpu",
            "",
            list(costs),
            1,
            json.dumps(figures),
        )
        step = json.loads(text)["makespan_s"]
        peak = max(mesh.peak_bytes for mesh in fit.meshes.values())
        oversized = any(mesh.oversized for mesh in fit.meshes.values())
        fits = peak <= memory and not oversized
    except (RuntimeError, ValueError) as problem:
        error = str(problem).strip().splitlines()[0]
    return Candidate(
        layout=entry["layout"],
        rank=rank,
        model_seconds=entry["plan"]["step_s"],
        step_seconds=step,
        peak_bytes=peak,
        fits=fits,
        error=error,
        config=entry["config"],
        plan=entry["plan"],
        text=entry["text"],
    )


def candidates_text(found: Sequence[Candidate], target: Target | None) -> str:
    """A table of candidates, and whether the compilers' order is another one."""
    rows = [("by the compilers", "step", "peak", "", "model", "step")]
    for one in found:
        step = "-" if one.step_seconds is None else seconds_text(one.step_seconds)
        peak = "-" if one.peak_bytes is None else size_text(one.peak_bytes)
        word = one.error or ("fits" if one.fits else "does not fit")
        model = seconds_text(one.model_seconds)
        rows.append((one.layout, step, peak, word, f"#{one.rank}", model))
    return aligned(rows, "<>><>>") + "\n" + order_text(found, target)


def order_text(found: Sequence[Candidate], target: Target | None) -> str:
    """Where the order of the compilers and that of the cost model differ."""
    where = target.name if target else "CPU devices"
    if all(one.rank == place for place, one in enumerate(found, 1)):
        return f"the compiler of {where} changes nothing in the order"
    moved = ", ".join(
        f"#{one.rank} is now #{place}"
        for place, one in enumerate(found, 1)
        if one.rank != place
    )
    return f"the compiler of {where} changes the order: {moved}"


def answer_of(found: Sequence[Candidate], target: Target | None) -> dict[str, Any]:
    """What candidates change in the answer of a plan, and add to it."""
    best, *others = found
    order = order_text(found, target)
    changed = {
        "plan": dict(best.plan),
        "config": dict(best.config),
        "target": target.name if target else "cpu",
        "order": order,
        "candidates": [
            {
                "layout": one.layout,
                "rank": one.rank,
                "model_step_s": one.model_seconds,
                "step_s": one.step_seconds,
                "peak_bytes": one.peak_bytes,
                "fits": one.fits,
                "error": one.error or None,
                "plan": dict(one.plan),
                "config": dict(one.config),
            }
            for one in found
        ],
    }
    if others and [one.rank for one in found] != sorted(one.rank for one in found):
        changed |= {"runner_up": dict(others[0].plan), "why": order}
    return changed
