# SPDX-License-Identifier: Apache-2.0
"""Which operation of a body with marks belongs to which stage.

Forward, a stage is what was written between two marks. What does not depend on a
mark, such as the cast of a parameter or what is made of the labels, goes to the
stage that reads it first. Backward, the marks come back in reverse, and what lies
between two of them is what the stage between them sends on:

  forward    stage 0 | mark 0 | stage 1 | mark 1 | stage 2
  backward   stage 2 | mark 1 | stage 1 | mark 0 | stage 0

An operation that reads what several stages give belongs, backward, to the earliest
of them: its cotangent is there last. What is recomputed goes where it is read. A
number that is made of weights goes to the stage that reads these (`terms`). What works
on the gradients afterwards belongs to no stage.
"""

from __future__ import annotations

import bisect
import dataclasses
import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ..core.order import present, reach
from ..jaxapi import frontend as compat
from ..tracing.primitives import named_computation_p
from ..tracing.scopes import is_marked, source
from .applications import find_rounds
from .costs import bytes_of
from .flatten import Flat, Item
from .inner_gradients import count_by_marks
from .marks import mark_p
from .recomputed import is_recomputed
from .terms import Terms, is_count, is_float, is_key, is_movable, is_number

# Indices by which something is read are this many times smaller than that.
FEW = 4
# What gradients go through after the last of them.
_SUMS = frozenset({"add", "add_any", "mpmd_named_tensor", "mpmd_reduce"})


def is_mark(item: Item) -> bool:
    """Whether an operation is a mark of the model's own, or a derivative of one."""
    return item.eqn.primitive is mark_p


def is_own(item: Item) -> bool:
    return is_mark(item) and not item.eqn.params["linked"] and not item.transposes


def is_fixed(item: Item) -> bool:
    """A named computation that the user has put somewhere."""
    return item.eqn.primitive is named_computation_p


class Layout(NamedTuple):
    """Stages of which some are empty.

    Attributes:
      numbers: those of the stages that hold something.
      count: the number of all.
    """

    numbers: tuple[int, ...]
    count: int


def _layout(own: list[Item]) -> Layout | None:
    """What the marks say of the numbers of their stages, if all come from a layout."""
    begins = [item.eqn.params.get("begins") for item in own]
    first = next(iter(present(begins)), None)
    if first is None:
        return None
    for item, entry in zip(own, begins, strict=True):
        if entry is not None and entry[1:] == first[1:]:
            continue
        raise ValueError(
            f"{source(item.eqn)}: stage_boundary between the stages of a "
            "mw.pipeline.layout, which has all marks of a model; remove this mark, and "
            "end the stage in the layout"
        )
    return Layout((first.first, *(entry.stage for entry in begins)), first.count)


@dataclasses.dataclass(frozen=True)
class Tower:
    """A chain of stages in a graph.

    Attributes:
      name: what its marks call it.
      count: the number of its stages.
      place: the user's line of its first mark.
    """

    name: str
    count: int
    place: str = dataclasses.field(compare=False)


class Graph(NamedTuple):
    """Stages that are no chain, numbered tower by tower.

    Attributes:
      towers: in the order of the numbers; what feeds comes before what it feeds.
      feeds: pairs of stages of different towers, of which the first gives what the
        second reads.
    """

    towers: tuple[Tower, ...]
    feeds: tuple[tuple[int, int], ...]

    def place(self, stage: int) -> tuple[Tower, int]:
        """The tower of a stage, and its number there."""
        for tower in self.towers:
            if stage < tower.count:
                return tower, stage
            stage -= tower.count
        raise ValueError(f"no stage {stage}")


@dataclasses.dataclass
class Stages:
    """Where each operation belongs.

    Attributes:
      count: number of stages.
      stage: stage of each operation; None for marks, and for what belongs to none.
      places: the user's line of each mark, in order.
      tokens: number of the mark of each token.
      layout: their numbers, if those are not 0, 1, 2, ...
      graph: what feeds what, if they are no chain.
    """

    count: int
    stage: list[int | None]
    places: list[str]
    tokens: dict[object, int]
    layout: Layout | None = None
    graph: Graph | None = None


