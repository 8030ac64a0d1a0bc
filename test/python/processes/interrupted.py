"""Each process gets a SIGINT while it issues a donating step, and goes on.

    interrupted.py POSITION ...

Once for each: before which of its items of the step, the first (0) or the last (-1).
"""

import json
import os
import signal
import sys

import meshwright as mw

mw.distributed.initialize()

import jax  # noqa: E402
import numpy as np  # noqa: E402

me = jax.process_index()
devices, half = jax.devices(), len(jax.devices()) // 2
config = mw.make_config(
    {
        "m0": jax.sharding.Mesh(devices[:half], "x"),
        "m1": jax.sharding.Mesh(devices[half:], "x"),
    },
    {"a": "m0", "b": "m1"},
)


def step(state):
    a = mw.named_computation(lambda w: w + 1, name="a")(state["a"])
    b = mw.named_computation(lambda w, a: w + a.sum(), name="b")(state["b"], a)
    return {"a": a, "b": b}


initial = {"a": np.zeros((4, 2), np.int32), "b": np.zeros(3, np.int32)}


def run(position: int) -> dict:
    compiled = mw.jit(step, config, donate_argnums=0).lower(initial).compile()
    state = mw.distributed.place(initial, compiled.input_shardings[0][0])
    issues = compiled.runtime_executable()._issues
    issue, calls, interrupts = issues[position], 0, 0

    def interrupted(slots):
        nonlocal calls
        calls += 1
        if calls == 3 + me:
            os.kill(os.getpid(), signal.SIGINT)
        issue(slots)

    issues[position] = interrupted
    done = state, 0
    while done[1] < 9:
        try:
            while done[1] < 9:
                done = compiled(done[0]), done[1] + 1
        except KeyboardInterrupt:
            interrupts += 1
    values = mw.fetch(done[0])
    return {"calls": calls, "interrupts": interrupts} | {
        name: value.ravel().tolist() for name, value in values.items()
    }


found = {position: run(int(position)) for position in sys.argv[1:]}
print(json.dumps({"process": me, "found": found}), flush=True)
