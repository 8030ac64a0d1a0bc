# SPDX-License-Identifier: Apache-2.0
"""Sums of gradients inside of what computes them.

A sum over microbatches that is written after their calls needs all gradients at one
time. As a further operand of each call, it is a part of the backward of a stage, and
there is one sum for all microbatches:

  g0 = call(w, x0)                   s0 = call(w, x0, 0)
  g1 = call(w, x1)          becomes  s1 = call(w, x1, s0)
  s1 = g0 + g1
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np

from ..jaxapi import frontend as compat
from ..staging.flatten import first_mark, flatten
from ..staging.graph import by_marks
from ..staging.terms import has_terms
from ..tracing.primitives import broadcast_p, named_computation_p, reduce_p
from ..tracing.static_slices import static


def zeros_like(aval: Any) -> jax.Array:
    """What a sum of values of a type begins with."""
    return jax.lax.broadcast(np.zeros((), aval.dtype), aval.shape)


def with_sums(
    closed: Any,
    wanted: Sequence[int],
    dtype: Any = None,
    marks: Mapping[int, int] | None = None,
    stages: int = 0,
) -> tuple[Any, list[tuple[int, list[list[int]]]]]:
    """Adds what further operands bring to results that are gradients.

    Args:
      closed: what a call computes, a closed jaxpr.
      wanted: positions of the results to add to.
      dtype: of the sums; by default that of the results.
      marks: numbers of the marks whose tokens are inputs, by their positions, if the
        call is of the backward alone.
      stages: the number of stages then.

    Returns:
      The closed jaxpr with operands after the others for what it adds to, and
      for each result that it adds to, those that come out of a transposed operation,
      its position and the positions of the sums, in rows: of one another's sums, and
      rows one after the other along the leading axis. There are several if the result
      is put together of what the stages of stacked layers give, or added up of what
      those give that share a weight: each stage has a sum of its own then, where it
      is, so that nothing is sent before the last microbatch, and the result itself is
      of no more use.
    """
    closed = static(closed)
    jaxpr = closed.jaxpr
    producer = {var: at for at, eqn in enumerate(jaxpr.eqns) for var in eqn.outvars}
    outvars, done = list(jaxpr.outvars), []
    sums = _Sums(list(jaxpr.eqns), producer, dtype)
    gradients = {
        index: _rows(
            _before_widening(outvars[index], producer, sums.eqns), producer, sums.eqns
        )
        for index in wanted
    }
    shared = [
        var
        for rows in gradients.values()
        for row in rows or ()
        if len(row) > 1
        for var in row
    ]
    sliced = compat.ClosedJaxpr(jaxpr.replace(eqns=list(sums.eqns)), closed.consts)
    owners = _owners(sliced, shared, producer, marks or {}, stages)
    for index, rows in gradients.items():
        if rows is not None:
            places = []
            for row in rows:
                first = len(outvars)
                slices = [part for part in row if producer[part] >= len(jaxpr.eqns)]
                owners |= dict.fromkeys(slices, owners.get(row[0], row[0]))
                for parts in _by_owner(row, owners, producer):
                    outvars.append(sums.add_all(parts, jaxpr.outvars[index]))
                places.append(list(range(first, len(outvars))))
            done.append((index, places))
            outvars[index] = outvars[places[0][0]]  # Not read.
        elif (total := sums.add(outvars[index], outvars[index])) is not None:
            outvars[index] = total
            done.append((index, [[index]]))
    new = compat.remade(
        closed,
        invars=[*jaxpr.invars, *sums.operands],
        eqns=_without_unread([*sums.eqns, *sums.additions], outvars),
        outvars=outvars,
    )
    return new, done


class _Sums:
    """Operands that parts of gradients are added to.

    Attributes:
      eqns: the operations; those of named computations get operands.
      operands: what is added to, in the order in which it is made.
      additions: operations beside named computations, after the others.
    """

    def __init__(self, eqns: list[Any], producer: Mapping[Any, int], dtype: Any):
        self.eqns = eqns
        self.operands: list[Any] = []
        self.additions: list[Any] = []
        self._producer, self._dtype = producer, dtype

    def add(self, var: Any, of: Any, before: Any = None) -> Any | None:
        """The sum of a part of gradient `of` and of `before`, or of an operand."""
        at = compat.look_up(self._producer, var)
        if at is None:
            return None
        eqn = self.eqns[at]
        is_first = before is None
        if is_first:
            dtype = self._dtype or of.aval.dtype
            before = compat.Var(var.aval.update(weak_type=False, dtype=dtype))
        if eqn.primitive is named_computation_p:
            if not eqn.params["transpose_count"]:
                return None
            self.eqns[at], total = _added_inside(eqn, var, before)
        elif compat.transpose_count(eqn.source_info.name_stack):
            # A part of the stage of what it adds to: it counts as transposed, too.
            added, total = addition(eqn, var, before)
            self.additions += added
        else:
            return None
        if is_first:
            self.operands.append(before)
        return total

    def add_all(self, parts: Sequence[Any], of: Any) -> Any | None:
        """The sum of parts of gradient `of`, one after the other, and of an operand."""
        total = None
        for part in parts:
            total = self.add(part, of, total)
        return total


def _without_unread(eqns: Sequence[Any], outvars: Sequence[Any]) -> list[Any]:
    """Leaves out what puts gradients together that are in several sums instead."""
    read = set(compat.variables(outvars))
    kept = []
    for eqn in reversed(eqns):
        puts_together = eqn.primitive.name in ("pad", "add_any", "convert_element_type")
        if puts_together and read.isdisjoint(eqn.outvars):
            continue
        read.update(compat.variables(eqn.invars))
        kept.append(eqn)
    return kept[::-1]


def _before_widening(var: Any, producer: Mapping[Any, int], eqns: Any) -> Any:
    """What a gradient is converted from, if it is in a narrower type.

    So is that of a weight which several stages read in bfloat16. Each of them adds to a
    sum of the wider type, which rounds less than their sum in the narrower one.
    """
    at = compat.look_up(producer, var)
    if at is None or eqns[at].primitive is not jax.lax.convert_element_type_p:
        return var
    (narrow,), is_part = eqns[at].invars, is_transposed(eqns[at])
    # Not by promotion: JAX refuses that of 8 bits, and any if it is strict.
    is_wider = np.can_cast(narrow.aval.dtype, var.aval.dtype)
    return narrow if is_part and is_wider else var


def _rows(
    var: Any, producer: dict[Any, int], eqns: list[Any]
) -> list[list[Any]] | None:
    """The parts of a gradient, in rows along the leading axis.

    None if there is one part, or if what it is made of is not known. What is added to
    all rows, such as the derivative of weight decay, is sliced: `eqns` grows.
    """
    found = _pieces(var, producer, eqns)
    if found is None:
        parts = _summands(var, producer, eqns)
        return None if len(parts) == 1 else [parts]
    pieces, wholes = found
    rows = [
        [part for _, piece, _ in same for part in _summands(piece, producer, eqns)]
        for same in pieces
    ]
    for whole in wholes:
        for row, ((start, piece, pad), *_) in zip(rows, pieces, strict=True):
            part = compat.Var(piece.aval)
            others = whole.aval.shape[1:]
            bounds = {
                "start_indices": (start, *(0 for _ in others)),
                "limit_indices": (start + piece.aval.shape[0], *others),
            }
            producer[part] = len(eqns)
            eqns.append(
                compat.operation_at(
                    pad, jax.lax.slice_p, [whole], part, strides=None, **bounds
                )
            )
            row.append(part)
    return rows


def _owners(
    closed: Any,
    parts: Sequence[Any],
    producer: Mapping[Any, int],
    marks: Mapping[int, int],
    count: int,
) -> dict[Any, Any]:
    """The named computation or the stage between marks that gives each part.

    A part that belongs to none has no entry.
    """
    if not parts:
        return {}
    jaxpr = closed.jaxpr
    owners = {}
    for part in parts:
        eqn = jaxpr.eqns[producer[part]]
        if eqn.primitive is named_computation_p:
            owners[part] = eqn.params["name"]
    if first_mark(jaxpr) is None:
        return owners
    # What applies a function with marks is opened: its results are those of parts.
    flat = flatten(compat.remade(closed, outvars=list(parts)), opens=has_terms)
    inputs = flat.invars[len(flat.consts) :]
    known = {inputs[at]: number for at, number in marks.items()}
    stages = by_marks(flat, known, count).stage
    of_value = {
        var: stage
        for item, stage in zip(flat.items, stages, strict=True)
        for var in item.eqn.outvars
    }
    for part, out in zip(parts, flat.outs, strict=True):
        stage = compat.look_up(of_value, out)
        if stage is not None:
            owners.setdefault(part, stage)
    return owners


def _by_owner(
    parts: Sequence[Any], owners: Mapping[Any, Any], producer: Mapping[Any, int]
) -> list[list[Any]]:
    """Groups of parts that have one sum: each is added to what the one before gives."""
    groups: dict[Any, list[Any]] = {}
    for part in sorted(parts, key=producer.__getitem__):
        # One operation that gives several parts cannot read what it gives.
        same = groups.get(owners.get(part, part))
        if same and producer[same[-1]] == producer[part]:
            groups[part] = [part]
        else:
            groups.setdefault(owners.get(part, part), []).append(part)
    return list(groups.values())


def _pieces(
    var: Any, producer: Mapping[Any, int], eqns: Sequence[Any]
) -> tuple[list[list[tuple[int, Any, Any]]], list[Any]] | None:
    """What a value is put together of along its leading axis, first to last.

    The derivative of a slice is filled up with zeros, and the sum of those of all
    slices is the value, but for what is added to all rows. None if it is anything else.

    Returns:
      For each place the pieces there: the first row, the piece, and what fills it up;
      there are several of a weight that is read twice. And values of all rows.
    """
    found: dict[int, list[tuple[int, Any, Any]]] = {}
    wholes: list[Any] = []
    left = [var]
    while left:
        value = left.pop()
        at = compat.look_up(producer, value)
        if at is None or not is_transposed(eqns[at]):
            return None
        eqn = eqns[at]
        if eqn.primitive.name == "add_any":
            left += eqn.invars
            continue
        if eqn.primitive is not jax.lax.pad_p:
            wholes.append(value)
            continue
        (start, _, holes), *others = eqn.params["padding_config"]
        piece, filling = eqn.invars
        if holes or not compat.is_zero(filling) or any(map(any, others)):
            return None
        maker = compat.look_up(producer, piece)
        if maker is None or not is_transposed(eqns[maker]):
            return None
        found.setdefault(int(start), []).append((int(start), piece, eqn))
    starts = sorted(found)
    sizes = [{piece.aval.shape[0] for _, piece, _ in found[at]} for at in starts]
    if len(starts) < 2 or any(len(each) > 1 for each in sizes):
        return None
    ends = [start + size for start, (size,) in zip(starts, sizes, strict=True)]
    if [0, *ends] != [*starts, var.aval.shape[0]]:
        return None
    return [found[start] for start in starts], wholes


def _summands(var: Any, producer: Mapping[Any, int], eqns: Any) -> list[Any]:
    """What a gradient is added up of, if all of it is gradients; else it alone."""
    found: list[Any] = []
    left = [var]
    while left:
        value = left.pop()
        at = compat.look_up(producer, value)
        eqn = None if at is None else eqns[at]
        if eqn is None or not is_transposed(eqn):
            return [var]
        if eqn.primitive.name == "add_any" or eqn.primitive in (broadcast_p, reduce_p):
            left += reversed(eqn.invars)
        elif value in found:
            return [var]
        else:
            found.append(value)
    return found


def is_transposed(eqn: Any) -> bool:
    if eqn.primitive is named_computation_p:
        return eqn.params["transpose_count"] > 0
    return bool(compat.transpose_count(eqn.source_info.name_stack))


def addition(eqn: Any, var: Any, before: Any) -> tuple[list[Any], Any]:
    """Operations at the place of another one that add to its result, and the sum."""
    made = []
    if var.aval.dtype != before.aval.dtype:
        params = {"new_dtype": before.aval.dtype, "weak_type": False, "sharding": None}
        cast = jax.lax.convert_element_type_p
        converted = compat.Var(before.aval)
        made.append(compat.operation_at(eqn, cast, [var], converted, **params))
        var = converted
    total = compat.Var(before.aval)
    made.append(compat.binary_at(eqn, jax.lax.add, [before, var], total))
    return made, total


def _added_inside(eqn: Any, var: Any, before: Any) -> tuple[Any, Any]:
    """A named computation that adds to one of its results, and the new result."""
    jaxpr = eqn.params["jaxpr"].jaxpr
    inner = jaxpr.outvars[eqn.outvars.index(var)]
    operand = compat.Var(before.aval)
    added, sum_inside = addition(eqn, inner, operand)
    body = compat.remade(
        eqn.params["jaxpr"],
        invars=[*jaxpr.invars, operand],
        eqns=[*jaxpr.eqns, *added],
        outvars=[*jaxpr.outvars, sum_inside],
    )
    total = compat.Var(before.aval)
    eqn = eqn.replace(
        invars=[*eqn.invars, before],
        outvars=[*eqn.outvars, total],
        params={**eqn.params, "jaxpr": body},
    )
    return eqn, total
