# SPDX-License-Identifier: Apache-2.0
"""Lays open the functions that a mark between two stages is in.

A mark cuts everything that it is in: nested `jax.jit`s, checkpoints, custom
derivatives and calls are replaced by what they do, if there is a mark in them, and
stay as they are otherwise. What has to stay in one piece on one mesh, a loop or a
branch, cannot be cut.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

from jax.sharding import NamedSharding

from ..jaxapi import frontend as compat
from ..tracing.primitives import call_p, for_p, named_computation_p
from ..tracing.scopes import body_of, source
from ..tracing.several_meshes import constrain
from . import loops
from .concatenations import Concatenations, keeps_elements
from .marks import mark_p
from .separable import is_separable, split_barriers

_SHARDINGS = ("in_shardings", "out_shardings")

_WHERE = {
    "scan": "a jax.lax.scan",
    "while": "a jax.lax loop",
    "cond": "a jax.lax.cond or switch",
    "shard_map": "a shard_map",
    for_p.name: "a loop over microbatches",
}


def _is_mark(eqn: Any) -> bool:
    return eqn.primitive is mark_p


def first_mark(jaxpr: Any) -> Any | None:
    """Some mark in a jaxpr, or in one that it applies."""
    return compat.find(jaxpr, _is_mark)


def mark_in(eqn: Any) -> Any | None:
    """Some mark in what an equation applies."""
    return compat.find_inside(eqn, _is_mark)


def makes_reference(eqn: Any) -> bool:
    """Whether an equation makes a `jax.Ref`."""
    return any(isinstance(var.aval, compat.AbstractRef) for var in eqn.outvars)


def refuse(eqn: Any, mark: Any) -> None:
    """Says why a mark inside of an operation cannot divide it."""
    if eqn.primitive is named_computation_p:
        name = eqn.params["name"]
        what = f"the named computation {name!r}"
        advice = "a stage is one itself; take the name away, or the mark"
    else:
        what = _WHERE.get(eqn.primitive.name, f"{eqn.primitive.name}")
        advice = "it runs on one mesh as a whole; put marks before and after it"
        if eqn.primitive.name in ("while", "cond"):
            advice = (
                "it runs on one mesh as a whole; let mw.make_config(..., "
                "max_loop_trips=N) write it out, loop or choose in Python around a "
                "function of mw.jit that applies the marked one, as docs/recipes.md "
                "does for a line search, or put marks before and after it"
            )
        if eqn.primitive.name == "scan":
            advice = (
                "it runs on one mesh as a whole; in its place, mw.pipeline.scan makes "
                "stages of its layers, mw.pipeline.scan_microbatches or mw.fori_loop "
                "calls of its microbatches, and training steps loop in Python or are "
                "written out by mw.make_config(..., max_loop_trips=N)"
            )
        if eqn.effects:
            advice = (
                "it runs on one mesh as a whole, and has side effects, so it cannot be "
                "written out; put marks before and after it"
            )
    raise ValueError(f"{source(mark)}: stage_boundary inside of {what}: {advice}")


@dataclasses.dataclass(eq=False)
class Item:
    """An operation of a body that was laid open.

    Attributes:
      eqn: the operation, with variables of its own.
      transposes: how often it was transposed: 0 forward, 1 backward. What reads
        nothing, such as zeros that JAX makes for a derivative, is of both.
      scope: the trip of a loop, or the branch, that it was written in.
    """

    eqn: Any
    transposes: int
    scope: int = 0


@dataclasses.dataclass
class Reads:
    """The producers and readers of the values of a body.

    Attributes:
      reads: the variables that each operation reads.
      producer: variable to position of the operation that gives it.
      operands: positions of the operations whose values each operation reads.
      readers: positions of the operations that read each operation's values.
    """

    reads: list[list[Any]]
    producer: dict[object, int]
    operands: list[list[int]]
    readers: list[list[int]]


@dataclasses.dataclass
class Flat:
    """A body in one piece.

    Attributes:
      invars: inputs, constants of the body first.
      consts: values of the constants.
      items: operations in order.
      outs: results, variables or literals.
      is_in_pieces: whether concatenated weights were taken apart in it.
    """

    invars: list[Any]
    consts: list[Any]
    items: list[Item]
    outs: list[Any]
    is_in_pieces: bool = False

    @functools.cached_property
    def table(self) -> Reads:
        """Producers and readers of its values. Its items do not change any more."""
        producer: dict[object, int] = {}
        operands: list[list[int]] = []
        readers: list[list[int]] = [[] for _ in self.items]
        reads = [compat.variables(item.eqn.invars) for item in self.items]
        for index, item in enumerate(self.items):
            found = dict.fromkeys(
                producer[var] for var in reads[index] if var in producer
            )
            operands.append(list(found))
            for other in found:
                readers[other].append(index)
            producer.update(dict.fromkeys(item.eqn.outvars, index))
        return Reads(reads, producer, operands, readers)


def flatten(
    closed: Any,
    transposes: int = 0,
    opens: Callable[[Any], bool] | None = None,
    max_trips: int | None = None,
) -> Flat:
    """Lays open a body.

    Args:
      closed: the body, a closed jaxpr.
      transposes: how often the body as a whole was transposed.
      opens: further operations to lay open; those with marks always are.
      max_trips: the most trips of a loop with marks that is written out.

    Raises:
      ValueError: a mark where nothing can be cut; the text begins with its place.
    """
    items: list[Item] = []
    scope, scopes = 0, itertools.count(1)
    made_of_nothing: set[Any] = set()

    def fresh(var: Any, env: dict[Any, Any]) -> Any:
        env[var] = new = type(var)(var.aval)  # It may be one that is dropped.
        return new

    def walk(jaxpr: Any, env: dict[Any, Any], stack: Any, outer: int) -> list[Any]:
        def read(atom: Any) -> Any:
            return atom if isinstance(atom, compat.Literal) else env[atom]

        for eqn in jaxpr.eqns:
            operands = list(map(read, eqn.invars))
            whole = stack + eqn.source_info.name_stack
            count = outer + compat.transpose_count(eqn.source_info.name_stack)
            mark = None if eqn.primitive is mark_p else mark_in(eqn)
            body = body_of(eqn)
            is_row_by_row = concatenations.are_rows(loops.rows_of(eqn, operands))
            if is_row_by_row or (
                mark is not None and loops.is_expandable(eqn, max_trips)
            ):
                run = functools.partial(walk_closed, whole, count)
                outs = loops.expand(eqn, operands, run, max_trips or 0)
                env.update(zip(eqn.outvars, outs, strict=True))
                continue
            if mark is not None and (
                body is None or eqn.primitive is named_computation_p
            ):
                refuse(eqn, mark)
            if body is not None and (
                mark is not None
                or (opens is not None and opens(eqn))
                or (
                    eqn.primitive not in (named_computation_p, call_p)
                    and (concatenations.opens(operands) or is_separable(body.jaxpr))
                )
            ):
                sides = [eqn.params.get(key, ()) for key in _SHARDINGS]
                operands = constrained(eqn, operands, sides[0], whole, count)
                outs = walk_closed(whole, count, body, operands)
                outs = constrained(eqn, outs, sides[1], whole, count)
                env.update(zip(eqn.outvars, outs, strict=True))
                continue
            outvars = [fresh(var, env) for var in eqn.outvars]
            if made_of_nothing.issuperset(compat.variables(operands)):
                made_of_nothing.update(outvars)
                count = 0
            info = eqn.source_info.replace(name_stack=whole)
            new = eqn.replace(invars=operands, outvars=outvars, source_info=info)
            items.append(Item(new, count, scope))
            concatenations.visit(new, is_forward=not count)
        return list(map(read, jaxpr.outvars))

    def walk_closed(
        stack: Any,
        outer: int,
        body: Any,
        operands: Sequence[Any],
        is_own: bool = False,
    ) -> list[Any]:
        nonlocal scope
        around, scope = scope, next(scopes) if is_own else scope
        inner = dict(zip(body.jaxpr.invars, operands, strict=True))
        for var, value in zip(body.jaxpr.constvars, body.consts, strict=True):
            inner[var] = constant(value, var.aval)
        outs = walk(body.jaxpr, inner, stack, outer)
        scope = around
        return outs

    def constrained(
        eqn: Any, values: Any, shardings: Any, stack: Any, count: int
    ) -> list[Any]:
        """What a nested `jax.jit` says about shardings, around what it does."""
        found = list(values)
        for index, sharding in enumerate(shardings):
            if isinstance(sharding, NamedSharding) and isinstance(
                found[index], compat.Var
            ):
                constraint, found[index] = constrain(eqn, found[index], sharding)
                info = eqn.source_info.replace(name_stack=stack)
                items.append(Item(constraint.replace(source_info=info), count))
        return found

    constants: dict[int, Any] = {}
    consts: list[Any] = []
    constvars: list[Any] = []

    def constant(value: Any, aval: Any) -> Any:
        if id(value) not in constants:
            constants[id(value)] = compat.Var(aval)
            consts.append(value)
            constvars.append(constants[id(value)])
        return constants[id(value)]

    env = {
        var: constant(value, var.aval)
        for var, value in zip(closed.jaxpr.constvars, closed.consts, strict=True)
    }
    invars = [fresh(var, env) for var in closed.jaxpr.invars]
    concatenations = Concatenations(invars)
    outs = walk(closed.jaxpr, env, compat.NameStack(), transposes)
    items = split_barriers(items, concatenations.is_of_inputs, keeps_elements)
    made, outs = concatenations.split(items, outs)
    return Flat([*constvars, *invars], consts, made, outs, made is not items)
