#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What loading a program costs one process of many, by the size of the whole.

    .venv/bin/python bench/growth/plans.py [--sizes 16x16,64x64] [--processes 4]

The step of `lower.py` with S stages, a layer each, and M microbatches, whose stages are
divided over some processes, by default one each. What the process in the middle does at
load is done here, without the other processes: read the schedule that the compiler
gives, plan, make the digests that processes compare, and keep its share. Lowering and
loading run in a process each. Prints a line of JSON per size: milliseconds of CPU by
phase, microseconds per item of the whole program, what is kept, the peak of memory, of
it what was there before loading, and, after the second size, how much more an item
takes than in the size before.
"""

import argparse
import json
import os
import pathlib
import pickle
import resource
import subprocess
import sys
import tempfile
import time
from types import SimpleNamespace


def lower(stages: int, microbatches: int, path: str) -> None:
    """Writes what the compiler gives for a program."""
    from lower import lower_step

    made = lower_step(stages, stages, microbatches).partitioning_result
    found = made.program_text, dict(made.fragments)
    pathlib.Path(path).write_bytes(pickle.dumps(found))


def measure(stages: int, microbatches: int, processes: int, path: str) -> dict:
    """What the process in the middle takes to load it."""
    import jax
    from jax.sharding import Mesh
    from meshwright.core import collector
    from meshwright.jaxapi import runtime as jax_runtime
    from meshwright.runtime.processes import agreement
    from meshwright.runtime.processes.edges import Channel
    from meshwright.runtime.processes.projection import project
    from meshwright.runtime.program import placement
    from meshwright.runtime.program.plan import Planner
    from meshwright.runtime.program.schedule_ranges import read_text

    text, modules = pickle.loads(pathlib.Path(path).read_bytes())
    mesh, me = Mesh([jax.devices()[0]], "x"), processes // 2
    world = SimpleNamespace(
        process=me,
        count=processes,
        reserve=lambda count: 0,
        members=SimpleNamespace(generation=0),
    )
    before = _peak_gb()
    times, start = {}, time.process_time()

    def note(phase: str) -> None:
        nonlocal start
        now = time.process_time()
        times[phase], start = round((now - start) * 1e3, 1), time.process_time()

    schedule = read_text(text)
    schedule.check()
    note("read")
    meshes = {}
    for number, described in enumerate(schedule.meshes):
        bound = placement.ProgramMesh(described, mesh)
        # As if its device were one of that process.
        process = number * processes // stages
        bound.processes, bound.is_here = {process}, process == me
        meshes[described["name"]] = bound
    note("bind")
    with collector.paused(), jax_runtime.make_ir_context():
        planner = Planner(schedule, modules, meshes, dict.fromkeys(meshes, {}))
        note("order")
        plan = planner.build()
    note("plan")
    agreement.describe(schedule, modules, planner.order, {}, {}, has_locations=True)
    note("digests")
    project(plan, Channel(world, 0, schedule.count, mesh.devices.size))
    note("project")
    return {
        "stages": stages,
        "microbatches": microbatches,
        "processes": processes,
        "items": schedule.count,
        "json_megabytes": round(len(text) / 1e6, 1),
        "ms": times,
        "us_per_item": round(sum(times.values()) * 1e3 / schedule.count, 1),
        "kept_steps": len(plan.steps),
        "kept_slots": len(plan.slots),
        "peak_gb": _peak_gb(),
        "peak_gb_before": before,
    }


def _peak_gb() -> float:
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, 2)


def _run(what: str, size: str, processes: int, path: str) -> str:
    """Does one of the above in a process of its own."""
    environment = os.environ | {
        "JAX_PLATFORMS": "cpu",
        "JAX_NUM_CPU_DEVICES": size.split("x")[0] if what == "lower" else "1",
    }
    command = [sys.executable, __file__, "--sizes", size, "--one", what, "--path", path]
    return subprocess.run(
        [*command, "--processes", str(processes)],
        check=True,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", default="16x16,64x64,64x256")
    parser.add_argument("--processes", type=int, help="one for each stage by default")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--path", help=argparse.SUPPRESS)
    args = parser.parse_args()
    before = None
    for number, size in enumerate(args.sizes.split(",")):
        stages, microbatches = map(int, size.split("x"))
        processes = args.processes or stages
        if args.one == "lower":
            return lower(stages, microbatches, args.path)
        if args.one:
            found = measure(stages, microbatches, processes, args.path)
            return print(json.dumps(found))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "program")
            _run("lower", size, processes, path)
            found = json.loads(_run("load", size, processes, path).splitlines()[-1])
        if number > 1:
            found[f"ratio_{size}"] = round(found["us_per_item"] / before, 2)
        before = found["us_per_item"]
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
