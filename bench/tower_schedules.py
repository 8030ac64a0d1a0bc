#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares schedule auto with fixed schedules of towers, on random graphs.

    .venv/bin/python bench/tower_schedules.py [--bin build/bin] [--graphs 100]

Each graph has two or three towers of one to three stages, a quarter of them on meshes
that towers share, times that differ, transfers, and 2 to 16 microbatches. Each tower
feeds one stage of a later one, or all of them. `auto` is compared with the shortest of
all mixtures of GPipe, 1F1B, Eager1F1B and ZeroBubbleH1 that fit into its memory, and
with the lower bound that no order can beat. Prints the graphs, and what they are
together.
"""

import argparse
import concurrent.futures
import itertools
import json
import pathlib
import random
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
FIXED = ("GPipe", "1F1B", "Eager1F1B", "ZeroBubbleH1")


def draw_graph(draw: random.Random) -> tuple[list[str], str, dict, int]:
    """Towers as texts without schedules, feeds, times, microbatches."""
    counts = [draw.randint(1, 3) for _ in range(draw.randint(2, 3))]
    # Where towers share meshes, all of them have the first ones.
    share = draw.randint(0, 3) == 0
    towers, first = [], 0
    for number, count in enumerate(counts):
        start = 0 if share else first
        towers.append(f"t{number}:{count}@{start}-{start + count - 1}")
        first += count
    feeds = []
    for number in range(len(counts) - 1):
        to = draw.randint(number + 1, len(counts) - 1)
        stage = draw.choice(["*", *range(counts[to])])
        feeds.append(f"t{number}>t{to}.{stage}")
    least = draw.choice([1, 8])  # Unequal stages, and some that are nearly alike.
    stages = [
        {key: draw.randint(least, 9) for key in ("forward", "input", "weight")}
        for _ in range(sum(counts))
    ]
    times = {"transfer": draw.randint(0, 3), "stages": stages}
    return towers, ";".join(feeds), times, draw.randint(2, 16)


class Tool:
    def __init__(self, folder: pathlib.Path, times: pathlib.Path):
        self.tool, self.times = folder / "meshwright", times

    def ask(self, name: str, microbatches: int, *more: str) -> dict:
        done = subprocess.run(
            [
                *(self.tool, "schedule", name, "--json", f"--times={self.times}"),
                *(f"--microbatches={microbatches}", *more),
            ],
            capture_output=True,
            text=True,
            check=True,
        )
        return json.loads(done.stdout)


def compare(folder: pathlib.Path, seed: int) -> tuple[str, int, int, int, bool]:
    """The graph, makespan of auto, that of the best mixture, lower bound, proven."""
    towers, feeds, times, microbatches = draw_graph(random.Random(seed))
    with tempfile.TemporaryDirectory() as temporary:
        path = pathlib.Path(temporary) / "times.json"
        path.write_text(json.dumps(times))
        tool = Tool(folder, path)
        text = f"{';'.join(towers)};{feeds}"
        made = tool.ask(f"auto:{text}", microbatches)
        # What 1F1B everywhere keeps is what auto has at least.
        mixtures = []
        for own in itertools.product(FIXED, repeat=len(towers)):
            named = [f"{tower}={s}" for tower, s in zip(towers, own, strict=True)]
            mixtures.append(tool.ask(f"Towers:{';'.join(named)};{feeds}", microbatches))
        memory = usual_rooms(towers, feeds)
    fitting = [
        plan["makespan"]
        for plan in mixtures
        if all(
            mesh["peak_live"] <= most
            for mesh, most in zip(plan["meshes"], memory, strict=True)
        )
    ]
    label = f"{text}, {microbatches} microbatches"
    best = min(fitting, default=made["makespan"])
    return label, made["makespan"], best, made["lower_bound"], made["optimal"]


def usual_rooms(towers: list[str], feeds: str) -> list[int]:
    """For each mesh the stages from the first one of its towers to the end."""
    counts, meshes, starts = [], [], []
    for tower in towers:
        counts.append(int(tower.split(":")[1].split("@")[0]))
        first, last = map(int, tower.split("@")[1].split("-"))
        meshes.append(range(first, last + 1))
        starts.append(sum(counts[:-1]))
    after: dict[int, set[int]] = {stage: set() for stage in range(sum(counts))}
    for start, count in zip(starts, counts, strict=True):
        for stage in range(start, start + count - 1):
            after[stage].add(stage + 1)
    for feed in feeds.split(";"):
        giver, reader = feed.split(">")
        source = starts[int(giver[1:])] + counts[int(giver[1:])] - 1
        tower, _, stage = reader[1:].partition(".")
        chosen = range(counts[int(tower)]) if stage == "*" else [int(stage)]
        after[source] |= {starts[int(tower)] + number for number in chosen}
    to_end: dict[int, int] = {}
    for stage in reversed(after):
        to_end[stage] = 1 + max((to_end[other] for other in after[stage]), default=0)
    rooms = [0] * (1 + max(max(own) for own in meshes))
    for start, own in zip(starts, meshes, strict=True):
        for mesh in own:
            rooms[mesh] += to_end[start]
    return rooms


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", default=ROOT / "build/bin", type=pathlib.Path)
    parser.add_argument("--graphs", default=100, type=int)
    args = parser.parse_args()
    begin = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda seed: compare(args.bin, seed), range(args.graphs)))
    counts = dict.fromkeys(("shorter", "equal", "longer"), 0)
    ratio = distance = 0.0
    for label, made, best, bound, optimal in found:
        kind = "shorter" if made < best else "longer" if made > best else "equal"
        counts[kind] += 1
        ratio += made / best / len(found)
        distance += (made / bound - 1) / len(found)
        proven = "proven" if optimal else f"at most {made / bound - 1:.1%} from it"
        print(f"{label}: auto {made}, fixed {best}, bound {bound}, {proven}")
    print(f"{len(found)} graphs, {counts}, {sum(f[4] for f in found)} proven")
    print(
        f"above the lower bound, mean {distance:.1%}, {time.monotonic() - begin:.0f} s"
    )
    print(f"makespan of auto by that of the best mixture, mean  {ratio:.3f}x")


if __name__ == "__main__":
    main()
