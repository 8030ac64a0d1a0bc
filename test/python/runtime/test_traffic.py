# SPDX-License-Identifier: Apache-2.0
"""What a step sends, counted from the code of its fragments."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

import meshwright as mw


@pytest.fixture(scope="module")
def topology():
    devices = np.array(jax.devices()[:4]).reshape(2, 2)
    return {
        "left": Mesh(devices[:1], ("data", "model")),
        "wide": Mesh(devices, ("data", "model")),
    }


def _compile(topology, fn, *args, specs):
    names = {"enc": "left", "dec": "wide"}
    shardings = tuple(NamedSharding(topology["wide"], spec) for spec in specs)
    step = mw.jit(fn, mw.make_config(topology, names), in_shardings=shardings)
    return step.lower(*args).compile()


def test_a_sum_over_one_axis(topology):
    @mw.named_computation(name="dec")
    def dec(x, w):
        return jnp.tanh(x @ w)

    x, w = jnp.ones((4, 8)), jnp.ones((8, 6))
    specs = P("data", "model"), P("model", None)
    traffic = _compile(topology, dec, x, w, specs=specs).traffic()
    [found] = traffic.collectives["wide"]
    # Each device has two rows of six columns, of which "model" holds two halves.
    assert found == ("all-reduce", ("model",), 1, 2 * 6 * 4)
    assert traffic.collectives["left"] == ()
    assert traffic.edges == ()


def test_a_loop_counts_its_turns(topology):
    @mw.named_computation(name="dec")
    def dec(x, w):
        def turn(h, _):
            h = jax.lax.with_sharding_constraint(
                jnp.tanh(h @ w), NamedSharding(topology["wide"], P(None, "model"))
            )
            return h, None

        return jax.lax.scan(turn, x, None, length=5)[0]

    x, w = jnp.ones((4, 8)), jnp.ones((8, 8))
    specs = P(None, "model"), P("model", None)
    traffic = _compile(topology, dec, x, w, specs=specs).traffic()
    [found] = (c for c in traffic.collectives["wide"] if c.kind == "all-reduce")
    # Four rows of four columns, in each of five turns.
    assert found == ("all-reduce", ("model",), 5, 5 * 4 * 4 * 4)


def test_transfers_by_edge():
    devices = jax.devices()
    topology = {name: Mesh(devices[i : i + 1], "x") for i, name in enumerate("ab")}

    def both(x):
        h = mw.named_computation(lambda v: v * 2, name="enc")(x)
        return mw.named_computation(lambda v, w: v - w, name="dec")(h, h + 1)

    config = mw.make_config(topology, {"enc": "a", "dec": "b"})
    compiled = mw.jit(both, config).lower(jnp.ones((4, 8))).compile()
    assert compiled.traffic().collectives == {"a": (), "b": ()}
    [edge] = compiled.traffic().edges
    assert (edge.source, edge.target) == ("a", "b")
    assert edge.bytes == edge.count * 4 * 8 * 4