def number_tokens(
    flat: Flat, known: Mapping[object, int], numbers: Mapping[int, int]
) -> dict[object, int]:
    """The border that each token of a body comes from.

    Args:
      known: numbers of the tokens among its inputs.
      numbers: of the borders at which its marks are.
    """
    tokens = dict(known)
    for index, item in enumerate(flat.items):
        if index in numbers:
            tokens[item.eqn.outvars[-1]] = numbers[index]
            continue
        given = flat.table.reads[index]
        if not is_mark(item) and len(given) == 1 and given[0] in tokens:
            tokens.update(dict.fromkeys(item.eqn.outvars, tokens[given[0]]))
    return tokens


def unknown_owner(item: Item, what: str = "stage_boundary") -> ValueError:
    return ValueError(
        f"{source(item.eqn)}: cannot tell which {what} a derivative belongs to; take "
        "the gradient inside of mw.call, as in mw.call(jax.value_and_grad(loss), "
        "call_counter=i)(params, batch)"
    )


def _boundary(item: Item, tokens: Mapping[object, int]) -> int:
    if not item.eqn.params["linked"]:
        raise ValueError(
            f"{source(item.eqn)}: stage_boundary in the backward rule of the "
            "jax.custom_vjp that is applied here; a derivative follows the marks of "
            "the function, so take it out of this rule, and mark the forward rule"
        )
    found = tokens.get(item.eqn.invars[0])
    if found is None:
        raise unknown_owner(item)
    return found


def is_backward(item: Item, is_derived: bool) -> bool:
    """Whether an operation is of the gradient of all, not of one within a layer.

    Which of both is read from what was done last: the layer's derivative is part of
    a forward pass that itself has one.
    """
    if not is_derived or not item.transposes:
        return False
    return compat.transposed_last(item.eqn.source_info.name_stack)


def has_gradient(items: list[Item]) -> bool:
    return any(is_mark(item) and item.eqn.params["linked"] for item in items)


def count_forward(flat: Flat, marks: list[int]) -> None:
    """Counts what leads to a mark as forward, though a layer takes a gradient in it."""
    items, is_derived = flat.items, has_gradient(flat.items)

    def before(index: int) -> list[int]:
        operands = flat.table.operands[index]
        return [o for o in operands if not is_backward(items[o], is_derived)]

    for index in reach(marks, before):
        if not is_mark(items[index]):
            items[index].transposes = 0


def _check_inner(flat: Flat, is_derived: bool) -> None:
    """Refuses marks after a gradient of the marked function in one derivative."""
    inner = [False] * len(flat.items)
    for index, item in enumerate(flat.items):
        inner[index] = any(inner[other] for other in flat.table.operands[index])
        if not is_mark(item):
            continue
        if is_own(item) and inner[index]:
            raise ValueError(
                f"{source(item.eqn)}: stage_boundary: the function with this mark is "
                "applied to what its own gradient gave, inside of a derivative; make "
                "each application a call of its own, mw.call(f, call_counter=i)(...) "
                "with i = 0, 1, ..., where the first f takes that gradient"
            )
        is_derivative = item.eqn.params["linked"] and item.transposes
        if is_derivative and not is_backward(item, is_derived):
            inner[index] = True


