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
from typing import Any, NamedTuple

from jax.sharding import NamedSharding

from ..jaxapi import frontend as compat
from ..tracing.primitives import call_p, for_p, named_computation_p
from ..tracing.scopes import body_of, source
from ..tracing.several_meshes import constrain
from . import loops
from .concatenations import Concatenations, keeps_elements
from .marks import mark_p
from .separable import is_separable, split_barriers
from .trips import why_none

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
            if (why := why_none(eqn)) is not None:
                advice += f". It is not a loop over microbatches, since {why}"
        if eqn.effects:
            advice = (
                "it runs on one mesh as a whole, and has side effects, so it cannot be "
                "written out; put marks before and after it"
            )
        elif compat.find_inside(eqn, lambda inner: inner.primitive in (call_p, for_p)):
            advice = (
                "it runs on one mesh as a whole, and microbatches in it cannot be "
                "numbered; let mw.make_config(..., max_loop_trips=N) write it out, or "
                "loop or choose in Python around the function of mw.jit"
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


class Reads(NamedTuple):
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

    @property
    def inputs(self) -> list[Any]:
        """Inputs of the body that are no constants."""
        return self.invars[len(self.consts) :]

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


class Flattener:
    """Writes the operations of a body out, one after the other.

    Attributes:
      items: what was written out so far.
    """

    def __init__(
        self, closed: Any, opens: Callable[[Any], bool] | None, max_trips: int | None
    ):
        self.items: list[Item] = []
        self._opens = opens
        self._max_trips = max_trips
        self._scope, self._scopes = 0, itertools.count(1)
        self._made_of_nothing: set[Any] = set()
        self._constants: dict[int, Any] = {}
        self._consts: list[Any] = []
        self._constvars: list[Any] = []
        self._closed = closed
        self._env = self._constants_of(closed)
        self._invars = [_fresh(var, self._env) for var in closed.jaxpr.invars]
        self._concatenations = Concatenations(self._invars)

    def flatten(self, transposes: int) -> Flat:
        outs = self._walk(self._closed.jaxpr, self._env, compat.NameStack(), transposes)
        found = self._concatenations
        items = split_barriers(self.items, found.is_of_inputs, keeps_elements)
        made, outs = found.split(items, outs)
        invars = [*self._constvars, *self._invars]
        return Flat(invars, self._consts, made, outs, made is not items)

    def _constants_of(self, closed: Any) -> dict[Any, Any]:
        """The variables of a body's constants, each of which is one input."""
        found = {}
        for var, value in zip(closed.jaxpr.constvars, closed.consts, strict=True):
            if id(value) not in self._constants:
                self._constants[id(value)] = compat.Var(var.aval)
                self._consts.append(value)
                self._constvars.append(self._constants[id(value)])
            found[var] = self._constants[id(value)]
        return found

    def _walk(
        self, jaxpr: Any, env: dict[Any, Any], stack: Any, outer: int
    ) -> list[Any]:
        def read(atom: Any) -> Any:
            return atom if isinstance(atom, compat.Literal) else env[atom]

        for eqn in jaxpr.eqns:
            operands = list(map(read, eqn.invars))
            whole = stack + eqn.source_info.name_stack
            count = outer + compat.transpose_count(eqn.source_info.name_stack)
            outs = self._open(eqn, operands, whole, count)
            if outs is None:
                self._keep(eqn, operands, whole, count, env)
            else:
                env.update(zip(eqn.outvars, outs, strict=True))
        return list(map(read, jaxpr.outvars))

    def _open(
        self, eqn: Any, operands: list[Any], stack: Any, count: int
    ) -> list[Any] | None:
        """The results of an operation that is laid open; None of one that stays."""
        mark = None if eqn.primitive is mark_p else mark_in(eqn)
        is_row_by_row = self._concatenations.are_rows(loops.rows_of(eqn, operands))
        if is_row_by_row or (
            mark is not None and loops.is_expandable(eqn, self._max_trips)
        ):
            run = functools.partial(self._walk_closed, stack, count)
            return loops.expand(eqn, operands, run, self._max_trips or 0)
        body = body_of(eqn)
        if mark is not None and (body is None or eqn.primitive is named_computation_p):
            refuse(eqn, mark)
        if body is None or not (
            mark is not None or self._is_opened(eqn, body, operands)
        ):
            return None
        return self._apply(eqn, body, operands, stack, count)

    def _apply(
        self, eqn: Any, body: Any, operands: list[Any], stack: Any, count: int
    ) -> list[Any]:
        """The results of an operation that applies a body."""
        before, after = (eqn.params.get(key, ()) for key in _SHARDINGS)
        operands = self._constrained(eqn, operands, before, stack, count)
        outs = self._walk_closed(stack, count, body, operands)
        return self._constrained(eqn, outs, after, stack, count)

    def _is_opened(self, eqn: Any, body: Any, operands: list[Any]) -> bool:
        """Whether an operation with a body, but no mark, is laid open."""
        if self._opens is not None and self._opens(eqn):
            return True
        return eqn.primitive not in (named_computation_p, call_p) and (
            self._concatenations.opens(operands) or is_separable(body.jaxpr)
        )

    def _keep(
        self, eqn: Any, operands: list[Any], stack: Any, count: int, env: dict[Any, Any]
    ) -> None:
        """Writes an operation out as it is."""
        outvars = [_fresh(var, env) for var in eqn.outvars]
        if self._made_of_nothing.issuperset(compat.variables(operands)):
            self._made_of_nothing.update(outvars)
            count = 0
        info = eqn.source_info.replace(name_stack=stack)
        new = eqn.replace(invars=operands, outvars=outvars, source_info=info)
        self.items.append(Item(new, count, self._scope))
        self._concatenations.visit(new, is_forward=not count)

    def _walk_closed(
        self,
        stack: Any,
        outer: int,
        body: Any,
        operands: Sequence[Any],
        is_own: bool = False,
    ) -> list[Any]:
        around = self._scope
        if is_own:
            self._scope = next(self._scopes)
        inner = dict(zip(body.jaxpr.invars, operands, strict=True))
        inner.update(self._constants_of(body))
        outs = self._walk(body.jaxpr, inner, stack, outer)
        self._scope = around
        return outs

    def _constrained(
        self, eqn: Any, values: Any, shardings: Any, stack: Any, count: int
    ) -> list[Any]:
        """What a nested `jax.jit` says about shardings, around what it does."""
        found = list(values)
        for index, sharding in enumerate(shardings):
            if isinstance(sharding, NamedSharding) and isinstance(
                found[index], compat.Var
            ):
                constraint, found[index] = constrain(eqn, found[index], sharding)
                info = eqn.source_info.replace(name_stack=stack)
                self.items.append(Item(constraint.replace(source_info=info), count))
        return found


def _fresh(var: Any, env: dict[Any, Any]) -> Any:
    env[var] = new = type(var)(var.aval)  # It may be one that is dropped.
    return new


def flatten(
    closed: Any,
    transposes: int = 0,
    opens: Callable[[Any], bool] | None = None,
    max_trips: int | None = None,
) -> Flat:
    """Lays open a body.

    Args:
      transposes: how often the body as a whole was transposed.
      opens: further operations to lay open; those with marks always are.
      max_trips: the most trips of a loop with marks that is written out.

    Raises:
      ValueError: a mark where nothing can be cut; the text begins with its place.
    """
    return Flattener(closed, opens, max_trips).flatten(transposes)
