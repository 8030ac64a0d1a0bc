# SPDX-License-Identifier: Apache-2.0
"""The one order in which the items of a program are issued.

Everything is issued by one thread, in the order that the compiler has found
(`issue_order` of schedule.json), in which each mesh keeps that of its own items.

Not so transfers to GPUs: what arrives there may be used only after all that was
queued on the device before, so a transfer after a fragment that runs meanwhile would
wait for it. It is issued at once after the launch that makes its value, unless the
program says that it is delayed. That is known where the program runs, not where it is
compiled.
"""

from __future__ import annotations

import collections
from collections.abc import Collection

import numpy as np

from .schedule import Schedule


def issue_order(schedule: Schedule, at_once: Collection[str] = ()) -> np.ndarray:
    """Positions of the program's items, in the order to issue them.

    Args:
      at_once: meshes to which transfers directly follow what they send. One that sends
        an argument of the program waits for nothing, and keeps its place.
    """
    if not at_once:
        return schedule.order
    sends = schedule.find(
        lambda item: (
            item["kind"] == "transfer"
            and item["to"] in at_once
            and not item.get("delayed")
        )
    )
    after = collections.defaultdict(list)
    moved = set()
    for index in schedule.order[sends[schedule.order]].tolist():
        maker = schedule.maker(schedule.item(index)["operand"])
        if maker is not None:
            after[maker].append(index)
            moved.add(index)
    result: list[int] = []
    for index in schedule.order.tolist():
        found = [] if index in moved else [index]
        while found:
            result.append(found.pop(0))
            found = after[result[-1]] + found
    return np.array(result, np.int64)