def by_chain(flat: Flat, known: Mapping[object, int], count: int) -> Stages:
    """`graph.by_marks` for the stages of one chain.

    Raises:
      ValueError: derivatives or applications of the function with the marks that
        cannot be distinguished.
    """
    items = flat.items
    marks = [index for index, item in enumerate(items) if is_own(item)]
    is_derived = has_gradient(items)
    count_by_marks(flat)
    count_forward(flat, marks)
    _check_inner(flat, is_derived)
    rounds = find_rounds(flat, marks, lambda item: is_backward(item, is_derived))
    if len(rounds) == 1 and rounds[0].indices == list(range(len(items))):
        return _in_round(flat, rounds[0].cuts, known, count)
    stage: list[int | None] = [None] * len(items)
    tokens = dict(known)
    read_by = {
        var: number
        for number, each in enumerate(rounds)
        for index in each.indices
        for var in compat.variables(items[index].eqn.invars)
    }
    rounds_found: list[Stages] = []
    for number, each in enumerate(rounds):
        own = [items[index] for index in each.indices]
        # What another round reads leaves this one.
        outs = [
            var
            for item in own
            for var in item.eqn.outvars
            if read_by.get(var, number) != number
        ]
        part = Flat(flat.invars, flat.consts, own, [*flat.outs, *outs])
        found = _in_round(part, each.cuts, tokens, count)
        tokens = found.tokens
        for index, where in zip(each.indices, found.stage, strict=True):
            stage[index] = where
        rounds_found.append(found)
    first = rounds_found[0]
    counts = {found.count for found in rounds_found}
    if len(counts) > 1:
        listed = " and ".join(map(str, sorted(counts)))
        raise ValueError(
            f"{first.places[0]}: stage_boundary: functions of {listed} stages are "
            "applied one after the other; all marked functions of a program must have "
            "the same number of stages"
        )
    if any(found.layout != first.layout for found in rounds_found):
        raise ValueError(
            f"{first.places[0]}: models of several layouts are applied one after the "
            "other; all functions of a program go by one layout"
        )
    return Stages(first.count, stage, first.places, tokens, first.layout)


def _in_round(
    flat: Flat, cuts: Sequence[Sequence[int]], known: Mapping[object, int], count: int
) -> Stages:
    """Assigns the operations of one round, `flat`, with these marks at each border."""
    items = flat.items
    numbers = {mark: number for number, cut in enumerate(cuts) for mark in cut}
    tokens = number_tokens(flat, known, numbers)
    marks = [max(cut) for cut in cuts]
    count = len(marks) + 1 if marks else count
    after, free = free_items(flat, marks)
    position = _forward_positions(flat, after, free, marks, tokens)
    is_early = [
        not (item.transposes or free[at] or after[at] or is_mark(item))
        and not is_fixed(item)
        for at, item in enumerate(items)
    ]
    terms = Terms(flat, is_early, position, lambda at: bisect.bisect_left(marks, at))
    outside = terms.place()
    for index in outside:
        free[index] = True
    complete_positions(flat, free, position)
    stage: list[int | None] = [None] * len(items)
    for index, item in enumerate(items):
        if not (item.transposes or free[index] or is_mark(item) or is_fixed(item)):
            where = position[index]
            stage[index] = None if where is None else bisect.bisect_left(marks, where)

    received: dict[int, int] = {}  # Where sums that are sent on belong otherwise.

    def beside(index: int, is_after: bool) -> int | None:
        """The stage of an operation; of a mark, the one on a side of its border."""
        item = items[index]
        if is_after and index in received:
            return received[index]
        if not is_mark(item):
            return stage[index]
        border = numbers[index] if index in numbers else _boundary(item, tokens)
        return border + (is_after != item.transposes % 2)

    of_value = functools.partial(beside, is_after=True)
    of_reader = functools.partial(beside, is_after=False)

    def settle(index: int, last: int) -> int:
        """Adds up where all is known: a marked value may be read unmarked, too."""
        sender = _sender(flat, index, stage, of_value)
        if sender is None or sender <= last:
            return last
        received[index] = last
        return sender

    backward = Backward(
        flat, stage, of_value, of_reader, after, free, settle, outside=outside
    )
    backward.assign(count, marks)
    sum_at_the_end(flat, stage)
    for index in _weights_of_fixed(flat, stage):
        stage[index] = None
    places = [source(items[mark].eqn) for mark in marks]
    layout = _layout([items[mark] for mark in marks])
    return Stages(count, stage, places, tokens, layout)


