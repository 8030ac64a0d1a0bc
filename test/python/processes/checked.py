"""checkify's errors of two kinds, on meshes of two processes."""

import json

import meshwright as mw

mw.distributed.initialize()

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax.experimental import checkify  # noqa: E402


def first(x):
    checkify.check(x.sum() > 0, "the sum is {s}", s=x.sum())
    return jnp.log(x)


def second(h):
    checkify.check(jnp.all(h < 2), "{m} is too large", m=h.max())
    return h[jnp.int32(h.sum())]


def function(x):
    h = mw.named_computation(first, name="first")(x)
    return mw.named_computation(second, name="second")(h)


of_process = {d.process_index: d for d in jax.devices()}  # One of each.
config = mw.make_config(
    {f"m{p}": jax.sharding.Mesh([d], "x") for p, d in of_process.items()},
    {"first": "m0", "second": "m1"},
    partitioning_options={"mpmd_infer_transfers": True},
)
checked = checkify.checkify(function, errors=checkify.all_checks)
given = np.array([[1, 1, 1, 1], [-1, 0, 0, 0], [9, 9, 9, 9], [7, 7, 7, 7]], np.float32)
compiled = mw.jit(checked, config).lower(given[0]).compile()
found, wanted = [], []
for x in given:
    error, _ = compiled(mw.distributed.place(x, compiled.input_shardings[0][0]))
    found.append(mw.fetch(error).get())
    wanted.append(jax.jit(checked)(x)[0].get())
report = {"process": jax.process_index(), "found": found, "wanted": wanted}
print(json.dumps(report), flush=True)
