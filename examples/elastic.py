#!/usr/bin/env python3
"""Training that goes on without a process that is gone, and takes it in again.

    python -m meshwright.launch -n 4 --restart 10 examples/elastic.py

Four layers on as many stages as there are processes in the run, up to four. Each of
them says its number: kill one (`kill -9 PID`), and those that are left go on with fewer
stages, after the last step that all had copied. The launcher starts it again, and after
the next copy it has its stage back. The losses are those of an undisturbed run.
"""

import os
import time

import training  # Finds the package in a checkout, too.

import meshwright as mw

options = training.parse(
    __doc__,
    every={"type": int, "default": 20, "help": "steps from copy to copy"},
    pause={"type": float, "default": 0.0, "help": "seconds between steps"},
)
mw.distributed.initialize(recoverable=True)

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

LAYERS, WIDTH, BATCH, RATE = 4, 16, 32, 0.05
random = np.random.default_rng(0)
initial_state = [
    random.normal(size=(WIDTH, WIDTH)).astype(np.float32) / 4 for _ in range(LAYERS)
]


def loss(state, x, y):
    for number, w in enumerate(state):
        layer = mw.named_computation(lambda w, x: jnp.tanh(x @ w), name=f"l{number}")
        x = layer(w, x)
    return ((x - y) ** 2).mean()


def train_step(state, x, y):
    value, gradients = jax.value_and_grad(loss)(state, x, y)
    return [w - RATE * g for w, g in zip(state, gradients, strict=True)], value


def data(number):
    x = np.random.default_rng(number).normal(size=(BATCH, WIDTH)).astype(np.float32)
    return x, np.sin(x)


def compile_for(members):
    """The program for a run of these processes: each has a stage of layers."""
    members = members[:LAYERS]
    meshes = {
        f"mesh{process}": jax.sharding.Mesh(
            [d for d in jax.devices() if d.process_index == process][:1], "x"
        )
        for process in members
    }
    config = mw.make_config(
        meshes,
        {
            f"l{number}": f"mesh{members[number * len(members) // LAYERS]}"
            for number in range(LAYERS)
        },
        partitioning_options={"mpmd_infer_transfers": True},
    )
    step = mw.jit(train_step, config, donate_argnums=0)
    return step.lower(initial_state, *data(0)).compile()


def batch(number):
    return mw.distributed.place(data(number), compiled.input_shardings[0][1:])


print(f"process {jax.process_index()} is {os.getpid()}", flush=True)
copies = mw.elastic.Copies(every=options.every)
members, plans = mw.elastic.members(), {}  # members: (0, 1, 2, 3) at first
for absent in members if not mw.elastic.attempt() else ():
    left = tuple(process for process in members if process != absent)
    if left:
        plans[left] = compile_for(left)  # Plans made ahead.
number, done = 0, False
while not done:
    try:
        if members not in plans:
            plans[members] = compile_for(members)
        compiled = plans[members]
        state = mw.distributed.place(initial_state, compiled.input_shardings[0][0])
        found = copies.restore(state)
        state, number = (found[0], found[1] + 1) if found else (state, 0)
        while not done:
            state, value = compiled(state, *batch(number))
            saved = copies.save(number, state)
            value = mw.fetch(value)
            if jax.process_index() == members[0]:
                print(f"step {number} loss {value:.6f} of {members}", flush=True)
            number += 1
            done = number >= options.steps
            time.sleep(options.pause)
            if saved and mw.elastic.returned(number):
                members, plans = mw.elastic.regroup(), {}
                break
    except mw.elastic.ProcessFailure as failure:
        print(f"without {failure.processes}: {failure}", flush=True)
        members, done = mw.elastic.regroup(), False
