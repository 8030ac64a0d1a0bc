# SPDX-License-Identifier: Apache-2.0
"""Order and reach among things that need each other."""

from __future__ import annotations

import graphlib
import heapq
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any


def in_order(
    needs: Mapping[Any, Collection[Any]], key: Callable[[Any], Any]
) -> list[Any]:
    """Things, each after those that it needs, else by a key, the least first.

    Raises:
      graphlib.CycleError: things that need each other.
    """
    # In an order of their own, so that each process finds the same circle first.
    sorter = graphlib.TopologicalSorter(
        {thing: sorted(those, key=key) for thing, those in needs.items()}
    )
    sorter.prepare()
    ready: list[tuple[Any, Any]] = []
    done: list[Any] = []
    while sorter.is_active():
        for thing in sorter.get_ready():
            heapq.heappush(ready, (key(thing), thing))
        done.append(heapq.heappop(ready)[1])
        sorter.done(done[-1])
    return done


def reach(start: Iterable[Any], following: Callable[[Any], Iterable[Any]]) -> set[Any]:
    """Things, and all that follows them."""
    left = list(start)
    found = set(left)
    while left:
        new = set(following(left.pop())) - found
        found |= new
        left += new
    return found


def join(groups: dict[Any, set[Any]], things: Iterable[Any]) -> None:
    """Makes one group of those that some things are in, by thing."""
    whole: set[Any] = set()
    for thing in things:
        whole |= groups.get(thing, {thing})
    groups.update(dict.fromkeys(whole, whole))


def present(values: Iterable[Any]) -> list[Any]:
    """Those of some values that are not None."""
    return [value for value in values if value is not None]
