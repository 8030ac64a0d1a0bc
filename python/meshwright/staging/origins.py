# SPDX-License-Identifier: Apache-2.0
"""Which weights values come from, element by element.

What a step of learning makes of a weight is that weight to a model that is applied
again: `w - rate * g`, its cast, an average of both.
"""

from __future__ import annotations

from typing import Any

from ..jaxapi import frontend as compat
from .concatenations import keeps_elements
from .costs import count_of
from .terms import is_float, is_number


class Origins:
    """The weights of values, as the operations of a body are noted in turn.

    Weights are inputs of the body, arrays of floats. A value comes from one if it has
    as many elements, each made of one of that, of numbers and of what comes from none.
    """

    def __init__(self) -> None:
        self._origin: dict[Any, Any] = {}
        self._made: set[Any] = set()

    def of(self, eqn: Any) -> frozenset[Any]:
        """The weights that an operation reads, or that what it reads comes from."""
        found = (
            self._origin.get(var, None if var in self._made else var)
            for var in compat.variables(eqn.invars)
        )
        return frozenset(
            var
            for var in found
            if var is not None and is_float(var) and not is_number(var)
        )

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
