#!/usr/bin/env python3
"""Programs of a small step, and what they cost from function to executables.

    .venv/bin/python bench/few_programs.py [--schedules 1F1B ZeroBubbleH1] [--width 16]

An Adam step of four attention layers in two stages, four microbatches. Per schedule:
the number of programs that XLA compiles, processor seconds for `lower` and `compile`,
and for a step, with `mpmd_keep_units_alike` and without, each in a process of its own;
the last ratios are to `jax.jit` of the same function. Steps are measured by the clock,
alternating in one process, as the least of `--steps`.
"""

import argparse
import functools
import json
import os
import re
import subprocess
import sys
import time

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("JAX_NUM_CPU_DEVICES", "2")

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
import optax  # noqa: E402

import meshwright as mw  # noqa: E402

MICROBATCHES = 4
OPTIMIZER = optax.adam(1e-3)


def layer(weights, x):
    scores = x @ weights["query"] @ (x @ weights["key"]).swapaxes(-1, -2)
    x = x + jax.nn.softmax(scores / 4) @ (x @ weights["value"]) @ weights["out"]
    return x + jax.nn.relu(x @ weights["up"]) @ weights["down"]


def loss(layers, x, y):
    for number, weights in enumerate(layers):
        if number == len(layers) // 2:
            x = mw.stage_boundary(x)
        x = layer(weights, x)
    return jnp.mean((x - y) ** 2)


def step(layers, state, x, y):
    gradient = mw.pipeline.accumulate(
        jax.value_and_grad(loss), MICROBATCHES, batch_argnums=(1, 2)
    )
    value, grads = gradient(layers, x, y)
    updates, state = OPTIMIZER.update(grads, state, layers)
    return optax.apply_updates(layers, updates), state, value


def arguments(width):
    random = np.random.default_rng(0)
    shapes = dict.fromkeys(("query", "key", "value", "out"), (width, width))
    shapes |= {"up": (width, 4 * width), "down": (4 * width, width)}
    layers = [
        {name: np.float32(random.normal(size=s)) / 8 for name, s in shapes.items()}
        for _ in range(4)
    ]
    x, y = (np.float32(random.normal(size=(8, 16, width))) for _ in range(2))
    return layers, OPTIMIZER.init(layers), x, y


def function(schedule, alike):
    if schedule == "jit":
        return jax.jit(step)
    meshes = {
        name: jax.sharding.Mesh([device], ("x",))
        for name, device in zip(("m0", "m1"), jax.devices(), strict=False)
    }
    options = {"mpmd_pipeline_schedule": schedule, "mpmd_keep_units_alike": alike}
    return mw.jit(step, mw.make_config(meshes, partitioning_options=options))


def measure(schedule, alike, width):
    """Processor seconds and the number of programs, printed as JSON."""
    start = time.process_time()
    compiled = function(schedule, alike).lower(*arguments(width)).compile()
    seconds = time.process_time() - start
    names = re.findall(r"^HloModule ([\w.]+)", compiled.as_text(), re.MULTILINE)
    count = len(set(names))
    print(json.dumps({"seconds": seconds, "programs": count}))


def apart(schedule, alike, width):
    command = [sys.executable, __file__, "--width", str(width)]
    command += ["--one", schedule, str(int(alike))]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return json.loads(output.splitlines()[-1])


def ratio_of_steps(schedule, width, count):
    programs = [
        function(schedule, alike).lower(*arguments(width)).compile()
        for alike in (True, False)
    ]
    least = [float("inf"), float("inf")]
    for _ in range(count):
        for number, program in enumerate(programs):
            placed = program.place(*arguments(width))
            start = time.perf_counter()
            jax.block_until_ready(program(*placed))
            least[number] = min(least[number], time.perf_counter() - start)
    return least[0] / least[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--schedules", nargs="+", default=["1F1B", "ZeroBubbleH1"])
    parser.add_argument("--width", type=int, default=16)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--one", nargs=2, metavar=("SCHEDULE", "ALIKE"))
    args = parser.parse_args()
    if args.one:
        return measure(args.one[0], args.one[1] == "1", args.width)
    measured = functools.partial(apart, width=args.width)
    jit = measured("jit", True)["seconds"]
    print(f"{'':14}programs        CPU time        to without    to jax.jit    step")
    for schedule in args.schedules:
        alike, merged = measured(schedule, True), measured(schedule, False)
        print(
            f"{schedule:14}{alike['programs']:2} (of {merged['programs']:2})      "
            f"{alike['seconds']:.2f} s ({merged['seconds']:.2f} s)  "
            f"{alike['seconds'] / merged['seconds']:6.2f}x      "
            f"{alike['seconds'] / jit:6.2f}x   "
            f"{ratio_of_steps(schedule, args.width, args.steps):6.2f}x"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
