#!/usr/bin/env python3
"""Whether transfers to a GPU wait for the fragments that run there.

    .venv/bin/python bench/gpu_overlap.py [--microbatches 8] [--repeat 10]

Forwards of a pipeline of two stages, one GPU each: the second takes three times as
long as the first, so it runs while its next inputs arrive. Each transfer is issued
after the launch that makes its value, as the runtime does on GPUs, and when that is
done, as it does elsewhere. Both programs run in turns.

Prints one line of JSON: milliseconds of a step, the best of all repeats, and the ratio.
Exit code 1 if the order for GPUs takes more than 1.02 of the other's time. Where there
are no two GPUs, it says so and ends with 0.
"""

import argparse
import json
import pathlib
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import Mesh  # noqa: E402
from meshwright.runtime.program import placement  # noqa: E402

import meshwright as mw  # noqa: E402

ROWS, WIDTH, BOUND = 4096, 2048, 1.02


def make_step(devices, microbatches: int, platforms: tuple[str, ...]):
    """The program under the order of one kind of backend, with its arguments."""
    meshes = {
        f"m{i}": Mesh(np.array([device]), "x") for i, device in enumerate(devices)
    }

    def layers(count):
        def stage(weight, x):
            for _ in range(count):
                x = jnp.tanh(x @ weight)
            return x

        return stage

    def forward(weights, xs):
        first = mw.named_computation(layers(4), name="first")
        second = mw.named_computation(layers(12), name="second")
        return [
            mw.call(lambda w, x: second(w[1], first(w[0], x)).sum(), call_counter=i)(
                weights, x
            )
            for i, x in enumerate(xs)
        ]

    config = mw.make_config(
        meshes,
        {"first": "m0", "second": "m1"},
        name_to_stage_assignment={"first": 0, "second": 1},
        pipeline_schedule=mw.get_pipeline_schedule("GPIPE"),
    )
    weights = [jnp.eye(WIDTH, dtype=jnp.float32)] * 2
    xs = [jnp.ones((ROWS, WIDTH), jnp.float32)] * microbatches
    usual, placement._GPUS = placement._GPUS, platforms
    try:
        compiled = mw.jit(forward, config).lower(weights, xs).compile()
    finally:
        placement._GPUS = usual
    arguments = compiled.place(weights, xs)
    return lambda: jax.block_until_ready(compiled(*arguments))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--microbatches", type=int, default=8)
    parser.add_argument("--repeat", type=int, default=10)
    args = parser.parse_args()
    devices = jax.devices()
    if len(devices) < 2 or devices[0].platform not in placement._GPUS:
        found = f"{len(devices)} × {devices[0].platform}"
        print(f"skipped: this needs two GPUs, and JAX finds {found}")
        return 0
    steps = {
        name: make_step(devices[:2], args.microbatches, platforms)
        for name, platforms in (("at_once", placement._GPUS), ("when_done", ()))
    }
    times = {name: [] for name in steps}
    for number in range(args.repeat + 2):
        for name, step in steps.items():
            start = time.perf_counter()
            step()
            if number > 1:
                times[name].append(time.perf_counter() - start)
    best = {f"{name}_ms": round(1e3 * min(found), 3) for name, found in times.items()}
    ratio = min(times["at_once"]) / min(times["when_done"])
    print(json.dumps(best | {"ratio": round(ratio, 4)}))
    return 0 if ratio <= BOUND else 1


if __name__ == "__main__":
    sys.exit(main())
