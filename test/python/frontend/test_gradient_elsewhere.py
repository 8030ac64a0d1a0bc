"""Weights whose gradient is computed on another mesh than the one that reads them."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import Mesh

import meshwright as mw

MESHES = {f"m{i}": Mesh(jax.devices()[i : i + 1], "x") for i in range(4)}
NAMES = {f"s{i}": f"m{i}" for i in range(4)}
HOME = dict(zip("abcd", MESHES, strict=True))


def weights():
    draw = np.random.default_rng(0).standard_normal
    return {name: draw((8, 8)).astype("f") / 3 for name in HOME}


def named(name, function, *args):
    return mw.named_computation(function, name=name)(*args)


def gradients(w, x):
    """Derivatives by hand; stage 3 has that of the weight of stage 2 as well."""
    h = named("s0", lambda a, x: jnp.tanh(x @ a), w["a"], x)
    q = named("s1", jnp.dot, h, w["b"])
    r = named("s2", jnp.dot, q, w["c"])
    dd, dc, dr = named("s3", lambda d, r, q: (r.T @ r, q.T @ r, r @ d), w["d"], r, q)
    dq = named("s2", lambda c, dr: dr @ c.T, w["c"], dr)
    dh, db = named("s1", lambda b, dq, h: (dq @ b.T, h.T @ dq), w["b"], dq, h)
    da = named("s0", lambda dh, x: x.T @ dh, dh, x)
    return {"a": da, "b": db, "c": dc, "d": dd}


def adam(w, grads, m, v, count):
    m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, grads)
    v = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, v, grads)
    count = count + 1

    first, second = 1 - 0.9**count, 1 - 0.99**count
    updates = jax.tree.map(
        lambda m, v: -1e-3 * (m / first) / (jnp.sqrt(v / second) + 1e-8), m, v
    )
    return jax.tree.map(jnp.add, w, updates), m, v, count


def test_others_are_updated_where_they_are():
    def step(w, m, v, count, x):
        return adam(w, gradients(w, x), m, v, count)

    config = mw.make_config(
        MESHES, NAMES, partitioning_options={"mpmd_infer_transfers": True}
    )
    args = weights(), weights(), weights(), np.float32(0), np.ones((4, 8), "f")
    lowered = mw.jit(step, config).lower(*args)
    read, *state = lowered.function_mesh_assignment.input_meshes[:3]
    written, *new_state = lowered.function_mesh_assignment.output_meshes[:3]
    assert read == written == HOME
    for moments in (*state, *new_state):
        assert {**moments, "c": "m2"} == HOME
    found = mw.jit(step, config)(*args)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(step(*args)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def layer(w, x):
    """Of three products of one value, a cut by cost may lie between any two."""
    h = jnp.tanh(x)
    q, k, v = (split(h @ w[name]) for name in "qkv")
    scores = jax.nn.softmax(q @ k.swapaxes(-1, -2))
    x = x + (scores @ v).swapaxes(1, 2).reshape(x.shape) @ w["o"]
    return x + jax.nn.gelu(x @ w["u"]) @ w["d"]


def split(x):
    return x.reshape(*x.shape[:2], 2, -1).swapaxes(1, 2)


def test_a_cut_between_products_of_one_value():
    draw = np.random.default_rng(0).standard_normal
    shapes = dict.fromkeys("qkvo", (8, 8)) | {"u": (8, 16), "d": (16, 8)}
    layers = [{k: draw(s).astype("f") / 3 for k, s in shapes.items()} for _ in range(4)]
    weights = layers, draw((8, 32)).astype("f")
    optimizer = optax.adamw(1e-2)

    def loss(weights, x):
        layers, head = weights
        for w in layers:
            x = layer(w, x)
        return jax.nn.logsumexp(x @ head, -1).mean()

    def step(weights, state, x):
        grads = mw.pipeline.accumulate(jax.grad(loss), 2, batch_argnums=1)(weights, x)
        updates, state = optimizer.update(grads, state, weights)
        return optax.apply_updates(weights, updates), state

    # The head makes the cuts lie inside of layers.
    config = mw.auto_config(MESHES, pipeline_schedule=mw.get_pipeline_schedule("1F1B"))
    lowered = mw.jit(step, config).lower(
        weights, optimizer.init(weights), np.ones((4, 8, 8), "f")
    )
    read, state, _ = lowered.function_mesh_assignment.input_meshes
    written, new_state = lowered.function_mesh_assignment.output_meshes
    assert any(len({layer[name] for name in "qkv"}) > 1 for layer in read[0])
    assert read == written == state[0].mu == state[0].nu == new_state[0].mu