def _sender(
    flat: Flat,
    index: int,
    stage: Sequence[int | None],
    of_value: Callable[[int], int | None],
) -> int | None:
    """The last stage that has all cotangents which an operation adds up.

    What comes through marks is in each stage on the way. None if nothing does, or for
    any other operation.
    """
    items, producer = flat.items, flat.table.producer
    if items[index].eqn.primitive.name != "add_any":
        return None
    places: set[int | None] | None = None
    passes = False
    for var in compat.variables(items[index].eqn.invars):
        maker, way = producer.get(var), set[int | None]()
        while maker is not None and is_mark(items[maker]):
            eqn, passes = items[maker].eqn, True
            if not eqn.params["linked"]:
                return None
            way.add(of_value(maker))
            var = eqn.invars[1 + eqn.outvars.index(var)]
            maker = compat.look_up(producer, var)
        if maker is not None:
            way |= {of_value(maker), stage[maker]}
        places = way if places is None else places & way
    return max(present(places or ()), default=None) if passes else None


def free_items(flat: Flat, marks: list[int]) -> tuple[list[bool], list[bool]]:
    """What comes after a mark, and what belongs to no stage.

    The latter depends on gradients without being one, as an optimizer does, or is
    written after the gradient and after all marks.
    """
    items = flat.items
    first_back = next(
        (i for i, item in enumerate(items) if item.transposes), len(items)
    )
    end = max(first_back, marks[-1] if marks else -1)
    after, free = [False] * len(items), [False] * len(items)
    for index, item in enumerate(items):
        if item.transposes:
            continue
        for other in flat.table.operands[index]:
            free[index] |= free[other] or bool(items[other].transposes)
            after[index] |= is_mark(items[other]) or after[other]
        free[index] |= after[index] and index > end
    free_choices(flat, _passed_marks(flat), free)
    return after, free


def free_choices(flat: Flat, level: Sequence[int], free: list[bool]) -> None:
    """Adds what is made of something large and of numbers that come later.

    Such as weights that are kept where a loss was smaller, or the rows of a cache with
    which a search goes on: each stays where it is. So does noise of which a few later
    values say how much a weight is to change.

    Args:
      level: of each operation, how many cuts it comes after.
      free: whether each belongs to no stage; is changed.
    """
    items, table = flat.items, flat.table
    home = _homes(flat, level)
    drawn = _draws(flat)
    by_numbers = [False] * len(items)
    for index, item in enumerate(items):
        operands = table.operands[index]
        if item.transposes or is_fixed(item):
            continue
        if any(is_mark(items[other]) for other in operands):
            continue
        size = max((bytes_of(var.aval) for var in item.eqn.outvars), default=0)
        made = [
            (maker, var)
            for var in table.reads[index]
            if (maker := table.producer.get(var)) is not None
        ]
        large = [m for m, var in made if not (_chooses(var, size) or by_numbers[m])]
        weighed = [
            maker
            for maker, var in made
            if FEW * bytes_of(var.aval) <= size
            and any(drawn[other] and home[other] < level[maker] for other in large)
        ]
        large = [maker for maker in large if maker not in weighed]
        first = max((level[maker] for maker in large), default=0)
        by_numbers[index] = not all(map(is_number, item.eqn.outvars)) and any(
            by_numbers[other] or level[other] > first
            for other in set(operands).difference(large)
        )
    for index in reversed(range(len(items))):
        if by_numbers[index] and not (free[index] or is_mark(items[index])):
            free[index] = all(free[reader] for reader in table.readers[index])


def _draws(flat: Flat) -> list[bool]:
    """Whether each operation is made of keys, numbers and constants only, as random
    draws are."""
    table = flat.table
    found: list[bool] = []
    for reads in table.reads:
        makers = ((table.producer.get(var), var) for var in reads)
        found.append(all(is_key(v) if m is None else found[m] for m, v in makers))
    return found


def _homes(flat: Flat, level: Sequence[int]) -> list[float]:
    """After how many cuts each operation is, or what reads it first if after none."""
    home = [float(each) for each in level]
    for index in reversed(range(len(home))):
        if not level[index]:
            found = (home[reader] for reader in flat.table.readers[index])
            home[index] = min(found, default=math.inf)
    return home


