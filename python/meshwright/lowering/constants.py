# SPDX-License-Identifier: Apache-2.0
"""Large arrays that a function closes over, as arguments of its program.

As text an array takes several times its size, and parsing it takes longer than anything
else that is done to a program. JAX can hoist constants: a large literal of a jaxpr
becomes an argument of `main`, before the user's own, which the runtime passes. Traces
have constants beside the jaxpr instead, and those are made literals here.

  f = named_computation(lambda x: x @ big, name="a")

  { lambda ; x. named_computation[jaxpr={ lambda big; x. x @ big }, name=a] x }
  { lambda ; x. named_computation[jaxpr={ lambda    ; x. x @ [..] }, name=a] x }
  func @main(%big, %x) { mpmd.named_computation<"a"> (%big, %x) … }

Each name has an argument of its own for what it reads: names may be on different
meshes, and a shared one would be sent from mesh to mesh at each call.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import is_
from typing import Any, NamedTuple

import jax
import numpy as np

from ..jaxapi import frontend as compat
from ..tracing import primitives

# Up to here a constant is text, which the compiler sees and may fold.
LIMIT_BYTES = 1 << 16

# Of these it is known that their lowering passes hoisted constants on to the body.
# What others have inside stays text.
_PASSING = (
    primitives.call_p,
    primitives.for_p,
    primitives.named_computation_p,
    *compat.constant_passing,
)


class Hoisted(NamedTuple):
    """A program whose large constants are literals.

    Attributes:
      jaxpr: the closed jaxpr; the given one if it has no large constants.
      outside: whether some are read outside of all names.
    """

    jaxpr: Any
    outside: bool


def hoist(closed: Any, outside: bool = True) -> Hoisted:
    """Makes literals of large constants.

    Args:
      outside: also of those that are read outside of all names.
    """
    hoister = _Hoister(outside)
    return Hoisted(hoister.closed(closed, None), hoister.found_outside)


class _Hoister:
    """Rewrites one program. Equal parts stay equal objects, which JAX lowers once."""

    def __init__(self, outside: bool) -> None:
        self._outside = outside
        self.found_outside = False
        # The objects beside the copies keep their ids.
        self._copies: dict[int, tuple[Any, Any]] = {}
        self._literals: dict[tuple[int, str], Any] = {}
        self._bodies: dict[tuple[int, str | None], tuple[Any, Any]] = {}

    def closed(self, closed: Any, name: str | None) -> Any:
        key = id(closed), name
        if key not in self._bodies:
            self._bodies[key] = closed, self._closed(closed, name)
        return self._bodies[key][1]

    def _closed(self, closed: Any, name: str | None) -> Any:
        pairs = list(zip(closed.jaxpr.constvars, closed.consts, strict=True))
        large = {var: value for var, value in pairs if _is_large(value, var.aval)}
        jaxpr = self._jaxpr(closed.jaxpr, large, name)
        if jaxpr is closed.jaxpr:
            return closed
        read = {
            atom
            for atoms in (jaxpr.outvars, *(eqn.invars for eqn in jaxpr.eqns))
            for atom in compat.variables(atoms)
        }
        kept = [pair for pair in pairs if pair[0] not in large or pair[0] in read]
        jaxpr = jaxpr.replace(constvars=[var for var, _ in kept])
        return compat.ClosedJaxpr(jaxpr, [value for _, value in kept])

    def _jaxpr(self, jaxpr: Any, large: dict[Any, Any], name: str | None) -> Any:
        """The jaxpr with literals instead of the variables in `large`."""
        eqns = [self._eqn(eqn, large, name) for eqn in jaxpr.eqns]
        outvars = self._atoms(jaxpr.outvars, large, name)
        if all(map(is_, eqns, jaxpr.eqns)) and all(map(is_, outvars, jaxpr.outvars)):
            return jaxpr
        return jaxpr.replace(eqns=eqns, outvars=outvars)

    def _eqn(self, eqn: Any, large: dict[Any, Any], name: str | None) -> Any:
        if eqn.primitive is primitives.named_computation_p:
            name = eqn.params["name"]
        invars = self._atoms(eqn.invars, large, name)
        params = {}
        if eqn.primitive in _PASSING:
            for key, value in eqn.params.items():
                found = self._param(value, name)
                if found is not value:
                    params[key] = found
        if not params and all(map(is_, invars, eqn.invars)):
            return eqn
        return eqn.replace(invars=invars, params={**eqn.params, **params})

    def _param(self, value: Any, name: str | None) -> Any:
        if isinstance(value, compat.ClosedJaxpr):
            return self.closed(value, name)
        if isinstance(value, compat.Jaxpr):
            return self._jaxpr(value, {}, name)
        if isinstance(value, (tuple, list)):
            found = [self._param(part, name) for part in value]
            return value if all(map(is_, found, value)) else type(value)(found)
        return value

    def _atoms(
        self, atoms: Iterable[Any], large: dict[Any, Any], name: str | None
    ) -> list[Any]:
        if name is None and not self._outside:
            return list(atoms)
        return [
            self._literal(atom, large[atom], name)
            if compat.is_variable(atom) and atom in large
            else atom
            for atom in atoms
        ]

    def _literal(self, var: Any, value: Any, name: str | None) -> Any:
        if id(value) not in self._copies:
            self._copies[id(value)] = value, compat.view_of_copy(value)
        copy = self._copies[id(value)][1]
        if name is None:
            # Each reader may be on a mesh of its own.
            self.found_outside = True
            return compat.Literal(compat.view_of_copy(copy), var.aval)
        key = id(value), name
        if key not in self._literals:
            # An argument for each object, all of the same memory.
            own = compat.view_of_copy(copy)
            self._literals[key] = compat.Literal(own, var.aval)
        return self._literals[key]


def _is_large(value: Any, aval: Any) -> bool:
    if not isinstance(value, (np.ndarray, compat.TypedNdArray, jax.Array)):
        return False
    if not isinstance(aval, jax.core.ShapedArray):
        return False
    if jax.dtypes.issubdtype(aval.dtype, jax.dtypes.extended):  # Keys.
        return False
    if aval.size * aval.dtype.itemsize <= LIMIT_BYTES:
        return False
    if isinstance(value, jax.Array) and not value.is_fully_addressable:
        return False
    return not _is_uniform(np.asarray(value))


def _is_uniform(value: np.ndarray) -> bool:
    """Whether all elements are equal, bit by bit: a few characters of text."""
    if 0 in value.strides:
        value = value[tuple(slice(1) if s == 0 else slice(None) for s in value.strides)]
    flat = value.reshape(-1)
    first = flat[:1].tobytes()
    step = max(1, flat.size // 64)
    if any(flat[i : i + 1].tobytes() != first for i in range(0, flat.size, step)):
        return False
    return bool((flat == flat[0]).all())
