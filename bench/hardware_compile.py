#!/usr/bin/env python3
"""Compiling for devices that are not here, beside the client of JAX by hand.

    bench/hardware_compile.py [--target v5e:2x4] [--repeat 3] [FOLDER]

Takes the fragments of a program, `gpt_4_4_4` by default, or of a folder that
`meshwright partition` wrote. Ours is all of `meshwright.runtime.load`, with threads and
without a cache; by hand, each distinct fragment is given to the client as it is, in as
many threads. They take turns, each in a process of its own, since the library of TPUs
remembers what it has compiled; the plugin is loaded before the clock starts. Prints a
line of JSON: medians of wall time and of time of the CPU in seconds, and the ratios of
ours to theirs.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ["MESHWRIGHT_CACHE_DIR"] = ""

import jax  # noqa: E402
from meshwright.aot.names import parse_target  # noqa: E402
from meshwright.jaxapi import described  # noqa: E402
from meshwright.jaxapi import runtime as jax_runtime  # noqa: E402
from meshwright.runtime import load, read_folder  # noqa: E402
from meshwright.runtime.load import compilation  # noqa: E402
from meshwright.runtime.program.placement import bind_meshes  # noqa: E402
from meshwright.runtime.program.plan import Planner  # noqa: E402
from meshwright.runtime.program.schedule import read_schedule  # noqa: E402
from meshwright.runtime.run.places import place_meshes  # noqa: E402


def plan_sources(program, fragments, meshes):
    bound = bind_meshes(program["meshes"], meshes)
    options = compilation.resolve_options(None, list(bound))
    with jax_runtime.make_ir_context():
        return (
            Planner(read_schedule(program), dict(fragments), bound, options)
            .build()
            .sources
        )


def compile_by_hand(sources) -> None:
    """Compiles modules, each in a context of its own."""

    def compile_one(source):
        with jax_runtime.make_ir_context():
            module = jax_runtime.ir.Module.parse(source.text)
        described.compile_described(module, source.mesh.devices, source.options, [])

    distinct = list({source.key: source for source in sources}.values())
    threads = max(compilation._count_threads(distinct).values())
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        list(pool.map(compile_one, distinct))


def compile_once(side: str, target: str, folder: pathlib.Path) -> None:
    """Prints how many fragments there are, and the times of the clock and the CPU."""
    jax.config.update("jax_enable_x64", True)
    program, fragments = read_folder(folder)
    meshes = place_meshes(parse_target(target), program["meshes"])
    sources = plan_sources(program, fragments, meshes)
    wall, cpu = time.perf_counter(), time.process_time()
    if side == "ours":
        load(program, fragments, meshes)
    else:
        compile_by_hand(sources)
    times = time.perf_counter() - wall, time.process_time() - cpu
    print(json.dumps([len({source.key for source in sources}), *times]))


def run_once(side: str, target: str, folder: pathlib.Path) -> list[float]:
    command = [sys.executable, __file__, "--side", side, "--target", target, folder]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout)


def partition(tools: pathlib.Path, folder: pathlib.Path) -> None:
    source = ROOT / "test" / "programs" / "mpmd" / "gpt_4_4_4.mlir"
    command = [tools / "meshwright", "partition", source]
    command += ["--config", source.with_suffix(".json"), "-o", folder]
    subprocess.run(command, check=True, capture_output=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", default=ROOT / "build/bin", type=pathlib.Path)
    parser.add_argument("--target", default="v5e:2x4")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--side", choices=("ours", "hand"), help=argparse.SUPPRESS)
    parser.add_argument("folder", nargs="?", type=pathlib.Path)
    options = parser.parse_args()
    if options.side:
        compile_once(options.side, options.target, options.folder)
        return
    rounds = []
    with tempfile.TemporaryDirectory() as made:
        folder = options.folder or pathlib.Path(made) / "out"
        if not options.folder:
            partition(options.bin, folder)
        for number in range(options.repeat):
            sides = ("ours", "hand")[:: 1 if number % 2 == 0 else -1]
            found = {side: run_once(side, options.target, folder) for side in sides}
            rounds.append((*found["ours"], *found["hand"]))
    columns = map(statistics.median, zip(*rounds, strict=True))
    count, wall, cpu, _, hand_wall, hand_cpu = columns
    print(
        json.dumps(
            {
                "target": options.target,
                "fragments": count,
                "ours_s": wall,
                "by_hand_s": hand_wall,
                "ratio": wall / hand_wall,
                "ours_cpu_s": cpu,
                "by_hand_cpu_s": hand_cpu,
                "cpu_ratio": cpu / hand_cpu,
            }
        )
    )


if __name__ == "__main__":
    main()
