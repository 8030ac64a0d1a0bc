"""Plain arrays [L, ...] whose halves are in two processes, given and got again."""

import json

import meshwright as mw

mw.distributed.initialize()

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402


def loss(w, x):
    h = mw.pipeline.scan(lambda h, w: jnp.tanh(h @ w), x, w, num_stages=2)
    return (h**2).mean()


def step(w, x):
    value, grad = mw.pipeline.accumulate(jax.value_and_grad(loss), 2)(w, x)
    return w - 0.1 * grad, value


of_process = {d.process_index: d for d in jax.devices()}  # One of each.
meshes = {f"m{p}": jax.sharding.Mesh([d], "x") for p, d in of_process.items()}
config = mw.make_config(meshes, pipeline_schedule=mw.get_pipeline_schedule("1F1B"))
w = np.random.default_rng(0).normal(size=(4, 3, 3)).astype(np.float32)
x = np.random.default_rng(1).normal(size=(4, 3)).astype(np.float32)
jitted = mw.jit(step, config, donate_argnums=0)
shardings = jitted.lower(w, x).compile().input_shardings[0]
found, given = (
    mw.distributed.place(*pair) for pair in zip((w, x), shardings, strict=True)
)
for _ in range(3):
    found, value = jitted(found, given)
local = [shard.data for shard in found.addressable_shards]
report = {
    "process": jax.process_index(),
    "spec": list(map(str, found.sharding.spec)),
    "rows": [int(shard.index[0].start or 0) for shard in found.addressable_shards],
    "values": np.concatenate([np.asarray(data).ravel() for data in local]).tolist(),
}
print(json.dumps(report), flush=True)
