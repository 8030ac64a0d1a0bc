# SPDX-License-Identifier: Apache-2.0
"""Layouts: in which order the elements of each shard are in memory.

An executable reads a buffer in the layout it was compiled for, whatever layout
the buffer has. What an executable expects is only known once it is compiled
(`auto` leaves the choice to XLA), so this comes after planning: where a step would
read another layout than its operand has, a step before it changes that.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from jax.experimental.layout import Format, Layout

from ...jaxapi import runtime as jax_runtime
from ..program.errors import ProgramError
from ..program.loaded import Loaded
from ..program.placement import Place
from ..program.plan import Plan, assign_drops
from ..program.schedule import Schedule
from ..program.steps import Launch, Relayout, Step

# Dimensions from major to minor.
Order = tuple[int, ...]

_MINOR_TO_MAJOR = re.compile(r"\{([\d,]*)")


def settle_layouts(
    plan: Plan, loaded: list[Loaded], schedule: Schedule
) -> tuple[list[Order], list[Order]]:
    """Makes every step of a plan read the layouts that it can read.

    Returns:
      The order of dimensions in which each input must come, and in which each
      output leaves.
    """
    compiled = _compiled_orders(plan, loaded)
    inputs = _input_orders(plan, compiled, schedule.inputs)
    orders = plan.orders = dict(enumerate(inputs))
    steps: list[Step] = []

    def read(item: int | None, what: str, slot: int, wanted: Order) -> int:
        """The slot to read, of an array in the order that is wanted."""
        if orders[slot] == wanted:
            return slot
        place, new = plan.slots[slot], plan.slot_count
        plan.slot_count += 1
        plan.slots[new], orders[new] = place, wanted
        if slot in plan.consumed:
            plan.consumed.add(new)
        writes = range(new, new + 1)
        steps.append(Relayout(item, (slot,), writes, (place,), what, order=wanted))
        return new

    for step in plan.steps:
        # Not every JAX copies other layouts rightly (docs/jax-versions.md), so copies
        # get default ones.
        wanted = [_default(plan, slot) for slot in step.reads]
        results = [_default(plan, slot) for slot in step.writes]
        if isinstance(step, Launch):
            wanted, results = compiled[step.source]
        step.reads = tuple(
            read(step.item, step.what, slot, order)
            for slot, order in zip(step.reads, wanted, strict=True)
        )
        orders |= zip(step.writes, results, strict=True)
        steps.append(step)
    for position, entry in enumerate(schedule.outputs):
        slot, what = plan.output_slots[position], f"result {position} of the program"
        order = _declared(entry, plan.slots[slot]) or orders[slot]
        plan.output_slots[position] = read(None, what, slot, order)
    if len(steps) != len(plan.steps):
        plan.steps = steps
        assign_drops(plan)
    return inputs, [orders[slot] for slot in plan.output_slots]


def make_formats(places: Sequence[Place], orders: Sequence[Order]) -> list[Format]:
    """Shardings with layouts; a default layout is not spelled out."""
    return [
        Format(None if order == place.default_order else Layout(order), place.sharding)
        for place, order in zip(places, orders, strict=True)
    ]


def _default(plan: Plan, slot: int) -> Order:
    return plan.slots[slot].default_order


def _declared(entry: Mapping[str, Any], place: Place) -> Order | None:
    """What the program says about an input or output; None if it does not care."""
    text = entry.get("layout")
    if text == "default":
        return place.default_order
    found = _MINOR_TO_MAJOR.match(text or "")
    if found is None:
        return None
    order = tuple(int(number) for number in reversed(found[1].split(",")) if number)
    if sorted(order) != list(range(len(place.shape))):
        raise ProgramError(f"{text!r} is no layout of {len(place.shape)} dimensions")
    return order


def _compiled_orders(
    plan: Plan, loaded: list[Loaded]
) -> dict[int, tuple[list[Order], list[Order]]]:
    """What each executable reads and writes."""
    orders = {}
    for step in plan.steps:
        if not isinstance(step, Launch) or step.source in orders:
            continue
        sides = jax_runtime.compiled_layouts(loaded[step.source].executable)
        orders[step.source] = tuple(
            [
                _default(plan, slot)
                if layout is None
                else jax_runtime.element_order(layout, len(plan.slots[slot].shape))
                for slot, layout in zip(slots, layouts, strict=True)
            ]
            for slots, layouts in zip((step.reads, step.writes), sides, strict=True)
        )
    return orders


def _input_orders(
    plan: Plan, compiled: Mapping[int, Any], entries: Sequence[Mapping[str, Any]]
) -> list[Order]:
    """What the program declares, else what the first launch wants that reads it."""
    wanted: dict[int, Order] = {}
    for slot, entry in enumerate(entries):
        order = _declared(entry, plan.slots[slot])
        if order is not None:
            wanted[slot] = order
    for step in plan.steps:
        if isinstance(step, Launch):
            for slot, order in zip(step.reads, compiled[step.source][0], strict=True):
                wanted.setdefault(slot, order)
    return [wanted.get(slot, _default(plan, slot)) for slot in range(len(entries))]
