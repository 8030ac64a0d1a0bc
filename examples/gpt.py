#!/usr/bin/env python3
"""A small GPT that learns characters, pipelined over four meshes.

    .venv/bin/python examples/gpt.py [--schedule ONE_FWD_ONE_BWD] [--steps 20]
        [--devices 2] [--profile FILE]

Each stage is one transformer block on a mesh of its own. A step splits the batch
into microbatches, each with a forward and a backward pass through all stages; the
schedule decides in which order a mesh works on them. The embedding is shared: the
first stage looks characters up in it, the last one scores them with it. Adam
updates every parameter on the mesh where it lives.
"""

import contextlib
import math
import sys

import jax
import jax.numpy as jnp
import numpy as np
import training  # Finds the package in a checkout, too.

import meshwright as mw

STAGES, MICROBATCHES = 4, 4
WIDTH, HEADS, LENGTH, BATCH = 32, 4, 32, 16
RATE, DECAYS, EPSILON = 3e-3, (0.9, 0.99), 1e-8
TEXT = training.ROOT / "examples" / "data" / "harbour.txt"


def make_params(symbols: int, seed: int = 0):
    rng = np.random.default_rng(seed)

    def normal(*shape, scale=1.0):
        return (scale * rng.normal(size=shape)).astype(np.float32)

    def block():
        depth = 1 / math.sqrt(WIDTH)
        return {
            "norm1": np.ones(WIDTH, np.float32),
            "qkv": normal(WIDTH, 3 * WIDTH, scale=depth),
            "out": normal(WIDTH, WIDTH, scale=depth / 2),
            "norm2": np.ones(WIDTH, np.float32),
            "up": normal(WIDTH, 4 * WIDTH, scale=depth),
            "down": normal(4 * WIDTH, WIDTH, scale=depth / 4),
        }

    return {
        "embedding": normal(symbols, WIDTH, scale=0.1),
        "positions": normal(LENGTH, WIDTH, scale=0.1),
        "blocks": [block() for _ in range(STAGES)],
        "norm": np.ones(WIDTH, np.float32),
    }


def normalize(scale, x):
    x = x - x.mean(-1, keepdims=True)
    return scale * x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-5)


