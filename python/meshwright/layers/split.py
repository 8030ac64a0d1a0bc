# SPDX-License-Identifier: Apache-2.0
"""Takes the stacked layers of a program apart, in its operations and its signature.

    step(w[6, 4], x):               step(w0[3, 4], w1[3, 4], x):
      a = w[0:3]                      a, b = w0, w1
      b = w[3:6]                      ...
      ...                             return w0 - ga, w1 - gb
      return w - concat(ga, gb)

What does the same to each row is done to each piece, so that nothing of an array has
to be where another piece is. Where an operation wants the whole it is put together.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from ..jaxapi import frontend as compat
from ..tracing.scopes import consts_as_operands, first_operand, inlined, kept, with_body
from .plan import Plan
from .rows import along_rows, combining, of_rows, rows_of


@dataclasses.dataclass
class _Value:
    """A value as far as it was needed: whole, in pieces, or both.

    Attributes:
      whole: a variable or literal.
      pieces: variables by first row and end, in order; None is a piece of zeros.
      slices: other parts of the rows that were needed.
    """

    aval: Any
    whole: Any | None = None
    pieces: dict[tuple[int, int], Any | None] | None = None
    slices: dict[tuple[int, int], Any] = dataclasses.field(default_factory=dict)


def _limits(cuts: Sequence[int]) -> list[tuple[int, int]]:
    return list(zip(cuts, cuts[1:], strict=False))


def split_layers(
    closed: Any, plan: Plan, inputs: Sequence[bool], outputs: Sequence[bool]
) -> Any:
    """A program that takes and gives some arrays in pieces.

    Args:
      plan: what belongs together in it.
      inputs: for each input whether it comes in pieces.
      outputs: the same for the results.
    """
    return _Splitter().program(closed, plan, inputs, outputs)


class _Splitter:
    def __init__(self) -> None:
        self._done: dict[int, tuple[Any, Any]] = {}

    def program(
        self, closed: Any, plan: Plan, inputs: Sequence[bool], outputs: Sequence[bool]
    ) -> Any:
        jaxpr = closed.jaxpr
        body = _Body(self, plan)
        invars = []
        for var, flag in zip(jaxpr.invars, inputs, strict=True):
            body.env[var] = value = _Value(var.aval)
            if not flag:
                value.whole = var
                invars.append(var)
                continue
            limits = _limits(plan.cuts(var))
            value.pieces = {limit: _part(var.aval, limit) for limit in limits}
            invars += value.pieces.values()
        for var in jaxpr.constvars:
            body.env[var] = _Value(var.aval, var)
        body.operations(plan, jaxpr)
        outvars: list[Any] = []
        for atom, flag in zip(jaxpr.outvars, outputs, strict=True):
            if flag:
                outvars += body.pieces(atom, plan.cuts(atom))
            else:
                outvars.append(body.whole(atom))
        return compat.remade(
            closed,
            [*closed.consts, *(const for _, const in body.consts)],
            constvars=[*jaxpr.constvars, *(var for var, _ in body.consts)],
            invars=invars,
            outvars=outvars,
            eqns=body.eqns,
        )

    def body(self, closed: Any, plan: Plan) -> Any:
        """A body that takes and gives in pieces all that is cut."""
        key = id(closed.jaxpr)
        if key not in self._done:
            sides = (
                [plan.cuts(atom) is not None for atom in atoms]
                for atoms in (closed.jaxpr.invars, closed.jaxpr.outvars)
            )
            # With the body, so that its identity stays its own.
            self._done[key] = closed, self.program(closed, plan, *sides)
        return self._done[key][1]


def _part(aval: Any, limit: tuple[int, int]) -> Any:
    start, stop = limit
    shape = (stop - start, *aval.shape[1:])
    return compat.Var(aval.update(shape=shape, weak_type=False))


class _Body:
    """The operations of one body, as they are taken apart."""

    def __init__(self, splitter: _Splitter, plan: Plan):
        self._splitter, self._plan = splitter, plan
        self.env: dict[Any, _Value] = {}
        self.eqns: list[Any] = []
        # Of bodies that took the place of an operation.
        self.consts: list[tuple[Any, Any]] = []
        self._like: Any = None  # The operation that is being taken apart.

    def operations(self, plan: Plan, jaxpr: Any) -> None:
        for at, eqn in enumerate(jaxpr.eqns):
            self._like = eqn
            self._plan = plan
            self._operation(at, eqn)

    def _operation(self, at: int, eqn: Any) -> None:
        plan, inner = self._plan, self._plan.inner.get(at)
        if inner is not None and not any(body.is_cutting for body in inner):
            inner = None
        if inner is not None and (body := inlined(eqn)) is not None:
            return self._inline(eqn, inner[0], body)
        if inner is not None:
            return self._apply(eqn, inner)
        if not plan.touches(eqn):
            return self._as_it_is(eqn)
        cuts = plan.cuts(eqn.outvars[0]) if eqn.outvars else None
        along = along_rows(eqn)
        if cuts is not None and along is not None:
            return self._by_rows(eqn, along, cuts)
        kind = eqn.primitive.name
        if kind == "slice" and self._take(eqn):
            return None
        if cuts is not None and kind == "pad" and self._pad(eqn, cuts):
            return None
        if cuts is not None and kind == "concatenate" and not eqn.params["dimension"]:
            return self._join(eqn)
        if combining(eqn) is not None and plan.cuts(eqn.invars[0]) is not None:
            return self._reduce(eqn, plan.cuts(eqn.invars[0]))
        return self._as_it_is(eqn)

    def _new(self, primitive: Any, operands: Sequence[Any], aval: Any, **params) -> Any:
        result = compat.Var(aval)
        self.eqns.append(
            compat.operation_at(self._like, primitive, operands, result, **params)
        )
        return result

    def _value(self, atom: Any) -> _Value:
        if not compat.is_variable(atom):
            return _Value(atom.aval, atom)
        return self.env[atom]

    def whole(self, atom: Any) -> Any:
        """A value in one piece, put together if it is not."""
        value = self._value(atom)
        if value.whole is None:
            parts = [self._filled(value, limit) for limit in value.pieces or ()]
            value.whole = self._concatenated(parts, value.aval)
        return value.whole

    def _concatenated(self, parts: Sequence[Any], aval: Any) -> Any:
        if len(parts) == 1:
            return parts[0]
        aval = aval.update(weak_type=False)
        return self._new(jax.lax.concatenate_p, parts, aval, dimension=0)

    def pieces(self, atom: Any, cuts: Sequence[int]) -> list[Any]:
        """A value in the pieces between these rows, none of them mere zeros."""
        return [self._filled(self._value(atom), limit) for limit in _limits(cuts)]

    def _filled(self, value: _Value, limit: tuple[int, int]) -> Any:
        found = self._rows(value, limit)
        if found is None:
            found = value.pieces[limit] = self._zeros(_part(value.aval, limit).aval)
        return found

    def _zeros(self, aval: Any) -> Any:
        return self._new(
            jax.lax.broadcast_in_dim_p,
            [compat.Literal(np.zeros((), aval.dtype), aval.update(shape=()))],
            aval,
            shape=aval.shape,
            broadcast_dimensions=(),
            sharding=None,
        )

    def _rows(self, value: _Value, limit: tuple[int, int]) -> Any | None:
        """Some rows of a value; None if these are a piece of zeros."""
        if value.pieces is not None and limit in value.pieces:
            return value.pieces[limit]
        if limit not in value.slices:
            value.slices[limit] = self._cut_out(value, *limit)
        return value.slices[limit]

    def _cut_out(self, value: _Value, start: int, stop: int) -> Any:
        if value.whole is not None:
            return self._slice(value.whole, value.aval, start, stop)
        parts = []
        for low, high in list(value.pieces or ()):
            first, last = max(low, start), min(high, stop)
            if first < last:
                piece = self._filled(value, (low, high))
                aval = _part(value.aval, (low, high)).aval
                parts.append(self._slice(piece, aval, first - low, last - low))
        aval = _part(value.aval, (start, stop)).aval
        return self._concatenated(parts, aval) if parts else self._zeros(aval)

    def _slice(self, atom: Any, aval: Any, start: int, stop: int) -> Any:
        if (start, stop) == (0, aval.shape[0]):
            return atom
        result = _part(aval, (start, stop)).aval
        low = (start, *[0] * (aval.ndim - 1))
        high = (stop, *aval.shape[1:])
        return self._new(
            jax.lax.slice_p,
            [atom],
            result,
            start_indices=low,
            limit_indices=high,
            strides=None,
        )

    def _as_it_is(self, eqn: Any) -> None:
        operands = list(map(self.whole, eqn.invars))
        # A body that replaces several operations occurs here often.
        outs = [type(var)(var.aval) for var in eqn.outvars]
        for var, out in zip(eqn.outvars, outs, strict=True):
            self.env[var] = _Value(out.aval, out)
        self.eqns.append(eqn.replace(invars=operands, outvars=outs))

    def _inline(self, eqn: Any, inner: Plan, body: Any) -> None:
        for var, atom in zip(body.jaxpr.invars, eqn.invars, strict=True):
            self.env[var] = self._value(atom)
        for var, const in zip(body.jaxpr.constvars, body.consts, strict=True):
            self.consts.append((compat.Var(var.aval), const))
            self.env[var] = _Value(var.aval, self.consts[-1][0])
        outer, self._plan, first = self._plan, inner, len(self.eqns)
        self.operations(inner, body.jaxpr)
        self._plan = outer
        # The scopes around it say what is forward, and what is derived of layers.
        scopes = eqn.source_info.name_stack
        for index in range(first, len(self.eqns)):
            info = self.eqns[index].source_info
            info = info.replace(name_stack=scopes + info.name_stack)
            self.eqns[index] = self.eqns[index].replace(source_info=info)
        for var, atom in zip(eqn.outvars, body.jaxpr.outvars, strict=True):
            self.env[var] = self._value(atom)

    def _apply(self, eqn: Any, inner: Sequence[Plan]) -> None:
        """An operation that has bodies, around the same in pieces."""
        bodies = [
            self._splitter.body(body, plan)
            for body, plan in zip(kept(eqn), inner, strict=True)
        ]
        skipped = first_operand(eqn)
        invars, outvars = list(eqn.invars[:skipped]), []
        first = kept(eqn)[0].jaxpr
        owner: list[int] = []  # For each new operand, which one it is a part of.
        for at, atom in enumerate(eqn.invars[skipped:]):
            cuts = inner[0].cuts(first.invars[at])
            found = [self.whole(atom)] if cuts is None else self.pieces(atom, cuts)
            invars += found
            owner += [at] * len(found)
        for var, result in zip(eqn.outvars, first.outvars, strict=True):
            self.env[var] = value = _Value(var.aval)
            cuts = self._plan.cuts(var) or inner[0].cuts(result)
            if cuts is None:
                value.whole = type(var)(var.aval)
                outvars.append(value.whole)
            else:
                value.pieces = {
                    limit: _part(var.aval, limit) for limit in _limits(cuts)
                }
                outvars += value.pieces.values()
        if eqn.primitive.name == "cond":
            invars[0] = self.whole(eqn.invars[0])
            new = eqn.replace(params={**eqn.params, "branches": tuple(bodies)})
        else:
            body, consts = consts_as_operands(eqn, bodies[0])
            new = with_body(eqn, body)
            outer = [compat.Var(var.aval) for var in body.jaxpr.invars[: len(consts)]]
            self.consts += zip(outer, consts, strict=True)
            invars = [*outer, *invars]
            if isinstance(flags := eqn.params.get("prevent_cse"), tuple):
                flags = (False,) * len(consts) + tuple(flags[at] for at in owner)
                new = new.replace(params={**new.params, "prevent_cse": flags})
        self.eqns.append(new.replace(invars=invars, outvars=outvars))

    def _by_rows(self, eqn: Any, along: Sequence[int], cuts: Sequence[int]) -> None:
        others = {
            at: self.whole(atom)
            for at, atom in enumerate(eqn.invars)
            if at not in along
        }
        values = {at: self._value(eqn.invars[at]) for at in along}
        for var in eqn.outvars:
            self.env[var] = _Value(var.aval, pieces={})
        is_sum = eqn.primitive.name in ("add_any", "add") and len(along) == 2
        for limit in _limits(cuts):
            if is_sum:
                found = [self._rows(values[at], limit) for at in along]
                given = [atom for atom in found if atom is not None]
                if len(given) < 2:
                    piece = given[0] if given else None
                    self.env[eqn.outvars[0]].pieces[limit] = piece
                    continue
            parts = {at: self._filled(values[at], limit) for at in along}
            outs = [_part(var.aval, limit) for var in eqn.outvars]
            params = of_rows(eqn.params, eqn.primitive, limit[1] - limit[0])
            operands = [(parts | others)[at] for at in range(len(eqn.invars))]
            self.eqns.append(eqn.replace(invars=operands, outvars=outs, params=params))
            for var, out in zip(eqn.outvars, outs, strict=True):
                self.env[var].pieces[limit] = out

    def _take(self, eqn: Any) -> bool:
        """A slice of the rows, of an array in pieces."""
        params, (operand,) = eqn.params, eqn.invars
        aval, cuts = operand.aval, self._plan.cuts(operand)
        low, high = params["start_indices"], params["limit_indices"]
        if cuts is None or any(s != 1 for s in params["strides"] or ()):
            return False
        if any(low[1:]) or tuple(high[1:]) != tuple(aval.shape[1:]):
            return False
        found = self._filled(self._value(operand), (low[0], high[0]))
        self.env[eqn.outvars[0]] = _Value(eqn.outvars[0].aval, found)
        return True

    def _pad(self, eqn: Any, cuts: Sequence[int]) -> bool:
        """Zeros around some rows, as the derivative of a slice has them."""
        (before, _, holes), *others = eqn.params["padding_config"]
        operand, filling = eqn.invars
        start, stop = int(before), int(before) + rows_of(operand.aval)
        inside = start >= 0 and stop <= cuts[-1]
        if holes or not compat.is_zero(filling) or any(map(any, others)) or not inside:
            return False
        value = self._value(operand)
        pieces = dict.fromkeys(_limits(cuts))
        for low, high in pieces:
            first, last = max(low, start), min(high, stop)
            if first >= last:
                continue
            found = self._filled(value, (first - start, last - start))
            if (first, last) != (low, high):
                around = (first - low, high - last, 0), *others
                aval = _part(eqn.outvars[0].aval, (low, high)).aval
                found = self._new(
                    jax.lax.pad_p, [found, filling], aval, padding_config=around
                )
            pieces[low, high] = found
        self.env[eqn.outvars[0]] = _Value(eqn.outvars[0].aval, pieces=pieces)
        return True

    def _join(self, eqn: Any) -> None:
        """What is put together of pieces stays in them."""
        pieces, start = {}, 0
        for atom in eqn.invars:
            stop = start + rows_of(atom.aval)
            pieces[start, stop] = self.whole(atom)
            start = stop
        self.env[eqn.outvars[0]] = _Value(eqn.outvars[0].aval, pieces=pieces)

    def _reduce(self, eqn: Any, cuts: Sequence[int]) -> None:
        """A reduction over all rows: that of each piece, and of these."""
        (out,) = eqn.outvars
        combine = combining(eqn)

        def put(found: Any, piece: Any) -> Any:
            both, result = [found, piece], compat.Var(out.aval)
            self.eqns.append(compat.binary_at(self._like, combine, both, result))
            return result

        found = (
            self._new(eqn.primitive, [piece], out.aval, **eqn.params)
            for piece in self.pieces(eqn.invars[0], cuts)
        )
        self.env[out] = _Value(out.aval, functools.reduce(put, found))
