#!/usr/bin/env python3
"""What a call costs the thread that makes it, beside `jax.jit` of the same step.

    .venv/bin/python bench/call_cost.py [--leaves 1000] [--repeat 30]

A step that updates a state of many small leaves, half of them on each of two CPU
meshes: with `jax.jit` as two functions of a half each, and with `mw.jit` as one.
Three loops: the same arguments in every call; own results as the next call's
arguments, donated; and the compiled programs (`.lower().compile()`).

Prints one line of JSON: milliseconds of CPU time of the calling thread per call,
the best of all repeats, and ratios. CPU time is that of the thread itself, so other
processes do not disturb it much; XLA's own threads are not in it.
"""

import argparse
import json
import os
import pathlib
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "build" / "python")]
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("JAX_NUM_CPU_DEVICES", "2")

import jax  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import Mesh, NamedSharding, PartitionSpec  # noqa: E402

import meshwright as mw  # noqa: E402

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


def best_call(function, state, repeat, feed):
    """Least milliseconds of this thread's CPU time for a call."""
    times = []
    for _ in range(repeat):
        jax.block_until_ready(state)
        start = time.thread_time()
        result = function(state)
        times.append(time.thread_time() - start)
        state = result if feed else state
    return 1e3 * min(times)


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
        cost = {
            "jax_ms": best_call(theirs, make_state(args.leaves), args.repeat, feed),
            "meshwright_ms": best_call(
                ours, make_state(args.leaves), args.repeat, feed
            ),
        }
        cost["ratio"] = cost["meshwright_ms"] / cost["jax_ms"]
        found[name] = {key: round(value, 3) for key, value in cost.items()}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
