# SPDX-License-Identifier: Apache-2.0
"""Which operations of a body belong side by side, where it applies a model repeatedly.

Two views of a batch, or answers that are preferred and rejected, go through the same
weights and meet in the loss. One application after the other in line, a cut between
them leaves all weights on one side, and sends them, and their gradients, to the other:

  loss(f(w1, f(w0, a)), f(w1, f(w0, b)))
  in line   f(w0, a)  f(w0, b)  f(w1, .)  f(w1, .)

Twins are operations of one primitive and line of the source with equally many such
operations before them (so neither depends on the other) that read the same weight. A
product with a weight that is not trained is a twin of those with other weights, too: a
teacher or a reference policy is kept as the model that it is a copy of.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence, Set

from ..tracing.scopes import source
from .flatten import Item

# Their derivative by what they read beside a weight reads that weight.
_PRODUCTS = frozenset({"conv_general_dilated", "dot_general", "ragged_dot_general"})


def find_twins(
    items: Sequence[Item],
    operands: Sequence[Sequence[int]],
    forward: Sequence[int],
    weights: Mapping[int, Set[object]],
    differentiated: Collection[object],
) -> dict[int, list[int]]:
    """Finds the twins of each operation that has some, itself among them.

    Args:
      weights: arrays of floats among the body's inputs that operations read with
        something else: as they are, or what is made of one alone.
      differentiated: those of which the backward pass reads something.
    """
    kinds: dict[tuple[str, str], list[int]] = {}
    for index in forward:
        if index in weights:
            eqn = items[index].eqn
            kinds.setdefault((eqn.primitive.name, source(eqn)), []).append(index)
    found: dict[int, list[int]] = {}
    for (primitive, _), members in kinds.items():
        if len(members) == 1:
            continue
        ranks = _ranks(frozenset(members), operands, forward)
        levels: list[list[int]] = [[] for _ in range(1 + max(ranks.values()))]
        for index in members:
            levels[ranks[index]].append(index)
        frozen = set[int]()
        if differentiated and primitive in _PRODUCTS:
            frozen = _frozen(ranks, operands, forward, weights, differentiated)
        for level in levels:
            for group in _groups(level, frozen, weights, differentiated):
                found.update(dict.fromkeys(group, group))
    return found


def _ranks(
    members: Set[int], operands: Sequence[Sequence[int]], forward: Sequence[int]
) -> dict[int, int]:
    """How many members there are on the longest path to each of them."""
    on_path: dict[int, int] = {}
    for index in forward:
        before = [on_path[o] + (o in members) for o in operands[index] if o in on_path]
        on_path[index] = max(before, default=0)
    return {index: on_path[index] for index in members}


def _frozen(
    ranks: Mapping[int, int],
    operands: Sequence[Sequence[int]],
    forward: Sequence[int],
    weights: Mapping[int, Set[object]],
    differentiated: Collection[object],
) -> set[int]:
    """Those of a chain of products with weights that are not trained.

    The derivative of a model's first product need not read its weight, so that only
    those after it tell; a product that is alone is not known to be of a copy.
    """
    trained = {i for i in ranks if not weights[i].isdisjoint(differentiated)}
    # Whether one of those after an operation is trained; absent where none is after it.
    before: dict[int, bool] = {}
    for index in reversed(forward):
        if index in ranks:
            is_before = index in trained or before.get(index, False)
        elif index in before:
            is_before = before[index]
        else:
            continue
        for other in operands[index]:
            before[other] = is_before or before.get(other, False)
    return {
        index
        for index, rank in ranks.items()
        if not before.get(index, rank == 0) and index not in trained
    }


def _groups(
    level: Sequence[int],
    frozen: Set[int],
    weights: Mapping[int, Set[object]],
    differentiated: Collection[object],
) -> Iterator[list[int]]:
    """Divides operations that do not depend on each other into those side by side."""
    left = list(level)
    while left:
        group = [left.pop(0)]
        for first in group:
            near = [
                index
                for index in left
                if (first in frozen) != (index in frozen)
                or _share(weights[first], weights[index], differentiated)
            ]
            group += near
            left = [index for index in left if index not in near]
        if len(group) > 1:
            yield sorted(group)


def _share(
    one: Set[object], other: Set[object], differentiated: Collection[object]
) -> bool:
    """Whether two operations read the same weight.

    Of a weight and a part of the batch, the derivative by the weight reads the latter.
    """
    return any(
        (len(one) == 1 and len(other) == 1)
        or (bool(differentiated) and var not in differentiated)
        for var in one & other
    )