def attend(params, x):
    batch, length, _ = x.shape
    qkv = (x @ params["qkv"]).reshape(batch, length, 3, HEADS, WIDTH // HEADS)
    query, key, value = jnp.moveaxis(qkv, 2, 0)
    scores = jnp.einsum("bqhd,bkhd->bhqk", query, key) / math.sqrt(WIDTH // HEADS)
    causal = jnp.tril(jnp.ones((length, length), bool))
    weights = jax.nn.softmax(jnp.where(causal, scores, -1e9))
    mixed = jnp.einsum("bhqk,bkhd->bqhd", weights, value)
    return mixed.reshape(batch, length, WIDTH) @ params["out"]


def block(params, x):
    x = x + attend(params, normalize(params["norm1"], x))
    return (
        x + jax.nn.gelu(normalize(params["norm2"], x) @ params["up"]) @ params["down"]
    )


def first_stage(params, embedding, positions, tokens):
    return block(params, embedding[tokens] + positions)


def last_stage(params, embedding, norm, x, targets):
    scores = normalize(norm, block(params, x)) @ embedding.T
    chosen = jnp.take_along_axis(jax.nn.log_softmax(scores), targets[..., None], -1)
    return -chosen.mean()


def microbatch_loss(params, tokens):
    """The loss of one microbatch of LENGTH + 1 characters per row."""
    blocks = params["blocks"]
    # Lets both ends of the pipeline use the one embedding.
    embedding = mw.broadcast(params["embedding"])
    x = mw.named_computation(first_stage, name="stage0")(
        blocks[0], embedding, params["positions"], tokens[:, :-1]
    )
    for stage in range(1, STAGES - 1):
        x = mw.named_computation(block, name=f"stage{stage}")(blocks[stage], x)
    return mw.named_computation(last_stage, name=f"stage{STAGES - 1}")(
        blocks[-1], embedding, params["norm"], x, tokens[:, 1:]
    )


def loss_and_grads(params, microbatches):
    """Means over the microbatches. Their gradients are summed in the order in which
    1F1B has them, so that no microbatch waits for the sum of later ones."""
    step = jax.value_and_grad(microbatch_loss)
    total, grads = mw.call(step, call_counter=0)(params, microbatches[0])
    for number, tokens in enumerate(microbatches[1:], 1):
        loss, more = mw.call(step, call_counter=number)(params, tokens)
        total, grads = total + loss, jax.tree.map(jnp.add, grads, more)
    return jax.tree.map(lambda x: x / MICROBATCHES, (total, grads))


def train_step(state, microbatches):
    """One step of Adam."""
    params, first, second, count = state
    loss, grads = loss_and_grads(params, microbatches)
    count = count + 1
    rates = [1 - decay**count for decay in DECAYS]
    first = jax.tree.map(lambda m, g: DECAYS[0] * m + (1 - DECAYS[0]) * g, first, grads)
    second = jax.tree.map(
        lambda v, g: DECAYS[1] * v + (1 - DECAYS[1]) * g * g, second, grads
    )
    params = jax.tree.map(
        lambda p, m, v: p - RATE * (m / rates[0]) / (jnp.sqrt(v / rates[1]) + EPSILON),
        params,
        first,
        second,
    )
    return (params, first, second, count), loss


def make_batches(text: str):
    """Random places of the text, cut into microbatches."""
    symbols = sorted(set(text))
    numbers = np.array([symbols.index(c) for c in text], np.int32)

    def batch(number: int):
        rng = np.random.default_rng(number)
        starts = rng.integers(0, len(numbers) - LENGTH - 1, BATCH)
        rows = np.stack([numbers[s : s + LENGTH + 1] for s in starts])
        return list(rows.reshape(MICROBATCHES, BATCH // MICROBATCHES, LENGTH + 1))

    return symbols, batch


def make_step(options):
    """The training step, partitioned."""
    meshes = training.make_meshes(
        **{f"mesh{s}": {"data": options.devices} for s in range(STAGES)}
    )
    schedule = None
    if options.schedule != "none":
        schedule = mw.get_pipeline_schedule(options.schedule)
    config = mw.make_config(
        meshes,
        {f"stage{s}": f"mesh{s}" for s in range(STAGES)},
        name_to_stage_assignment={f"stage{s}": s for s in range(STAGES)},
        partitioning_options={
            "mpmd_infer_transfers": True,
            "mpmd_infer_cross_mesh_reductions": True,
        },
        pipeline_schedule=schedule,
    )
    whole = jax.NamedSharding(meshes["mesh0"], jax.P())
    rows = jax.NamedSharding(meshes["mesh0"], jax.P("data"))
    return mw.jit(train_step, config, in_shardings=(whole, rows), donate_argnums=(0,))


def main() -> int:
    options = training.parse(
        __doc__,
        schedule={"default": "ONE_FWD_ONE_BWD", "help": "a name, or none"},
        devices={"type": int, "default": 2, "help": "of each mesh"},
        profile={"help": "write a Chrome trace (….trace.json) of the last step"},
    )
    symbols, batch = make_batches(TEXT.read_text())
    params = make_params(len(symbols))
    zeros = jax.tree.map(np.zeros_like, params)
    state = (params, zeros, zeros, np.float32(0))
    step = make_step(options)

    def partitioned(state, microbatches):
        recording = contextlib.nullcontext()
        if options.profile:
            recording = mw.profile(options.profile)
        with recording:
            return step(state, microbatches)

    return training.race(options, jax.jit(train_step), partitioned, state, batch)


if __name__ == "__main__":
    sys.exit(main())
