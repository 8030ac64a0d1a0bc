# SPDX-License-Identifier: Apache-2.0
"""Divides a line of work into parts of equal cost, with little between them.

Work is in line at positions 0 to n - 1, and a value is a pair of the first and
the last position that has to do with it. A cut before position c parts what is below
c from the rest, and each value that reaches across is sent. Of all ways to cut that
keep each part below a limit, dynamic programming finds the one that sends least.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

# The costliest part may be this much above the mean, where that is possible.
SLACK = 1.09
# Where the best costliest part is worse than that, this much above the best.
_MORE = 1.02
# What evenness counts beside bytes: it decides between cuts that send as much.
_EVENNESS = 1e-4


class Line(NamedTuple):
    """Work in line.

    Attributes:
      cost: cost at each position.
      crossing: for each c below the length, bytes that a cut before c sends.
    """

    cost: np.ndarray
    crossing: np.ndarray


def best_cuts(line: Line, parts: int) -> list[int]:
    """Where to cut.

    Args:
      line: n positions.
      parts: into how many parts, at most n.

    Returns:
      Positions c, ascending, so that part k has the positions from c[k - 1] on and
      below c[k]. Each part has a position at least.
    """
    found = best_cuts_within(line, [(1, len(line.cost) - 1)] * (parts - 1))
    assert found is not None, "the least maximum is possible"
    return found


def best_cuts_within(line: Line, ranges: Sequence[tuple[int, int]]) -> list[int] | None:
    """Where to cut, with each cut in its range.

    Args:
      line: n positions.
      ranges: the first and the last position of each cut.

    Returns:
      Positions as of `best_cuts`; None if there are none in these ranges.
    """
    if not ranges:
        return []
    total = _totals(line.cost)
    mean = total[-1] / (len(ranges) + 1)
    limit = max(SLACK * mean, 1e-12)
    found = _cheapest(line, _first_below(total, limit), ranges)
    if found is None:
        least = _least_maximum(total, ranges)
        if np.isfinite(least):
            found = _cheapest(line, _first_below(total, _MORE * least), ranges)
    return found


def cuts_of_several(
    line: Line, costs: Sequence[Sequence[float]], limits: Sequence[float], parts: int
) -> list[int] | None:
    """Where to cut bodies that are in one line so that the least is sent.

    Args:
      line: n positions.
      costs: of each body, its cost at each position.
      limits: of each body, what a part of it may cost.
      parts: into how many parts.

    Returns:
      Positions as of `best_cuts`; None if no cuts keep the limits.
    """
    lows = [
        _first_below(_totals(cost), limit)
        for cost, limit in zip(costs, limits, strict=True)
    ]
    ranges = [(1, len(line.cost) - 1)] * (parts - 1)
    return _cheapest(line, np.max(lows, axis=0), ranges)


def _totals(cost: Sequence[float] | np.ndarray) -> np.ndarray:
    """The cost of what is below each position, and of all."""
    return np.concatenate([[0.0], np.cumsum(cost, dtype=float)])


def _first_below(total: np.ndarray, limit: float) -> np.ndarray:
    """The first position from which a part that ends before c stays in the limit."""
    return np.searchsorted(total, total - limit * (1 + 1e-9), side="left")


def _cheapest(
    line: Line, low: np.ndarray, ranges: Sequence[tuple[int, int]]
) -> list[int] | None:
    """The cuts that send least, if no part that ends before c begins before low[c]."""
    total = _totals(line.cost)
    count, parts = len(total) - 1, len(ranges) + 1
    mean = max(total[-1] / parts, 1e-12)
    scale = max(float(line.crossing.max(initial=0)), 1.0)
    # best[c]: the least for the positions below c in this many parts.
    best = np.full(count + 1, np.inf)
    best[0] = 0
    previous: list[np.ndarray] = []
    fee = np.concatenate([line.crossing / scale, [0.0]])
    fee[0] = 0
    for first, last in (*ranges, (count, count)):
        after = np.full(count + 1, np.inf)
        source = np.zeros(count + 1, dtype=int)
        for c in range(first, last + 1):
            a = low[c]
            if a >= c:
                continue
            share = (total[c] - total[a:c]) / mean
            value = best[a:c] + fee[a:c] + _EVENNESS * share * share
            at = int(np.argmin(value))
            if np.isfinite(value[at]):
                after[c], source[c] = value[at], a + at
        best = after
        previous.append(source)
    if not np.isfinite(best[count]):
        return None
    cuts, c = [], count
    for source in reversed(previous):
        c = int(source[c])
        cuts.append(c)
    return sorted(cuts)[1:]


def _least_maximum(total: np.ndarray, ranges: Sequence[tuple[int, int]]) -> float:
    """The least that the costliest part can cost; infinite if there are no cuts."""
    count = len(total) - 1
    worst = np.full(count + 1, np.inf)
    worst[0] = 0
    for first, last in (*ranges, (count, count)):
        after = np.full(count + 1, np.inf)
        for c in range(first, last + 1):
            after[c] = np.maximum(worst[:c], total[c] - total[:c]).min()
        worst = after
    return float(worst[count])


def make_line(costs: Sequence[float], spans: Sequence[tuple[int, int, int]]) -> Line:
    """Puts work in line.

    Args:
      costs: cost at each position.
      spans: first position, last position and bytes of each value.
    """
    change = np.zeros(len(costs) + 1)
    for first, last, size in spans:
        if last > first:  # Cuts before first + 1 to before last part it.
            change[first + 1] += size
            change[last + 1] -= size
    return Line(np.asarray(costs, float), np.cumsum(change)[: len(costs)])
