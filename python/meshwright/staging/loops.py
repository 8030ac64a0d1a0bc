# SPDX-License-Identifier: Apache-2.0
"""Loops and branches of JAX that hold stages, as what they do.

A loop of JAX is one operation, on one mesh, so a line search that evaluates a loss of
several stages cannot be one. With `max_loop_trips` it is written out: each trip is
computed, and those after its end change nothing. Of a conditional all branches are.

    while c(s): s = f(s)   becomes   p0 = c(s0); s1 = select(p0, f(s0), s0)
                                     p1 = c(s1); s2 = select(p1, f(s1), s1)
                                     …
                                     fail if c(sN)
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..jaxapi import frontend as compat
from ..tracing.scopes import source

_KINDS = ("while", "scan", "cond")

# What gives the results of a closed jaxpr for operands, at the end of a body. Marks in
# it are those of an application of their own with `is_own`.
Run = Callable[..., list[Any]]


def is_loop(eqn: Any) -> bool:
    """Whether an operation is a loop or a branch of JAX."""
    return eqn.primitive.name in _KINDS


def is_expandable(eqn: Any, max_trips: int | None) -> bool:
    """Whether an operation with stages inside is written out."""
    if max_trips is None or not is_loop(eqn) or eqn.effects:
        return False
    if eqn.primitive.name == "scan" and eqn.params["length"] > max_trips:
        raise ValueError(
            f"{source(eqn)}: stages inside of a jax.lax.scan of "
            f"{eqn.params['length']} trips, which are more than max_loop_trips of "
            f"{max_trips}; raise it, or loop in Python"
        )
    return True


# A loop over stacked weights of no more trips is written out.
_MAX_ROWS = 64


def rows_of(eqn: Any, operands: Sequence[Any]) -> Sequence[Any]:
    """The arrays over whose rows a short loop goes that carries numbers alone.

    Such as a norm of each weight, but not a loop over layers. None of other operations.
    """
    params = eqn.params
    if eqn.primitive.name != "scan" or eqn.effects or params["length"] > _MAX_ROWS:
        return ()
    if len(eqn.outvars) != len(compat.closed(params["jaxpr"]).jaxpr.outvars):
        return ()  # It hands on what it reads.
    begin, count = compat.scan_counts(eqn)
    end = begin + count
    carries = operands[begin:end]
    is_small = all(math.prod(atom.aval.shape) <= 1 for atom in carries)
    return operands[end:] if is_small else ()


def expand(eqn: Any, operands: Sequence[Any], run: Run, max_trips: int) -> list[Any]:
    """The results of a loop or conditional that `is_expandable`, written out."""
    kind = {"while": _while, "scan": _scan, "cond": _cond}[eqn.primitive.name]
    return kind(eqn, list(operands), run, max_trips)


def _apply(run: Run, function: Callable[..., Any], *atoms: Any) -> list[Any]:
    """The results of a function of JAX, a list."""
    types = [
        jax.ShapeDtypeStruct(
            atom.aval.shape,
            atom.aval.dtype,
            weak_type=getattr(atom.aval, "weak_type", False),
        )
        for atom in atoms
    ]
    return run(jax.make_jaxpr(function)(*types), atoms)


def _chosen(run: Run, which: Any, cases: Sequence[Sequence[Any]]) -> list[Any]:
    """One of several lists of values, by a number or a truth value."""
    return [
        alike[0]
        if all(other is alike[0] for other in alike)
        else _apply(run, lambda at, *x: [jax.lax.select_n(at, *x)], which, *alike)[0]
        for alike in zip(*cases, strict=True)
    ]


def _while(eqn: Any, operands: list[Any], run: Run, max_trips: int) -> list[Any]:
    counts = [eqn.params["cond_nconsts"], eqn.params["body_nconsts"]]
    of_cond, of_body = operands[: counts[0]], operands[counts[0] : sum(counts)]
    carry = operands[sum(counts) :]

    def goes_on(values: list[Any]) -> Any:
        return run(
            compat.closed(eqn.params["cond_jaxpr"]), [*of_cond, *values], is_own=True
        )[0]

    which = goes_on(carry)
    for _ in range(max_trips):
        before, before_which = carry, which
        after = run(
            compat.closed(eqn.params["body_jaxpr"]), [*of_body, *carry], is_own=True
        )
        carry = _chosen(run, which, [carry, after])
        which = goes_on(carry)
    check = functools.partial(_check_end, source(eqn), max_trips)

    def checked(at: Any, following: Any) -> list[Any]:
        # The results read what the check gives, so they fail with it.
        return [at & jax.pure_callback(check, following, following)]

    (which,) = _apply(run, checked, before_which, which)
    return _chosen(run, which, [before, after])


def _check_end(where: str, max_trips: int, goes_on: Any) -> Any:
    if goes_on:
        raise RuntimeError(
            f"{where}: the loop did not end within max_loop_trips of {max_trips}, so "
            "its results are not those of jax.jit; raise max_loop_trips of make_config"
        )
    return np.ones_like(goes_on)


def _scan(eqn: Any, operands: list[Any], run: Run, max_trips: int) -> list[Any]:
    body = compat.closed(eqn.params["jaxpr"])
    carry, columns = unroll(
        eqn,
        operands,
        lambda _, atoms: run(body, atoms),
        lambda x, trip: row(run, x, trip),
    )
    ys = eqn.outvars[len(carry) :]
    return [*carry, *map(functools.partial(stack, run), ys, columns)]


def unroll(
    eqn: Any,
    operands: Sequence[Any],
    run: Callable[[int, list[Any]], list[Any]],
    row_of: Callable[[Any, int], Any],
) -> tuple[list[Any], list[list[Any]]]:
    """The trips of a `jax.lax.scan`, one after the other.

    Args:
      eqn: the scan.
      operands: what it reads.
      run: from the row of a trip, and what its body reads, to what that gives.
      row_of: from a stacked operand and the number of a row to this row.

    Returns:
      What the last trip carries on, and by stacked result its rows.
    """
    begin, count = compat.scan_counts(eqn)
    end = begin + count
    consts, carry, stacked = operands[:begin], operands[begin:end], operands[end:]
    length, found = eqn.params["length"], {}
    for trip in trips(eqn):
        rows = [row_of(x, trip) for x in stacked]
        outs = run(trip, [*consts, *carry, *rows])
        carry, found[trip] = outs[:count], outs[count:]
    columns = [
        [found[trip][at] for trip in range(length)]
        for at in range(len(eqn.outvars) - count)
    ]
    return list(carry), columns


def trips(eqn: Any) -> range:
    """The rows that a `jax.lax.scan` reads, in order."""
    rows = range(eqn.params["length"])
    return rows[::-1] if eqn.params["reverse"] else rows


def row(run: Run, x: Any, trip: int) -> Any:
    """A row of a stacked array."""
    read = functools.partial(jax.lax.index_in_dim, index=trip, keepdims=False)
    return _apply(run, lambda x: [read(x)], x)[0]


def stack(run: Run, var: Any, rows: Sequence[Any]) -> Any:
    """Rows as one array, of the type of a variable."""
    if rows:
        return _apply(run, lambda *x: [jnp.stack(x)], *rows)[0]
    return _apply(run, lambda: [jnp.empty(var.aval.shape, var.aval.dtype)])[0]


def _cond(eqn: Any, operands: list[Any], run: Run, max_trips: int) -> list[Any]:
    branches = eqn.params["branches"]
    which, *operands = operands
    last = len(branches) - 1

    def index(at: Any) -> list[Any]:
        at = jax.lax.clamp(0, at.astype("int32"), last)
        return [at != 0 if last == 1 else at]

    (which,) = _apply(run, index, which)
    return _chosen(
        run,
        which,
        [run(compat.closed(branch), operands, is_own=True) for branch in branches],
    )
