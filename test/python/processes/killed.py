"""Process 1 is killed, once: when the others know, and their next step.

    killed.py left|again

"left": the others go on without it; "again": all are started again. Prints events,
each with its time; all processes of a machine have the same clock.
"""

import json
import os
import signal
import sys
import time

from meeting import meet

import meshwright as mw

kind = sys.argv[1]
mw.distributed.initialize(recoverable=kind == "left")

import jax  # noqa: E402
import numpy as np  # noqa: E402

VICTIM, me, attempt = 1, jax.process_index(), mw.elastic.attempt()


def say(what, **more):
    event = {"process": me, "attempt": attempt, "what": what, "at": time.monotonic()}
    print(json.dumps(event | more), flush=True)


def step(state):
    a = mw.named_computation(lambda w: w + 1, name="a")(state["a"])
    b = mw.named_computation(lambda w, a: w + a.sum(), name="b")(state["b"], a)
    return {"a": a, "b": b}


def build(processes):
    """A mesh on the first of these, and one on the last of them."""
    devices = [d for d in jax.devices() if d.process_index in processes]
    meshes = {
        "m0": jax.sharding.Mesh(devices[:1], "x"),
        "m1": jax.sharding.Mesh(devices[-1:], "x"),
    }
    config = mw.make_config(meshes, {"a": "m0", "b": "m1"})
    state = {"a": np.zeros(4, np.int32), "b": np.zeros(3, np.int32)}
    compiled = mw.jit(step, config, donate_argnums=0).lower(state).compile()
    return compiled, mw.distributed.place(state, compiled.input_shardings[0][0])


def run(program):
    """One step, to its end on all processes."""
    compiled, state = program
    state = compiled(state)
    mw.fetch(state["b"])
    return compiled, state


say("started")
everyone = mw.elastic.members()
program = build(everyone[: VICTIM + 1])
others = build([p for p in everyone if p != VICTIM]) if kind == "left" else None
program = run(program)
fragments = program[0].runtime_executable().fragments
compiled = [f.name for f in fragments if f.compile_seconds and not f.from_cache]
say("stepped", compiled=compiled)
# One without a mesh may be late, and is to be through its first step before the kill.
meet(len(everyone))
if me == VICTIM and not attempt:
    say("killed")
    os.kill(os.getpid(), signal.SIGKILL)
try:
    while not attempt:
        program = run(program)
except mw.elastic.ProcessFailure as failure:
    say("known", why=str(failure), processes=failure.processes)
    mw.elastic.regroup()
    run(others)
    say("stepped")
