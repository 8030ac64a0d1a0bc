"""Derivatives of a model that are taken beside its microbatches, by `mw.auto`."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh

import meshwright as mw

STAGES, WIDTH, ROWS, MICROBATCHES = 3, 16, 3, 2
MESHES = {f"m{i}": Mesh(jax.devices()[i : i + 1], "x") for i in range(STAGES)}
WEIGHT = WIDTH * WIDTH * 4  # In bytes.


def model(weights, x):
    for weight in weights:
        x = jnp.tanh(x @ weight)
    return x


def loss(weights, x, y):
    return ((model(weights, x) - y) ** 2).mean()


def hessian_diagonal(weights, x, y, key):
    """As Sophia estimates it: a tangent of the gradient along noise, times that."""
    keys = jax.random.split(key, len(weights))
    noise = [
        jax.random.normal(own, w.shape) for own, w in zip(keys, weights, strict=True)
    ]
    found = jax.jvp(lambda weights: jax.grad(loss)(weights, x, y), (weights,), (noise,))
    return [0.1 * own * product for own, product in zip(noise, found[1], strict=True)]


def squared_gradient(weights, x, y, key):
    """With sampled labels, as a Gauss-Newton estimate."""
    labels = model(weights, x) + jax.random.normal(key, y.shape)
    grads = jax.grad(loss)(weights, x, jax.lax.stop_gradient(labels))
    return [0.1 * grad * grad for grad in grads]


@pytest.mark.parametrize("estimate", [hessian_diagonal, squared_gradient])
def test_averages_are_on_the_meshes_of_their_weights(estimate, caplog):
    def step(state, key, x, y):
        weights, averages = state
        run = mw.pipeline.accumulate(
            jax.value_and_grad(loss), MICROBATCHES, batch_argnums=(1, 2)
        )
        value, grads = run(weights, x, y)
        new = estimate(weights, x[:ROWS], y[:ROWS], key)
        averages = [0.9 * old + own for old, own in zip(averages, new, strict=True)]
        weights = [
            weight - 0.1 * grad / jnp.maximum(average, 0.1)
            for weight, grad, average in zip(weights, grads, averages, strict=True)
        ]
        return (weights, averages), value

    draw = np.random.default_rng(0).standard_normal
    weights = [np.float32(draw((WIDTH, WIDTH)) / 4) for _ in MESHES]
    state = weights, [np.zeros((WIDTH, WIDTH), "f")] * STAGES
    rows = np.float32(draw((2, MICROBATCHES * ROWS, WIDTH)))
    args = state, jax.random.key(1), *rows
    lowered = mw.auto(step, MESHES).lower(*args)
    assigned = lowered.function_mesh_assignment
    assert assigned.input_meshes[0] == ([*MESHES], [*MESHES])
    assert assigned.output_meshes[0] == ([*MESHES], [*MESHES])
    items = lowered.partitioning_result.program["items"]
    sent = [item["bytes"] for item in items if item["kind"] == "transfer"]
    assert max(sent) < WEIGHT
    assert not [r for r in caplog.records if r.levelname == "WARNING"]
    compiled = lowered.compile()
    found, wanted = compiled(*compiled.place(*args)), jax.jit(step)(*args)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
