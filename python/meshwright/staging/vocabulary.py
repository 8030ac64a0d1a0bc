# SPDX-License-Identifier: Apache-2.0
"""Where the parts of a vocabulary are: on all meshes, as stages of their own.

The stages between marks are those of a chain, one on each of P meshes. The part of the
head on mesh i is then stage P + i, that of the embedding 2 P + i.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from ..core.config import SCHEDULE_OPTION, Config
from ..core.names import SCHEDULE_FILE_PREFIX, VOCABULARY_PARTS, is_cpu_mesh
from ..jaxapi import frontend as compat
from ..tracing.primitives import named_computation_p
from ..tracing.scopes import body_of, source, with_body
from .flatten import Item

# Knows the parts of a vocabulary.
_SCHEDULE = "VocabParallel1F1B"


@compat.weakref_lru_cache
def _names(jaxpr: Any) -> frozenset[str]:
    """The parts of a vocabulary in a jaxpr, and in those that it applies."""
    found: set[str] = set()
    for eqn in jaxpr.eqns:
        if eqn.primitive is named_computation_p:
            if eqn.params["name"].startswith(VOCABULARY_PARTS):
                found.add(eqn.params["name"])
            continue
        for body in compat.bodies(eqn):
            found |= _names(body)
    return frozenset(found)


def _recomputes(eqn: Any) -> bool:
    """Whether it is a `jax.checkpoint` whose backward computes parts again."""
    again = eqn.params.get("differentiated")  # Of `jax.checkpoint` alone.
    return bool(again) and any(map(has_parts, compat.bodies(eqn)))


def has_parts(jaxpr: Any) -> bool:
    """Whether parts of a vocabulary are in a jaxpr, or in one that it applies."""
    return bool(_names(jaxpr))


def place_parts(jaxpr: Any, config: Config) -> tuple[Config, int]:
    """Gives the parts of a vocabulary their meshes and stages.

    Returns:
      The config, and how many stages there are beside those between marks.
    """
    names = _names(jaxpr)
    schedule = str((config.partitioning_options or {}).get(SCHEDULE_OPTION))
    if not names:
        if schedule == _SCHEDULE:
            raise ValueError(
                f"schedule {_SCHEDULE} is for models whose vocabulary is on all "
                "meshes; cut it with mw.pipeline.vocabulary(embed, head), or take 1F1B"
            )
        return config, 0
    if (eqn := compat.find(jaxpr, _recomputes)) is not None:
        raise ValueError(
            f"{source(eqn)}: pipeline.vocabulary: jax.checkpoint would compute parts "
            "of the vocabulary again, each a unit that a schedule has once; put it "
            "around layers, or around the functions that pipeline.vocabulary gets"
        )
    is_ordered = schedule.lower() != "none"
    if is_ordered and not schedule.startswith((_SCHEDULE, SCHEDULE_FILE_PREFIX)):
        raise ValueError(
            "pipeline.vocabulary: the parts of a vocabulary are units of their own, "
            f"which schedule {schedule} does not know; take {_SCHEDULE}, or a schedule "
            "from a file"
        )
    meshes = [mesh for mesh in config.topology if not is_cpu_mesh(mesh)]
    where, stages = {}, {}
    chunks = 0
    for chunk, prefix in enumerate(VOCABULARY_PARTS, 1):
        for at, mesh in enumerate(meshes):
            if (name := f"{prefix}{at}") in names:
                where[name], stages[name] = mesh, chunk * len(meshes) + at
                chunks = chunk
    config = dataclasses.replace(
        config,
        name_to_mesh_assignment={**config.name_to_mesh_assignment, **where},
        name_to_stage_assignment={**config.name_to_stage_assignment, **stages},
    )
    return config, chunks * len(meshes)


def join_losses(items: Sequence[Item]) -> list[Item]:
    """Makes one computation of the loss and of the gradients of a part of the head.

    Both need the statistics of all parts, and a schedule has one unit for them.

    Raises:
      ValueError: the gradients depend on the loss.
    """
    items = list(items)
    known: dict[str, int] = {}
    for index, item in enumerate(items):
        eqn = item.eqn
        if eqn.primitive is named_computation_p and eqn.params["transpose_count"]:
            name = eqn.params["name"]
            if not name.startswith(VOCABULARY_PARTS[0]):
                continue
            if (first := known.setdefault(name, index)) != index:
                return join_losses(_joined(items, first, index))
    return items


def join_in_calls(closed: Any) -> Any:
    """A program without marks, with the losses of its calls joined."""
    eqns = []
    for eqn in closed.jaxpr.eqns:
        body = body_of(eqn)
        is_named = eqn.primitive is named_computation_p
        if body is not None and not is_named and has_parts(body.jaxpr):
            eqn = with_body(eqn, join_in_calls(body))
        eqns.append(eqn)
    joined = join_losses([Item(eqn, 0) for eqn in eqns])
    jaxpr = closed.jaxpr.replace(eqns=[item.eqn for item in joined])
    return compat.ClosedJaxpr(jaxpr, closed.consts)


def _joined(items: Sequence[Item], first: int, second: int) -> list[Item]:
    """The operations with one in the place of two, after what the first does not need
    and before what reads it."""
    made = set(items[first].eqn.outvars)
    before, after = [], []
    for item in items[first + 1 : second]:
        if made.intersection(compat.variables(item.eqn.invars)):
            made.update(item.eqn.outvars)
            after.append(item)
        else:
            before.append(item)
    if made.intersection(compat.variables(items[second].eqn.invars)):
        raise ValueError(
            f"{source(items[second].eqn)}: pipeline.vocabulary: the gradient of the "
            "head depends on the loss that it returns, as that of a power does; "
            "compute all of the loss in the head"
        )
    a, b = items[first].eqn, items[second].eqn
    x, y = a.params["jaxpr"], b.params["jaxpr"]
    body = compat.remade(
        y,
        [*x.consts, *y.consts],
        constvars=[*x.jaxpr.constvars, *y.jaxpr.constvars],
        invars=[*x.jaxpr.invars, *y.jaxpr.invars],
        outvars=[*x.jaxpr.outvars, *y.jaxpr.outvars],
        eqns=[*x.jaxpr.eqns, *y.jaxpr.eqns],
    )
    eqn = b.replace(
        invars=[*a.invars, *b.invars],
        outvars=[*a.outvars, *b.outvars],
        params={**b.params, "jaxpr": body},
    )
    joined = Item(eqn, items[second].transposes, items[second].scope)
    return [*items[:first], *before, joined, *after, *items[second + 1 :]]
