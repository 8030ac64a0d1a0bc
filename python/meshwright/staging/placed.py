# SPDX-License-Identifier: Apache-2.0
"""The work at each place of a body that was put in line."""

from __future__ import annotations

from collections.abc import Container, Sequence

from ..tracing.scopes import source
from .costs import work_of
from .flatten import Item


def work_by_place(
    items: Sequence[Item],
    position: Sequence[int | None],
    copied: Container[int],
    places: int,
    rest: float,
) -> tuple[list[float], float]:
    """The work at each place, and with the rest that of operations that have none.

    Args:
      items: the operations of the body.
      position: the place of each.
      copied: those that each stage does itself.
      places: how many there are.
      rest: work elsewhere.

    Raises:
      ValueError: there is no place for what has one, since places are those of the
        forward pass.
    """
    costs = [0.0] * places
    for index, (item, where) in enumerate(zip(items, position, strict=True)):
        if where is not None:
            if not places:
                raise ValueError(
                    f"{source(item.eqn)}: auto: this is a backward pass whose forward "
                    "pass is not in the same call or function, and it has no stages "
                    "without that; take the gradient inside, as "
                    "mw.pipeline.accumulate(jax.value_and_grad(loss), microbatches=N) "
                    "does, and not around it"
                )
            costs[where] += work_of(item.eqn)
        elif index not in copied:
            rest += work_of(item.eqn)
    return costs, rest