def _chooses(var: compat.Var, size: int) -> bool:
    """Whether this many bytes may be chosen by a value: a number or a few indices."""
    if is_number(var):
        return True
    return not is_float(var) and FEW * bytes_of(var.aval) <= size


def _passed_marks(flat: Flat) -> list[int]:
    """How many of the model's own marks there are before each operation, on a path."""
    passed: list[int] = []
    for item, operands in zip(flat.items, flat.table.operands, strict=True):
        before = max((passed[other] for other in operands), default=0)
        passed.append(before + is_own(item))
    return passed


def _forward_positions(
    flat: Flat,
    after: list[bool],
    free: list[bool],
    marks: list[int],
    tokens: Mapping[object, int],
) -> list[int | None]:
    """Where each forward operation counts as written, by what reads it.

    The mark of a tangent counts as written where that of its value is.
    """
    items = flat.items
    position: list[int | None] = [None] * len(items)
    wanted = [not item.transposes and not free[i] for i, item in enumerate(items)]
    for index in reversed(range(len(items))):
        if not wanted[index]:
            continue
        if is_mark(items[index]) and items[index].eqn.params["linked"]:
            border = _boundary(items[index], tokens)
            position[index] = marks[border] if border < len(marks) else index
            continue
        if after[index] or is_mark(items[index]):
            position[index] = index
            continue
        readers = (r for r in flat.table.readers[index] if wanted[r])
        position[index] = min(present(map(position.__getitem__, readers)), default=None)
    return position


def complete_positions(
    flat: Flat, free: list[bool], position: list[int | None]
) -> None:
    """Counts what no forward operation reads as written where its operands are.

    A count of inputs alone is where these are read, such as the next number of draws
    of a dropout, for which the forward pass of the next microbatch waits.
    """
    table = flat.table
    first: dict[object, int] = {}
    for index, where in enumerate(position):
        if where is not None and not flat.items[index].transposes:
            for var in table.reads[index]:
                first[var] = min(where, first.get(var, where))
    for index, item in enumerate(flat.items):
        if item.transposes or free[index] or position[index] is not None:
            continue
        before = present(map(position.__getitem__, table.operands[index]))
        if not table.operands[index] and all(map(is_count, item.eqn.outvars)):
            before = present(map(first.get, table.reads[index]))
        position[index] = max(before, default=None)


