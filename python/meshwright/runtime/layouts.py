# SPDX-License-Identifier: Apache-2.0
"""Layouts: in which order the elements of each shard are in memory.

An executable reads a buffer in the layout it was compiled for, whatever layout
the buffer has. What an executable expects is only known once it is compiled
(`auto` leaves the choice to XLA), so this comes after planning: where a step would
read another layout than its operand has, a step before it changes that.
"""

from __future__ import annotations

from typing import Any

from . import _jax_runtime
from .compilation import Loaded
from .plan import Plan, assign_drops
from .steps import Launch, Relayout, Step


def settle_layouts(plan: Plan, loaded: list[Loaded]) -> list[Any]:
    """Makes every step of a plan read the layouts that it can read.

    Returns:
      The layout that each input must come in; None is the default one.
    """
    compiled = [_jax_runtime.compiled_layouts(target.executable) for target in loaded]
    inputs = _input_layouts(plan, compiled)
    layouts: dict[int, Any] = dict(enumerate(inputs))
    steps: list[Step] = []
    for step in plan.steps:
        # JAX copies other layouts between devices wrongly, so copies get default ones.
        wanted, results = [None] * len(step.reads), [None] * len(step.writes)
        if isinstance(step, Launch):
            wanted, results = compiled[step.source]
        step.reads = tuple(
            _read(plan, steps, step, slot, layouts, layout)
            for slot, layout in zip(step.reads, wanted, strict=True)
        )
        layouts |= zip(step.writes, results, strict=True)
        steps.append(step)
    if len(steps) != len(plan.steps):
        plan.steps = steps
        assign_drops(plan)
    return inputs


def _input_layouts(plan: Plan, compiled: list[tuple[list, list]]) -> list[Any]:
    """What the first launch wants that reads an input."""
    wanted: dict[int, Any] = {}
    for step in plan.steps:
        if isinstance(step, Launch):
            for slot, layout in zip(step.reads, compiled[step.source][0], strict=True):
                wanted.setdefault(slot, layout)
    return [wanted.get(slot) for slot in range(len(plan.inputs))]


def _read(plan: Plan, steps: list[Step], step: Step, slot: int, layouts, wanted) -> int:
    """The slot to read, of an array in the layout that is wanted."""
    place, found = plan.slots[slot], layouts[slot]
    order = _jax_runtime.element_order(wanted, len(place.shape))
    if _jax_runtime.element_order(found, len(place.shape)) == order:
        return slot
    new = plan.slot_count
    plan.slot_count += 1
    plan.slots[new], layouts[new] = place, wanted
    writes = range(new, new + 1)
    steps.append(Relayout(step.item, (slot,), writes, (place,), step.what, order=order))
    return new
