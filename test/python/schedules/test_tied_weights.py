"""A weight that several stages read, under schedules that split backward passes."""

import logging

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh
from meshwright.pipeline_registry import get_pipeline_schedule

import meshwright as mw

pytestmark = pytest.mark.usefixtures("x32")

D, MICROBATCHES = 4, 8
X = jnp.linspace(-1, 1, 16 * D).reshape(16, D)
LAYERS = [jnp.eye(D) * scale for scale in (0.3, 0.6, 0.9)]
PARAMS = {"table": jnp.eye(D) * 0.5, "layers": LAYERS}


def of_ends(params, x):
    """The last stage has nothing but the table, as a language model's head."""
    h = jnp.tanh(x @ params["table"] @ params["layers"][0])
    h = mw.stage_boundary(h)
    return ((h @ params["table"].T) ** 2).mean()


def of_all_stages(params, x):
    h = x @ params["table"]
    for layer in params["layers"]:
        h = mw.stage_boundary(jnp.tanh(h @ layer))
    return ((h @ params["table"].T) ** 2).mean()


def of_the_middle(params, x):
    h = jnp.tanh(x @ params["layers"][0])
    for _ in range(2):
        h = mw.stage_boundary(h)
        h = jnp.tanh(h @ params["table"])
    return (mw.stage_boundary(h) ** 2).mean()


@pytest.mark.parametrize(
    ("loss", "meshes", "schedule"),
    [
        (of_ends, 2, "ZeroBubbleH1"),
        (of_all_stages, 4, "ZeroBubbleH1"),
        (of_the_middle, 4, "ZeroBubbleH1"),
        (of_all_stages, 4, "ZeroBubbleH2ZeroTxLatency"),
        (of_all_stages, 2, "ZeroBubbleV"),
        (of_all_stages, 2, "VHalf"),
        (of_all_stages, 2, "InterleavedZeroBubble"),
    ],
)
def test_tied_weights_contradict_no_schedule(loss, meshes, schedule, caplog):
    topology = {f"m{i}": Mesh(jax.devices()[i : i + 1], "x") for i in range(meshes)}
    config = mw.make_config(topology, pipeline_schedule=get_pipeline_schedule(schedule))
    step = mw.pipeline.accumulate(jax.value_and_grad(loss), MICROBATCHES)
    with caplog.at_level(logging.WARNING, logger="meshwright"):
        found = mw.jit(step, config)(PARAMS, X)
    assert not caplog.records, caplog.text
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6),
        found,
        step(PARAMS, X),
    )
