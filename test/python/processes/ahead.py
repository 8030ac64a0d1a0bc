"""Process 0 only sends, process 1 does not compute: how far does the first get?"""

import threading
import time

import meshwright as mw

# A CPU device takes 32 launches before the next one waits.
WINDOW, LAUNCHES, STEPS = 4, 32, 100
mw.distributed.initialize(window_bytes=WINDOW * 4096)

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

release = threading.Event()
me = jax.process_index()


def wait(x):
    if me == 1:
        release.wait()
    return x


def last(h):
    h = jax.pure_callback(wait, jax.ShapeDtypeStruct(h.shape, h.dtype), h)
    return h.sum()


config = mw.make_config(
    {f"m{i}": jax.sharding.Mesh([d], "x") for i, d in enumerate(jax.devices())},
    {"enc": "m0", "dec": "m1"},
    partitioning_options={"mpmd_infer_transfers": True},
)
enc = mw.named_computation(jnp.sin, name="enc")
dec = mw.named_computation(last, name="dec")
x = np.ones(1024, np.float32)
compiled = mw.jit(lambda x: dec(enc(x)), config).lower(x).compile()
x = mw.distributed.place(x, compiled.input_shardings[0][0])
issued, results = 0, []


def run():
    global issued
    for _ in range(STEPS):
        results.append(compiled(x))
        issued += 1


issuing = threading.Thread(target=run)
issuing.start()
seen = -1
while issued != seen:  # Until nothing moves any more.
    seen = issued
    time.sleep(2)
if me == 0:
    assert issued <= LAUNCHES + 4 * WINDOW, issued
    print(f"ahead by {issued}", flush=True)
mw.fetch(0)
time.sleep(1 if me else 0)
release.set()
issuing.join()
print(f"sum {float(mw.fetch(results[-1])):.1f} of {len(results)}", flush=True)
