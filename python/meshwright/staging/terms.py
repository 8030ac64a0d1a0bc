# SPDX-License-Identifier: Apache-2.0
"""Numbers that are made of weights alone, such as weight decay in the loss.

Such a term is written where the loss is, after the last mark, and would bring all
weights there. The stage that reads a weight anyway has what the term is made of: the
term is computed there, and the number is what the last stage gets. In the backward
pass that stage gets the cotangent of the number, and makes of it what it adds to the
gradient of its weight.

A number may be needed before that stage, as a norm of all weights that the first layer
divides by, or it may be made of numbers of stages after it, as a variance over all
weights is of their mean. No order of stages computes such numbers: they are outside of
all, before the first, each part where its weight is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from ..core.order import present, reach
from ..jaxapi import frontend as compat
from .costs import bytes_of
from .flatten import Flat

# Of keys and counts that need not be numbers.
_FEW_BYTES = 64


def is_number(atom: Any) -> bool:
    """Whether a value has one element at most, so that sending it costs nothing."""
    return math.prod(getattr(atom.aval, "shape", ())) <= 1


def is_count(atom: Any) -> bool:
    """Whether a value is a number or, such as a key of random draws, a few integers."""
    is_few = not is_float(atom) and bytes_of(atom.aval) <= _FEW_BYTES
    return is_number(atom) or is_few


def is_key(atom: Any) -> bool:
    """Whether a value is a number or a key of random draws."""
    dtype = getattr(atom.aval, "dtype", None)
    is_typed = jax.dtypes.issubdtype(dtype, jax.dtypes.prng_key)
    return is_number(atom) or is_typed or (dtype == jnp.uint32 and is_count(atom))


def is_float(atom: Any) -> bool:
    return jnp.issubdtype(getattr(atom.aval, "dtype", bool), jnp.inexact)


def is_quantized(atom: Any) -> bool:
    """Whether elements have no more than eight bits, as those of weights that are kept
    as small numbers and scales."""
    dtype = getattr(atom.aval, "dtype", jnp.dtype(bool))
    return dtype.itemsize == 1 and not jnp.issubdtype(dtype, jnp.bool_)


def is_scale(atom: Any, weight: Any) -> bool:
    """Whether something may have one element for several of a quantized weight."""
    return is_quantized(weight) and atom.aval.size <= weight.aval.size


def has_terms(eqn: Any) -> bool:
    """Whether an operation that applies a function makes a number of several values,
    or derivatives of several of that of a number: of weights, each may be a term."""

    def sides(atoms: Sequence[Any]) -> tuple[bool, int]:
        return (
            any(is_number(atom) and is_float(atom) for atom in atoms),
            sum(not is_number(atom) for atom in atoms),
        )

    reads_number, values = sides(eqn.invars)
    gives_number, results = sides(eqn.outvars)
    return (gives_number and values > 1) or (reads_number and results > 1)


class Terms:
    """The terms of a body.

    Args:
      is_early: which operations are forward ones that depend on no mark.
      position: where each forward operation counts as written, by what reads it first.
      stage_at: the stage in which something that is written at a position is.
    """

    def __init__(
        self,
        flat: Flat,
        is_early: Sequence[bool],
        position: list[int | None],
        stage_at: Callable[[int], int],
    ):
        self._items, self._producer = flat.items, flat.table.producer
        self._operands, self._reads = flat.table.operands, flat.table.reads
        self._is_early, self._position, self._stage_at = is_early, position, stage_at
        self._outs = set(compat.variables(flat.outs))
        self._readers: dict[Any, list[int]] = {}
        for index, item in enumerate(flat.items):
            if not item.transposes:
                for var in set(self._reads[index]):
                    self._readers.setdefault(var, []).append(index)
        self._saved: set[int] = set()  # What only the backward pass reads.
        for index in reversed(range(len(flat.items))):
            outvars = flat.items[index].eqn.outvars
            is_out = not self._outs.isdisjoint(outvars)
            if is_early[index] and not is_out and not self._forward(index):
                self._saved.add(index)
        self._numbers = [i for i in range(len(flat.items)) if self._gives_number(i)]
        self._inside = self._find_inside()
        self._stages: dict[int, set[int]] = {}  # Where the values of each part are.
        self._made_of_numbers: dict[int, int] = {}  # The last stage of these.

    def place(self, is_chain: bool = True) -> set[int]:
        """Moves terms to where what they are made of is read.

        Args:
          is_chain: whether the numbers of the stages say in which order they run.

        Returns:
          The operations outside of all stages, which have no position.
        """
        outside = self._find_outside() if is_chain else set()
        self._place_saved()
        wanted = {index: self._wanted(index) for index in self._numbers}
        for index, where in wanted.items():
            if where is not None:
                self._position[index] = where
        for index in reversed(range(len(self._items))):
            if index in self._inside and index not in wanted:
                later = present(
                    self._position[reader] for reader in self._forward(index)
                )
                self._position[index] = min(later, default=None)
        for index in outside:
            self._position[index] = None
        return outside

    def _is_part(self, index: int) -> bool:
        """Whether an operation makes or combines numbers, or is read backward alone."""
        return self._is_early[index] and (
            index in self._inside
            or index in self._saved
            or all(map(is_number, self._items[index].eqn.outvars))
        )

    def _find_outside(self) -> set[int]:
        """Parts that no order of stages computes, with all that these are made of."""
        stages, outside = self._stages, set[int]()
        for index in filter(self._is_part, range(len(self._items))):
            invars = self._reads[index]
            before = max(map(self._stage_of_numbers, invars), default=0)
            homes: set[int] | None = None
            for var in invars:
                found = None if is_number(var) else self._homes(var)
                if found:
                    homes = found if homes is None else homes & found
            if homes is None:
                self._made_of_numbers[index] = before
                continue
            stages[index] = {home for home in homes if home >= before}
            needed = self._position[index]
            if needed is not None and index not in self._saved:
                limit = self._stage_at(needed)
                stages[index] = {home for home in stages[index] if home <= limit}
            if not stages[index]:
                stages[index] = homes
                outside |= self._made_of(index)
        return outside

    def _stage_of_numbers(self, var: Any) -> int:
        """The last stage of the numbers that a value is made of, as far as known."""
        maker = self._producer.get(var)
        if maker in self._made_of_numbers:
            return self._made_of_numbers[maker]
        found = self._stages.get(maker, ()) if is_number(var) else ()
        return min(found, default=0)

    def _place_saved(self) -> None:
        """Makes numbers that the backward pass alone reads where their weights are."""
        first: dict[int, int] = {}
        for where in self._position:
            if where is not None:
                stage = self._stage_at(where)
                first[stage] = min(first.get(stage, where), where)
        for index in self._saved.intersection(self._numbers):
            found = first.keys() & self._stages.get(index, ())
            if found and self._position[index] is None:
                self._position[index] = first[min(found)]

    def _homes(self, var: Any) -> set[int]:
        """The stages that a value is in, or is read in by what is no part."""
        maker = self._producer.get(var)
        if maker in self._stages or maker in self._made_of_numbers:
            return self._stages.get(maker, set())
        return {
            self._stage_at(self._position[reader])
            for reader in self._readers.get(var, ())
            if self._position[reader] is not None and not self._is_part(reader)
        }

    def _made_of(self, index: int) -> set[int]:
        """A part and those it is made of; none if it is made of anything else."""
        found = reach(
            [index], lambda at: self._operands[at] if self._is_part(at) else ()
        )
        return found if all(map(self._is_part, found)) else set()

    def _forward(self, index: int) -> list[int]:
        """The forward operations that read what an operation gives."""
        outvars = self._items[index].eqn.outvars
        readers = [reader for var in outvars for reader in self._readers.get(var, ())]
        return [reader for reader in readers if reader not in self._saved]

    def _gives_number(self, index: int) -> bool:
        if not self._is_early[index]:
            return False
        eqn = self._items[index].eqn
        read = list(eqn.outvars)
        if index not in self._saved:
            read = [
                var
                for var in read
                if var in self._outs
                or not self._saved.issuperset(self._readers.get(var, ()))
            ]
        return bool(
            read
            and self._is_wanted(index, read)
            and all(map(is_number, read))
            and not all(map(is_number, self._reads[index]))
        )

    def _is_wanted(self, index: int, read: Sequence[Any]) -> bool:
        """Whether a number is needed for gradients, rather than an optimizer alone."""
        return (
            index in self._saved
            or self._position[index] is not None
            or not self._outs.isdisjoint(read)
            or any(self._is_early[reader] for reader in self._forward(index))
        )

    def _find_inside(self) -> set[int]:
        """Operations that serve nothing but such numbers."""
        inside = set(self._numbers)
        for index in reversed(range(len(self._items))):
            readers = self._forward(index)
            if self._is_early[index] and readers and inside.issuperset(readers):
                inside.add(index)
        return inside

    def _wanted(self, number: int) -> int | None:
        """Where a number belongs, if all that it is made of is in one stage."""
        stages: set[int] | None = None
        first: dict[int, int] = {}
        left, seen = [number], {number}
        while left:
            for var in self._reads[left.pop()]:
                maker = self._producer.get(var)
                if maker in seen or is_number(var):
                    continue
                if maker in self._inside:
                    seen.add(maker)
                    left.append(maker)
                    continue
                found = {}
                for reader in self._readers[var]:
                    where = self._position[reader]
                    if reader not in self._inside and where is not None:
                        stage = self._stage_at(where)
                        found[stage] = min(found.get(stage, where), where)
                if found:
                    first |= found
                    stages = set(found) if stages is None else stages & set(found)
        if not stages:
            return None
        stage, where = min(stages), self._position[number]
        limit = self._stage_at(number if where is None else where)
        return first[stage] if stage <= limit else None


def is_movable(
    flat: Flat,
    index: int,
    after: Sequence[bool],
    movable: Container[int],
    of_number: bool,
) -> bool:
    """Whether a transposed operation makes something large where that is read.

    Args:
      after: which forward operations depend on a mark.
      movable: the operations before it of which that is true.
      of_number: whether it has to be made of a cotangent's number.
    """
    item = flat.items[index]
    if item.transposes % 2 == 0 or all(map(is_number, item.eqn.outvars)):
        return False
    reads_number = False
    for var in flat.table.reads[index]:
        maker = flat.table.producer.get(var)
        is_small = is_number(var)
        if maker is not None and flat.items[maker].transposes:
            if not is_small and maker not in movable:
                return False
            reads_number = True
        elif maker is not None and not is_small and after[maker]:
            return False
    return reads_number or not of_number
