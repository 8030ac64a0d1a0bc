#!/usr/bin/env python3
"""A Flax model on two meshes, trained with Optax.

    .venv/bin/python examples/flax_model.py [--steps 20] [--devices 2]

Two linen modules, each with its parameters on a mesh of its own. Nothing in the
modules knows of meshes: the names are given where they are applied. Needs flax.
"""

import sys

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
import training  # Finds the package in a checkout, too.

import meshwright as mw

SIDE, CHANNELS, CLASSES, BATCH = 8, 16, 3, 16


class Trunk(nn.Module):
    """Two convolutions with a shortcut."""

    @nn.compact
    def __call__(self, images):
        x = nn.relu(nn.Conv(CHANNELS, (3, 3))(images))
        x = x + nn.relu(nn.Conv(CHANNELS, (3, 3))(nn.LayerNorm()(x)))
        return x.mean((1, 2))


class Head(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(CLASSES)(nn.tanh(nn.Dense(32)(x)))


TRUNK, HEAD = Trunk(), Head()
OPTIMIZER = optax.adamw(3e-3)


def make_batch(number: int):
    """Noisy images with a bright row, a bright column or a bright diagonal."""
    rng = np.random.default_rng(number)
    labels = rng.integers(0, CLASSES, BATCH)
    images = 0.3 * rng.normal(size=(BATCH, SIDE, SIDE, 1))
    for image, label, at in zip(
        images, labels, rng.integers(0, SIDE, BATCH), strict=True
    ):
        if label == 0:
            image[at] += 1
        elif label == 1:
            image[:, at] += 1
        else:
            image[np.arange(SIDE), (np.arange(SIDE) + at) % SIDE] += 1
    return images.astype(np.float32), labels.astype(np.int32)


def make_state():
    images, _ = make_batch(0)
    keys = jax.random.split(jax.random.key(0))
    params = {
        "trunk": TRUNK.init(keys[0], images),
        "head": HEAD.init(keys[1], np.zeros((BATCH, CHANNELS), np.float32)),
    }
    # A state per part: each lives where its parameters do.
    moments = {name: OPTIMIZER.init(part) for name, part in params.items()}
    return params, moments


def score(params, x, labels):
    logits = HEAD.apply(params, x)
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


def train_step(state, batch):
    params, moments = state
    images, labels = batch

    def loss_of(params):
        x = mw.named_computation(TRUNK.apply, name="trunk")(params["trunk"], images)
        return mw.named_computation(score, name="head")(params["head"], x, labels)

    loss, grads = jax.value_and_grad(loss_of)(params)
    new_params, new_moments = {}, {}
    for name in params:
        updates, new_moments[name] = OPTIMIZER.update(
            grads[name], moments[name], params[name]
        )
        new_params[name] = jax.tree.map(jnp.add, params[name], updates)
    return (new_params, new_moments), loss


def main() -> int:
    options = training.parse(__doc__, devices={"type": int, "default": 2})
    meshes = training.make_meshes(
        trunk={"data": options.devices}, head={"data": options.devices}
    )
    whole = jax.NamedSharding(meshes["trunk"], jax.P())
    split = jax.NamedSharding(meshes["trunk"], jax.P("data"))
    config = mw.make_config(
        meshes,
        {"trunk": "trunk", "head": "head"},
        partitioning_options={"mpmd_infer_transfers": True},
    )
    partitioned = mw.jit(
        train_step, config, in_shardings=(whole, split), donate_argnums=(0,)
    )
    plain = jax.jit(train_step)
    return training.race(options, plain, partitioned, make_state(), make_batch)


if __name__ == "__main__":
    sys.exit(main())
