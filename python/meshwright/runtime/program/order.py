# SPDX-License-Identifier: Apache-2.0
"""The one order in which the items of a program are issued.

Everything is issued by one thread, and a device takes only so many launches
before the next one waits (32 on CPU). Issuing one mesh's whole queue first would
starve the others, so items are issued in the order in which they would start if
every fragment took as long as its FLOPs say and transfers took no time. Each
mesh keeps the order of its own items, transfers included, exactly.

Not so transfers to GPUs: what arrives there may be used only behind all that was
queued on the device before, so a transfer behind a fragment that runs meanwhile would
wait for it. It is issued at once behind the launch that makes its value.
"""

from __future__ import annotations

import collections
from collections.abc import Collection, Mapping


def issue_order(
    program: dict,
    sharing: Mapping[str, Collection[str]] | None = None,
    at_once: Collection[str] = (),
) -> list[int]:
    """Positions of the program's items, in the order to issue them.

    A topological order of the data flow in which the items of each mesh keep
    their relative order, but for transfers to meshes in `at_once`. Meshes that share
    devices, those that `sharing` lists for each, take turns.
    """
    starts = simulate_starts(program, sharing or {})
    # An item that needs another starts no earlier and stands after it, so equal
    # times are settled by position.
    order = sorted(range(len(starts)), key=lambda index: (starts[index], index))
    return _send_at_once(program, order, at_once) if at_once else order


def _send_at_once(
    program: dict, order: list[int], targets: Collection[str]
) -> list[int]:
    """The order with transfers to some meshes directly behind what they send.

    What sends an argument of the program waits for nothing, and keeps its place.
    """
    items = program["items"]
    makers = {}
    for index, item in enumerate(items):
        for value in item["results"] if item["kind"] == "call" else [item["result"]]:
            makers[value] = index
    behind = collections.defaultdict(list)
    moved = set()
    for index in order:
        item = items[index]
        sends = item["kind"] == "transfer" and item["to"] in targets
        if sends and item["operand"] in makers:
            behind[makers[item["operand"]]].append(index)
            moved.add(index)
    result: list[int] = []
    for index in order:
        found = [] if index in moved else [index]
        while found:
            result.append(found.pop(0))
            found = behind[result[-1]] + found
    return result


def simulate_starts(
    program: dict, sharing: Mapping[str, Collection[str]]
) -> list[float]:
    """When each item starts, in FLOPs per device since the first one."""
    devices = {
        mesh["name"]: _product(size for _, size in mesh["axes"])
        for mesh in program["meshes"]
    }
    costs = _call_costs(program, devices)
    ready = [0.0] * len(program["values"])
    free = dict.fromkeys(devices, 0.0)
    last = dict.fromkeys(devices, 0.0)
    starts = []
    for item in program["items"]:
        if item["kind"] == "call":
            mesh = item["mesh"]
            inputs = max((ready[v] for v in item["operands"]), default=0.0)
            start = max(inputs, free[mesh], last[mesh])
            stop = start + costs[item["fragment"]]
            for busy in (mesh, *sharing.get(mesh, ())):
                free[busy] = stop
            for value in item["results"]:
                ready[value] = stop
            last[mesh] = start
        else:
            source, target = item["from"], item["to"]
            start = max(ready[item["operand"]], last[source], last[target])
            ready[item["result"]] = last[source] = last[target] = start
        starts.append(start)
    return starts


def _call_costs(program: dict, devices: dict[str, int]) -> list[float]:
    """FLOPs per device of each fragment; at least a hundredth of the mean."""
    costs = [
        float(fragment.get("flops") or 0) / devices[fragment["mesh"]]
        for fragment in program["fragments"]
    ]
    least = sum(costs) / len(costs) / 100 if any(costs) else 1.0
    return [max(cost, least) for cost in costs]


def _product(sizes) -> int:
    result = 1
    for size in sizes:
        result *= int(size)
    return result
