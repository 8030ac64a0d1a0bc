"""Models that are applied again where gradients are taken."""

import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jax.sharding import Mesh

import meshwright as mw

pytestmark = pytest.mark.usefixtures("x32")

LAYERS, WIDTH, ROWS, MICROBATCHES = 4, 32, 4, 2
MESHES = {f"m{i}": Mesh(jax.devices()[i : i + 1], "x") for i in range(2)}
RATE = 0.1


def model(weights, x):
    for layer in weights:
        x = jnp.tanh(x @ layer["w"] + layer["b"])
    return x


def residual(weights, x):
    for layer in weights:
        hidden = (x - x.mean(-1, keepdims=True)) * (1 + layer["b"])
        x = x + jax.nn.gelu(hidden @ layer["w"])
    return x


def error(model, weights, batch):
    x, y = batch
    return ((model(weights, x) - y) ** 2).mean()


def moved(weights, grads, rate=-RATE):
    return jax.tree.map(lambda w, g: w + rate * g, weights, grads)


def gradient_alone(loss, weights, batch):
    return jax.value_and_grad(loss)(weights, batch)


def sharpened(loss, weights, batch):
    """A gradient where weights are after a step up, as long as RATE."""
    value, grads = jax.value_and_grad(loss)(weights, batch)
    rate = RATE / (optax.tree.norm(grads) + 1e-6)
    return value, jax.grad(loss)(moved(weights, grads, rate), batch)


