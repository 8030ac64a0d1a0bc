"""Two stages that count, on as many processes as there are; some are gone, once.

    recovering.py KIND VICTIMS UNTIL FOLDER

What happens to the victims, after step 6; whether the run goes on until all are back
("back") or to step 16 ("left"); and where copies are kept.
"""

import json
import math
import os
import signal
import sys
import time

from meeting import meet

import meshwright as mw

meet(int(os.environ["MESHWRIGHT_PROCESSES"]))
mw.distributed.initialize(recoverable=True)

import jax  # noqa: E402
import numpy as np  # noqa: E402

kind, victims, until, folder = sys.argv[1:]
me, everyone = jax.process_index(), tuple(range(jax.process_count()))
initial = {"a": np.zeros((4, 2), np.int32), "b": np.zeros(3, np.int32)}
is_new = mw.elastic.attempt() == 0


def step(state):
    a = mw.named_computation(lambda w: w + 1, name="a")(state["a"])
    b = mw.named_computation(lambda w, a: w + a.sum(), name="b")(state["b"], a)
    return {"a": a, "b": b}


def build(processes):
    """The program for a world of these: the plan that is made ahead."""
    devices = [d for d in jax.devices() if d.process_index in processes]
    half = len(devices) // 2
    if kind == "spanning" and len(processes) > 2:  # A mesh of two processes.
        half = len(devices) - 2
    meshes = {
        "m0": jax.sharding.Mesh(devices[:half], "x"),
        "m1": jax.sharding.Mesh(devices[half:], "x"),
    }
    if kind != "spanning":  # Of one process each.
        parts = ([d for d in devices if d.process_index == p] for p in processes[:2])
        parts = (devices[:1], devices[1:]) if len(processes) == 1 else parts
        meshes = {f"m{i}": jax.sharding.Mesh(p, "x") for i, p in enumerate(parts)}
    config = mw.make_config(meshes, {"a": "m0", "b": "m1"})
    return mw.jit(step, config, donate_argnums=0).lower(initial).compile()


def fail():
    copies._queue.join()  # All have the copy of step 4.
    if kind == "raises":
        raise KeyError("lost")
    os.kill(os.getpid(), signal.SIGSTOP if kind == "stops" else signal.SIGKILL)


def wait(array):
    """Without Meshwright, which knows what is wrong."""
    with mw.elastic.guard():
        jax.block_until_ready(array)


copies = mw.elastic.Copies(every=4, folder=folder)
members, plans, worlds, failures = mw.elastic.members(), {}, [], []
if is_new:
    for absent in everyone:
        left = tuple(p for p in everyone if p != absent)
        plans[left] = build(left)
goes_on = True
while goes_on:
    try:
        if members not in plans:
            plans[members] = build(members)
        compiled = plans[members]
        state = mw.distributed.place(initial, compiled.input_shardings[0][0])
        found = copies.restore(state)
        state, number = (found[0], found[1] + 1) if found else (state, 0)
        worlds.append([list(members), number])
        is_whole = members == everyone and (failures or not is_new)
        last = 16 if until == "left" else number + 8 if is_whole else math.inf
        while goes_on:
            state = compiled(state)
            saved = copies.save(number, state)
            if number >= 6:
                (wait if kind == "waits" else mw.fetch)(state["b"])
            if number == 6 and is_new and str(me) in victims:
                fail()
            if failures and math.isinf(last):
                time.sleep(0.05)  # Leaves the processor to what is started again.
            number += 1
            goes_on = number < last
            if not goes_on:
                values = mw.fetch(state)
            if saved and mw.elastic.returned(number):
                members, plans = mw.elastic.regroup(), {}
                break
    except mw.elastic.ProcessFailure as failure:
        failures.append([str(failure), failure.processes, failure.meshes])
        members, goes_on = mw.elastic.regroup(), True
values = {name: value.ravel().tolist() for name, value in values.items()}
report = {"process": me, "steps": number, "worlds": worlds, "failures": failures}
print(json.dumps(report | values), flush=True)
