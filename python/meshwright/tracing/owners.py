# SPDX-License-Identifier: Apache-2.0
"""Owners of traces: which programs may reuse each other's traces in JAX's cache.

The problem: JAX caches traces by function. A function that is jitted inside of a step,
such as a Flax module under `nn.jit`, may get its marks from the code around it, so the
cached trace of a step without marks would lack them.

The rule: each program is an owner, and reuses only its own traces. A function that is
wrapped again, for the same kind of schedule, keeps its owner if it has annotations, but
no function that is jitted inside of it has any, since annotations count microbatches
while they are traced. So it reuses traces of functions such as those of `jax.numpy`.
"""

from __future__ import annotations

import types
import weakref
from collections.abc import Callable, Hashable
from typing import Any

from ..jaxapi import frontend as compat


class TraceOwner:
    """A program, or several programs that reuse each other's traces."""

    def __init__(self) -> None:
        # Whether functions inside of those that were traced have no annotations.
        self._is_shared: bool | None = None

    @property
    def is_shared(self) -> bool:
        """Whether the next program of the same function may reuse these traces."""
        return self._is_shared is True

    def add(self, jaxpr: Any) -> None:
        """Notes a traced program."""
        if self._is_shared is not False:
            self._is_shared = _annotates_itself(jaxpr)


def _is_annotation(eqn: Any) -> bool:
    return eqn.primitive.name.startswith("mpmd_")


def _hides_annotation(eqn: Any) -> bool:
    return (
        not _is_annotation(eqn) and compat.find_inside(eqn, _is_annotation) is not None
    )


def _annotates_itself(jaxpr: Any) -> bool:
    """Whether a jaxpr has annotations, and none in a function that JAX jitted."""
    has_any = compat.find(jaxpr, _is_annotation) is not None
    return has_any and compat.find(jaxpr, _hides_annotation) is None


_owners: weakref.WeakKeyDictionary[Any, dict[Hashable, TraceOwner]] = (
    weakref.WeakKeyDictionary()
)


def trace_owner(function: Callable[..., Any], kind: Hashable) -> TraceOwner:
    """The owner of the traces of a function that is wrapped.

    Args:
      function: the user's. If it is not a plain function, it gets an owner of its own,
        since such an object may be made again, or equal another one.
      kind: what annotations read of the program while they are traced.
    """
    if type(function) is not types.FunctionType:
        return TraceOwner()
    known = _owners.setdefault(function, {})
    if kind not in known or not known[kind].is_shared:
        known[kind] = TraceOwner()
    return known[kind]
