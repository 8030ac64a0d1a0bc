"""A last stage whose derivative does not depend on its output."""

import logging

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jax.sharding import Mesh
from meshwright.pipeline_registry import get_pipeline_schedule

import meshwright as mw

pytestmark = pytest.mark.usefixtures("x32")

D, MICROBATCHES = 8, 4
WEIGHTS = [jnp.eye(D) * scale for scale in (0.5, 0.7)]
X = jnp.linspace(-1, 1, 8 * D).reshape(8, D)


def loss(weights, x):
    h = mw.stage_boundary(jnp.tanh(x @ weights[0]))
    return (h @ weights[1]).mean()


@pytest.mark.parametrize("schedule", ["1F1B", "GPipe", "ZeroBubbleH1"])
@pytest.mark.parametrize("is_clipped", [False, True])
def test_no_forward_waits_for_the_update(is_clipped, schedule, caplog):
    clip = optax.clip_by_global_norm(0.1) if is_clipped else optax.identity()
    optimizer = optax.chain(clip, optax.adam(1e-2))

    def step(weights, state, x):
        value_and_grad = mw.pipeline.accumulate(jax.value_and_grad(loss), MICROBATCHES)
        value, gradients = value_and_grad(weights, x)
        updates, state = optimizer.update(gradients, state, weights)
        return optax.apply_updates(weights, updates), state, value

    meshes = {f"m{i}": Mesh(jax.devices()[i : i + 1], "x") for i in range(2)}
    config = mw.make_config(meshes, pipeline_schedule=get_pipeline_schedule(schedule))
    args = WEIGHTS, optimizer.init(WEIGHTS), X
    with caplog.at_level(logging.WARNING):
        found = mw.jit(step, config)(*args)
    assert caplog.text == ""
    for ours, theirs in zip(
        *map(jax.tree.leaves, (found, jax.jit(step)(*args))), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
