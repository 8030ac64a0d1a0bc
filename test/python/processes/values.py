"""Places and fetches values of odd types; what every process finds is printed."""

import json

import meshwright as mw

mw.distributed.initialize()

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

devices = np.array(jax.devices())
half = len(devices) // 2
meshes = {
    "own": jax.sharding.Mesh(devices[half:], "x"),
    "spanning": jax.sharding.Mesh(devices, "x"),
}
keys = jax.random.split(jax.random.key(1, impl="rbg"), 4)
wanted = np.asarray(jax.random.key_data(keys))
found: dict = {}
for name, mesh in meshes.items():
    whole, split = (jax.NamedSharding(mesh, spec) for spec in (jax.P(), jax.P("x")))
    placed = mw.distributed.place(
        {"k": keys, "one": keys[2]}, {"k": split, "one": whole}
    )
    assert placed["k"].sharding == split and placed["k"].dtype == keys.dtype
    fetched = mw.fetch(placed)
    scalars = [2.0, 3, True, 1j, np.float32(1), jnp.asarray(2.0)]
    there = mw.distributed.place(scalars, whole)
    try:
        mw.distributed.place(1 << 40, whole)
        large = "placed"
    except OverflowError:
        large = "refused"
    found[name] = {
        "keys": bool(
            (fetched["k"] == wanted).all() and (fetched["one"] == wanted[2]).all()
        ),
        "types": [[str(a.dtype), a.weak_type] for a in there],
        "large": large,
    }


def step(key, x, scale):
    h = mw.named_computation(lambda x: x * 2, name="double")(x)
    return mw.named_computation(
        lambda k, h, s: h * s + jax.random.normal(k, h.shape, h.dtype), name="noise"
    )(key, h, scale)


config = mw.make_config(
    {"m0": jax.sharding.Mesh(devices[:half], "x"), "m1": meshes["own"]},
    {"double": "m0", "noise": "m1"},
    partitioning_options={"mpmd_infer_transfers": True},
)
args = jax.random.key(0), np.ones(4, jnp.bfloat16), 2.0
jitted = mw.jit(step, config)
shardings = jitted.lower(*args).compile().input_shardings[0]
result = mw.fetch(jitted(*mw.distributed.place(args, shardings)))
expected = np.asarray(step(*args[:1], jnp.asarray(args[1]), args[2]))
found["program"] = [str(result.dtype), bool((result == expected).all())]
report = {"process": jax.process_index(), "found": found}
print(json.dumps(report), flush=True)
