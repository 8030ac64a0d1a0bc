"""Where state that no stage reads lives, and when a warning is given about it."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jax.sharding import Mesh

import meshwright as mw

AWAY = "of state that no named computation reads, and what updates it is on other"


def lowered(step, *args):
    meshes = {f"m{i}": Mesh(jax.devices()[i : i + 1], "x") for i in range(2)}
    schedule = mw.get_pipeline_schedule("1F1B")
    return mw.jit(step, mw.make_config(meshes, pipeline_schedule=schedule)).lower(*args)


def loss(weights, x):
    h = mw.stage_boundary(jnp.tanh(x @ weights["a"]))
    return ((h @ weights["b"]) ** 2).mean()


gradients = mw.pipeline.accumulate(jax.value_and_grad(loss), 2)
WEIGHTS = {name: jnp.ones((32, 32)) for name in "ab"}
BATCH = jnp.ones((4, 32))


def test_no_warning_where_only_one_stage_has_moments(caplog):
    optimizer = optax.multi_transform(
        {"adam": optax.adam(1e-3), "sgd": optax.sgd(1e-3)}, {"a": "adam", "b": "sgd"}
    )

    def step(weights, state, x):
        _, grads = gradients(weights, x)
        updates, state = optimizer.update(grads, state, weights)
        return optax.apply_updates(weights, updates), state

    lowered(step, WEIGHTS, optimizer.init(WEIGHTS), BATCH)
    assert caplog.text == ""


def test_no_warning_for_what_no_stage_reads(caplog):
    def step(weights, unread, x):
        _, grads = gradients(weights, x)
        weights = jax.tree.map(jnp.subtract, weights, grads)
        return weights, jax.tree.map(lambda u: 0.9 * u, unread)

    unread = {name: jnp.ones((64, 64)) for name in "cd"}
    lowered(step, WEIGHTS, unread, BATCH)
    assert caplog.text == ""


@pytest.mark.parametrize("reads_gradients", [True, False])
def test_a_loop_over_the_state_of_all_stages_is_named(reads_gradients, caplog):
    """One that turns as often as data say; others are unrolled."""

    def step(weights, moments, x, times):
        _, grads = gradients(weights, x)

        def body(_, moments):
            moments = jax.tree.map(lambda m: 0.9 * m, moments)
            return jax.tree.map(jnp.add, moments, grads) if reads_gradients else moments

        moments = jax.lax.fori_loop(0, times, body, moments)
        if not reads_gradients:
            moments = jax.tree.map(jnp.add, moments, grads)
        return jax.tree.map(jnp.subtract, weights, moments), moments

    found = lowered(step, WEIGHTS, WEIGHTS, BATCH, 3)
    assert found.function_mesh_assignment.input_meshes[1] == {"a": "m0", "b": "m0"}
    (record,) = caplog.records
    assert f'mesh "m0" holds 4096 bytes {AWAY}' in record.message
    assert "moments['b'] (4096 bytes)" in record.message
    assert "moments['a']" not in record.message


def test_a_loop_leaf_by_leaf_leaves_state_in_its_place(caplog):
    """As that of L-BFGS over its memory: only a number is made of all leaves."""

    def step(weights, moments, x):
        _, grads = gradients(weights, x)

        def body(moments, rate):
            norm = jnp.sqrt(sum(jnp.vdot(m, m) for m in moments.values()))
            moments = jax.tree.map(lambda m: rate * m / norm, moments)
            return jax.tree.map(jnp.add, moments, grads), norm

        moments, norms = jax.lax.scan(body, moments, jnp.arange(3.0))
        return jax.tree.map(jnp.subtract, weights, moments), moments, norms

    check_in_their_places(lowered(step, WEIGHTS, WEIGHTS, BATCH), step, caplog)


def test_a_loop_over_steps_of_an_optimizer_leaves_state_in_its_place(caplog):
    """Its leaves have constants in common; gradients are divided by a number."""

    def step(weights, moments, x):
        _, grads = gradients(weights, x)
        count = (x > 0).sum()
        grads = jax.tree.map(lambda g: g / count, grads)

        def body(carried, _):
            weights, moments = carried
            moments = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, moments, grads)
            return (jax.tree.map(lambda w, m: w - m, weights, moments), moments), None

        return jax.lax.scan(body, (weights, moments), length=2)[0]

    check_in_their_places(lowered(step, WEIGHTS, WEIGHTS, BATCH), step, caplog)


def check_in_their_places(found, step, caplog):
    assigned = found.function_mesh_assignment
    assert assigned.input_meshes[1] == {"a": "m0", "b": "m1"}
    assert assigned.output_meshes[:2] == ({"a": "m0", "b": "m1"},) * 2
    assert not caplog.records
    compiled = found.compile()
    for a, b in zip(
        jax.tree.leaves(compiled(*compiled.place(WEIGHTS, WEIGHTS, BATCH))),
        jax.tree.leaves(jax.jit(step)(WEIGHTS, WEIGHTS, BATCH)),
        strict=True,
    ):
        np.testing.assert_allclose(a, b, rtol=1e-5)
