"""Trains with sequences in chunks and with towers, over processes.

Meshes are in turn in another process. The carry of a sequence is the sum of the
positions before, so that chunks need each other in both directions. Two towers
[SCHEDULE, OF_VISION] meet in a decoder.
"""

import json

import meshwright as mw

CASES = {
    "sequences": [("Seq1F1B", 4), ("SlimPipe", 8)],
    "towers": [("Towers", "GPipe"), ("AUTO", "1F1B")],
}
mw.distributed.initialize()

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import Mesh  # noqa: E402

MICROBATCHES, ROWS, LENGTH, WIDTH, CHUNKS = 8, 2, 4, 2, 2
by_process = np.array(jax.devices()).reshape(jax.process_count(), -1)
topology = {f"m{i}": Mesh(row, "x") for i, row in enumerate(by_process.T.reshape(4, 1))}
random = np.random.default_rng(0)


def draw(*shape):
    return random.normal(size=shape).astype(np.float32)


def make_step(gradient):
    def step(weights, batch):
        value, grads = gradient(weights, *batch)
        return value, jax.tree.map(lambda w, g: w - 0.1 * g, weights, grads)

    return step


def train(gradient, plain, weights, batch, **config) -> float:
    """The largest difference between the losses of two gradients."""
    config = mw.make_config(topology, **config)
    compiled = mw.jit(make_step(gradient), config).lower(weights, batch).compile()
    ours, placed = mw.distributed.place((weights, batch), compiled.input_shardings[0])
    plain, difference = jax.jit(make_step(plain)), 0.0
    for _ in range(3):
        found, ours = compiled(ours, placed)
        expected, weights = plain(weights, batch)
        difference = max(difference, abs(float(mw.fetch(found)) - float(expected)))
    return difference


def train_sequences(schedule: str, stages: int) -> float:
    def loss(weights, batch, sums):
        x, y = batch
        new = []
        for stage, w in enumerate(weights):
            x = mw.stage_boundary(x) if stage else x
            before = jnp.cumsum(x, 1) + (0 if sums is None else sums[stage])
            new.append(before[:, -1:])
            x = jnp.tanh(before @ w)
        return ((x - y) ** 2).mean(), new

    gradient = mw.pipeline.accumulate(loss, MICROBATCHES, sequence_chunks=CHUNKS)
    return train(
        lambda weights, *batch: gradient(weights, batch),
        jax.value_and_grad(lambda weights, *batch: loss(weights, batch, None)[0]),
        [draw(WIDTH, WIDTH) for _ in range(stages)],
        [draw(MICROBATCHES * ROWS, LENGTH, WIDTH) for _ in range(2)],
        partitioning_options={"mpmd_pipeline_schedule": schedule},
    )


def train_towers(schedule: str, of_vision: str) -> float:
    def loss(weights, image, text, y):
        for w in weights["vision"]:
            image = jnp.tanh(mw.stage_boundary(image, tower="vision") @ w)
        for w in weights["text"]:
            text, image = mw.stage_boundary((text, image), tower="text")
            text = jnp.tanh(text @ w) + image
        return ((text - y) ** 2).mean()

    towers = {
        "vision": mw.pipeline.Tower(["m0", "m1"], of_vision),
        "text": ["m2", "m3"],
    }
    whole = jax.value_and_grad(loss)
    return train(
        mw.pipeline.accumulate(whole, MICROBATCHES, batch_argnums=(1, 2, 3)),
        whole,
        {name: [draw(WIDTH, WIDTH) for _ in range(2)] for name in towers},
        [draw(MICROBATCHES * ROWS, WIDTH) for _ in range(3)],
        towers=towers,
        partitioning_options={"mpmd_pipeline_schedule": schedule},
    )


kinds = {"sequences": train_sequences, "towers": train_towers}
found = {
    kind: [kinds[kind](*case) for case in cases_of_kind]
    for kind, cases_of_kind in CASES.items()
}
print(json.dumps({"process": jax.process_index(), "found": found}), flush=True)
