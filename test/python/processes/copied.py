"""Two stages that count; process 1 and its host are gone after step 5, once.

After that those of process 0 are, as soon as the state is restored.
"""

import json
import os
import shutil
import signal

import meshwright as mw

mw.distributed.initialize()

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

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
    b = mw.named_computation(lambda w, a: w + a.sum().astype(w.dtype), name="b")(
        state["b"], a
    )
    return {"a": a, "b": b, "key": state["key"]}


state = {
    "a": np.zeros((4, 2), np.float32),
    "b": jnp.zeros(3, jnp.bfloat16),
    "key": jax.random.key(7),
}
compiled = mw.jit(step, config, donate_argnums=0).lower(state).compile()
state = mw.distributed.place(state, compiled.input_shardings[0][0])
copies = mw.elastic.Copies(every=2)
found = copies.restore(state)
state, first = (found[0], found[1] + 1) if found else (state, 0)


def lose_host():
    copies._queue.join()  # All have what was copied last.
    shutil.rmtree(copies._folder)
    os.kill(os.getpid(), signal.SIGKILL)


if mw.elastic.attempt() == 1:
    if jax.process_index() == 0:
        lose_host()
    mw.fetch(state["a"])  # Waits for the end.
for number in range(first, 8):
    state = compiled(state)
    copies.save(number, state)
    if number == 5 and not mw.elastic.attempt():
        mw.fetch(state["a"])
        if jax.process_index() == 1:
            lose_host()
state["key"] = jax.random.key_data(state["key"])
values = {name: np.asarray(leaf, np.float32) for name, leaf in mw.fetch(state).items()}
report = {name: value.ravel().tolist() for name, value in values.items()}
copies._queue.join()
report["folder"] = os.environ["MESHWRIGHT_COPIES"]
report["kept"] = sorted({key[:2] for key in copies._listed()})
print(json.dumps({"process": jax.process_index(), "first": first} | report), flush=True)
