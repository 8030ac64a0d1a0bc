"""Results as arguments of the next call, also where a call brings them elsewhere."""

import logging

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh

import meshwright as mw

pytestmark = pytest.mark.usefixtures("equal_compiles_once")

DEVICES = jax.devices()
WEIGHTS = [np.eye(4, dtype=np.float32) + 0.1 * i for i in range(2)]
X = np.arange(16, dtype=np.float32).reshape(4, 4) / 16


def computation(name):
    return lambda function: mw.named_computation(function, name=name)


def scaled_step(state, x):
    """Reads the scale on both meshes, so it comes in on one and leaves on one."""
    weights, scale = state

    def loss(weights):
        h = computation("f")(lambda w, x: x @ w)(weights[0], x)
        return computation("g")(lambda w, h, s: ((h @ w) ** 2).sum() * s)(
            weights[1], h, scale
        )

    value, gradients = jax.value_and_grad(loss)(weights)
    weights = jax.tree.map(lambda w, g: w - 1e-3 * g / scale, weights, gradients)
    return (weights, scale * 2), value


def config(sizes=(2, 2), **options):
    first, second = sizes
    meshes = {
        "a": Mesh(DEVICES[:first], "x"),
        "b": Mesh(DEVICES[first : first + second], "x"),
    }
    return mw.make_config(
        meshes,
        {"f": "a", "g": "b"},
        partitioning_options={
            "mpmd_infer_transfers": True,
            "mpmd_infer_cross_mesh_reductions": True,
        },
        **options,
    )


@pytest.mark.parametrize("sizes", [(1, 1), (2, 2), (1, 2), (4, 2)])
@pytest.mark.parametrize("donate", [(), (0,)])
def test_state_goes_round(sizes, donate):
    step = mw.jit(scaled_step, config(sizes), donate_argnums=donate)
    plain = jax.jit(scaled_step)
    ours = theirs = (WEIGHTS, np.float32(1))
    for _ in range(4):
        given = ours
        ours, value = step(ours, X)
        theirs, wanted = plain(theirs, X)
        np.testing.assert_allclose(value, wanted, rtol=1e-5)
        if donate and isinstance(given[1], jax.Array):
            assert all(leaf.is_deleted() for leaf in jax.tree.leaves(given))
    assert len(step._programs) == 1
    assert [len(programs) for programs in step._programs.values()] == [1]


def test_what_moves_at_each_call_is_said_once(caplog):
    shared = config(input_mesh_assignment=("a",), output_mesh_assignment="b")
    double = mw.jit(lambda x: computation("g")(lambda x: 2 * x)(x), shared)
    large = np.ones((1024, 512), np.float32)
    with caplog.at_level(logging.WARNING):
        for argument in (large, large[:1]):
            result = argument
            for _ in range(3):
                result = double(result)
            np.testing.assert_array_equal(result, 8 * argument)
    said = [r.getMessage() for r in caplog.records if "is moved to mesh" in r.msg]
    assert len(said) == 1
    assert "args[0] (2097152 bytes) is " in said[0]
    assert "on mesh 'b'" in said[0] and "moved to mesh 'a'" in said[0]


def test_an_array_on_other_devices_is_refused():
    step = mw.jit(lambda x: computation("f")(jnp.sin)(x), config())
    step(X)
    with pytest.raises(ValueError, match="on a mesh that is not in the topology"):
        step(jax.device_put(X, jax.NamedSharding(Mesh(DEVICES[5:7], "x"), jax.P())))