class Backward:
    """Gives each transposed operation the stage of what it reads, if that has one.

    What reads no stage goes where it is read, outside of all if that is too late. What
    makes something large of a number goes where that is read, if it can: not if it
    reads a weight of a stage whose backward pass is before that number. Such operations
    are outside of all stages, and so are those after them.

    Args:
      stage: of each operation, as far as it is known; is changed.
      of_value: the stage in which what an operation gives is read.
      of_reader: the stage in which what an operation reads is needed.
      after: which forward operations depend on a mark.
      free: what belongs to no stage; gets more.
      settle: moves an operation to another stage than that of the derivatives that it
        reads.
      otherwise: the stage of an operation for which there is none.
      outside: the operations outside of all stages, and gets more of them; None if the
        stages are no chain, whose order says what is too late.
    """

    def __init__(
        self,
        flat: Flat,
        stage: list[int | None],
        of_value: Callable[[int], int | None],
        of_reader: Callable[[int], int | None],
        after: list[bool],
        free: list[bool],
        settle: Callable[[int, int], int] = lambda index, stage: stage,
        otherwise: Callable[[int], int | None] = lambda index: None,
        outside: set[int] | None = None,
    ):
        self._flat, self._table, self._stage = flat, flat.table, stage
        self._of_value, self._of_reader, self._free = of_value, of_reader, free
        self._after, self._settle, self._otherwise = after, settle, otherwise
        self._outside = set[int]() if outside is None else outside
        self._is_chain = outside is not None
        # What makes something of numbers, or of what no mark comes before.
        self._movable: set[int] = set()
        self._late: dict[int, int] = {}
        self._homes: dict[int, set[int] | None] = {}
        self._originals: dict[int, dict[Any, int]] = {}
        self._input_homes: dict[object, set[int]] = {}
        for index, item in enumerate(flat.items):
            if item.transposes or stage[index] is None:
                continue
            for var in self._table.reads[index]:
                if var not in self._table.producer:
                    self._input_homes.setdefault(var, set()).add(stage[index])
        for index, item in enumerate(flat.items):
            if not (item.transposes or is_mark(item)) and stage[index] is None:
                self._homes[index] = self._find_homes(index)

    def assign(self, count: int, cuts: Sequence[int] = ()) -> None:
        """Assigns stages, of which there are `count`, forward divided at `cuts`."""
        items, stage = self._flat.items, self._stage
        for index, item in enumerate(items):
            if item.transposes and not (is_mark(item) or is_fixed(item)):
                self._visit(index, item)
        for index, item in enumerate(items):
            is_known = stage[index] is not None or index in self._outside
            if item.transposes and not is_known and index not in self._late:
                stage[index] = self._otherwise(index)
        for index in reversed(range(len(items))):
            is_placed = stage[index] is not None or index in self._outside
            if not (is_placed or self._free[index] or is_mark(items[index])):
                self._place_pending(index, count, cuts)
        leave_outside(self._flat, stage, self._outside)

    def _visit(self, index: int, item: Item) -> None:
        items, operands = self._flat.items, self._table.operands[index]
        # What is recomputed is no derivative, and reads what is made before it.
        is_again = is_recomputed(item)
        choose = min if item.transposes % 2 and not is_again else max
        given = [o for o in operands if items[o].transposes]
        if not self._outside.isdisjoint(given):
            self._outside.add(index)
            return
        found = present(map(self._of_any, given))
        if is_movable(self._flat, index, self._after, self._movable, bool(found)):
            self._homes[index] = homes = self._find_homes(index)
            if found:
                self._movable.add(index)
                self._late[index] = choose(found)
                if self._is_chain and homes and min(homes) > self._late[index]:
                    self._outside.add(index)
                return
            if not present(map(self._of_value, operands)):
                self._movable.add(index)
        if found:
            last = choose(found)
            home = self._summed_up(index, given, last) if self._is_chain else None
            self._stage[index] = self._settle(index, last) if home is None else home
            return
        if is_again:
            return  # It goes where it is read.
        found = present(map(self._of_value, operands))
        if not found and self._is_chain and all(map(is_number, item.eqn.outvars)):
            # Such as the largest element of an input that a rule of a derivative finds.
            self._homes[index] = homes = self._find_homes(index, given)
            found = [max(homes)] if homes else found
        if found and self._is_chain and item.transposes == 1:
            # It reads the derivative of the loss, which is in the last stage.
            originals = map(self._stages_of_originals, operands)
            found += present(each.get(item.eqn.primitive) for each in originals)
        self._stage[index] = max(found, default=None)

    def _stages_of_originals(self, operand: int) -> Mapping[Any, int]:
        """The last stages of forward operations that read a forward one, by kind.

        Such as where a loss multiplies by a mask that the first stage has made.
        """
        items, found = self._flat.items, self._originals.get(operand)
        if found is None:
            # Once for each: a mask of all layers has many readers in both directions.
            found = self._originals[operand] = {}
            readers = () if items[operand].transposes else self._table.readers[operand]
            for reader in readers:
                at, kind = self._stage[reader], items[reader].eqn.primitive
                if at is not None and not items[reader].transposes:
                    found[kind] = max(at, found.get(kind, at))
        return found

    def _summed_up(self, index: int, given: list[int], last: int) -> int | None:
        """The stage of a number that is made of what can be moved, if it is one."""
        is_sum = all(map(is_number, self._flat.items[index].eqn.outvars))
        if not is_sum or not self._movable.issuperset(given):
            return None
        homes = self._find_homes(index) or ()
        return max((home for home in homes if home <= last), default=last)

    def _place_pending(self, index: int, count: int, cuts: Sequence[int]) -> None:
        item, readers = self._flat.items[index], self._table.readers[index]
        if is_fixed(item):
            return
        found = present(map(self._of_reader, readers))
        late = self._late.get(index)
        if self._is_chain and late is not None:
            is_apart = not found and not self._outside.isdisjoint(readers)
            if is_apart or max(found, default=0) > late:
                self._outside.add(index)
                return
        if late is not None:
            self._stage[index] = min(max(found, default=late), late)
        elif found:
            # Where the first reader runs: second derivatives go forward again.
            is_forward = item.transposes and item.transposes % 2 == 0
            self._stage[index] = min(found) if is_forward else max(found)
        elif not (item.transposes or (self._after[index] and not readers)):
            self._free[index] = True  # At most the optimizer reads it.
        else:
            is_last = item.transposes % 2
            self._stage[index] = (
                count - 1 if is_last else bisect.bisect_left(cuts, index)
            )

    def _of_any(self, index: int) -> int | None:
        return self._late[index] if index in self._late else self._of_value(index)

    def _find_homes(self, index: int, numbers: Sequence[int] = ()) -> set[int] | None:
        """The stages in which all that is large of what an operation reads is.

        So are the numbers that the operations `numbers` give.
        """
        homes: set[int] | None = None
        for var in self._table.reads[index]:
            maker = self._table.producer.get(var)
            if is_number(var) and maker not in numbers:
                continue
            if maker is None:
                found = self._input_homes.get(var)
            elif maker in self._homes:
                found = self._homes[maker]
            else:
                at = self._stage[maker]
                found = None if at is None else {at}
            if found:
                homes = set(found) if homes is None else homes & found
        return homes


