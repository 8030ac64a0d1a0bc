# SPDX-License-Identifier: Apache-2.0
"""Puts the operations of a body in the line in which it can be cut into stages.

Forward operations are in line as they are written, but what waits to be read, such
as the cast of a parameter, right before its reader. An operation of the backward
pass is where the one was that it is the derivative of: not after the cotangent
that it reads, nor after those that read the saved values that it reads as well. So a
cut anywhere divides both passes, and an operation's stage is the number of cuts up to
its position.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Any, NamedTuple

import jax

from ..core.order import present, reach
from ..jaxapi import frontend as compat
from ..tracing.primitives import for_p, named_computation_p
from ..tracing.scopes import source, sources
from .assign import FEW
from .concatenations import keeps_elements
from .costs import bytes_of
from .flatten import Flat, Item
from .origins import Origins
from .placed import work_by_place
from .recomputed import is_recomputed, originals, repeated
from .terms import is_count, is_float, is_key, is_number, is_quantized, is_scale
from .twins import find_trained, find_twins


class Order(NamedTuple):
    """A body in line.

    Attributes:
      items: the operation at each position, those forward; one of several.
      position: position of each operation; None for what belongs to no stage.
      costs: floating point operations at each position, backward ones included.
      spans: first and last position that have to do with each value, and its bytes;
        values that are made in the body.
      inputs: the same of the body's inputs, by input.
      waiting: forward operations that are made of one input and numbers.
      apart: what was left out of the line.
    """

    items: list[int]
    position: list[int | None]
    costs: list[float]
    spans: list[tuple[int, int, int]]
    inputs: dict[Any, tuple[int, int, int]]
    waiting: Set[int]
    apart: Set[int]


# What gives a weight in another type, layout or scale. Other functions of its elements,
# such as an activation, may be work of their own.
_VIEWS = frozenset(
    {
        *(
            "broadcast_in_dim",
            "convert_element_type",
            "reshape",
            "squeeze",
            "transpose",
        ),
        *("div", "mul", "name", "reduce_precision", "round", "stop_gradient"),
    }
)
# What gives the numbers of a weight that is kept in few bits.
_ZERO_POINTS = frozenset({"add", "sub"})
# How many inputs of a term are known by each other.
_COMPANIONS = 3


class Lining:
    """Puts a body in line, but for operations that each stage makes for itself, and
    those that are left out."""

    def __init__(
        self,
        flat: Flat,
        copied: Set[int],
        apart: Set[int] = frozenset(),
        trained_elsewhere: Set[Any] = frozenset(),
        chosen: Set[int] = frozenset(),
    ):
        self._trained_elsewhere = trained_elsewhere
        self._flat, self._items, self._copied = flat, flat.items, copied
        self._apart, self._unlined = apart, copied | apart
        self._chosen = chosen  # What of it is made of values that come later.
        self._table = flat.table
        self._outs = set(compat.variables(flat.outs))
        self._position: list[int | None] = [None] * len(self._items)
        self._var_readers: dict[object, list[int]] = {}
        for index, item in enumerate(self._items):
            for var in compat.variables(item.eqn.invars):
                self._var_readers.setdefault(var, []).append(index)
        self._companion: dict[object, object] = {}
        self._twins: dict[int, list[int]] = {}
        self._first = repeated(flat)
        # What is recomputed to what that is of the forward pass.
        self._originals = originals(flat, self._first)

    def order(self, outside: float = 0, folds: bool = False) -> Order:
        """The body in line.

        Args:
          outside: work on the body's gradients elsewhere, such as that of an optimizer.
          folds: whether what reads a weight again is where that is read first, so that
            a model that is applied to what it gave goes through its stages again.
        """
        before = self._before_gradients()
        forward = self._forward(before)
        self._companion = self._companions(forward)
        waiting = self._waiting(before)
        weights = self._weights(forward, waiting)
        items = self._number(self._line(forward, waiting, weights), waiting)
        self._place_again(before, weights)
        self._place_backward()
        self._place_gradients()
        self._send_small_values()
        if folds:  # What is backward goes with what is forward.
            items = self._fold(items, weights)
        costs, outside = work_by_place(
            self._items, self._position, self._copied, len(items), outside
        )
        self._count_gradient_work(outside, costs)
        spans, inputs = self._spans()
        position, apart = list(self._position), self._apart
        return Order(items, position, costs, spans, inputs, waiting.keys(), apart)

    def trained(self) -> set[Any]:
        """Weights that the body trains, or that derivatives by others pass through."""
        before = self._before_gradients()
        forward, waiting = self._forward(before), self._waiting(before)
        differentiated = self._read_backward(waiting)
        if not differentiated:
            return set()
        weights = self._weights(forward, waiting)
        operands = self._table.operands
        return find_trained(self._items, operands, forward, weights, differentiated)

    def _read_backward(self, waiting: Mapping[int, frozenset[object]]) -> set[Any]:
        found: set[Any] = set()
        for index, item in enumerate(self._items):
            if item.transposes:
                found |= self._inputs(index, waiting)
        return found

    def _is_fixed(self, index: int) -> bool:
        """What cannot be part of a stage, or need not."""
        return index in self._unlined or self._is_whole(index)

    def _is_whole(self, index: int) -> bool:
        return self._items[index].eqn.primitive in (named_computation_p, for_p)

    def _before_gradients(self) -> list[int]:
        """Forward operations that depend on no gradient."""
        gradients = [i for i, item in enumerate(self._items) if item.transposes]
        after = reach(gradients, self._table.readers.__getitem__)
        indices = range(len(self._items))
        return [i for i in indices if not (i in after or self._is_whole(i))]

    def _forward(self, before: Sequence[int]) -> list[int]:
        """Those of them that are in line: not what serves what is not."""
        items, table = self._items, self._table
        free = [
            self._is_fixed(i) or not item.transposes for i, item in enumerate(items)
        ]
        for index in before:
            free[index] = index in self._unlined
        for index in reversed(range(len(items))):
            readers = table.readers[index]
            if items[index].transposes or free[index] or not readers:
                continue
            if not any(var in self._outs for var in items[index].eqn.outvars):
                free[index] = all(map(free.__getitem__, readers)) and not any(
                    self._is_decided_by(reader, index) for reader in readers
                )
        return [index for index in before if not free[index]]

    def _is_decided_by(self, index: int, operand: int) -> bool:
        """Whether what is left out weighs by a little, such as a loss, and no index."""
        size, read = (
            sum(bytes_of(var.aval) for var in self._items[each].eqn.outvars)
            for each in (index, operand)
        )
        is_weight = all(map(is_float, self._items[operand].eqn.outvars))
        return index in self._chosen and is_weight and 0 < FEW * read <= size

    def _number(
        self, line: Sequence[int], waiting: Mapping[int, frozenset[object]]
    ) -> list[int]:
        """Gives each operation its position; returns one operation of each.

        No cut is between twins, nor between a weight's cast and what reads that.
        """
        items: list[int] = []
        from_end: dict[int, int] = {}
        for index in reversed(line):
            alike = [from_end[o] for o in self._twins.get(index, ()) if o in from_end]
            if not alike and self._is_conversion(index, waiting):
                readers = self._table.readers[index]
                earliest = max(
                    (from_end[r] for r in readers if r in from_end), default=0
                )
                alike = [earliest] if earliest == len(items) - 1 else []
            if not alike:
                items.append(index)
            from_end[index] = alike[0] if alike else len(items) - 1
        for index, number in from_end.items():
            self._position[index] = len(items) - 1 - number
        return items[::-1]

    def _is_conversion(
        self, index: int, waiting: Mapping[int, frozenset[object]]
    ) -> bool:
        """Whether an operation reads a weight in another type, layout or scale."""
        if len(inputs := waiting.get(index, ())) != 1:
            return False
        name, (weight,) = self._items[index].eqn.primitive.name, inputs
        if is_quantized(weight):
            return name in _VIEWS | _ZERO_POINTS
        return name in _VIEWS and is_float(weight)

    def _line(
        self,
        forward: Sequence[int],
        waiting: Mapping[int, frozenset[object]],
        weights: Mapping[int, frozenset[object]],
    ) -> list[int]:
        """The order in which each is right before the first that needs it.

        But for twins: these are one after the other, where the first of them is.
        """
        differentiated = self._read_backward(waiting)
        operands = self._table.operands
        for at_any_depth in (True, False):
            self._twins = find_twins(
                self._items,
                operands,
                forward,
                weights,
                differentiated,
                at_any_depth,
                self._trained_elsewhere,
            )
            line = self._sorted(forward, waiting)
            if not self._twins or self._is_sorted(line):
                break
        else:  # They cross each other.
            self._twins = {}
            line = self._sorted(forward, waiting)
        line = self._with_terms(self._with_saved(line) if self._twins else line)
        return self._with_counts(line, waiting)

    def _sorted(
        self, forward: Sequence[int], waiting: Mapping[int, frozenset[object]]
    ) -> list[int]:
        """Sorts operations topologically, by depth-first search from what is needed."""
        members = set(forward)
        ends = [
            index
            for index in forward
            if not any(reader in members for reader in self._table.readers[index])
        ]
        line: list[int] = []
        seen: set[int] = set()
        for end in sorted(ends, key=lambda end: (end in waiting, end)):
            stack = [(end, False)]
            while stack:
                index, done = stack.pop()
                if done:
                    line += self._twins.get(index, [index])
                elif index not in seen:
                    group = self._twins.get(index, [index])
                    seen.update(group)
                    stack.append((index, True))
                    before = sorted(
                        {o for each in group for o in self._table.operands[each]}
                        & members,
                        key=lambda o: (o in waiting, bool(waiting.get(o)), o),
                    )
                    stack += [(o, False) for o in reversed(before) if o not in seen]
        return line

    def _with_saved(self, line: Sequence[int]) -> list[int]:
        """Puts what only the backward pass needs right after what that is made of.

        As it is written, a value is saved after the whole application before it.
        """
        saved = self._saved_only(line, set(line))
        after: dict[int, int] = {}
        for number, index in enumerate(line):
            made_of = [after[o] for o in self._table.operands[index] if o in after]
            is_late = index in saved and made_of
            after[index] = max(made_of) if is_late else number
            after.update(dict.fromkeys(self._twins.get(index, ()), number))
        return sorted(line, key=after.__getitem__)

    def _saved_only(self, indices: Sequence[int], members: Set[int]) -> set[int]:
        """Those of which only the backward pass reads anything, besides such."""
        saved: set[int] = set()
        for index in reversed(indices):
            readers = set(self._table.readers[index])
            outvars = self._items[index].eqn.outvars
            is_inner = self._chosen.isdisjoint(readers)
            is_inner &= self._outs.isdisjoint(outvars)
            if saved >= members & readers and is_inner:
                saved.add(index)
        return saved

    def _is_sorted(self, line: Sequence[int]) -> bool:
        place = {index: number for number, index in enumerate(line)}
        return all(
            place.get(other, -1) < number
            for index, number in place.items()
            for other in self._table.operands[index]
        )

    def _weights(
        self, forward: Sequence[int], waiting: Mapping[int, frozenset[object]]
    ) -> dict[int, frozenset[object]]:
        """The arrays of floats that operations read with something else."""
        weights: dict[int, frozenset[object]] = {}
        for index in forward:
            found = frozenset(filter(is_float, self._inputs(index, waiting)))
            if found and index not in waiting:
                weights[index] = found
        return weights

    def _fold(
        self, items: Sequence[int], weights: Mapping[int, frozenset[object]]
    ) -> list[int]:
        """Puts what reads a weight again where that is read first, with what follows.

        Returns:
          One operation of each position that is left.
        """
        first: dict[object, int] = {}
        kept: list[int] = []
        number: dict[int, int] = {}
        again: int | None = None
        repeats = self._repeats(items, weights)
        for index in items:
            if index in weights:
                keys = self._keys(index, weights)
                # The first time a weight may meet an input, and then what was made.
                again = first.get(keys[0]) if index in repeats else None
                for known in keys:
                    first.setdefault(known, len(kept))
            if again is None:
                kept.append(index)
            number[index] = len(kept) - 1 if again is None else again
        places = [number[index] for index in items]
        self._position = [
            None if where is None else places[where] for where in self._position
        ]
        return kept

    def _place_again(
        self, before: Sequence[int], weights: Mapping[int, frozenset[object]]
    ) -> None:
        """Puts a model whose weights a gradient has changed where these weights are.

        As in sharpness-aware minimization, or a step of learning inside of a loss: what
        reads such a weight is where the weight itself was read, with what follows.
        """
        first: dict[object, int] = {}
        for index in weights:
            if (where := self._position[index]) is not None:
                for key in self._keys(index, weights):
                    first.setdefault(key, where)
        origins = Origins(frozenset().union(*weights.values()))
        again, early = set[int](), set(before)
        for index, item in enumerate(self._items):
            is_applied = not (
                item.transposes or index in early or self._is_fixed(index)
            ) and self._apply_again(index, first, origins, again)
            if is_applied:
                again.add(index)
            origins.note(item.eqn, comes_from_none=bool(item.transposes or is_applied))

    def _apply_again(
        self, index: int, first: Mapping[object, int], origins: Origins, again: Set[int]
    ) -> bool:
        """Gives an operation a position if it is of a model that is applied again."""
        item = self._items[index]
        inputs = origins.of(item.eqn)
        keys = self._keys(index, {index: inputs}) if inputs else []
        # All that it reads, as together the first time; else each, in no order.
        found = [first[key] for key in keys[:1] if key in first]
        found = found or [first[key] for key in keys if key in first]
        found = found or [self._position[o] for o in self._given_again(item, again)]
        if found:
            self._position[index] = max(found)
        return bool(found)

    def _given_again(self, item: Item, again: Set[int]) -> list[int]:
        """What an operation reads of a model that is applied again.

        Nothing if it reads no more of that than a number, such as a loss.
        """
        given = compat.variables(item.eqn.invars)
        makers = [self._table.producer.get(var) for var in given]
        found = [maker for maker in makers if maker in again]
        large = any(
            maker in again and not is_number(var)
            for var, maker in zip(given, makers, strict=True)
        )
        return found if large or len(found) == len(given) else []

    def _keys(
        self, index: int, weights: Mapping[int, frozenset[object]]
    ) -> list[object]:
        """By what an operation is known that reads the same weights again."""
        eqn, inputs = self._items[index].eqn, weights[index]
        kind = eqn.primitive, source(eqn)
        return [(*kind, inputs), *((*kind, frozenset((var,))) for var in inputs)]

    def _repeats(
        self, items: Sequence[int], weights: Mapping[int, frozenset[object]]
    ) -> set[int]:
        """Operations that read weights again in a model that is applied again.

        Of what was read since the first time, at least half is read again in a row. It
        is less where layers with weights of their own share something, like a table.
        """
        first: dict[object, int] = {}
        count = 0  # Of operations that read weights for the first time.
        run: dict[int, int] = {}
        found: set[int] = set()
        for index in [*filter(weights.__contains__, items), None]:
            keys = [] if index is None else self._keys(index, weights)
            if keys and keys[0] in first:
                run[index] = first[keys[0]]
                continue
            known = set(run.values())
            if known and 2 * len(known) >= count - min(known):
                found.update(run)
            run = {}
            for key in keys:
                first.setdefault(key, count)
            count += 1
        return found

    def _waiting(self, forward: Sequence[int]) -> dict[int, frozenset[object]]:
        """What is made of one input, and numbers that are made of such numbers.

        Casts of parameters and terms of a decay are needed where what they are read
        with is there, whatever is written first.

        Returns:
          The inputs of each, but for numbers.
        """
        inputs: dict[int, frozenset[object]] = {}
        found: dict[int, frozenset[object]] = {}
        for index in forward:
            inputs[index] = self._inputs(index, inputs)
            if len(inputs[index]) <= 1:
                if all(map(is_number, self._items[index].eqn.outvars)):
                    inputs[index] = frozenset()
                found[index] = inputs[index]
        return found

    def _companions(self, forward: Sequence[int]) -> dict[object, object]:
        """Inputs that meet one other element by element, and nothing else.

        Such as the weights that training began with, which a loss takes from a weight,
        or the scales of a quantized weight, one for many of its elements: what is made
        of both is as if it were made of the weight alone.
        """
        members, found = set(forward), dict[object, object]()

        def made_of(index: int) -> frozenset[object]:
            own = [found.get(var, var) for var in self._own_inputs(index)]
            return inputs[index].union(own)

        for _ in range(_COMPANIONS):  # One may be known by another's.
            before = len(found)
            inputs: dict[int, frozenset[object]] = {}
            for index in forward:
                operands = [o for o in self._table.operands[index] if o in inputs]
                inputs[index] = frozenset().union(*(inputs[o] for o in operands))
                inputs[index] = made_of(index)
            for var, indices in self._var_readers.items():
                readers = [index for index in indices if index in members]
                if var in found or self._table.producer.get(var) is not None:
                    continue
                other = self._met(var, readers, inputs)
                if other is not None and other.aval.shape == var.aval.shape:
                    found[var] = other
                    continue
                other = self._met(var, self._after_views(var, readers, inputs), inputs)
                if other is not None and is_scale(var, other):
                    found[var] = other
            if len(found) == before:
                break
        return found

    def _met(
        self, var: object, readers: Sequence[int], inputs: Mapping[int, frozenset]
    ) -> Any | None:
        """The one input that an input meets, if operations keep its elements."""
        met = {inputs[reader] - {var} for reader in readers}
        if len(met) != 1 or len(others := met.pop()) != 1:
            return None
        if not all(keeps_elements(self._items[reader].eqn) for reader in readers):
            return None
        return next(iter(others))

    def _after_views(
        self, var: object, readers: Sequence[int], inputs: Mapping[int, frozenset]
    ) -> list[int]:
        """What reads an input, or what is the same in another form."""
        seen, found, left = set(readers), list[int](), list(readers)
        while left:
            index = left.pop()
            name = self._items[index].eqn.primitive.name
            if inputs[index] != {var} or name not in _VIEWS:
                found.append(index)
                continue
            after = inputs.keys() & set(self._table.readers[index]) - seen
            seen |= after
            left += after
        return sorted(found)

    def _inputs(
        self, index: int, known: Mapping[int, frozenset[object]]
    ) -> frozenset[object]:
        """The inputs that an operation reads, or of which known operands are made."""
        operands = [o for o in self._table.operands[index] if o in known]
        return self._own_inputs(index).union(*(known[o] for o in operands))

    def _own_inputs(self, index: int) -> frozenset[object]:
        """The inputs of the body that an operation reads, but for numbers and keys.

        Noise can be made wherever it is read: what it meets says where that is.
        """
        return frozenset(
            self._companion.get(var, var)
            for var in compat.variables(self._items[index].eqn.invars)
            if self._table.producer.get(var) is None and not is_key(var)
        )

    def _with_terms(self, line: Sequence[int]) -> list[int]:
        """Puts what is made of one input where that is read otherwise.

        Such as a weight's part of a decay that is added to the loss at the end: a
        number, and what is saved of it for the backward pass.
        """
        place = {index: number for number, index in enumerate(line)}
        inputs: dict[int, frozenset[object]] = {}
        for index in line:
            inputs[index] = self._inputs(index, inputs)
        single = [index for index in line if len(inputs[index]) == 1]
        saved = self._saved_only(single, place.keys())
        of_input: dict[object, list[int]] = {}
        for index in single:
            if index in saved or self._gives_number(index):
                of_input.setdefault(*inputs[index], []).append(index)
        moved: dict[int, list[int]] = {}
        taken: set[int] = set()
        for var, indices in of_input.items():
            early = {i for i in indices if self._is_early(i, var, place, saved)}
            if not early:
                continue
            # Several terms of a weight may share what they are made of.
            term = self._alone(early, place, saved) - taken
            found = self._places(self._var_readers[var], place, term | taken)
            if not found or not moved.keys().isdisjoint(term):
                continue
            made = [o for index in term for o in self._table.operands[index]]
            at = max(min(found), *self._places(made, place, term), -1)
            if at < min(place[index] for index in early):
                moved.setdefault(line[at], []).extend(
                    sorted(term, key=place.__getitem__)
                )
                taken |= term
        return [
            each
            for index in line
            if index not in taken
            for each in (index, *moved.get(index, ()))
        ]

    def _with_counts(
        self, line: Sequence[int], waiting: Mapping[int, Any]
    ) -> list[int]:
        """Puts counts of inputs alone that nothing reads where these are read first.

        Such as the next number of draws of a dropout, or the next key: the forward pass
        of the next microbatch waits for it.
        """
        place = {index: number for number, index in enumerate(line)}
        counts: set[int] = set()
        for index in reversed(line):
            eqn, readers = self._items[index].eqn, self._table.readers[index]
            is_made = all(map(is_count, eqn.outvars)) and all(
                is_number(var) or not is_float(var)
                for var in compat.variables(eqn.invars)
            )
            if is_made and counts.issuperset(place.keys() & readers):
                counts.add(index)
        movable = waiting.keys() & place.keys()
        first: dict[int, int] = {}
        for index in line:
            operands = set(self._table.operands[index]) - self._copied
            if index not in counts or not movable.issuperset(operands):
                continue
            made = [first.get(other, place[other]) for other in operands]
            read = [
                where
                for var in self._table.reads[index]
                for where in self._places(self._var_readers[var], place, counts)
            ]
            if made or read:
                first[index] = max(made) if made else min(read)
        return sorted(line, key=lambda index: first.get(index, place[index]))

    def _is_early(
        self, index: int, var: object, place: Mapping[int, int], saved: set[int]
    ) -> bool:
        """Whether an input is read otherwise before what is made of it is needed."""
        term = self._alone({index}, place, saved)
        found = self._places(self._var_readers[var], place, term)
        later = self._places(self._table.readers[index], place, set())
        return bool(found) and min(found) < min([place[index], *later])

    @staticmethod
    def _places(
        indices: Sequence[int], place: Mapping[int, int], besides: set[int]
    ) -> list[int]:
        return [place[i] for i in indices if i in place and i not in besides]

    def _gives_number(self, index: int) -> bool:
        """Whether an operation makes a number of something larger."""
        eqn = self._items[index].eqn
        variables = compat.variables(eqn.invars)
        return all(map(is_number, eqn.outvars)) and not all(map(is_number, variables))

    def _alone(
        self, indices: set[int], members: Mapping[int, int], saved: set[int]
    ) -> set[int]:
        """Operations, and those in line that nothing but these needs.

        What only the backward pass reads comes with what it is made of.
        """
        found = set(indices)
        left = list(indices)
        while left:
            for other in self._table.operands[left.pop()]:
                readers = {r for r in self._table.readers[other] if r in members}
                if other in members and other not in found and found >= readers - saved:
                    found.add(other)
                    left.append(other)
                    self._add_readers(other, saved, found)
        return found

    def _add_readers(self, index: int, saved: set[int], found: set[int]) -> None:
        """Adds what is made of an operation's values for the backward pass alone."""
        left = [index]
        while left:
            new = saved.intersection(self._table.readers[left.pop()]) - found
            found |= new
            left += new

    def _place_backward(self) -> None:
        first = self._first
        for index, item in enumerate(self._items):
            if not item.transposes or self._is_fixed(index):
                continue
            if index in first and self._position[first[index]] is not None:
                self._position[index] = self._position[first[index]]
                continue
            own = [
                self._position[o]
                for o in self._table.operands[index]
                if self._items[o].transposes
                and o not in first
                and self._position[o] is not None
            ]
            again = is_recomputed(item)
            # The derivative of a derivative goes forward again.
            goes_on = again or item.transposes % 2 == 0
            limit = None if goes_on else min(own, default=None)
            saved = [
                where
                for var in compat.variables(item.eqn.invars)
                if self._table.producer.get(var) not in self._unlined
                and (
                    where := self._last_read(self._originals.get(var, var), item, limit)
                )
                is not None
            ]
            if goes_on:
                self._position[index] = max([*saved, *own], default=None)
            else:  # The forward pass is done with what it saves there, or later.
                self._position[index] = min([*own, *saved], default=None)
        # What reads nothing that has a position goes where it is read.
        for index in reversed(range(len(self._items))):
            item = self._items[index]
            if item.transposes and self._position[index] is None:
                if self._is_fixed(index):
                    continue
                found = self._reader_positions(index)
                last = max(present(self._position), default=0)
                self._position[index] = max(found, default=last)

    def _place_gradients(self) -> None:
        """Puts a gradient that needs no saved value where its weight is read.

        Such as that of a bias, a sum of a cotangent: it may be anywhere between where
        that comes from and where it is read next, and the weight is one of its type.
        """
        readers: dict[object, list[int]] = {}
        for var, indices in self._var_readers.items():
            if self._table.producer.get(var) is None:
                readers.setdefault((var.aval.shape, var.aval.dtype), []).extend(indices)
        for out in dict.fromkeys(compat.variables(self._flat.outs)):
            chain, cotangent = self._chain(out)
            if cotangent is None:
                continue
            others = self._table.readers[self._table.producer[cotangent]]
            places = present(self._position[o] for o in others if o not in chain)
            last = self._position[chain[-1]]
            if not places or last is None:
                continue
            key = out.aval.shape, out.aval.dtype
            found = [
                where
                for reader in readers.get(key, ())
                if not self._items[reader].transposes
                and (where := self._position[reader]) is not None
                and min(places) <= where <= last
            ]
            for index in chain:
                self._position[index] = max(found, default=self._position[index])

    def _chain(self, out: object) -> tuple[list[int], Any]:
        """Transposed operations of one operand that nothing but an output needs.

        Returns:
          These, and what the first reads, if that is a cotangent.
        """
        chain: list[int] = []
        var = out
        while True:
            index = self._table.producer.get(var)
            if index is None or not self._items[index].transposes:
                return [], None
            item = self._items[index]
            given = compat.variables(item.eqn.invars)
            if item.eqn.primitive is jax.lax.add_p:  # To the sum of microbatches.
                given = [v for v in given if self._table.producer.get(v) is not None]
            if len(given) != 1 or (chain and len(self._var_readers[var]) > 1):
                return chain, var if chain else None
            chain.append(index)
            (var,) = given

    def _count_gradient_work(self, outside: float, costs: list[float]) -> None:
        """Counts what is done with the gradients where these come from, by size."""
        sizes: dict[int, int] = {}
        for index, item in enumerate(self._items):
            if not item.transposes or self._position[index] is None:
                continue
            for var in item.eqn.outvars:
                readers = self._var_readers.get(var, ())
                if var in self._outs or any(
                    self._position[reader] is None for reader in readers
                ):
                    sizes[index] = sizes.get(index, 0) + bytes_of(var.aval)
        whole = sum(sizes.values()) or 1  # They may all be empty.
        for index, size in sizes.items():
            costs[self._position[index]] += outside * size / whole

    def _reader_positions(self, index: int) -> list[int]:
        return present(map(self._position.__getitem__, self._table.readers[index]))

    def _last_read(self, var: object, item: Item, limit: int | None) -> int | None:
        """Where the forward pass is done with a value, as far as a derivative cares.

        Of several operations that read it, the derivative is of one of its own kind.
        """
        maker = self._table.producer.get(var)
        if maker is not None and self._items[maker].transposes:
            return None
        readers = [
            reader
            for reader in self._var_readers.get(var, ())
            if not self._items[reader].transposes and self._position[reader] is not None
        ]
        alike = [
            reader
            for reader in readers
            if self._items[reader].eqn.primitive is item.eqn.primitive
            and (limit is None or self._position[reader] <= limit)
        ]
        if len(alike) > 1:
            alike = self._of_one(alike, item)
        if alike:
            return max(self._position[reader] for reader in alike)
        if readers:
            return max(self._position[reader] for reader in readers)
        return None if maker is None else self._position[maker]

    def _of_one(self, alike: Sequence[int], item: Item) -> Sequence[int]:
        """Those operations, out of some, that an operation is the derivative of.

        Of `q = x @ a` and `k = x @ b` the derivatives by the weights read `x`, and
        either may be that of `q`; but what reads the same cotangent is that by `x`,
        which reads `a`. Where no derivative by `x` is wanted, the line in the source
        tells.
        """
        values = {
            var
            for cotangent in item.eqn.invars
            if self._is_cotangent(cotangent)
            for reader in self._var_readers[cotangent]
            if self._items[reader].eqn.primitive is item.eqn.primitive
            for var in self._saved(self._items[reader])
        }.difference(self._saved(item))
        others = [
            index
            for index in alike
            if not values.isdisjoint(self._saved(self._items[index]))
        ]
        line = sources(item.eqn)
        same = [r for r in alike if sources(self._items[r].eqn) == line]
        return others or same or alike

    def _is_cotangent(self, atom: object) -> bool:
        maker = compat.look_up(self._table.producer, atom)
        return (
            maker is not None
            and bool(self._items[maker].transposes)
            and atom not in self._originals
        )

    def _saved(self, item: Item) -> set[object]:
        """What an operation reads of the forward pass, or recomputed of it."""
        return {
            self._originals.get(var, var)
            for var in compat.variables(item.eqn.invars)
            if not self._is_cotangent(var)
        }

    def _send_small_values(self) -> None:
        """Lets the receiver of a cotangent compute what would be sent beside it.

        It broadcasts, rather than the sender, and scales or reshapes what it receives
        anyway, as for the layers of `x + 0.5 * f(x)`.
        """
        # Where each is read first, or what is made of it by such operations.
        first: dict[int, int] = {}
        for index in reversed(range(len(self._items))):
            item, where = self._items[index], self._position[index]
            given = compat.variables(item.eqn.invars)
            found = self._reader_positions(index)
            if (
                not item.transposes
                or where is None
                or len(given) != 1
                or not found
                or any(var in self._outs for var in item.eqn.outvars)
            ):
                continue
            readers = self._table.readers[index]
            known = (first.get(reader, self._position[reader]) for reader in readers)
            first[index] = max(place for place in known if place is not None)
            size = sum(bytes_of(var.aval) for var in item.eqn.outvars)
            if bytes_of(given[0].aval) < size:
                self._position[index] = min(where, max(found))
        for index in sorted(first):
            (given,) = compat.variables(self._items[index].eqn.invars)
            touching = {self._table.producer.get(given), *self._var_readers[given]}
            others = [self._position[i] for i in touching - {index, None}]
            received = min((p for p in others if p is not None), default=None)
            where = self._position[index]
            if self._is_cotangent(given) and received is not None and received < where:
                self._position[index] = max(received, first[index])

    def _spans(self) -> tuple[list, dict]:
        made, inputs = [], {}
        for var, readers in self._var_readers.items():
            maker = self._table.producer.get(var)
            if maker is not None and maker in self._copied:
                continue
            touching = [*readers, *([] if maker is None else [maker])]
            if places := present(map(self._position.__getitem__, touching)):
                span = min(places), max(places), bytes_of(var.aval)
                if maker is None:
                    inputs[var] = span
                else:
                    made.append(span)
        return made, inputs
