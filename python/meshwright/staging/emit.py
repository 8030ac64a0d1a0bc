# SPDX-License-Identifier: Apache-2.0
"""Makes a named computation of the operations of each stage.

What belongs together becomes one computation, unless something outside would have
to run in the middle of it; then there are several of the same name.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Container, Sequence
from typing import Any

import jax
import numpy as np

from ..core import names
from ..core.order import in_order, reach
from ..jaxapi import frontend as compat
from ..tracing.primitives import (
    broadcast_p,
    call_p,
    for_p,
    named_computation_p,
    named_tensor_p,
    reduce_p,
)
from .assign import Graph, is_mark
from .flatten import Flat, Flattener, Item

# What a cast of a weight is read through.
_OF_CASTS = frozenset({jax.lax.convert_element_type_p, jax.lax.transpose_p})
# What says something about values between computations, and nothing inside of one.
_ABOUT_VALUES = frozenset({named_tensor_p, broadcast_p, reduce_p})


@dataclasses.dataclass(eq=False)
class _Part:
    """Operations that become one computation, or one that stays by itself.

    Attributes:
      key: stage and direction; None for what stays by itself.
      indices: the operations.
      needs: parts that it reads.
      bit: represents it in `before`; 0 for what stays by itself.
      before: bits of all computations that must run before it.
    """

    key: tuple[int, int] | None
    indices: list[int]
    needs: set[int]
    bit: int = 0
    before: int = 0


def stage_name(stage: int, graph: Graph | None = None) -> str:
    """What a stage is called, in a graph by its tower."""
    if graph is None:
        return names.stage_name(stage)
    tower, number = graph.place(stage)
    return f"{tower.name}_stage{number}"


class _Parts:
    """Collects operations, so that no two parts wait for each other."""

    def __init__(self) -> None:
        self.parts: list[_Part] = []
        self._open: dict[tuple[int, int], int] = {}
        self._bits = 0

    def add(self, key: tuple[int, int] | None, index: int, needs: set[int]) -> int:
        """Adds an operation that reads what the parts `needs` give."""
        number = self._open.get(key) if key else None
        if number is not None:
            part, others = self.parts[number], needs - {number}
            if not any(self.parts[other].before & part.bit for other in others):
                part.indices.append(index)
                part.needs |= others
                self._run_before(part, others)
                return number
        number = len(self.parts)
        part = _Part(key, [index], needs)
        if key:
            self._open[key] = number
            part.bit = 1 << self._bits
            self._bits += 1
        self.parts.append(part)
        for other in needs:
            part.before |= self.parts[other].before | self.parts[other].bit
        return number

    def _run_before(self, part: _Part, needs: set[int]) -> None:
        """Notes for a part, and for all after it, that it needs others."""
        new = 0
        for other in needs:
            new |= self.parts[other].before | self.parts[other].bit
        if new & ~part.before:
            part.before |= new
            for other in self.parts:
                if other.before & part.bit:
                    other.before |= new

    def in_order(self) -> list[_Part]:
        """All parts, each after those that it needs, else as they were written."""
        needs = {number: part.needs for number, part in enumerate(self.parts)}
        order = in_order(needs, lambda number: self.parts[number].indices[0])
        return [self.parts[number] for number in order]


def _is_draw(eqn: Any) -> bool:
    return eqn.primitive.name == "rng_uniform"


def copies(flat: Flat, fixed: Container[Any] = ()) -> set[int]:
    """Operations that each stage does itself, forward and backward.

    Those that read nothing: masks, positions, zeros; not what draws random numbers
    without a key, which are others each time. And casts of weights, also transposed
    ones, which each microbatch would keep for its backward, and send to other stages.

    Args:
      fixed: inputs that are the same for all microbatches.
    """
    found: set[int] = set()
    casts: set[int] = set()
    for index, item in enumerate(flat.items):
        eqn = item.eqn
        inputs = compat.variables(eqn.invars)
        cast = inputs[0] if inputs and eqn.primitive in _OF_CASTS else None
        is_first = eqn.primitive is not jax.lax.transpose_p and cast in fixed
        if is_first or flat.table.producer.get(cast) in casts:
            casts.add(index)
        elif (
            all(flat.table.producer.get(var) in found for var in inputs)
            and not eqn.effects
            and not is_mark(item)
            and eqn.primitive not in (named_computation_p, call_p, for_p)
            and not (_is_draw(eqn) or compat.find_inside(eqn, _is_draw))
        ):
            found.add(index)
    return found | casts


def emit(
    closed: Any,
    flat: Flat,
    stage: Sequence[int | None],
    graph: Graph | None = None,
    fixed: Container[Any] = (),
) -> tuple[Any, bool]:
    """The body again, with a named computation for each stage.

    Args:
      closed: what was laid open as `flat`.
      stage: stage of each operation, None for what belongs to none.
      graph: what feeds what, if the stages are no chain.
      fixed: inputs that are the same for all microbatches, as far as known.

    Returns:
      A closed jaxpr with the inputs and results of `closed`, and whether each stage
      has one computation forward and one backward, as schedules expect.
    """
    emitter = _Emitter(closed, flat, stage, graph, fixed)
    return emitter.closed_jaxpr(), emitter.is_regular


def rebuilt(closed: Any, flat: Flat, outs: Sequence[Any], eqns: Sequence[Any]) -> Any:
    """A closed jaxpr with the inputs of `closed`, which was laid open."""
    count = len(flat.consts)
    constvars, invars = flat.invars[:count], flat.invars[count:]
    sides = {"constvars": constvars, "invars": invars, "outvars": outs}
    return compat.remade(closed, flat.consts, **sides, eqns=eqns)


class Writer(Flattener):
    """Writes out what `_open` does; everything else stays as it is."""

    def written(self) -> Any:
        """The closed jaxpr, with the names of its inputs and results."""
        closed = self._closed
        outs = self._walk(closed.jaxpr, self._env, compat.NameStack(), 0)
        flat = Flat([*self._constvars, *self._invars], self._consts, self.items, outs)
        new = rebuilt(closed, flat, outs, [item.eqn for item in flat.items]).jaxpr
        new = new.replace(debug_info=closed.jaxpr.debug_info)
        return compat.ClosedJaxpr(new, flat.consts)


class _Emitter:
    def __init__(
        self,
        closed: Any,
        flat: Flat,
        stage: Sequence[int | None],
        graph: Graph | None,
        fixed: Container[Any],
    ):
        self._closed = closed
        self._graph = graph
        self._flat = flat
        self._stage = stage
        self._same: dict[Any, Any] = {}
        self._copied = copies(flat, fixed)
        self._eqns = [
            self._rename(item, index) for index, item in enumerate(flat.items)
        ]
        self._producer = {
            var: index
            for index, eqn in enumerate(self._eqns)
            if eqn is not None
            for var in eqn.outvars
        }

    def _rename(self, item: Item, index: int) -> Any:
        """An operation that reads what was before the marks; None for a mark."""
        eqn = item.eqn
        invars = [self._read(var) for var in eqn.invars]
        if is_mark(item):
            if eqn.params["linked"]:
                self._same.update(zip(eqn.outvars, invars[1:], strict=True))
            else:
                self._same.update(zip(eqn.outvars[:-1], invars, strict=True))
                token = eqn.outvars[-1]
                self._same[token] = compat.Literal(np.uint32(0), token.aval)
            return None
        if eqn.primitive in _ABOUT_VALUES and self._stage[index] is not None:
            self._same[eqn.outvars[0]] = invars[0]
            return None
        return eqn.replace(invars=invars)

    def _read(self, atom: Any) -> Any:
        return compat.look_up(self._same, atom, atom)

    def _parts(self) -> tuple[_Parts, dict[int, int]]:
        """Parts, and the part of each operation that is not copied."""
        parts, part_of = _Parts(), {}
        for index, eqn in enumerate(self._eqns):
            if eqn is None or index in self._copied:
                continue
            stage, count = self._stage[index], self._flat.items[index].transposes
            key = None if stage is None else (stage, count)
            needs = {
                part_of[self._producer[var]]
                for var in compat.variables(eqn.invars)
                if self._producer.get(var) in part_of
            }
            part_of[index] = parts.add(key, index, needs)
        return parts, part_of

    def closed_jaxpr(self) -> Any:
        parts, part_of = self._parts()
        keys = [part.key for part in parts.parts if part.key]
        self.is_regular = len(keys) == len(set(keys)) and all(t < 2 for _, t in keys)
        outs = [self._read(atom) for atom in self._flat.outs]
        leaving = set(compat.variables(outs))
        for index, part in part_of.items():
            for var in compat.variables(self._eqns[index].invars):
                if part_of.get(self._producer.get(var), part) != part:
                    leaving.add(var)
        eqns: list[Any] = []
        here: set[int] = set()  # Copied operations that are in the body itself.
        for part in parts.in_order():
            if part.key is None:
                eqns += self._with_copied(part.indices, here)
            else:
                eqns.append(self._computation(part, leaving))
        wanted = [self._producer[var] for var in leaving if var in self._producer]
        at_end = sorted(index for index in wanted if index in self._copied)
        eqns += self._with_copied(at_end, here)
        return rebuilt(self._closed, self._flat, outs, eqns)

    def _with_copied(self, indices: Sequence[int], have: set[int]) -> list[Any]:
        """Operations, each after what it reads of those that are copied."""

        def read(index: int) -> set[int]:
            given = compat.variables(self._eqns[index].invars)
            return self._copied.intersection(map(self._producer.get, given)) - have

        needed = reach(set(indices) - have, read)
        have |= needed & self._copied
        return [self._eqns[index] for index in sorted(needed)]

    def _computation(self, part: _Part, leaving: set[Any]) -> Any:
        body = self._with_copied(part.indices, set())
        made = {var for eqn in body for var in eqn.outvars}
        operands = list(
            dict.fromkeys(
                var
                for eqn in body
                for var in compat.variables(eqn.invars)
                if var not in made
            )
        )
        copied = {var for var in made if self._producer[var] in self._copied}
        results = [
            var
            for eqn in body
            for var in eqn.outvars
            if var in leaving and var not in copied
        ]
        stage, count = part.key
        inner = compat.remade(
            self._closed, (), constvars=[], invars=operands, outvars=results, eqns=body
        )
        first = self._eqns[part.indices[0]]
        return first.replace(
            primitive=named_computation_p,
            invars=operands,
            outvars=results,
            params={
                "jaxpr": inner,
                "name": stage_name(stage, self._graph),
                "transpose_count": count,
            },
            effects=compat.eqn_effects(inner, operands),
            source_info=first.source_info.replace(name_stack=compat.NameStack()),
        )
