#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares schedule auto with all builtin schedules, on stages that are alike.

    .venv/bin/python bench/auto_schedules.py [--bin build/bin]

Each row of unittests/Schedule/tables/figures.tsv is a schedule on that many meshes,
with that many microbatches and stages on each mesh, and says what each mesh keeps.
`auto` gets that memory, and so does every builtin schedule that exists for the
shape; the shortest of these that fits is what it is compared with. DualPipe is left
out: it takes each microbatch through one of two copies of the model, which is other
work. Prints the rows where they differ, and counts.
"""

import argparse
import concurrent.futures
import csv
import functools
import json
import pathlib
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
FIGURES = ROOT / "unittests" / "Schedule" / "tables" / "figures.tsv"
# What does other work, or none that trains.
OTHERS = {"auto", "DualPipe", "ParallelPipelinesWithWrapAround"}


class Schedules:
    """Asks `meshwright schedule`."""

    def __init__(self, folder: pathlib.Path):
        self.tool = folder / "meshwright"
        listed = subprocess.check_output([self.tool, "schedule"], text=True)
        names = [line.split()[0] for line in listed.splitlines() if line.strip()]
        self.builtin = [name for name in names if name not in OTHERS]

    @functools.cache  # noqa: B019
    def ask(self, name: str, meshes: str, microbatches: str, stages: str, *more: str):
        """Makespan, and what each mesh keeps; None if there is no such plan."""
        done = subprocess.run(
            [
                *(self.tool, "schedule", name, "--json", f"--meshes={meshes}"),
                *(f"--microbatches={microbatches}", f"--stages-per-mesh={stages}"),
                *more,
            ],
            capture_output=True,
            text=True,
        )
        if done.returncode:
            return None
        plan = json.loads(done.stdout)
        return plan["makespan"], [mesh["peak_live"] for mesh in plan["meshes"]]

    def compare(self, row: dict[str, str]) -> tuple[str, int, str, int]:
        shape = row["P"], row["M"], row["v"]
        bound = [int(most) for most in row["live_whole_per_rank"].split()]
        found = {
            name: plan[0]
            for name in self.builtin
            if (plan := self.ask(name, *shape))
            and all(live <= most for live, most in zip(plan[1], bound, strict=True))
        }
        best = min(found, key=found.__getitem__)
        memory = ",".join(map(str, bound))
        made = self.ask("auto", *shape, f"--memory={memory}")
        label = "{schedule} {P}x{M}x{v}".format_map(row)
        return label, made[0], best, found[best]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", default=ROOT / "build/bin", type=pathlib.Path)
    schedules = Schedules(parser.parse_args().bin)
    rows = list(csv.DictReader(FIGURES.open(), delimiter="\t"))
    rows = [row for row in rows if row["schedule"] != "dualpipe"]
    begin = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        compared = list(pool.map(schedules.compare, rows))
    counts = dict.fromkeys(("shorter", "equal", "longer"), 0)
    gain, ratios = 0.0, 0.0
    for label, made, best, builtin in compared:
        kind = "shorter" if made < builtin else "longer" if made > builtin else "equal"
        counts[kind] += 1
        gain = max(gain, 1 - made / builtin)
        ratios += made / builtin / len(compared)
        if kind != "equal":
            print(f"{label:24} auto {made:5}  {best} {builtin}")
    print(f"{len(compared)} rows, {counts}; at most {gain:.1%} shorter;", end=" ")
    print(f"{time.monotonic() - begin:.0f} s")
    print(f"makespan of auto by that of the best builtin, mean  {ratios:.3f}x")


if __name__ == "__main__":
    main()
