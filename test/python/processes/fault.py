"""Runs a program over and over; process 1 does what the argument says."""

import os
import signal
import sys
import time

from meeting import meet

import meshwright as mw

fault = sys.argv[1]
second = os.environ.get("MESHWRIGHT_PROCESS") == "1"
if fault != "alone":
    meet(2)
if second and fault == "late":
    time.sleep(1000)
if second and fault == "early":
    sys.exit(4)
if len(sys.argv) > 2:
    port, timeout = sys.argv[2:]
    mw.distributed.initialize(
        f"127.0.0.1:{port}", 2, int(second), timeout=float(timeout)
    )
else:
    mw.distributed.initialize()

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import Mesh  # noqa: E402


def wait(x):
    if second and fault == "hang":
        time.sleep(1000)
    return x


def decode(w, h):
    if fault == "hang":
        h = jax.pure_callback(wait, jax.ShapeDtypeStruct(h.shape, h.dtype), h)
    return ((h @ w) ** 2).mean() * (3.0 if second and fault == "differ" else 2.0)


def function(w, x):
    h = mw.named_computation(lambda w, x: jnp.tanh(x @ w), name="enc")(w, x)
    return mw.named_computation(decode, name="dec")(w, h)


config = mw.make_config(
    {f"m{i}": Mesh([device], "x") for i, device in enumerate(jax.devices())},
    {"enc": "m0", "dec": "m1"},
    partitioning_options={"mpmd_infer_transfers": True},
)
w, x = np.eye(4, dtype=np.float32), np.ones((4, 4), np.float32)
jitted = mw.jit(function, config)
if fault == "elsewhere":
    try:
        jitted(w, x)
    except Exception as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
compiled = jitted.lower(w, x).compile()
args = mw.distributed.place((w, x), compiled.input_shardings[0])
for number in range(10**6):
    value = compiled(*args)
    if number == 3:
        mw.fetch(value)
        print("running", flush=True)
        if fault == "elsewhere":
            print(float(value))
        if second and fault == "loader" and not os.fork():
            time.sleep(1000)  # It outlives the process that has forked it.
            os._exit(0)
        if second and fault in ("kill", "loader"):
            os.kill(os.getpid(), signal.SIGKILL)
        if second and fault == "stop":
            os.kill(os.getpid(), signal.SIGSTOP)
        if second and fault == "unfetched":
            break
        if second and fault == "hook":
            sys.excepthook = lambda kind, *_: print(kind, file=sys.stderr)
        if second and fault in ("raise", "hook"):
            raise KeyError("lost")
        if second and fault == "exit":
            sys.exit(3)
        if not second and fault == "through":
            break
    if number > 3 and fault == "through":
        float(value)
    if number % 10 == 9:
        mw.fetch(value)
