# SPDX-License-Identifier: Apache-2.0
"""Sums over devices that wait for the sum over microbatches: fewer collectives, the
same numbers."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

import meshwright as mw

ROWS, WIDTH = 4, 8


@pytest.fixture(scope="module")
def topology():
    devices = jax.devices()
    return {
        f"m{i}": Mesh(np.array(devices[2 * i : 2 * i + 2]), "data") for i in range(2)
    }


def _batch(microbatches):
    rows = jax.random.normal(jax.random.key(1), (microbatches * ROWS, WIDTH))
    return rows, jnp.sin(rows)


def _params():
    keys = jax.random.split(jax.random.key(0))
    return [
        {"w": jax.random.normal(k, (WIDTH, WIDTH)) / 3, "b": jnp.zeros(WIDTH)}
        for k in keys
    ]


def _step(microbatches, split):
    def loss(params, batch):
        x, y = (split(value) for value in batch)
        h = jnp.tanh(x @ params[0]["w"] + params[0]["b"])
        h = mw.stage_boundary(split(h))
        h = jnp.tanh(h @ params[1]["w"] + params[1]["b"])
        return ((h - y) ** 2).mean()

    gradient = mw.pipeline.accumulate(jax.value_and_grad(loss), microbatches)

    def step(params, batch):
        value, grads = gradient(params, batch)
        return value, jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)

    return step


def _jit(topology, microbatches, schedule, weight, deferred):
    rows = NamedSharding(topology["m0"], P("data"))
    step = _step(microbatches, lambda x: jax.lax.with_sharding_constraint(x, rows))
    config = mw.make_config(
        topology,
        pipeline_schedule=mw.get_pipeline_schedule(schedule),
        partitioning_options={"mpmd_defer_reductions": deferred},
    )
    params = [
        {"w": NamedSharding(mesh, weight), "b": NamedSharding(mesh, P())}
        for mesh in topology.values()
    ]
    batch = tuple(NamedSharding(mesh, P("data")) for mesh in topology.values())
    return mw.jit(step, config, in_shardings=(params, batch))


def _reduced_bytes(topology, microbatches, deferred):
    """Of weights: all of a step's reductions but the four bytes of losses."""
    step = _jit(topology, microbatches, "1F1B", P(), deferred)
    compiled = step.lower(_params(), _batch(microbatches)).compile()
    found = compiled.traffic().collectives
    return sum(c.bytes for m in found.values() for c in m if c.kind == "all-reduce")


@pytest.mark.parametrize("weight", [P(), P("data")], ids=["replicated", "split"])
@pytest.mark.parametrize("schedule", ["1F1B", "ZeroBubbleH1"])
def test_numbers_stay(topology, schedule, weight):
    step = _jit(topology, 4, schedule, weight, deferred=True)
    got = step(_params(), _batch(4))
    expected = _step(4, lambda x: x)(_params(), _batch(4))
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-6),
        jax.device_get(got),
        jax.device_get(expected),
    )


def test_reduced_bytes_do_not_grow_with_microbatches(topology):
    gradients = 2 * 4 * (WIDTH * WIDTH + WIDTH)
    four, eight = (_reduced_bytes(topology, n, deferred=False) for n in (4, 8))
    assert four >= 4 * gradients
    assert eight >= 8 * gradients
    for microbatches in (4, 8):
        waited = _reduced_bytes(topology, microbatches, deferred=True)
        assert gradients <= waited <= gradients + 16  # And the loss.
