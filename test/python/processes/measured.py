"""Records runs of two processes; the mesh of process 1 is made late, more and more.

Until the report says so: how long a busy machine takes for the other one is not known.
"""

import json
import sys
import time

import meshwright as mw

mw.distributed.initialize()

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import Mesh  # noqa: E402
from meshwright.runtime.processes.world import current  # noqa: E402

folder, me, world = sys.argv[1], jax.process_index(), current()
RUNS, EVERY, LATE, late = 4, 2, (0.02, 0.2, 2.0, 20.0), 0.0


def wait(x):
    time.sleep(late)
    return x


def second(w, h):
    h = jax.pure_callback(wait, jax.ShapeDtypeStruct(h.shape, h.dtype), h)
    return ((h @ w) ** 2).mean()


def loss(params, x):
    h = mw.named_computation(lambda w, x: jnp.tanh(x @ w), name="first")(params[0], x)
    return mw.named_computation(second, name="second")(params[1], h)


def step(params, xs):
    found = [mw.call(loss, call_counter=i)(params, x) for i, x in enumerate(xs)]
    return sum(found)


config = mw.make_config(
    {f"m{i}": Mesh([d], "x") for i, d in enumerate(jax.devices())},
    {"first": "m0", "second": "m1"},
    partitioning_options={"mpmd_infer_transfers": True},
)
args = [np.eye(32, dtype=np.float32)] * 2, [np.ones((8, 32), np.float32)] * 4
lowered = mw.jit(step, config).lower(*args)
compiled = lowered.compile()
args = mw.distributed.place(args, compiled.input_shardings[0])
mw.fetch(compiled(*args))
report: dict = {"process": me}

path = f"{folder}/step.json"
with mw.profile(path) as recording:
    compiled(*args)
if me == 0:  # Which has the events of all.
    simulated = lowered.simulate("cpu", profile=path)
    fragments = [event for event in recording.events if event.kind == "fragment"]
    items = [item for item in simulated.items if item.kind != "transfer"]
    report |= {
        "processes": sorted({event.process for event in fragments}),
        "recorded": sum(event.stop - event.start for event in fragments),
        "simulated": sum(item.end_s - item.start_s for item in items),
        "fragments": len(fragments),
        "step": simulated.makespan_s,
        "notes": list(simulated.notes),
    }
for number in range(len(LATE)):
    late = LATE[number]
    with mw.profile(every=EVERY) as recording:
        for _ in range(RUNS):
            mw.fetch(compiled(*args))
    if me == 0:
        found = recording.stragglers()
        is_late = list(found)[0] == "m1" and found["m1"]["runs"] == RUNS // EVERY
        world.put(f"late/{number}", str(is_late).encode())
    if world.get(f"late/{number}", 0, "say so") == b"True":
        break
if me == 0:
    report |= {"late": late, "stragglers": found, "order": list(found)}
print(json.dumps(report), flush=True)
