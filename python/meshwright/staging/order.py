# SPDX-License-Identifier: Apache-2.0
"""Puts what needs each other in order."""

from __future__ import annotations

import graphlib
import heapq
from collections.abc import Callable, Collection, Mapping
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
