#!/usr/bin/env python3
"""What a call costs the thread that makes it, beside `jax.jit` of the same step.

    .venv/bin/python bench/call_cost.py [--leaves 1000] [--repeat 30]

A step that updates a state of many small leaves, half of them on each of two CPU
meshes: with `jax.jit` as two functions of a half each, and with `mw.jit` as one.
Three loops: the same arguments in every call; own results as the next call's
arguments, donated; and the compiled programs (`.lower().compile()`). Beside them,
steps of Adam that are issued while those before them still run, and read a batch as
large as a weight: how long such a call takes, waiting included.

Prints one line of JSON: milliseconds per call, the best of all repeats, and ratios.
They are CPU time of the calling thread, so other processes do not disturb it much, and
XLA's own threads are not in it; for Adam, time by the clock. Exit code 1 if a ratio of
the loops is above 3, or a call of Adam takes a millisecond.
"""

import argparse
import json
import os
import pathlib
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("JAX_NUM_CPU_DEVICES", "2")

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import Mesh, NamedSharding, PartitionSpec  # noqa: E402

import meshwright as mw  # noqa: E402

RATIO_BOUND, ADAM_BOUND_MS = 3, 1
ADAM_WIDTH, ADAM_LAYERS, ADAM_CALLS = 384, 4, 8
MESHES = {f"m{i}": Mesh(np.array(jax.devices()[i : i + 1]), ("x",)) for i in range(2)}


def update(half):
    return [leaf + 1 for leaf in half]


def step(state):
    return {
        name: mw.named_computation(update, name=f"on_{name}")(half)
        for name, half in state.items()
    }


def make_state(leaves):
    return {
        name: [
            jax.device_put(
                np.full(4, i, np.float32), NamedSharding(mesh, PartitionSpec())
            )
            for i in range(leaves // 2)
        ]
        for name, mesh in MESHES.items()
    }


def best_calls(functions, leaves, repeat, feed):
    """Least milliseconds of this thread's CPU time for a call of each, in turns."""
    states = [make_state(leaves) for _ in functions]
    times = [[] for _ in functions]
    for _ in range(repeat):
        for index, function in enumerate(functions):
            jax.block_until_ready(states[index])
            start = time.thread_time()
            result = function(states[index])
            times[index].append(time.thread_time() - start)
            states[index] = result if feed else states[index]
    return [1e3 * min(found) for found in times]


def layers(weights, x):
    for weight in weights:
        x = jnp.tanh(x @ weight)
    return x


def adam(state, x):
    """A step of Adam for half of the layers on each mesh."""

    def loss(params):
        out = x
        for name, half in params.items():
            out = mw.named_computation(layers, name=f"on_{name}")(half, out)
        return (out**2).mean()

    params, first, second, number = state
    value, grads = jax.value_and_grad(loss)(params)
    number = number + 1
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, grads)
    second = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, second, grads)
    scale = 1e-3 / (1 - 0.9**number)
    params = jax.tree.map(
        lambda p, m, v: p - scale * m / (jnp.sqrt(v) + 1e-8), params, first, second
    )
    return (params, first, second, number), value


def call_in_loop(function, repeat):
    """Least over loops of the time that a call took, on average of the loop."""
    shape = ADAM_WIDTH, ADAM_WIDTH
    draw = np.random.default_rng(0).normal
    params = {
        name: [
            draw(size=shape).astype(np.float32) / ADAM_WIDTH**0.5
            for _ in range(ADAM_LAYERS)
        ]
        for name in MESHES
    }
    zeros = (jax.tree.map(np.zeros_like, params) for _ in range(2))
    state, x = (params, *zeros, np.float32(0)), jnp.asarray(draw(size=shape))
    times = []
    for _ in range(repeat + 1):
        start = time.perf_counter()
        for _ in range(ADAM_CALLS):
            state, value = function(state, x)
        times.append(time.perf_counter() - start)
        jax.block_until_ready((state, value))
    return 1e3 * min(times[1:]) / ADAM_CALLS  # The first one compiles.


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--leaves", type=int, default=1000)
    parser.add_argument("--repeat", type=int, default=30)
    args = parser.parse_args()
    config = mw.make_config(MESHES, {f"on_{name}": name for name in MESHES})

    def plain(donate=()):
        halves = {name: jax.jit(update, donate_argnums=donate) for name in MESHES}
        return lambda state: {name: halves[name](state[name]) for name in state}

    def compiled_plain():
        state = make_state(args.leaves)
        halves = {name: jax.jit(update).lower(state[name]).compile() for name in state}
        return lambda state: {name: halves[name](state[name]) for name in state}

    loops = {
        "same": (plain(), mw.jit(step, config), False),
        "donated": (plain(0), mw.jit(step, config, donate_argnums=0), True),
        "compiled": (
            compiled_plain(),
            mw.jit(step, config).lower(make_state(args.leaves)).compile(),
            False,
        ),
    }
    found = {"leaves": args.leaves}
    for name, (theirs, ours, feed) in loops.items():
        best = best_calls((theirs, ours), args.leaves, args.repeat, feed)
        cost = dict(zip(("jax_ms", "meshwright_ms"), best, strict=True))
        cost["ratio"] = cost["meshwright_ms"] / cost["jax_ms"]
        found[name] = {key: round(value, 3) for key, value in cost.items()}
    options = {"mpmd_infer_transfers": True, "mpmd_infer_cross_mesh_reductions": True}
    config = mw.make_config(
        MESHES, {f"on_{name}": name for name in MESHES}, partitioning_options=options
    )
    repeat = min(args.repeat, 8)
    cost = {
        "jax_ms": call_in_loop(jax.jit(adam, donate_argnums=0), repeat),
        "meshwright_ms": call_in_loop(mw.jit(adam, config, donate_argnums=0), repeat),
    }
    found["adam"] = {key: round(value, 3) for key, value in cost.items()}
    print(json.dumps(found))
    is_quick = all(found[name]["ratio"] <= RATIO_BOUND for name in loops)
    return 0 if is_quick and cost["meshwright_ms"] < ADAM_BOUND_MS else 1


if __name__ == "__main__":
    sys.exit(main())