def leave_outside(flat: Flat, stage: list[int | None], outside: set[int]) -> None:
    """Adds the sums of gradients that read what is outside of all stages."""
    is_sum = [bool(item.transposes) and not is_mark(item) for item in flat.items]

    def sums(index: int) -> list[int]:
        return [reader for reader in flat.table.readers[index] if is_sum[reader]]

    for index in reach((index for index in outside if is_sum[index]), sums):
        stage[index] = None


def sum_at_the_end(flat: Flat, stage: list[int | None]) -> None:
    """Lets the last stage of a backward pass add up what all send, as it is.

    Of stacked layers each stage has the gradient of its part, filled up with zeros to
    be added to the others: the parts are sent, rather than sums of everything.
    """
    sums: set[int] = set()
    for index in reversed(range(len(flat.items))):
        item, readers = flat.items[index], flat.table.readers[index]
        if item.transposes % 2 == 0 or stage[index] is None:
            continue
        name = item.eqn.primitive.name
        if not all(reader in sums for reader in readers):
            continue
        if name in _SUMS:
            sums.add(index)
        elif name != "pad":
            continue
        # Not after a reader: each stage may add to a sum of its own.
        found = [stage[reader] for reader in readers]
        stage[index] = min(stage[index], max(found, default=stage[index]))


def _weights_of_fixed(flat: Flat, stage: list[int | None]) -> set[int]:
    """Slices of weights that named computations read, and what their gradients become.

    They belong to these, not to the stages around them.
    """
    items, table = flat.items, flat.table
    found: set[int] = set()
    sums: set[int] = set()
    for index, item in enumerate(items):
        made, readers = table.operands[index], table.readers[index]
        if item.eqn.primitive.name == "add_any":
            if made and all(
                is_fixed(items[other]) or other in found or other in sums
                for other in made
            ):
                sums.add(index)
        elif is_marked(item.eqn):
            # A gradient that is filled up to the size of the whole, or a slice.
            others = made if item.transposes else [] if made else readers
            if others and all(is_fixed(items[other]) for other in others):
                found.add(index)
    # What a stage reads is no gradient of a weight.
    for index in sorted(sums, reverse=True):
        if all(
            other in found or (stage[other] is None and not is_mark(items[other]))
            for other in table.readers[index]
        ):
            found.add(index)
    return found
