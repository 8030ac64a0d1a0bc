# SPDX-License-Identifier: Apache-2.0
"""Which operations of a body belong side by side, where it applies a model repeatedly.

Two views of a batch, or answers that are preferred and rejected, go through the same
weights and meet in the loss. One application after the other in line, a cut between
them leaves all weights on one side, and sends them, and their gradients, to the other:

  loss(f(w1, f(w0, a)), f(w1, f(w0, b)))
  in line   f(w0, a)  f(w0, b)  f(w1, .)  f(w1, .)

Twins are operations of one primitive and line of the source, neither of which depends
on the other, that read the same weight after equally many others that read it. What
comes before does not matter, such as a generator before one of the applications of a
discriminator. A product with a weight that is not trained is a twin of those with other
weights and equally many such products before them, too: a teacher or a reference policy
is kept as the model that it is a copy of. Products with weights that other bodies train
belong to no copy and are not counted, such as those of an actor before the copy of a
critic.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence, Set

from ..core.order import join
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
    at_any_depth: bool,
    elsewhere: Set[object] = frozenset(),
) -> dict[int, list[int]]:
    """Finds the twins of each operation that has some, itself among them.

    Args:
      weights: arrays of floats among the body's inputs that operations read with
        something else: as they are, or what is made of one alone.
      differentiated: those of which the backward pass reads something.
      at_any_depth: whether twins may have more or fewer operations of their kind before
        them. Such twins may cross each other.
      elsewhere: those that another body trains.
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
        own, frozen = ranks, set[int]()
        if differentiated and primitive in _PRODUCTS:
            if elsewhere:
                own = _ranks(
                    {i for i in members if weights[i].isdisjoint(elsewhere)},
                    operands,
                    forward,
                )
            frozen = _frozen(own, operands, forward, weights, differentiated)
        times = None
        if at_any_depth:
            times = _times(members, operands, forward, weights)
        groups: dict[int, set[int]] = {}
        for together in _copies(own, frozen):
            join(groups, together)
        for together in _readers(members, times, ranks, weights, differentiated):
            join(groups, together)
        for group in {id(group): group for group in groups.values()}.values():
            if len(group) > 1:
                found.update(dict.fromkeys(group, sorted(group)))
    return found


def find_trained(
    items: Sequence[Item],
    operands: Sequence[Sequence[int]],
    forward: Sequence[int],
    weights: Mapping[int, Set[object]],
    differentiated: Collection[object],
) -> set[object]:
    """The weights of products that are trained, or before one that is.

    Args:
      weights: as for `find_twins`, and so are the others.
    """
    products = {i for i in weights if items[i].eqn.primitive.name in _PRODUCTS}
    ranks = _ranks(products, operands, forward)
    # Of a part of the batch, derivatives by other weights may read that.
    alone = {i: weights[i] if len(weights[i]) == 1 else set() for i in products}
    frozen = _frozen(ranks, operands, forward, alone, differentiated)
    return set().union(*(weights[index] for index in products - frozen))


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


def _times(
    members: Sequence[int],
    operands: Sequence[Sequence[int]],
    forward: Sequence[int],
    weights: Mapping[int, Set[object]],
) -> dict[tuple[int, object], int]:
    """How often a weight was read on the way to each member that reads it."""
    bits = {index: 1 << number for number, index in enumerate(members)}
    before: dict[int, int] = {}
    for index in forward:
        before[index] = 0
        for other in operands[index]:
            before[index] |= before.get(other, 0) | bits.get(other, 0)
    times: dict[tuple[int, object], int] = {}
    for var, readers in _by_weight(members, weights):
        for index in readers:
            earlier = (o for o in readers if before[index] & bits[o])
            last = max((times[other, var] for other in earlier), default=-1)
            times[index, var] = last + 1
    return times


def _by_weight(
    members: Sequence[int], weights: Mapping[int, Set[object]]
) -> Iterator[tuple[object, list[int]]]:
    """The weights, each with the members that read it."""
    readers: dict[object, list[int]] = {}
    for index in members:
        for var in weights[index]:
            readers.setdefault(var, []).append(index)
    yield from readers.items()


def _copies(ranks: Mapping[int, int], frozen: Set[int]) -> Iterator[list[int]]:
    """Those of a rank, if some are of a copy that is not trained, and others not."""
    levels: dict[int, list[int]] = {}
    for index, rank in ranks.items():
        levels.setdefault(rank, []).append(index)
    for level in levels.values():
        if not frozen.isdisjoint(level) and not frozen.issuperset(level):
            yield level


def _readers(
    members: Sequence[int],
    times: Mapping[tuple[int, object], int] | None,
    ranks: Mapping[int, int],
    weights: Mapping[int, Set[object]],
    differentiated: Collection[object],
) -> Iterator[list[int]]:
    """Those that read the same weight.

    Of a weight and a part of the batch, the derivative by the weight reads the latter.
    """
    for var, readers in _by_weight(members, weights):
        if not differentiated or var in differentiated:
            readers = [index for index in readers if len(weights[index]) == 1]
        alike: dict[int, list[int]] = {}
        for index in readers:
            time = ranks[index] if times is None else times[index, var]
            alike.setdefault(time, []).append(index)
        yield from alike.values()
