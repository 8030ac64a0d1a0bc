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


# Python on meshes of both processes.
def tripled(x):
    return jax.pure_callback(
        lambda x: 3 * np.asarray(x), jax.ShapeDtypeStruct(x.shape, x.dtype), x
    )


spanning = {f"m{n}": jax.sharding.Mesh(devices[n::2], "x") for n in range(2)}
jitted = mw.jit(
    lambda x: mw.named_computation(lambda h: h + 1, name="last")(
        mw.named_computation(tripled, name="first")(x)
    ),
    mw.make_config(spanning, {"first": "m0", "last": "m1"}),
)
x = np.arange(3, dtype=np.float32)
compiled = jitted.lower(x).compile()
found["python"] = mw.fetch(
    compiled(mw.distributed.place(x, compiled.input_shardings[0][0]))
).tolist()
jax.effects_barrier()

of_one = {f"m{n}": jax.sharding.Mesh([device], "x") for n, device in enumerate(devices)}


def doubling(name):
    """A program that doubles on one of the meshes, and makes another key there."""
    jitted = mw.jit(
        lambda x, key: (
            mw.named_computation(lambda x: 2 * x, name="double")(x),
            mw.named_computation(lambda k: jax.random.split(k)[0], name="next")(key),
        ),
        mw.make_config(of_one, {"double": name, "next": name}),
    )
    return jitted, jitted.lower(np.ones(3, np.float32), jax.random.key(0)).compile()


def error_of(function, *args):
    try:
        function(*args)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


# Devices 0 and 1 are of one process, 2 and 3 of the other one.
at = {n: doubling(f"m{n}") for n in (1, 2, 3)}
inputs = {n: compiled.input_shardings[0] for n, (_, compiled) in at.items()}
given = np.arange(3, dtype=np.float32), jax.random.key(3)
there = mw.distributed.place(given, inputs[2])
results = at[2][1](*there)
moved = at[3][0](*results)
key = jax.random.split(jax.random.split(given[1])[0])[0]
found["moved"] = [
    mw.fetch(moved[0]).tolist(),
    (mw.fetch(moved[1]) == np.asarray(jax.random.key_data(key))).tolist(),
    [list(map(int, moved[0].sharding.mesh.device_ids)), moved[1].is_fully_addressable],
]
found["placed again"] = [
    bool((mw.fetch(a) == mw.fetch(b)).all())
    for place in (
        lambda x: mw.distributed.place(x, inputs[2]),
        lambda x: at[2][1].place(*x),
    )
    for a, b in zip(place(results), results, strict=True)
]
found["other process"] = [
    error_of(at[1][0], *results),
    error_of(at[1][1].place, *results),
    error_of(mw.distributed.place, results, inputs[1]),
]
fetched = mw.distributed.place(mw.fetch(results[0]), inputs[1][0])
key = mw.distributed.place(given[1], inputs[1][1])
found["fetched"] = mw.fetch(at[1][0](fetched, key)[0]).tolist()
report = {"process": jax.process_index(), "found": found}
print(json.dumps(report), flush=True)
