#!/usr/bin/env python3
"""An encoder on four devices feeds a decoder on two.

    .venv/bin/python examples/encoder_decoder.py [--steps 20]

The model reads a sequence of numbers and says it backwards. The encoder is the
bigger part and gets the bigger mesh. Both meshes have an axis called "data", of
other sizes; what moves between them is resharded on the way.
"""

import math
import sys

import jax
import jax.numpy as jnp
import numpy as np
import training  # Finds the package in a checkout, too.

import meshwright as mw

SYMBOLS, LENGTH, WIDTH, BATCH, RATE = 12, 6, 32, 16, 0.2


def make_state(seed: int = 0):
    rng = np.random.default_rng(seed)

    def normal(*shape):
        return (rng.normal(size=shape) / math.sqrt(shape[0])).astype(np.float32)

    return {
        "encoder": {
            "embed": normal(SYMBOLS, WIDTH),
            "layers": [normal(WIDTH, WIDTH) for _ in range(3)],
            "mix": normal(LENGTH, LENGTH),
        },
        "decoder": {
            "places": normal(LENGTH, WIDTH),
            "query": normal(WIDTH, WIDTH),
            "out": normal(WIDTH, SYMBOLS),
        },
    }


def make_batch(number: int):
    rng = np.random.default_rng(number)
    tokens = rng.integers(0, SYMBOLS, (BATCH, LENGTH)).astype(np.int32)
    return tokens, tokens[:, ::-1].copy()


def encode(params, tokens):
    x = params["embed"][tokens]
    for layer in params["layers"]:
        x = x + jnp.tanh(x @ layer)
    return x + jnp.einsum("ls,bsw->blw", params["mix"], x)


def decode(params, memory, targets):
    """Each place asks the memory; the loss of what it finds."""
    query = params["places"] @ params["query"]
    scores = jnp.einsum("lw,bsw->bls", query, memory) / math.sqrt(WIDTH)
    found = jnp.einsum("bls,bsw->blw", jax.nn.softmax(scores), memory)
    logits = jax.nn.log_softmax((found + params["places"]) @ params["out"])
    return -jnp.take_along_axis(logits, targets[..., None], -1).mean()


def train_step(params, batch):
    tokens, targets = batch

    def loss_of(params):
        memory = mw.named_computation(encode, name="encoder")(params["encoder"], tokens)
        return mw.named_computation(decode, name="decoder")(
            params["decoder"], memory, targets
        )

    loss, grads = jax.value_and_grad(loss_of)(params)
    return jax.tree.map(lambda p, g: p - RATE * g, params, grads), loss


def main() -> int:
    options = training.parse(__doc__)
    meshes = training.make_meshes(encoder={"data": 4}, decoder={"data": 2})
    whole = jax.NamedSharding(meshes["encoder"], jax.P())
    split = jax.NamedSharding(meshes["encoder"], jax.P("data"))
    config = mw.make_config(
        meshes,
        {"encoder": "encoder", "decoder": "decoder"},
        partitioning_options={"mpmd_infer_transfers": True},
    )
    step = mw.jit(train_step, config, in_shardings=(whole, split), donate_argnums=(0,))
    # Compiled for arrays like those of the first mesh. What it takes and gives is
    # on both, so later calls go to the compiled program.
    compiled = step.lower(make_state(), make_batch(0)).compile()
    places, _ = compiled.input_shardings

    def partitioned(params, batch):
        return compiled(*jax.device_put((params, batch), places))

    plain = jax.jit(train_step)
    return training.race(options, plain, partitioned, make_state(), make_batch)


if __name__ == "__main__":
    sys.exit(main())
