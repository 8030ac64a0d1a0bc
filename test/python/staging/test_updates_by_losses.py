"""Weights that change by a loss without a gradient: each stays with its noise."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh

import meshwright as mw

pytestmark = pytest.mark.usefixtures("equal_compiles_once")

LAYERS, WIDTH, ROWS, POPULATION = 4, 24, 7, 6
MESHES = {f"m{i}": Mesh(jax.devices()[i : i + 1], "x") for i in range(LAYERS)}
WEIGHT = WIDTH * WIDTH * 4  # In bytes.


def model(weights, x, is_marked):
    for number, weight in enumerate(weights):
        x = jnp.tanh((mw.stage_boundary(x) if is_marked and number else x) @ weight)
    return x


def moved(weights, noise, by):
    return [weight + by * own for weight, own in zip(weights, noise, strict=True)]


def draw(key, weights, shape=()):
    keys = jax.random.split(key, len(weights))
    return [
        jax.random.normal(own, (*shape, *weight.shape))
        for own, weight in zip(keys, weights, strict=True)
    ]


def strategy(weights, noise, loss):
    """A vmapped evolution strategy, with losses that are compared and not returned."""
    losses = jax.vmap(lambda own: loss(moved(weights, own, 0.1)))(noise)
    better = (losses.mean() - losses) / (losses.std() + 1e-3)
    step = [jnp.tensordot(better, own, 1) / POPULATION for own in noise]
    return moved(weights, step, 0.1)


def two_points(weights, noise, loss):
    """A gradient along one direction, from two losses that are not returned."""
    rise = loss(moved(weights, noise, 1e-1)) - loss(moved(weights, noise, -1e-1))
    return moved(weights, noise, -rise)


def make_step(update, shape, is_marked):
    def step(weights, key, x, y):
        key, own = jax.random.split(key)

        def loss(weights):
            return ((model(weights, x, is_marked) - y) ** 2).mean()

        return update(weights, draw(own, weights, shape), loss), key

    return step


@pytest.mark.parametrize("is_marked", [True, False], ids=["marks", "auto"])
@pytest.mark.parametrize(
    ("update", "shape"), [(strategy, (POPULATION,)), (two_points, ())]
)
def test_weights_stay_with_their_noise(update, shape, is_marked):
    rows = np.random.default_rng(0).standard_normal((2, ROWS, WIDTH)).astype("f")
    weights = draw(jax.random.key(1), [np.zeros((WIDTH, WIDTH), "f")] * LAYERS)
    weights = [weight / WIDTH**0.5 for weight in weights]
    step = make_step(update, shape, is_marked)
    jitted = (
        mw.jit(step, mw.make_config(MESHES)) if is_marked else mw.auto(step, MESHES)
    )
    args = weights, jax.random.key(2), *rows
    lowered = jitted.lower(*args)
    assigned = lowered.function_mesh_assignment
    assert assigned.input_meshes[0] == [*MESHES] == assigned.output_meshes[0]
    items = lowered.partitioning_result.program["items"]
    sent = [item["bytes"] for item in items if item["kind"] == "transfer"]
    assert WEIGHT not in sent
    for a, b in zip(jitted(*args)[0], jax.jit(step)(*args)[0], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
