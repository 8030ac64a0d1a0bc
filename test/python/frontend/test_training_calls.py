# SPDX-License-Identifier: Apache-2.0
"""A loop whose arguments are its own former results: partitioned once, and never
waiting for who makes them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P
from meshwright.compiler import native
from meshwright.jaxapi import runtime as jax_runtime

import meshwright as mw

pytestmark = pytest.mark.usefixtures("x32", "equal_compiles_once")

ROWS, WIDTH, STEPS = 4, 8, 4


@pytest.fixture(scope="module")
def meshes():
    devices = jax.devices()
    return {
        f"m{i}": Mesh(np.array(devices[2 * i : 2 * i + 2]), "data") for i in range(2)
    }


def make_step(meshes, split, donate):
    """Adam; activations are split by rows or columns, or as propagation likes."""

    def layer(weight, x):
        y = jnp.tanh(x @ weight)
        if split is None:
            return y
        return jax.lax.with_sharding_constraint(y, NamedSharding(meshes["m0"], split))

    def loss(params, x):
        h = mw.named_computation(layer, name="first")(params[0], x)
        return (mw.named_computation(layer, name="second")(params[1], h) ** 2).mean()

    def step(state, x):
        params, moments, squares, number = state
        value, grads = jax.value_and_grad(loss)(params, x)
        number = number + 1
        moments = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, moments, grads)
        squares = jax.tree.map(lambda s, g: 0.99 * s + 0.01 * g * g, squares, grads)
        rate = 0.01 / (1 - 0.9**number)
        params = jax.tree.map(
            lambda p, m, s: p - rate * m / (jnp.sqrt(s) + 1e-6),
            params,
            moments,
            squares,
        )
        return (params, moments, squares, number), value

    options = {"mpmd_infer_transfers": True, "mpmd_infer_cross_mesh_reductions": True}
    names = {"first": "m0", "second": "m1"}
    config = mw.make_config(meshes, names, partitioning_options=options)
    return mw.jit(step, config, donate_argnums=0 if donate else None)


def make_state(kind):
    keys = np.random.default_rng(0)
    weights = [
        keys.normal(size=(WIDTH, WIDTH)).astype(np.float32) / 3 for _ in range(2)
    ]
    zeros = [np.zeros_like(weight) for weight in weights]
    state = weights, zeros, list(map(np.copy, zeros)), np.float32(0)
    if kind == "jax":
        return jax.tree.map(jnp.asarray, state)
    return (*state[:3], 0.0) if kind == "python" else state


# A batch of the type of a weight, which may be in the buffer of a donated one.
BATCHES = {"small": (ROWS, WIDTH), "as a weight": (WIDTH, WIDTH)}


@pytest.mark.parametrize("kind", ["numpy", "jax", "python"])
@pytest.mark.parametrize("donate", [False, True], ids=["kept", "donated"])
@pytest.mark.parametrize("split", [None, P("data"), P(None, "data")])
def test_a_loop_is_partitioned_once(meshes, monkeypatch, split, donate, kind):
    count, session = [], native.Session
    monkeypatch.setattr(
        native, "Session", lambda *a, **k: count.append(1) or session(*a, **k)
    )
    step, state = make_step(meshes, split, donate), make_state(kind)
    x = np.ones(BATCHES["small"], np.float32)
    losses = []
    for _ in range(STEPS):
        state, value = step(state, x)
        losses.append(float(value))
    assert len(count) == 1
    assert len(set(losses)) == STEPS


@pytest.mark.parametrize("batch", BATCHES)
def test_no_call_waits_for_the_call_before(meshes, monkeypatch, batch):
    step, state = make_step(meshes, P("data"), donate=True), make_state("numpy")
    x = np.ones(BATCHES[batch], np.float32)
    state, _ = step(state, x)
    states, pointers, looked_up = [], jax_runtime.shard_pointers, []

    def shard_pointers(array):
        looked_up.append(array)
        return pointers(array)

    monkeypatch.setattr(jax_runtime, "shard_pointers", shard_pointers)
    # Nothing is ever ready: who asks where a result is would wait for it.
    with monkeypatch.context() as patched:
        patched.setattr(type(state[0][0]), "is_ready", lambda self: False)
        for _ in range(STEPS):
            states.append(state)  # An array's id is its own while it is there.
            state, _ = step(state, x)
    made = set(map(id, jax.tree.leaves(states)))
    assert made.isdisjoint(map(id, looked_up))
    step(jax.block_until_ready(jax.tree.map(jnp.copy, state)), x)
    assert looked_up  # Where arrays of others are, it is asked.
