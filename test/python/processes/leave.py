"""Process 0 is through long before process 1, which still needs what it offers.

Process 0 ends as any script does, process 1 calls `mw.distributed.shutdown()`.
"""

import json
import time

import meshwright as mw

STEPS, SIZE = 4, 1 << 16
mw.distributed.initialize()

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402


def make(x):
    return x + jnp.ones(SIZE)


def slow(x):
    time.sleep(0.2)
    return x


def total(h):
    return jax.pure_callback(slow, jax.ShapeDtypeStruct((), h.dtype), h.sum())


def trip(x):
    h = mw.named_computation(make, name="make")(x)
    return mw.named_computation(total, name="total")(h)


config = mw.make_config(
    {f"m{i}": jax.sharding.Mesh([d], "x") for i, d in enumerate(jax.devices())},
    {"make": "m0", "total": "m1"},
    partitioning_options={"mpmd_infer_transfers": True},
)
one = np.float32(1)
compiled = mw.jit(trip, config).lower(one).compile()
x = mw.distributed.place(one, compiled.input_shardings[0][0])
if jax.process_index() == 0:
    for _ in range(STEPS):
        compiled(x)
    print("at its end", flush=True)
else:
    time.sleep(1.5)  # Has asked for nothing yet when process 0 is through.
    values = [compiled(x) for _ in range(STEPS)]
    mw.distributed.shutdown()
    mw.distributed.shutdown()
    report = {"values": [float(value) for value in values]}
    for name, use in {
        "call": lambda: compiled(x),
        "fetch": lambda: mw.fetch(x),
    }.items():
        try:
            use()
        except mw.distributed.ProcessError as error:
            report[name] = str(error)
    print(json.dumps({"process": 1} | report), flush=True)
