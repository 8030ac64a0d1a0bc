"""Trains with sequences in chunks, on meshes in turn in another process.

    sequence.py SCHEDULE STAGES CHUNKS

The carry is the sum of the positions before, so that chunks need each other in both
directions.
"""

import json
import sys

import meshwright as mw

schedule, stages, chunks = sys.argv[1], *map(int, sys.argv[2:])
mw.distributed.initialize()

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import Mesh  # noqa: E402

MICROBATCHES, ROWS, LENGTH, WIDTH = 8, 2, 4, 2
by_process = np.array(jax.devices()).reshape(jax.process_count(), -1)
rows = by_process.T.reshape(4, 1)
topology = {f"m{i}": Mesh(row, "x") for i, row in enumerate(rows)}


def loss(weights, batch, sums):
    x, y = batch
    new = []
    for stage, w in enumerate(weights):
        x = mw.stage_boundary(x) if stage else x
        before = jnp.cumsum(x, 1) + (0 if sums is None else sums[stage])
        new.append(before[:, -1:])
        x = jnp.tanh(before @ w)
    return ((x - y) ** 2).mean(), new


random = np.random.default_rng(0)
weights = [random.normal(size=(WIDTH, WIDTH)).astype(np.float32) for _ in range(stages)]
shape = MICROBATCHES * ROWS, LENGTH, WIDTH
batch = tuple(random.normal(size=shape).astype(np.float32) for _ in range(2))
gradient = mw.pipeline.accumulate(loss, MICROBATCHES, sequence_chunks=chunks)


def step(weights, batch):
    value, grads = gradient(weights, batch)
    return value, [w - 0.1 * g for w, g in zip(weights, grads, strict=True)]


config = mw.make_config(
    topology, partitioning_options={"mpmd_pipeline_schedule": schedule}
)
compiled = mw.jit(step, config).lower(weights, batch).compile()
ours, placed = mw.distributed.place((weights, batch), compiled.input_shardings[0])
whole = jax.jit(jax.value_and_grad(lambda weights: loss(weights, batch, None)[0]))
difference = 0.0
for _ in range(3):
    found, ours = compiled(ours, placed)
    expected, grads = whole(weights)
    weights = [w - 0.1 * g for w, g in zip(weights, grads, strict=True)]
    difference = max(difference, abs(float(mw.fetch(found)) - float(expected)))
print(
    json.dumps({"process": jax.process_index(), "difference": difference}), flush=True
)
