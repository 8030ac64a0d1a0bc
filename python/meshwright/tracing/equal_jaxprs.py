# SPDX-License-Identifier: Apache-2.0
"""Finds out which traces came out equal, so that one replaces all.

A function that reads what may change is traced at every call. Mostly the traces
are equal all the same: only operands differ. One object for equal jaxprs means
one callee in the program, one derivative, one compiled fragment.
"""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from ..jaxapi import frontend as compat

_BY_TYPE = (bool, int, str, bytes, type(None))


class EqualJaxprs:
    """Equal jaxprs, each represented by the first that came.

    Equal are jaxprs that apply the same primitives with equal parameters to the
    same operands in the same order, under the same settings and name scopes.
    Parameters that cannot be compared are equal only to themselves.
    """

    def __init__(self):
        # Of its types and length alone; None if there were others.
        self._sole: dict[Any, Any] = {}
        self._first: dict[Any, Any] = {}
        self._known: dict[int, Any] = {}
        # Keys hold ids of objects, which must not be reused meanwhile.
        self._alive: list[Any] = []

    def first(self, jaxpr: Any) -> Any:
        """The first closed jaxpr that is equal to this one, or this one."""
        found = self._known.get(id(jaxpr))
        if found is None:
            self._alive.append(jaxpr)
            found = self._known[id(jaxpr)] = self._find(jaxpr)
        return found

    def _find(self, jaxpr: Any) -> Any:
        types = (*jaxpr.in_avals, len(jaxpr.eqns), *jaxpr.out_avals)
        if types not in self._sole:
            self._sole[types] = jaxpr
            return jaxpr
        other, self._sole[types] = self._sole[types], None
        if other is not None:
            self._first[self._key_of_closed(other)] = other
        return self._first.setdefault(self._key_of_closed(jaxpr), jaxpr)

    def _key_of_closed(self, closed: Any) -> Any:
        return self._key_of(closed.jaxpr), tuple(map(self._value, closed.consts))

    def _key_of(self, jaxpr: Any) -> Any:
        number = {
            var: index for index, var in enumerate([*jaxpr.constvars, *jaxpr.invars])
        }

        def atom(value: Any) -> Any:
            if isinstance(value, compat.Literal):
                return self._value(value.val), value.aval
            return number[value]

        eqns = []
        for eqn in jaxpr.eqns:
            operands = tuple(map(atom, eqn.invars))
            for var in eqn.outvars:
                number[var] = len(number)
            eqns.append(
                (
                    eqn.primitive,
                    operands,
                    tuple((k, self._value(v)) for k, v in sorted(eqn.params.items())),
                    tuple(var.aval for var in eqn.outvars),
                    frozenset(eqn.effects),
                    id(eqn.ctx),
                    eqn.source_info.name_stack,
                )
            )
        return (
            tuple(var.aval for var in jaxpr.constvars),
            tuple(var.aval for var in jaxpr.invars),
            tuple(eqns),
            tuple(map(atom, jaxpr.outvars)),
            frozenset(jaxpr.effects),
        )

    def _value(self, value: Any) -> Any:
        """Something hashable that is equal for equal values only."""
        kind = type(value)
        if kind in _BY_TYPE:
            return kind, value
        if isinstance(value, float):
            return kind, value.hex(), getattr(value, "dtype", None)
        if isinstance(value, complex):
            parts = value.real.hex(), value.imag.hex()
            return kind, parts, getattr(value, "dtype", None)
        if isinstance(value, np.generic):
            return kind, value.dtype, value.tobytes()
        if isinstance(value, np.ndarray):
            weak, digest = (
                getattr(value, "weak_type", False),
                compat.digest_of(value, 32),
            )
            return kind, weak, value.dtype, value.shape, digest
        if kind in (tuple, list):
            return kind, tuple(map(self._value, value))
        if kind is dict:
            return kind, tuple((k, self._value(v)) for k, v in value.items())
        if isinstance(value, compat.ClosedJaxpr):
            return "jaxpr", id(self.first(value))
        if isinstance(value, compat.Jaxpr):
            return "open jaxpr", self._key_of(value)
        self._alive.append(value)
        if isinstance(value, jax.Array):
            return "same", id(value)
        try:
            hash(value)
        except TypeError:
            return "same", id(value)
        return kind, value
