"""Records two stages in as many processes, whose clocks are made to differ.

On one machine they all have the same clock, so what is added here is what the
recording has to find.
"""

import importlib
import json
import sys
import time

import meshwright as mw

folder = sys.argv[1]
mw.distributed.initialize()

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import Mesh  # noqa: E402

# The package has a function of that name.
profile = importlib.import_module("meshwright.runtime.watch.profile")
me = jax.process_index()
LATE, DRIFT = 1000.0, 0.01  # Seconds, and seconds a second, of process 1.
began = time.perf_counter()


def clock() -> float:
    now = time.perf_counter()  # Once: time may pass between two.
    return now - me * (LATE + DRIFT * (now - began))


config = mw.make_config(
    {f"m{i}": Mesh([d], "x") for i, d in enumerate(jax.devices())},
    {"enc": "m0", "dec": "m1", "end": "m0"},
    partitioning_options={"mpmd_infer_transfers": True},
)


def trip(x):
    for name in ("enc", "dec", "end"):
        x = mw.named_computation(lambda x: jnp.sin(x @ x), name=name)(x)
    return x


x = np.eye(64, dtype=np.float32)
compiled = mw.jit(trip, config).lower(x).compile()
x = mw.distributed.place(x, compiled.input_shardings[0][0])
compiled(x)
profile._clock = clock
with mw.profile(f"{folder}/step.json") as recording:
    for _ in range(3):
        y = compiled(x)
    time.sleep(0.5)  # For the drift to show.
recording.save_chrome_trace(f"{folder}/{me}.trace.json")
with mw.profile(f"{folder}/own{me}.json", merge=False) as own:
    compiled(x)
mw.fetch(y)
print(
    json.dumps(
        {"process": me, "merged": len(recording.events), "own": len(own.events)}
    ),
    flush=True,
)
