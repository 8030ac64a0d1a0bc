# SPDX-License-Identifier: Apache-2.0
"""For which program JAX traces, so that it takes no trace of another one.

JAX finds what a function was traced to again by the function. One that is jitted inside
of a step, such as a Flax module under `nn.jit`, may get its marks from around it, so
that the trace of a plain step would hide them. A function that is wrapped again, for
the same kind of schedule, takes what was traced last time of the functions inside of
it, such as those of `jax.numpy`, if its annotations are in none of them: they count
microbatches while they are traced.
"""

from __future__ import annotations

import types
import weakref
from collections.abc import Callable, Hashable
from typing import Any

from ..jaxapi import frontend as compat


class TraceOwner:
    """A program, or several ones that take each other's traces."""

    def __init__(self) -> None:
        # Whether functions inside of those that were traced have no annotations.
        self._is_shared: bool | None = None

    @property
    def is_shared(self) -> bool:
        """Whether the next program of the same function may take the same traces."""
        return self._is_shared is True

    def add(self, jaxpr: Any) -> None:
        """Notes what was traced."""
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
      function: the user's. Others than plain functions may be made again for each
        program, or be equal without being the same.
      kind: what its annotations ask of the program while they are traced.
    """
    if type(function) is not types.FunctionType:
        return TraceOwner()
    known = _owners.setdefault(function, {})
    if kind not in known or not known[kind].is_shared:
        known[kind] = TraceOwner()
    return known[kind]
