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
from collections.abc import Collection, Sequence


def issue_order(program: dict, at_once: Collection[str] = ()) -> list[int]:
    """Positions of the program's items, in the order to issue them.

    Args:
      program: the schedule.
      at_once: meshes to which transfers directly follow what they send.
    """
    order = program["issue_order"]
    return _send_at_once(program, order, at_once) if at_once else list(order)


def _send_at_once(
    program: dict, order: Sequence[int], targets: Collection[str]
) -> list[int]:
    """The order with transfers to some meshes directly after what they send.

    What sends an argument of the program waits for nothing, and keeps its place.
    """
    items = program["items"]
    makers = {}
    for index, item in enumerate(items):
        for value in item["results"] if item["kind"] == "call" else [item["result"]]:
            makers[value] = index
    after = collections.defaultdict(list)
    moved = set()
    for index in order:
        item = items[index]
        sends = item["kind"] == "transfer" and item["to"] in targets
        if sends and not item.get("delayed") and item["operand"] in makers:
            after[makers[item["operand"]]].append(index)
            moved.add(index)
    result: list[int] = []
    for index in order:
        found = [] if index in moved else [index]
        while found:
            result.append(found.pop(0))
            found = after[result[-1]] + found
    return result
