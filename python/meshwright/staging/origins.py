# SPDX-License-Identifier: Apache-2.0
"""Which weights values come from, element by element.

What a step of learning makes of a weight is that weight to a model that is applied
again: `w - rate * g`, its cast, an average of both.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Any

from ..core.order import present
from ..jaxapi import frontend as compat
from .concatenations import keeps_elements
from .costs import count_of
from .terms import is_float, is_number


class Origins:
    """The weights of values, as the operations of a body are noted in turn.

    Weights are inputs of the body, arrays of floats. A value comes from one if it has
    as many elements, each made of one of that, of numbers and of what comes from none.

    Args:
      weights: the inputs that are weights; all by default. A moment of an optimizer has
        as many elements as the weight that it changes.
    """

    def __init__(self, weights: Container[Any] | None = None) -> None:
        self._weights = weights
        self._origin: dict[Any, Any] = {}
        self._made: set[Any] = set()

    def of(self, eqn: Any) -> frozenset[Any]:
        """The weights that an operation reads, or that what it reads comes from."""
        return frozenset(present(map(self.find, compat.variables(eqn.invars))))

    def find(self, var: Any) -> Any | None:
        """The weight that a value is or comes from, if there is one."""
        found = self._origin.get(var, None if var in self._made else var)
        if found is None or is_number(found) or not is_float(found):
            return None
        return found if self._weights is None or found in self._weights else None

    def enter(self, inputs: Iterable[Any], operands: Iterable[Any]) -> None:
        """Notes what the inputs of a function are where that is applied."""
        for var, atom in zip(inputs, operands, strict=True):
            self._made.add(var)
            self._origin.pop(var, None)
            found = self.find(atom) if compat.is_variable(atom) else None
            if found is not None:
                self._origin[var] = found

    def note(self, eqn: Any, comes_from_none: bool = False) -> None:
        """Notes what an operation makes.

        Args:
          eqn: the operation; what it reads and is made was noted before.
          comes_from_none: as gradients do, whatever they are made of.
        """
        self._made.update(eqn.outvars)
        if comes_from_none or len(eqn.outvars) != 1 or not keeps_elements(eqn):
            return
        (out,) = eqn.outvars
        like = [var for var in self.of(eqn) if count_of(var) == count_of(out)]
        if len(like) == 1:
            self._origin[out] = like[0]