def learning(loss, weights, batch):
    """Through a step of learning: on one half of the batch for the other one."""
    support = jax.tree.map(lambda rows: rows[: len(rows) // 2], batch)
    query = jax.tree.map(lambda rows: rows[len(rows) // 2 :], batch)

    def after(weights):
        return loss(moved(weights, jax.grad(loss)(weights, support)), query)

    return jax.value_and_grad(after)(weights)


def repeated(loss, weights, batch):
    """Towards where several steps of learning lead."""
    fast = weights
    for _ in range(3):
        fast = moved(fast, jax.grad(loss)(fast, batch))
    difference = jax.tree.map(lambda w, f: w - f, weights, fast)
    return loss(fast, batch), difference


def penalized(loss, weights, batch):
    """With a penalty on the gradient by the input."""

    def both(weights):
        x, y = batch
        value, slope = jax.value_and_grad(lambda x: loss(weights, (x, y)))(x)
        return value + (slope**2).sum()

    return jax.value_and_grad(both)(weights)


def iterated(weights, x):
    """A model that is applied to what it gave."""
    for _ in range(3):
        x = x + RATE * model(weights, x)
    return x


def make_step(gradient, model, is_accumulated):
    # Gradients near 0 are steps near 0, whatever the order of sums.
    optimizer = optax.adam(1e-2, eps=1e-3)
    gradient = functools.partial(gradient, functools.partial(error, model))

    def step(state, batch):
        weights, moments = state
        each = mw.pipeline.accumulate(gradient, MICROBATCHES)
        value, grads = (each if is_accumulated else gradient)(weights, batch)
        updates, moments = optimizer.update(grads, moments, weights)
        return (optax.apply_updates(weights, updates), moments), value

    return step, optimizer


def check(gradient, model, is_accumulated, runs):
    """Weights and moments are on two meshes, none is sent, and, if it runs, numbers
    are right."""
    draw = np.random.default_rng(0).standard_normal
    weights = [
        {"w": np.float32(draw((WIDTH, WIDTH)) * WIDTH**-0.5), "b": np.zeros(WIDTH, "f")}
        for _ in range(LAYERS)
    ]
    rows = np.float32(draw((2, MICROBATCHES * ROWS, WIDTH)))
    step, optimizer = make_step(gradient, model, is_accumulated)
    state, batch = (weights, optimizer.init(weights)), (rows[0], rows[1])
    jitted = mw.auto(step, MESHES)
    lowered = jitted.lower(state, batch)
    homes = lowered.function_mesh_assignment.input_meshes[0]
    assert [layer["w"] for layer in homes[0]] == ["m0", "m0", "m1", "m1"]
    assert homes[0] == homes[1][0].mu == homes[1][0].nu
    items = lowered.partitioning_result.program["items"]
    sent = [item["bytes"] for item in items if item["kind"] == "transfer"]
    assert max(sent) <= MICROBATCHES * ROWS * WIDTH * 4 < weights[0]["w"].nbytes
    if not runs:
        return
    found, wanted = jitted(state, batch), jax.jit(step)(state, batch)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


GRADIENTS = [sharpened, learning, repeated, penalized]


# Each gradient is in one that runs, and each model with and without microbatches.
RUN = [
    (sharpened, model, True),
    (learning, residual, False),
    (repeated, model, False),
    (penalized, residual, True),
]
CASES = itertools.product(GRADIENTS, [model, residual], [True, False])


@pytest.mark.parametrize(
    ("gradient", "function", "is_accumulated", "runs"),
    [(*case, case in RUN) for case in CASES],
)
def test_weights_stay_on_their_meshes(gradient, function, is_accumulated, runs):
    check(gradient, function, is_accumulated, runs)


@pytest.mark.parametrize(("is_accumulated", "runs"), [(True, True), (False, False)])
def test_a_model_that_is_applied_to_what_it_gave_keeps_its_weights(
    is_accumulated, runs
):
    check(gradient_alone, iterated, is_accumulated, runs)


def by_hessian(f, x):
    return jnp.trace(jax.hessian(f)(x))


def by_directions(f, x):
    """In some of them, each a product with a derivative."""
    slope = jax.grad(f)
    directions = jnp.eye(x.size)[:3]
    return sum(jax.jvp(slope, (x,), (d,))[1] @ d for d in directions)


def test_a_weight_that_momentum_has_moved_is_that_weight():
    """The moment that is added to it has as many elements."""
    optimizer = optax.sgd(RATE, momentum=0.9)
    rows = np.random.default_rng(0).standard_normal((2, ROWS, WIDTH))
    batch = tuple(np.float32(rows))
    weights = [{"w": np.eye(WIDTH, dtype="f"), "b": np.zeros(WIDTH, "f")}] * LAYERS

    def step(state, batch):
        weights, moments = state
        grads = jax.grad(functools.partial(error, model))(weights, batch)
        updates, moments = optimizer.update(grads, moments, weights)
        weights = optax.apply_updates(weights, updates)
        return (weights, moments), error(model, weights, batch)

    lowered = mw.auto(step, MESHES).lower((weights, optimizer.init(weights)), batch)
    homes = lowered.function_mesh_assignment.input_meshes[0][0]
    assert [layer["w"] for layer in homes] == ["m0", "m0", "m1", "m1"]
    items = lowered.partitioning_result.program["items"]
    sent = [item["bytes"] for item in items if item["kind"] == "transfer"]
    assert max(sent) <= ROWS * WIDTH * 4


@pytest.mark.parametrize("is_accumulated", [True, False])
@pytest.mark.parametrize("second", [by_hessian, by_directions])
def test_second_derivatives_in_a_loss_leave_weights_in_place(second, is_accumulated):
    def loss(weights, batch):
        x, y = batch
        curved = jax.vmap(lambda x: second(lambda x: model(weights, x[None]).sum(), x))
        return ((curved(x) - y[:, 0]) ** 2).mean()

    gradient = jax.value_and_grad(loss)
    if is_accumulated:
        gradient = mw.pipeline.accumulate(gradient, MICROBATCHES)

    def step(weights, batch):
        value, grads = gradient(weights, batch)
        return value, moved(weights, grads)

    rows, size = 3 * MICROBATCHES, 8
    weights = [{"w": jnp.eye(size), "b": jnp.ones(size)} for _ in range(LAYERS)]
    batch = jnp.ones((rows, size)), jnp.zeros((rows, size))
    lowered = mw.auto(step, MESHES).lower(weights, batch)
    homes = lowered.function_mesh_assignment.input_meshes[0]
    assert [layer["w"] for layer in homes] == ["m0", "m0", "m1", "m1"]
    items = lowered.partitioning_result.program["items"]
    sent = {item["bytes"] for item in items if item["kind"] == "transfer"}
    assert weights[0]["w"].nbytes not in sent


def test_products_of_weights_are_where_they_were_in_every_process():
    def product(a, b):
        return jnp.tanh(a @ b)

    def loss(weights, x):
        return (functools.reduce(product, weights, x) ** 2).mean()

    def step(weights, x):
        grads = jax.grad(loss)(weights, x)
        weights = moved(weights, grads)
        pairs = zip(weights, [*weights[1:], weights[0]], strict=True)
        return functools.reduce(product, [product(*pair) for pair in pairs], x)

    weights, x = [np.eye(WIDTH, dtype="f")] * LAYERS, np.ones((ROWS, WIDTH), "f")
    # Identities of variables, by which sets are sorted, are others each time.
    found = {
        mw.auto(lambda *args: step(*args), MESHES).lower(weights, x).as_text()
        for _ in range(8)
    }
    assert len(found) == 1
