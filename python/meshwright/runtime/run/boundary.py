# SPDX-License-Identifier: Apache-2.0
"""The checks between a user's arrays and executables that check nothing.

An array of another shape, sharding or device, or one that was deleted, would end
the process inside a launch on several devices. Each is an exception here.
"""

from __future__ import annotations

import collections
import math
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import jax

from ...jaxapi import runtime as jax_runtime
from ..program.argument_errors import ArgumentErrors
from ..program.lost import reason_of
from ..program.placement import Place


class Boundary:
    """Checks the arguments of a program.

    Attributes:
      errors: what it raises; who calls the program may put other words here.
      last_failure: says why the last run failed, if it did; may wait for it.
    """

    def __init__(
        self,
        places: Sequence[Place],
        orders: Sequence[tuple[int, ...]],
        names: Sequence[str | None],
        donated: Sequence[int],
    ):
        self.places = tuple(places)
        self.rows = [(p.sharding, p.shape, p.dtype) for p in places]
        self.local = [bool(p.sharding.addressable_devices) for p in places]
        self.whole = [p.sharding.is_fully_addressable for p in places]
        # Types and shardings that fitted, as the very objects: an array that carries
        # both needs no further look. Results carry those of their places.
        self.fitting: list[tuple[Any, Any]] = [(p.aval, p.sharding) for p in places]
        # Of one dimension there is one order.
        self.ordered = [i for i, p in enumerate(places) if len(p.shape) > 1]
        self.orders = list(orders)
        # Layouts seen before, as jaxlib has them, which compare faster than orders.
        self.layouts: list[Any] = [None] * len(self.orders)
        self.errors = ArgumentErrors(places, names)
        self.last_failure: Callable[[], str | None] = lambda: None
        self.donated = frozenset(donated)
        self.groups = self._groups_that_could_share()
        self.made: dict[int, weakref.ref] = {}
        # Buffers of arrays that were looked up and are still the same.
        self.looked_up: dict[int, tuple[weakref.ref, list[int], int]] = {}
        self.runs = 0

    def _groups_that_could_share(self) -> list[list[int]]:
        """Inputs of equal shards on the same devices, one of them donated."""
        groups = collections.defaultdict(list)
        for position, place in enumerate(self.places):
            shard = place.sharding.shard_shape(place.shape)
            # Of meshes that share devices, an array of one may be one of the other.
            group = place.mesh.group, place.memory, shard, place.dtype
            groups[group].append(position)
        return [
            group
            for group in groups.values()
            if len(group) > 1 and not self.donated.isdisjoint(group)
        ]

    def find_new(self, arrays: Sequence[Any]) -> list[int]:
        """Positions of what does not look like an argument of an earlier run."""
        if len(arrays) != len(self.rows):
            raise self.errors.count(len(arrays))
        kind = jax_runtime.ArrayImpl
        return [
            position
            for position, (array, (aval, sharding)) in enumerate(
                zip(arrays, self.fitting, strict=True)
            )
            if type(array) is not kind
            or array.aval is not aval
            or array.sharding is not sharding
        ]

    def check(self, arrays: Sequence[jax.Array], unknown: Sequence[int]) -> set[int]:
        """Raises TypeError, ValueError or RuntimeError that names the argument.

        Args:
          arrays: all arguments.
          unknown: those to look at closely, from `unknown`.

        Returns:
          Positions of which a copy is to be taken: these arrays are still being made,
          so it is unknown whether they share a buffer with a donated one.
        """
        kind, layout_of = jax_runtime.ArrayImpl, jax_runtime.array_layout
        for position in unknown:
            array, (_, shape, dtype) = arrays[position], self.rows[position]
            if type(array) is not kind:
                raise self.errors.kind(position, array)
            if array.shape != shape or array.dtype != dtype:
                raise self.errors.type(position, array)
        if any(map(kind.is_deleted, arrays)):
            deleted = next(i for i, array in enumerate(arrays) if array.is_deleted())
            failure = reason_of(arrays[deleted]) or self.last_failure()
            raise self.errors.deleted(deleted, failure)
        misplaced = [
            position
            for position in unknown
            if not self._is_in_place(position, arrays[position].sharding)
        ]
        if misplaced:
            raise self.errors.misplaced(arrays, misplaced)
        layouts = self.layouts
        for position in self.ordered:
            known = layouts[position]
            if known is None or layout_of(arrays[position]) != known:
                self._check_layout(position, arrays[position])
        for position in unknown:
            array = arrays[position]
            self.fitting[position] = array.aval, array.sharding
        pending: set[int] = set()
        for group in self.groups:
            pending |= self._check_shared(arrays, group)
        return pending

    def _is_in_place(self, position: int, found: Any) -> bool:
        wanted, shape, _ = self.rows[position]
        if found is wanted or found == wanted:
            return True
        return found.is_equivalent_to(wanted, len(shape))

    def _check_layout(self, position: int, array: jax.Array) -> None:
        if not self.local[position]:
            return  # Its elements are in other processes.
        found, expected = jax_runtime.array_layout(array), self.orders[position]
        if found is None:
            return
        order = jax_runtime.element_order(found, array.ndim)
        if order != expected:
            raise self.errors.order(position, order, expected)
        self.layouts[position] = found

    def expect(self, results: Sequence[Any]) -> None:
        """Remembers new arrays of a run, which are likely to be arguments soon."""
        self.made = {}
        self.runs += 1
        if self.groups:
            self.made = {id(array): weakref.ref(array) for array in results}

    def _is_own(self, array: jax.Array) -> bool:
        """Whether the last run made an array: no other one then has its buffers."""
        made = self.made.get(id(array))
        return made is not None and made() is array

    def _check_shared(self, arrays: Sequence[jax.Array], group: list[int]) -> set[int]:
        """No buffer may come in twice if one of the two is donated.

        Where buffers are cannot be asked without waiting for who makes them, so own
        results that are not ready yet are only compared as objects, and others that
        stay the caller's are copied. Views of own results that are donated come first:
        they have been waited for, and so have the results, then.
        """
        here, made = [arrays[position] for position in group], self.made
        # Arrays without elements may all be at one address.
        filled = math.prod(self.places[group[0]].shape) > 0
        own = [
            (r := made.get(id(array))) is not None and r() is array for array in here
        ]
        others = [p for p, known in zip(group, own, strict=True) if not known]
        if not any(self._is_new(arrays[position]) for position in others):
            # No result has a buffer that was there before the run.
            results = [
                id(array) for array, known in zip(here, own, strict=True) if known
            ]
            if len(set(results)) == len(results):
                group = others
        pending = {
            position
            for position in group
            if position not in self.donated
            and self.whole[position]
            and not self._is_own(arrays[position])
            and self._is_new(arrays[position])
            and not arrays[position].is_ready()
        }
        first: dict[Any, int] = {}
        for position in sorted(group, key=lambda p: self._is_own(arrays[p])):
            array = arrays[position]
            keys: list[Any] = [id(array)]
            known = self._is_own(array) and not array.is_ready()
            if filled and position not in pending and not known:
                pointers = self._pointers(array)
                keys += zip(self.places[position].mesh.devices, pointers, strict=False)
            for key in keys:
                other = first.setdefault(key, position)
                if other != position and not self.donated.isdisjoint((other, position)):
                    raise self.errors.shared(other, position)
        return pending

    def _is_new(self, array: jax.Array) -> bool:
        """Whether another array may have come into being after the last run."""
        found = self.looked_up.get(id(array))
        return found is None or found[0]() is not array or found[2] >= self.runs

    def _pointers(self, array: jax.Array) -> list[int]:
        found = self.looked_up.get(id(array))
        if found is not None and found[0]() is array:
            return found[1]
        pointers = jax_runtime.shard_pointers(array)
        forget, key = self.looked_up.pop, id(array)
        reference = weakref.ref(array, lambda _: forget(key, None))
        self.looked_up[key] = reference, pointers, self.runs
        return pointers
