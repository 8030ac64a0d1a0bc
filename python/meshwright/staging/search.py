# SPDX-License-Identifier: Apache-2.0
"""Divides a line of work into parts of equal cost, with little between them.

Work is in line at positions 0 to n - 1, and a value is a pair of the first and
the last position that has to do with it. A cut before position c parts what is below
c from the rest, and each value that reaches across is sent. Of all ways to cut that
keep each part below a limit, dynamic programming finds the one that sends least.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

# The costliest part may be this much above the mean, where that is possible.
SLACK = 1.09
# Where the best costliest part is worse than that, this much above the best.
_MORE = 1.02
# What evenness counts beside bytes: it decides between cuts that send as much.
_EVENNESS = 1e-4


@dataclasses.dataclass(frozen=True)
class Line:
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
    if parts == 1:
        return []
    total = np.concatenate([[0.0], np.cumsum(line.cost, dtype=float)])
    mean = total[-1] / parts
    limit = max(SLACK * mean, 1e-12)
    found = _cheapest(line, total, parts, limit)
    if found is None:
        found = _cheapest(line, total, parts, _MORE * _least_maximum(total, parts))
    assert found is not None, "the least maximum is possible"
    return found


def _cheapest(
    line: Line, total: np.ndarray, parts: int, limit: float
) -> list[int] | None:
    """The cuts that send least, if no part costs more than `limit`."""
    count = len(total) - 1
    mean = max(total[-1] / parts, 1e-12)
    scale = max(float(line.crossing.max(initial=0)), 1.0)
    # best[c]: the least for the positions below c in this many parts.
    best = np.full(count + 1, np.inf)
    best[0] = 0
    previous: list[np.ndarray] = []
    fee = np.concatenate([line.crossing / scale, [0.0]])
    fee[0] = 0
    # The first position from which a part that ends before c stays in the limit.
    low = np.searchsorted(total, total - limit * (1 + 1e-9), side="left")
    for _ in range(parts):
        after = np.full(count + 1, np.inf)
        source = np.zeros(count + 1, dtype=int)
        for c in range(1, count + 1):
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


def _least_maximum(total: np.ndarray, parts: int) -> float:
    """The least that the costliest of this many parts can cost."""
    count = len(total) - 1
    worst = total.copy()
    worst[0] = 0
    for part in range(1, parts):
        after = np.full(count + 1, np.inf)
        for c in range(part + 1, count + 1):
            after[c] = np.maximum(worst[part:c], total[c] - total[part:c]).min()
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
