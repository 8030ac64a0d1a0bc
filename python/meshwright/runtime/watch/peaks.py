# SPDX-License-Identifier: Apache-2.0
"""When a mesh holds most, and what that is made of."""

from __future__ import annotations

import collections
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..program.loaded import Loaded
from ..program.plan import Plan
from ..program.steps import Launch
from .memory import Account


@dataclass(frozen=True)
class Peak:
    """The moment at which the devices of a mesh hold most.

    Attributes:
      bytes: what each of them holds then, its code included.
      step: the position of the step in the order of issue; -1 before the first.
      what: the fragment or transfer that runs then.
      parts: pairs of a text and bytes, the largest first; they add up to `bytes`.
    """

    bytes: int
    step: int
    what: str
    parts: tuple[tuple[str, int], ...]


def find_peak(
    name: str,
    account: Account,
    plan: Plan,
    loaded: Sequence[Loaded | None],
    inputs: Sequence[Mapping[str, Any]],
) -> Peak:
    """The peak of a mesh."""
    moment = account.peak_steps[name]
    parts: collections.Counter[str] = collections.Counter()
    for slot, what in _alive(plan, moment, inputs).items():
        place = plan.slots[slot]
        is_own = place.memory == place.mesh.default_kind
        if place.mesh.name == name and is_own and slot not in account.shared:
            parts[what] += plan.bytes_of(slot)
    what = "the arguments arrive"
    if moment >= 0:
        step = plan.steps[moment]
        what = step.what
        if (
            isinstance(step, Launch)
            and step.places
            and step.places[0].mesh.name == name
        ):
            target = loaded[step.source]
            stats = target.memory_stats() if target else None
            if stats is not None:
                source = plan.sources[step.source].name
                parts[f"temporaries of {source}"] += stats.temp_size_in_bytes
                parts[f"results of {source}"] -= stats.alias_size_in_bytes
    mesh = account.meshes[name]
    parts["code"] += mesh.code_bytes
    rest = mesh.peak_bytes + mesh.code_bytes - parts.total()
    if rest:  # Another step holds as much, or views were given away.
        parts["other arrays"] += rest
    found = sorted(parts.items(), key=lambda part: -part[1])
    return Peak(
        mesh.peak_bytes + mesh.code_bytes,
        moment,
        what,
        tuple(part for part in found if part[1]),
    )


def _alive(
    plan: Plan, moment: int, inputs: Sequence[Mapping[str, Any]]
) -> dict[int, str]:
    """The slots that hold an array during a step, and what made it."""
    alive = {slot: _argument(entry.get("name")) for slot, entry in enumerate(inputs)}
    for position, step in enumerate(plan.steps[: moment + 1]):
        what = f"copies for {step.what}"
        if isinstance(step, Launch) and step.fragment:
            what = f"results of {plan.sources[step.source].name}"
        alive |= dict.fromkeys(step.writes, what)
        if position < moment:
            for slot in step.drops:
                alive.pop(slot, None)
    return alive


def _argument(name: str | None) -> str:
    """An argument without its leaves: `params['w'][0]` belongs to `params`."""
    first = (name or "").split("[")[0].split(".")[0]
    return f"argument {first}" if first else "arguments"
