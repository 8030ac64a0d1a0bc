#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `mw.jit(step).lower` takes of long pipelines.

    .venv/bin/python bench/growth/lower.py [--sizes 16x32x128,16x32x512]

A GPT-like training step with `mw.stage_boundary`, `mw.pipeline.accumulate` and
momentum, by 1F1B, one device a stage, shapes only. Sizes are stages, layers and
microbatches; each runs in a process of its own. Prints a line of JSON per size: seconds
of CPU of `lower`, of them in the partitioner, microseconds of CPU an item of the
schedule, and the peak of memory. From the second size on `ratio_SIZE` is the time by
that of the size before.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time

WIDTH, ROWS, LENGTH, SYMBOLS = 64, 2, 16, 128


def make_step(stages: int, layers: int, microbatches: int):
    """The step, and shapes of its arguments."""
    import jax
    import jax.numpy as jnp

    import meshwright as mw

    def block(weights, x):
        queries, keys, values = (x @ weights[name] for name in "qkv")
        scores = jax.nn.softmax(queries @ keys.swapaxes(-1, -2) / WIDTH**0.5)
        x = x + scores @ values @ weights["out"]
        return x + jax.nn.gelu(x @ weights["up"]) @ weights["down"]

    def loss(params, batch):
        tokens, targets = batch
        x = params["embedding"][tokens]
        for number, weights in enumerate(params["blocks"]):
            if number and number % (layers // stages) == 0:
                x = mw.stage_boundary(x)
            x = block(weights, x)
        scores = jax.nn.log_softmax(x @ params["head"])
        return -jnp.take_along_axis(scores, targets[..., None], -1).mean()

    def step(state, batch):
        params, momentum = state
        gradients = mw.pipeline.accumulate(jax.value_and_grad(loss), microbatches)
        value, sums = gradients(params, batch)
        momentum = jax.tree.map(lambda m, g: 0.9 * m + g, momentum, sums)
        params = jax.tree.map(lambda p, m: p - 0.1 * m, params, momentum)
        return (params, momentum), value

    def shape(*sizes):
        return jax.ShapeDtypeStruct(sizes, jnp.float32)

    weights = dict.fromkeys(("q", "k", "v", "out"), shape(WIDTH, WIDTH))
    weights |= {"up": shape(WIDTH, 4 * WIDTH), "down": shape(4 * WIDTH, WIDTH)}
    params = {
        "embedding": shape(SYMBOLS, WIDTH),
        "head": shape(WIDTH, SYMBOLS),
        "blocks": [weights] * layers,
    }
    tokens = jax.ShapeDtypeStruct((microbatches, ROWS, LENGTH), jnp.int32)
    return step, ((params, params), (tokens, tokens))


def make_traced(stages: int, layers: int, microbatches: int):
    """The step, traced, with a device for each stage, and shapes of its arguments."""
    import jax
    import numpy as np

    import meshwright as mw

    step, arguments = make_step(stages, layers, microbatches)
    names = [f"stage{stage}" for stage in range(stages)]
    config = mw.make_config(
        {
            f"mesh{stage}": jax.sharding.Mesh(np.array([device]), ("x",))
            for stage, device in enumerate(jax.devices()[:stages])
        },
        {name: f"mesh{stage}" for stage, name in enumerate(names)},
        name_to_stage_assignment={name: stage for stage, name in enumerate(names)},
        partitioning_options={"mpmd_infer_transfers": True},
        pipeline_schedule=mw.get_pipeline_schedule("ONE_FWD_ONE_BWD"),
    )
    return mw.jit(step, config).trace(*arguments), arguments


def lower_step(stages: int, layers: int, microbatches: int):
    """The same, lowered."""
    return make_traced(stages, layers, microbatches)[0].lower()


def measure(stages: int, layers: int, microbatches: int) -> dict:
    """What one size takes in this process."""
    import jax
    from meshwright.lowering import partitioning

    jax.devices()
    spent = []
    partition = partitioning._partition

    def timed(*request):
        begin = time.process_time()
        result = partition(*request)
        spent.append(time.process_time() - begin)
        return result

    partitioning._partition = timed
    begin = time.process_time()
    lower_step(stages, layers, microbatches)
    seconds = time.process_time() - begin
    items = 2 * stages * microbatches + 2 * (stages - 1) * microbatches
    return {
        "size": f"{stages}x{layers}x{microbatches}",
        "lower": round(seconds, 2),
        "partition": round(sum(spent), 2),
        "us_per_item": round(seconds * 1e6 / items, 1),
        "peak_gb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", default="16x32x128,16x32x512")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        print(json.dumps(measure(*map(int, args.one.split("x")))))
        return
    before = None
    for size in args.sizes.split(","):
        stages = size.split("x")[0]
        environment = os.environ | {
            "JAX_PLATFORMS": "cpu",
            "JAX_NUM_CPU_DEVICES": stages,
        }
        command = [sys.executable, __file__, "--one", size]
        output = subprocess.run(
            command, check=True, env=environment, stdout=subprocess.PIPE, text=True
        ).stdout
        found = json.loads(output.splitlines()[-1])
        if before:
            found[f"ratio_{size}"] = round(found["lower"] / before, 2)
        before = found["lower"]
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
