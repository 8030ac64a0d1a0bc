# SPDX-License-Identifier: Apache-2.0
"""What the body of a loop reads at its index, apart from what it computes.

All iterations call one function. What that reads at a traced index, it reads of a
whole batch, which each mesh would have to keep. In front of the calls the compiler
knows the index, and what is read is a slice like one that is written out:

    for i: carry = f(batch, i, carry)       for i: carry = f(batch[i], carry)
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax

from ..jaxapi import frontend as compat

# Of integers and truth values without dimensions.
_ARITHMETIC = frozenset(
    {
        *("add", "sub", "mul", "div", "rem", "neg", "sign", "max", "min", "clamp"),
        *("lt", "le", "gt", "ge", "eq", "ne", "and", "or", "xor", "not", "select_n"),
        "convert_element_type",
    }
)
_RESHAPES = frozenset({"squeeze", "reshape"})


class _Kind(enum.Enum):
    """What is known of a value."""

    NUMBER = enum.auto()  # The same in every iteration.
    INDEX = enum.auto()  # A number that the index alone determines.
    FIXED = enum.auto()  # An input that is the same in every iteration.
    SLICE = enum.auto()  # What is read of such an input at an index.


def _is_integer(atom: Any) -> bool:
    return not atom.aval.shape and atom.aval.dtype.kind in "iub"


def _kind_of(atom: Any, kinds: dict[Any, _Kind]) -> _Kind | None:
    if isinstance(atom, compat.Literal):
        return _Kind.NUMBER if _is_integer(atom) else None
    return kinds.get(atom)


def _results(eqn: Any, operands: Sequence[_Kind | None]) -> list[_Kind | None]:
    """The kinds of an operation's results."""
    unknown = [None] * len(eqn.outvars)
    if eqn.effects or not operands or None in operands:
        return unknown
    if eqn.primitive is compat.jit_p:
        return _of_function(eqn, operands) or unknown
    first, *others = operands
    name = eqn.primitive.name
    if name in _ARITHMETIC and all(map(_is_integer, (*eqn.invars, *eqn.outvars))):
        if not {*operands} <= {_Kind.NUMBER, _Kind.INDEX}:
            return unknown
        return [_Kind.INDEX if _Kind.INDEX in operands else _Kind.NUMBER]
    if eqn.primitive is jax.lax.dynamic_slice_p:
        at = {*others} <= {_Kind.NUMBER, _Kind.INDEX}
        if at and (
            first is _Kind.SLICE or (first is _Kind.FIXED and _Kind.INDEX in others)
        ):
            return [_Kind.SLICE]
    if name in _RESHAPES and first is _Kind.SLICE:
        return [_Kind.SLICE]
    return unknown


def _of_function(
    eqn: Any, operands: Sequence[_Kind | None]
) -> list[_Kind | None] | None:
    """The kinds of a nested function's results, if it does nothing but read."""
    shardings = (*eqn.params["in_shardings"], *eqn.params["out_shardings"])
    closed = eqn.params["jaxpr"]
    if closed.consts or any(
        isinstance(entry, jax.sharding.Sharding) for entry in shardings
    ):
        return None
    kinds = dict(zip(closed.jaxpr.invars, operands, strict=True))
    for inner in closed.jaxpr.eqns:
        found = _results(inner, [_kind_of(atom, kinds) for atom in inner.invars])
        if None in found:
            return None
        kinds.update(zip(inner.outvars, found, strict=True))
    return [_kind_of(atom, kinds) for atom in closed.jaxpr.outvars]


class Split(NamedTuple):
    """A body in two parts.

    Attributes:
      slices: closed jaxpr of what is read.
      slice_inputs: which inputs of the body that takes.
      body: closed jaxpr of the rest; it takes the slices after its other inputs.
      body_inputs: which inputs of the body these are.
    """

    slices: Any
    slice_inputs: tuple[int, ...]
    body: Any
    body_inputs: tuple[int, ...]


@compat.weakref_lru_cache
def split(closed: Any, num_fixed: int) -> Split | None:
    """Parts what a body reads at the index from the rest.

    Args:
      closed: the body of a loop: inputs that never change, the carry, the index.
      num_fixed: the number of inputs that never change.

    Returns:
      Both parts, or None if it reads nothing at the index.
    """
    jaxpr = closed.jaxpr
    kinds: dict[Any, _Kind] = dict.fromkeys(jaxpr.invars[:num_fixed], _Kind.FIXED)
    kinds[jaxpr.invars[-1]] = _Kind.INDEX
    known, rest = [], []
    for eqn in jaxpr.eqns:
        found = _results(eqn, [_kind_of(atom, kinds) for atom in eqn.invars])
        # What gives nothing is there for its effects.
        (rest if None in found or not found else known).append(eqn)
        kinds.update(
            (var, kind)
            for var, kind in zip(eqn.outvars, found, strict=True)
            if kind is not None
        )

    def is_slice(atom: Any) -> bool:
        return _kind_of(atom, kinds) is _Kind.SLICE

    read = [*(atom for eqn in rest for atom in eqn.invars), *jaxpr.outvars]
    slices = list(dict.fromkeys(filter(is_slice, read)))
    if not slices:
        return None
    reading, slice_inputs = _part(closed, known, jaxpr.invars, slices)
    # Numbers that the rest reads, too, are computed again there.
    own = [
        eqn
        for eqn in jaxpr.eqns
        if not eqn.outvars or not all(map(is_slice, eqn.outvars))
    ]
    body, body_inputs = _part(closed, own, jaxpr.invars, jaxpr.outvars, slices)
    return Split(reading, slice_inputs, body, body_inputs)


def _part(
    closed: Any,
    eqns: Sequence[Any],
    inputs: Sequence[Any],
    outputs: Sequence[Any],
    further: Sequence[Any] = (),
) -> tuple[Any, tuple[int, ...]]:
    """A jaxpr of what some of a body's operations give, and which inputs it takes."""
    needed = set(compat.variables(outputs))
    kept = []
    for eqn in reversed(eqns):
        if eqn.effects or not needed.isdisjoint(eqn.outvars):
            kept.append(eqn)
            needed.update(compat.variables(eqn.invars))
    positions = tuple(at for at, var in enumerate(inputs) if var in needed)
    constants = [
        (var, value)
        for var, value in zip(closed.jaxpr.constvars, closed.consts, strict=True)
        if var in needed
    ]
    jaxpr = closed.jaxpr.replace(
        constvars=[var for var, _ in constants],
        invars=[*(inputs[at] for at in positions), *further],
        eqns=kept[::-1],
        outvars=list(outputs),
        effects=frozenset().union(*(eqn.effects for eqn in kept)),
        debug_info=closed.jaxpr.debug_info.with_unknown_names(),
    )
    return compat.ClosedJaxpr(jaxpr, [value for _, value in constants]), positions
