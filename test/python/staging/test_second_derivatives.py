"""Losses of second derivatives by the inputs of a model keep weights in place."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh

import meshwright as mw

pytestmark = pytest.mark.usefixtures("equal_compiles_once")

MESHES = {f"m{i}": Mesh(jax.devices()[i : i + 1], "x") for i in range(3)}
WIDTHS = [4, 6, 5, 7]


def model(ws, x):
    for number, w in enumerate(ws):
        x = jnp.tanh((mw.stage_boundary(x) if number else x) @ w)
    return x.sum()


def along_itself(f):
    return lambda x: jax.jvp(jax.grad(f), (x,), (x,))[1].sum()


def laplacian(f):
    return lambda x: jnp.trace(jax.hessian(f)(x))


def twice_reversed(f):
    return lambda x: jnp.trace(jax.jacrev(jax.grad(f))(x))


@pytest.mark.parametrize(
    ("second", "microbatches"),
    [(along_itself, None), (along_itself, 2), (laplacian, 2), (twice_reversed, None)],
)
def test_a_loss_of_second_derivatives_sends_no_weight(second, microbatches):
    def loss(ws, xs):
        return jax.vmap(second(lambda x: model(ws, x)))(xs).mean()

    gradient = jax.value_and_grad(loss)
    if microbatches:
        gradient = mw.pipeline.accumulate(gradient, microbatches)

    def step(ws, xs):
        value, grads = gradient(ws, xs)
        return value, [w - 0.1 * g for w, g in zip(ws, grads, strict=True)]

    draw = np.random.default_rng(0).standard_normal
    shapes = zip(WIDTHS, WIDTHS[1:], strict=False)
    ws = [(draw(shape) / 2).astype("f") for shape in shapes]
    xs = draw((4, 4)).astype("f")
    lowered = mw.jit(step, mw.make_config(MESHES)).lower(ws, xs)
    compiled = lowered.compile()
    value, new = compiled(*compiled.place(ws, xs))
    expected, updated = jax.jit(step)(ws, xs)
    np.testing.assert_allclose(value, expected, rtol=1e-5)
    for a, b in zip(new, updated, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)
    found = lowered.cost_analysis()
    # Two values go forward, back, forward again and back over each of two borders.
    assert sum(cost["transfers"] for cost in found.values()) == 16 * (microbatches or 1)
