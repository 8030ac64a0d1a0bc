#!/usr/bin/env python3
"""Training that goes on where it was killed, in one process or in several.

    python -m meshwright.launch -n 2 examples/resume.py --checkpoints DIR

Two stages, each on half of the devices of all processes. Every few steps Orbax
writes a checkpoint; a run that finds one in the folder goes on after it, with any
number of processes. The losses are those of a run that nobody disturbed. Asked to end
by SIGTERM, it writes one more, and ends with exit code 75: try again.
"""

import os
import sys

import training  # Finds the package in a checkout, too.

import meshwright as mw

options = training.parse(
    __doc__,
    checkpoints={"required": True, "help": "folder for checkpoints"},
    every={"type": int, "default": 5, "help": "steps from checkpoint to checkpoint"},
)
mw.distributed.initialize()
mw.elastic.notice_preemption()

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
import orbax.checkpoint as ocp  # noqa: E402
from meshwright.distributed import orbax  # noqa: E402

WIDTH, MICROBATCHES, BATCH, RATE, MOMENTUM = 16, 4, 8, 0.05, 0.9

devices = jax.devices()
half = max(1, len(devices) // 2)
halves = devices[:half], devices[half : 2 * half]
if not halves[1]:
    sys.exit("resume.py needs two devices; set JAX_NUM_CPU_DEVICES=2")
meshes = {f"stage{i}": jax.sharding.Mesh(part, "x") for i, part in enumerate(halves)}
config = mw.make_config(
    meshes,
    {"first": "stage0", "second": "stage1"},
    name_to_stage_assignment={"first": 0, "second": 1},
    pipeline_schedule=mw.get_pipeline_schedule("ONE_FWD_ONE_BWD"),
    partitioning_options={"mpmd_infer_transfers": True},
)


def loss(params, x, y):
    h = mw.named_computation(lambda w, x: jnp.tanh(x @ w), name="first")(
        params["first"], x
    )
    return mw.named_computation(lambda w, h: ((h @ w - y) ** 2).mean(), name="second")(
        params["second"], h
    )


def step(state, xs, ys):
    params, velocity = state
    total = None
    for number in range(MICROBATCHES):
        part = mw.call(jax.value_and_grad(loss), call_counter=number)(
            params, xs[number], ys[number]
        )
        total = part if total is None else jax.tree.map(jnp.add, total, part)
    value, gradients = total
    velocity = jax.tree.map(lambda v, g: MOMENTUM * v + g, velocity, gradients)
    params = jax.tree.map(lambda w, v: w - RATE * v / MICROBATCHES, params, velocity)
    return (params, velocity), value / MICROBATCHES


def batch(number: int):
    random = np.random.default_rng(number)
    xs = random.normal(size=(MICROBATCHES, BATCH, WIDTH)).astype(np.float32)
    return xs, np.sin(xs)


def initial_state():
    random = np.random.default_rng(0)
    params = {
        name: random.normal(size=(WIDTH, WIDTH)).astype(np.float32) / 4
        for name in ("first", "second")
    }
    return params, jax.tree.map(np.zeros_like, params)


state = initial_state()
compiled = mw.jit(step, config, donate_argnums=0).lower(state, *batch(0)).compile()
shardings = compiled.input_shardings[0]
orbax.register()
manager = ocp.CheckpointManager(
    os.path.abspath(options.checkpoints),  # Orbax takes no other.
    options=ocp.CheckpointManagerOptions(
        max_to_keep=2,
        save_interval_steps=options.every,
        enable_async_checkpointing=False,
    ),
)
done = manager.latest_step()
if done is None:
    state, first = mw.distributed.place(state, shardings[0]), 0
else:
    like = jax.tree.map(
        lambda leaf, sharding: jax.ShapeDtypeStruct(
            leaf.shape, leaf.dtype, sharding=sharding
        ),
        state,
        shardings[0],
    )
    state = manager.restore(done, args=ocp.args.StandardRestore(like))
    first = done + 1
for number in range(first, options.steps):
    data = mw.distributed.place(batch(number), shardings[1:])
    state, value = compiled(state, *data)
    value = mw.fetch(value)
    if jax.process_index() == 0:
        print(f"step {number} loss {value:.6f}", flush=True)
    ends = mw.elastic.preempted(number)
    manager.save(number, args=ocp.args.StandardSave(state), force=ends)
    if ends:
        manager.close()
        sys.exit(mw.elastic.PREEMPTED)
manager.close()
