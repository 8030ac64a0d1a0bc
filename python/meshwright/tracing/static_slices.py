# SPDX-License-Identifier: Apache-2.0
"""Slices at indices that are known while JAX traces, as slices of known bounds.

`jax.lax.dynamic_index_in_dim(weights, i)` in a loop of Python has a number for `i`, but
JAX records arithmetic on it and a `dynamic_slice`, and for the derivative an update of
zeros. Which rows a stage reads is to be known before it runs:

  a = jit[dynamic_index_in_dim] w 1        a = slice[1:2] w
  d = dynamic_update_slice zeros g 1       d = pad[1] g
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import jax
import numpy as np

from ..jaxapi import frontend as compat
from .scopes import body_of, inlined, with_body

_SLICES = ("dynamic_slice", "dynamic_update_slice")

# What JAX does to an index.
_INDEX: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "convert_element_type": lambda value: value,
    "lt": np.less,
    "max": np.maximum,
    "min": np.minimum,
    "select_n": lambda which, *cases: cases[int(which)],
    "sub": np.subtract,
}


def _is_slice(eqn: Any) -> bool:
    return eqn.primitive.name in _SLICES


def with_static_slices(traced: Any) -> Any:
    """A traced function whose slices at known indices are static."""
    jaxpr = static(traced.jaxpr)
    return traced if jaxpr is traced.jaxpr else compat.with_jaxpr(traced, jaxpr)


def static(closed: Any) -> Any:
    """A closed jaxpr whose slices at known indices are static."""
    new = _rewritten(closed.jaxpr)
    return closed if new is None else compat.ClosedJaxpr(new, closed.consts)


@compat.weakref_lru_cache
def _rewritten(jaxpr: Any) -> Any | None:
    """The jaxpr with static slices; None, and no reference to it, if it is as good."""
    if compat.find(jaxpr, _is_slice) is None:
        return None
    body = _Body(jaxpr)
    if not body.changes:
        return None
    outvars = list(map(body.read, jaxpr.outvars))
    return jaxpr.replace(eqns=body.eqns, outvars=outvars, debug_info=jaxpr.debug_info)


class _Body:
    def __init__(self, jaxpr: Any):
        self.eqns: list[Any] = []
        self.changes = False
        self._instead: dict[Any, Any] = {}
        self._known: dict[Any, Any] = {}
        self._zeros: dict[Any, Any] = {}  # Those that nothing reads yet.
        for eqn in jaxpr.eqns:
            self._visit(eqn, eqn.replace(invars=list(map(self.read, eqn.invars))))
        self._need(map(self.read, jaxpr.outvars))

    def _need(self, atoms: Iterable[Any]) -> None:
        """Adds zeros that are read after all."""
        for atom in atoms:
            if not isinstance(atom, compat.Literal) and atom in self._zeros:
                self.eqns.append(self._zeros.pop(atom))

    def read(self, atom: Any) -> Any:
        return compat.look_up(self._instead, atom, atom)

    def _value(self, atom: Any) -> Any | None:
        """The number that an index is, if it is known."""
        if not isinstance(atom, compat.Literal):
            return self._known.get(atom)
        dtype = getattr(atom.aval, "dtype", np.dtype(object))
        if getattr(atom.aval, "shape", ()) or dtype.kind not in "iub":
            return None
        return np.asarray(atom.val)

    def _visit(self, original: Any, eqn: Any) -> None:
        name = eqn.primitive.name
        values = list(map(self._value, eqn.invars))
        body = inlined(eqn)
        if (
            body is not None
            and not body.consts
            and compat.find(body.jaxpr, _is_slice) is not None
            and any(value is not None for value in values)
        ):
            self.changes = True
            self._instead.update(
                zip(original.outvars, self._inline(eqn, body), strict=True)
            )
            return
        if name in _INDEX and all(value is not None for value in values):
            dtype = eqn.outvars[0].aval.dtype
            self._known[eqn.outvars[0]] = np.asarray(_INDEX[name](*values), dtype)
        elif name == "broadcast_in_dim" and compat.is_zero(eqn.invars[0]):
            self._zeros[eqn.outvars[0]] = eqn
            return
        elif name in _SLICES:
            eqn = self._as_static(eqn)
        else:
            eqn = self._with_bodies(eqn)
        self._need(eqn.invars)
        self.eqns.append(eqn)

    def _inline(self, around: Any, body: Any) -> list[Any]:
        """Adds what a function does; returns its results."""
        inner = body.jaxpr
        env = dict(zip(inner.invars, around.invars, strict=True))

        def read(atom: Any) -> Any:
            return atom if isinstance(atom, compat.Literal) else env[atom]

        stack = around.source_info.name_stack
        for eqn in inner.eqns:
            outvars = [type(var)(var.aval) for var in eqn.outvars]
            env.update(zip(eqn.outvars, outvars, strict=True))
            info = eqn.source_info.replace(
                name_stack=stack + eqn.source_info.name_stack
            )
            invars = list(map(read, eqn.invars))
            new = eqn.replace(invars=invars, outvars=outvars, source_info=info)
            self._visit(new, new.replace(invars=list(map(self.read, invars))))
        return [self.read(read(atom)) for atom in inner.outvars]

    def _as_static(self, eqn: Any) -> Any:
        """A slice, or an update of zeros, at known indices; else as it was."""
        is_update = eqn.primitive.name == "dynamic_update_slice"
        whole, *rest = eqn.invars
        part = rest.pop(0) if is_update else eqn.outvars[0]
        starts = list(map(self._value, rest))
        if len(rest) != whole.aval.ndim or any(start is None for start in starts):
            return eqn
        shape, sizes = whole.aval.shape, part.aval.shape
        begins = [
            min(max(int(start), 0), dim - size)
            for start, dim, size in zip(starts, shape, sizes, strict=True)
        ]
        if not is_update:
            ends = [begin + size for begin, size in zip(begins, sizes, strict=True)]
            bounds = {"start_indices": tuple(begins), "limit_indices": tuple(ends)}
            return self._made(eqn, jax.lax.slice_p, [whole], strides=None, **bounds)
        if whole not in self._zeros:
            return eqn
        config = tuple(
            (begin, dim - begin - size, 0)
            for begin, dim, size in zip(begins, shape, sizes, strict=True)
        )
        zero = compat.Literal(
            np.zeros((), whole.aval.dtype), whole.aval.update(shape=())
        )
        part = self._reshaped(part)
        return self._made(eqn, jax.lax.pad_p, [part, zero], padding_config=config)

    def _reshaped(self, part: Any) -> Any:
        """A row that a derivative broadcast along an axis of one element."""
        if not self.eqns or self.eqns[-1].outvars != [part]:
            return part
        eqn = self.eqns[-1]
        size = math.prod(part.aval.shape)
        if eqn.primitive is not jax.lax.broadcast_in_dim_p or len(eqn.invars) > 1:
            return part
        if math.prod(eqn.invars[0].aval.shape) == size:
            params = {"new_sizes": part.aval.shape, "dimensions": None}
            self.eqns[-1] = self._made(
                eqn, jax.lax.reshape_p, eqn.invars, sharding=None, **params
            )
        return part

    def _made(
        self, eqn: Any, primitive: Any, operands: Sequence[Any], **params: Any
    ) -> Any:
        self.changes = True
        return compat.operation_at(eqn, primitive, operands, *eqn.outvars, **params)

    def _with_bodies(self, eqn: Any) -> Any:
        body = body_of(eqn, or_repeats=True)
        new = body and static(body)
        if new is body:
            return eqn
        self.changes = True
        return with_body(eqn, new)
