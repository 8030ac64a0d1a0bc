"""Trains two stages and prints the losses; the meshes are as the arguments say."""

import json
import sys

import meshwright as mw

transport, *kinds = sys.argv[1:]
mw.distributed.initialize(transport=transport)

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import Mesh  # noqa: E402

devices = jax.devices()
half = len(devices) // 2
layouts = {
    "own": (devices[:half], devices[half:]),
    "spanning": (devices[0::2], devices[1::2]),
    "small first": (devices[:1], devices[1:]),
    "small last": (devices[:-1], devices[-1:]),
}


def loss(params, x):
    h = mw.named_computation(lambda w, x: jnp.tanh(x @ w), name="enc")(params[0], x)
    return mw.named_computation(lambda w, h: ((h @ w) ** 2).mean(), name="dec")(
        params[1], h
    )


def step(params, batch):
    total = None
    for number in range(4):
        found = mw.call(jax.value_and_grad(loss), call_counter=number)(
            params, batch[number]
        )
        total = found if total is None else jax.tree.map(jnp.add, total, found)
    value, gradients = total
    return jax.tree.map(lambda w, g: w - 0.1 * g, params, gradients), value


def train(parts) -> dict:
    config = mw.make_config(
        {f"m{i}": Mesh(np.array(part), "x") for i, part in enumerate(parts)},
        {"enc": "m0", "dec": "m1"},
        name_to_stage_assignment={"enc": 0, "dec": 1},
        pipeline_schedule=mw.get_pipeline_schedule("ONE_FWD_ONE_BWD"),
        partitioning_options={"mpmd_infer_transfers": True},
    )
    random = np.random.default_rng(0)
    params = [random.normal(size=(12, 12)).astype(np.float32) for _ in range(2)]
    batch = random.normal(size=(4, 24, 12)).astype(np.float32)
    split = None
    if len(parts[0]) == len(parts[1]):
        split = jax.NamedSharding(config.sharding_mesh, jax.P(None, "x"))
    jitted = mw.jit(step, config, donate_argnums=0, in_shardings=(None, split))
    compiled = jitted.lower(params, batch).compile()
    state, placed = mw.distributed.place((params, batch), compiled.input_shardings[0])
    losses = []
    for _ in range(4):
        given = state
        state, value = compiled(state, placed)
        assert all(leaf.is_deleted() for leaf in jax.tree.leaves(given))
        losses.append(value)
    state, losses = mw.fetch((state, losses))
    return {
        "losses": [float(value) for value in losses],
        "sum": float(sum(np.abs(leaf).sum() for leaf in state)),
    }


report = {
    "process": jax.process_index(),
    "processes": jax.process_count(),
    "found": {kind: train(layouts[kind]) for kind in kinds},
}
print(json.dumps(report), flush=True)
