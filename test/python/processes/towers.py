"""Trains two towers that meet in a decoder, on meshes in turn in another process.

towers.py SCHEDULE OF_VISION
"""

import json
import sys

import meshwright as mw

schedule, of_vision = sys.argv[1:]
mw.distributed.initialize()

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import Mesh  # noqa: E402

MICROBATCHES, ROWS, WIDTH = 8, 2, 2
by_process = np.array(jax.devices()).reshape(jax.process_count(), -1)
topology = {f"m{i}": Mesh(row, "x") for i, row in enumerate(by_process.T.reshape(4, 1))}
towers = {
    "vision": mw.pipeline.Tower(["m0", "m1"], of_vision),
    "text": ["m2", "m3"],
}


def loss(weights, image, text, y):
    for w in weights["vision"]:
        image = jnp.tanh(mw.stage_boundary(image, tower="vision") @ w)
    for w in weights["text"]:
        text, image = mw.stage_boundary((text, image), tower="text")
        text = jnp.tanh(text @ w) + image
    return ((text - y) ** 2).mean()


random = np.random.default_rng(0)


def draw(*shape):
    return random.normal(size=shape).astype(np.float32)


weights = {name: [draw(WIDTH, WIDTH) for _ in range(2)] for name in towers}
batch = [draw(MICROBATCHES * ROWS, WIDTH) for _ in range(3)]
gradient = mw.pipeline.accumulate(
    jax.value_and_grad(loss), MICROBATCHES, batch_argnums=(1, 2, 3)
)


def step(weights, *batch):
    value, grads = gradient(weights, *batch)
    return value, jax.tree.map(lambda w, g: w - 0.1 * g, weights, grads)


config = mw.make_config(
    topology, towers=towers, partitioning_options={"mpmd_pipeline_schedule": schedule}
)
compiled = mw.jit(step, config).lower(weights, *batch).compile()
ours, *placed = mw.distributed.place((weights, *batch), compiled.input_shardings[0])
plain = jax.jit(step)
difference = 0.0
for _ in range(3):
    found, ours = compiled(ours, *placed)
    expected, weights = plain(weights, *batch)
    difference = max(difference, abs(float(mw.fetch(found)) - float(expected)))
print(
    json.dumps({"process": jax.process_index(), "difference": difference}), flush=True
)
