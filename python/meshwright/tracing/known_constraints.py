# SPDX-License-Identifier: Apache-2.0
"""Constraints that say of an input what is known of it.

Trainers constrain a whole state to its shardings, although it has them already. For
one device mesh that costs nothing. Between stages each such value would be a copy that
one fragment makes for all others, and that fragment would be unlike those of the other
microbatches, which could share its executable:

    w: float32[8,4] on P("x")
    v = with_sharding_constraint(w, P("x"))
    h = f(v)
    # becomes
    h = f(w)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jax.experimental.layout import Format
from jax.sharding import NamedSharding

from ..jaxapi import frontend as compat


def known_shardings(jaxpr: Any, shardings: Mapping[int, Any]) -> dict[Any, Any]:
    """By variable, those of a program's inputs that are known."""
    return {
        jaxpr.invars[index]: sharding.sharding
        if isinstance(sharding, Format)
        else sharding
        for index, sharding in shardings.items()
    }


def drop_known(closed: Any, shardings: Mapping[int, Any]) -> Any:
    """A program without constraints of inputs to the shardings that they have.

    What is known of these is in `shardings`. The results are as before.
    """
    jaxpr = closed.jaxpr
    known = known_shardings(jaxpr, shardings)
    results = set(compat.variables(jaxpr.outvars))
    same: dict[Any, Any] = {}
    eqns = []
    for eqn in jaxpr.eqns:
        if eqn.primitive is compat.sharding_constraint_p:
            (value,), (result,) = eqn.invars, eqn.outvars
            value = compat.look_up(same, value, value)
            if result not in results and _requires(eqn, compat.look_up(known, value)):
                same[result] = value
                continue
        invars = [compat.look_up(same, atom, atom) for atom in eqn.invars]
        if any(a is not b for a, b in zip(invars, eqn.invars, strict=True)):
            eqn = eqn.replace(invars=invars)
        eqns.append(eqn)
    if not same:
        return closed
    return compat.ClosedJaxpr(jaxpr.replace(eqns=eqns), closed.consts)


def _requires(eqn: Any, known: Any) -> bool:
    """Whether a constraint says what is known: on meshes of equal axes, it is the same
    wherever the value will live."""
    constraint = eqn.params["sharding"]
    return (
        isinstance(constraint, NamedSharding)
        and isinstance(known, NamedSharding)
        and eqn.params.get("layout") is None
        and not eqn.params.get("unconstrained_dims")
        and constraint.memory_kind == known.memory_kind
        and constraint.mesh.shape == known.mesh.shape
        and constraint.mesh.axis_types == known.mesh.axis_types
        and _spec(constraint) == _spec(known)
    )


def _spec(sharding: NamedSharding) -> Any:
    dims = [
        () if dim is None else dim if isinstance(dim, tuple) else (dim,)
        for dim in sharding.spec
    ]
    while dims and dims[-1] == ():
        dims.pop()
    return dims, sharding.spec.unreduced, sharding.spec.reduced
