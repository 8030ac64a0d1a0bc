# SPDX-License-Identifier: Apache-2.0
"""Microbatches that are split as the batch is that they are cut out of.

Of an array whose rows are split over devices, a few rows are on one of them. That they
are wanted on all is not to be seen in a program, so it is said:

    x = batch[0:4]        batch is split by P("data")
    # becomes
    x = with_sharding_constraint(batch[0:4], P("data", UNCONSTRAINED))
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Mapping
from typing import Any

import jax
from jax.sharding import AxisType, NamedSharding, PartitionSpec

from ..jaxapi import frontend as compat
from .known_constraints import known_shardings
from .several_meshes import constrain

_SCOPE = "mpmd_microbatches"


@contextlib.contextmanager
def cutting_microbatches() -> Iterator[None]:
    """Around what cuts a batch."""
    with jax.named_scope(_SCOPE):
        yield


def keep_rows_split(closed: Any, shardings: Mapping[int, Any]) -> Any:
    """A program with a constraint after each microbatch whose rows can be split.

    What is known of the shardings of its inputs is in `shardings`.
    """
    jaxpr = closed.jaxpr
    known = known_shardings(jaxpr, shardings)
    eqns = []
    for eqn in jaxpr.eqns:
        rows = _rows(eqn, known) if eqn.primitive is jax.lax.split_p else None
        if rows is None:
            eqns.append(eqn)
            continue
        cut = eqn.replace(outvars=[compat.Var(var.aval) for var in eqn.outvars])
        eqns.append(cut)
        for value, result in zip(cut.outvars, eqn.outvars, strict=True):
            if not isinstance(result, compat.DropVar):
                constraint, _ = constrain(eqn, value, rows)
                eqns.append(constraint.replace(outvars=[result]))
    if len(eqns) == len(jaxpr.eqns):
        return closed
    return compat.ClosedJaxpr(jaxpr.replace(eqns=eqns), closed.consts)


def _rows(eqn: Any, known: Mapping[Any, Any]) -> NamedSharding | None:
    """How each microbatch is to be split; None if that is not known."""
    (batch,), result = eqn.invars, eqn.outvars[0]
    stack = eqn.source_info.name_stack.stack
    sharding = compat.look_up(known, batch)
    if (
        not isinstance(sharding, NamedSharding)
        or not sharding.spec
        or not any(getattr(entry, "name", None) == _SCOPE for entry in stack)
    ):
        return None
    first = sharding.spec[0]
    if first in (None, PartitionSpec.UNCONSTRAINED):
        return None
    axes = list(first) if isinstance(first, tuple) else [first]
    while axes and result.aval.shape[0] % math.prod(
        sharding.mesh.shape[axis] for axis in axes
    ):
        axes.pop()
    types = dict(zip(sharding.mesh.axis_names, sharding.mesh.axis_types, strict=True))
    # The type of the slice tells of explicit axes.
    if not axes or any(types[axis] is AxisType.Explicit for axis in axes):
        return None
    others = [PartitionSpec.UNCONSTRAINED] * (result.aval.ndim - 1)
    spec = PartitionSpec(tuple(axes), *others)
    return NamedSharding(sharding.mesh, spec)
