#!/usr/bin/env python3
"""Trains under every schedule and prints how that compares, as a table.

    .venv/bin/python scripts/schedule_table.py [--bin build/bin] [NAME ...]

Each schedule trains on four meshes, with eight microbatches, beside `jax.jit`, on
meshes of one and of two devices. The table has the largest difference between two
losses, whether each mesh issued what `meshwright schedule` draws, action by action,
and the peak of activations that each mesh kept, next to that of the drawing.
"""

import argparse
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
os.environ.setdefault("JAX_NUM_CPU_DEVICES", "9")

from meshwright.schedule_names import PIPELINE_SCHEDULE_NAMES  # noqa: E402
from support import schedule_training as training  # noqa: E402

FORWARD_ONLY = "ParallelPipelinesWithWrapAround"


def read_plan(folder: pathlib.Path, name: str, *arguments: str):
    done = subprocess.run(
        [folder / "meshwright", "schedule", name, "--csv", *arguments],
        capture_output=True,
        text=True,
        check=True,
    )
    return training.read_plan(done.stdout)


def compare(name: str, plan, devices: int) -> str:
    options = {"mpmd_pipeline_schedule": name}
    trained = training.Trained(name, plan, devices, options=options)
    planned = [training.count_planned_live(row) for row in plan]
    is_drawn = trained.orders == training.as_split(plan, trained.orders)
    return (
        f"| {name} | {devices} | {trained.difference:.1e} | "
        f"{'yes' if is_drawn else 'no'} | {' '.join(map(str, trained.lives))} | "
        f"{' '.join(map(str, planned))} |"
    )


def go_round(plan, devices: int) -> str:
    meshes = training.make_topology(devices).values()
    topology = {f"m{number}": mesh for number, mesh in enumerate(meshes)}
    difference, rows = training.go_round(topology)
    is_drawn = rows == [[m for _, _, m in row] for row in plan]
    return (
        f"| {FORWARD_ONLY} | {devices} | {difference:.1e} | "
        f"{'yes' if is_drawn else 'no'} | forward only | |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build" / "bin")
    parser.add_argument("names", nargs="*", default=PIPELINE_SCHEDULE_NAMES)
    args = parser.parse_args()
    print("| schedule | devices | losses differ by | as drawn | peak live | drawn |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name in args.names:
        for devices in (1, 2):
            if name == FORWARD_ONLY:
                shape = f"--microbatches={training.MESHES}"
                print(go_round(read_plan(args.bin, name, shape), devices), flush=True)
            else:
                print(compare(name, read_plan(args.bin, name), devices), flush=True)


if __name__ == "__main__":
    main()
