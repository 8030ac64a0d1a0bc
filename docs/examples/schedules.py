# SPDX-License-Identifier: Apache-2.0
# The program of docs/schedules.md, which scripts/schedule_docs.py copies.

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh

import meshwright as mw

meshes = {f"m{i}": Mesh(jax.devices()[i : i + 1], "x") for i in range(4)}
xs = ys = list(np.ones((8, 4, 2), np.float32))  # Eight microbatches of four rows.


def layer(w, x):
    return jnp.tanh(x @ w)


def distance(x, y):
    return ((x - y) ** 2).mean()


def loss(weights, stages, x, y):
    for w, stage in zip(weights, stages, strict=True):
        x = mw.named_computation(layer, name=f"stage{stage}")(w, x)
    return mw.named_computation(distance, name=f"stage{stage}")(x, y)


def make_step(stages, copies):
    """DualPipe has the model twice, each copy for half of the microbatches."""
    parts = np.split(np.arange(stages), copies)

    def step(weights, xs, ys):
        sums = [None] * copies
        for m, (x, y) in enumerate(zip(xs, ys, strict=True)):
            copy = m * copies // len(xs)
            mine = parts[copy]
            gradient = jax.grad(lambda ws, x, y, mine=mine: loss(ws, mine, x, y))
            grads = mw.call(gradient, call_counter=m)([weights[s] for s in mine], x, y)
            if sums[copy] is not None:
                grads = jax.tree.map(jnp.add, sums[copy], grads)
            sums[copy] = grads
        grads = sums[0]
        if copies == 2:
            grads = 2 * [mw.reduce(a + b) for a, b in zip(*sums, strict=True)]
        return [w - 0.1 * g for w, g in zip(weights, grads, strict=True)]

    return step


def configure(schedule, stages):
    places = mw.pipeline.stage_assignment(schedule, meshes, stages)
    return mw.make_config(
        meshes,
        {f"stage{stage}": mesh for stage, mesh in places.items()},
        name_to_stage_assignment={f"stage{stage}": stage for stage in places},
        partitioning_options={
            "mpmd_infer_transfers": True,
            "mpmd_infer_cross_mesh_reductions": True,
        },
        pipeline_schedule=mw.get_pipeline_schedule(schedule),
    )


def lower(schedule, stages, copies=1):
    weights = [np.ones((2, 2), np.float32)] * stages
    step = mw.jit(make_step(stages, copies), configure(schedule, stages))
    return step.lower(weights, xs, ys)


lowered = lower("ZeroBubbleV", stages=8)  # `lowered.compile()` is the step.
