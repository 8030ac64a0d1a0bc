#!/usr/bin/env python3
"""A classifier on two meshes: the first layers on one, the last on the other.

    .venv/bin/python examples/mlp.py [--steps 20] [--devices 2]

Each mesh splits the batch over its devices. The example shows the least that a
program needs: two names, a mesh for each, and what may move between the two.
"""

import sys

import jax
import jax.numpy as jnp
import numpy as np
import training  # Finds the package in a checkout, too.

import meshwright as mw

WIDTH, CLASSES, BATCH, RATE = 32, 4, 16, 0.3


def make_state(seed: int = 0):
    rng = np.random.default_rng(seed)

    def layer(inputs, outputs):
        weight = rng.normal(size=(inputs, outputs)) / inputs**0.5
        return {"w": weight.astype(np.float32), "b": np.zeros(outputs, np.float32)}

    return {
        "features": [layer(8, WIDTH), layer(WIDTH, WIDTH)],
        "head": layer(WIDTH, CLASSES),
    }


def make_batch(number: int):
    """Points around four centres; the label is the centre."""
    rng = np.random.default_rng(number)
    labels = rng.integers(0, CLASSES, BATCH)
    points = rng.normal(size=(BATCH, 8)) + 2 * np.eye(CLASSES, 8)[labels]
    return points.astype(np.float32), labels.astype(np.int32)


def features(layers, x):
    for layer in layers:
        x = jnp.tanh(x @ layer["w"] + layer["b"])
    return x


def head(layer, x, labels):
    scores = jax.nn.log_softmax(x @ layer["w"] + layer["b"])
    return -jnp.take_along_axis(scores, labels[:, None], axis=1).mean()


def train_step(params, batch):
    points, labels = batch

    def loss_of(params):
        x = mw.named_computation(features, name="features")(params["features"], points)
        return mw.named_computation(head, name="head")(params["head"], x, labels)

    loss, grads = jax.value_and_grad(loss_of)(params)
    return jax.tree.map(lambda p, g: p - RATE * g, params, grads), loss


def main() -> int:
    options = training.parse(__doc__, devices={"type": int, "default": 2})
    meshes = training.make_meshes(
        first={"data": options.devices}, second={"data": options.devices}
    )
    # Parameters whole on each device, batches split over them.
    whole = jax.NamedSharding(meshes["first"], jax.P())
    split = jax.NamedSharding(meshes["first"], jax.P("data"))
    config = mw.make_config(
        meshes,
        {"features": "first", "head": "second"},
        partitioning_options={"mpmd_infer_transfers": True},
    )
    partitioned = mw.jit(
        train_step, config, in_shardings=(whole, split), donate_argnums=(0,)
    )
    plain = jax.jit(train_step)
    return training.race(options, plain, partitioned, make_state(), make_batch)


if __name__ == "__main__":
    sys.exit(main())
