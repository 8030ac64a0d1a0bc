"""`mw.auto` where a step has several kinds of microbatches of the same weights."""

import io

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jax.sharding import Mesh

import meshwright as mw

LAYERS, WIDTH, ROWS, MICROBATCHES = 4, 32, 8, 2
MESHES = {f"m{i}": Mesh(jax.devices()[i : i + 1], "x") for i in range(2)}
WEIGHT = WIDTH * WIDTH * 4  # In bytes.
OPTIMIZERS = {
    "adam": lambda: optax.adam(1e-2, eps=1e-3),
    "momentum": lambda: optax.sgd(1e-2, momentum=0.9),
}


def make(seed, layers=LAYERS):
    draw = np.random.default_rng(seed).standard_normal
    return [
        {"w": np.float32(draw((WIDTH, WIDTH)) * WIDTH**-0.5), "b": np.zeros(WIDTH, "f")}
        for _ in range(layers)
    ]


def model(layers, x):
    for layer in layers:
        x = jnp.tanh(x @ layer["w"] + layer["b"])
    return x


def score(layers, x):
    return model(layers, x).mean()


def of_discriminator(discriminator, generator, batch):
    noise, real = batch
    fake = jax.lax.stop_gradient(model(generator, noise))
    losses = jax.nn.softplus(score(discriminator, fake))
    return losses + jax.nn.softplus(-score(discriminator, real))


def of_generator(generator, discriminator, batch):
    return jax.nn.softplus(-score(discriminator, model(generator, batch[0])))


def of_values(head, trunk, batch):
    x, y = batch
    return ((model(head, model(trunk, x)) - y) ** 2).mean()


def of_actions(trunk, head, batch):
    x, y = batch
    return (model(head, model(trunk, x)) * y).mean()


def make_step(losses, optimizer, is_accumulated, microbatches=MICROBATCHES):
    """Each loss trains its first model, the second one reads the new weights."""

    def step(state, batch):
        models, moments, values = list(state[0]), list(state[1]), []
        for number, loss in enumerate(losses):
            gradient = jax.value_and_grad(loss)
            if is_accumulated:
                gradient = mw.pipeline.accumulate(
                    gradient, microbatches, batch_argnums=2
                )
            value, grads = gradient(models[number], models[1 - number], batch)
            updates, moments[number] = optimizer.update(
                grads, moments[number], models[number]
            )
            models[number] = optax.apply_updates(models[number], updates)
            values.append(value)
        return (models, moments), values

    return step


GAN = of_discriminator, of_generator
LOSSES = {"gan": GAN, "actor": (of_values, of_actions)}


@pytest.mark.parametrize(
    ("losses", "optimizer", "is_accumulated", "runs"),
    [
        ("gan", "adam", True, True),
        ("gan", "adam", False, False),
        ("gan", "momentum", True, False),
        ("gan", "momentum", False, True),
        ("actor", "adam", True, False),
        ("actor", "adam", False, True),
        ("actor", "momentum", True, True),
        ("actor", "momentum", False, False),
    ],
)
def test_weights_of_two_losses_stay_on_their_meshes(
    losses, optimizer, is_accumulated, runs
):
    """Any two of the three are in a case that runs."""
    losses, optimizer = LOSSES[losses], OPTIMIZERS[optimizer]()
    models = [make(0), make(1)]
    state = models, list(map(optimizer.init, models))
    rows = np.random.default_rng(2).standard_normal((2, MICROBATCHES * ROWS, WIDTH))
    batch = tuple(np.float32(rows))
    step = make_step(losses, optimizer, is_accumulated)
    jitted = mw.auto(step, MESHES)
    lowered = jitted.lower(state, batch)
    assigned = lowered.function_mesh_assignment
    homes = assigned.input_meshes[0][0]
    assert {mesh for layer in homes[0] + homes[1] for mesh in layer.values()} == {
        *MESHES
    }
    assert assigned.output_meshes[0][0] == homes
    items = lowered.partitioning_result.program["items"]
    sent = [item["bytes"] for item in items if item["kind"] == "transfer"]
    assert max(sent) < WEIGHT
    if is_accumulated:
        out = io.StringIO()
        jitted.report(out)
        assert out.getvalue().count("cut together with other calls") == 2
    if not runs:
        return
    found, wanted = jitted(state, batch), jax.jit(step)(state, batch)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_models_that_share_nothing_have_a_pipeline_each():
    def loss(weights, _, batch):
        return ((model(weights, batch[0]) - batch[1]) ** 2).mean()

    models = [make(0), make(1)]
    optimizer = optax.sgd(1e-2)
    state = models, list(map(optimizer.init, models))
    rows = np.ones((2, MICROBATCHES * ROWS, WIDTH), "f")
    step = make_step((loss, loss), optimizer, is_accumulated=True)
    jitted = mw.auto(step, MESHES)
    homes = jitted.lower(state, tuple(rows)).function_mesh_assignment.input_meshes[0][0]
    for layers in homes:
        assert [layer["w"] for layer in layers] == ["m0", "m0", "m1", "m1"]


@pytest.mark.parametrize("layers", [4, 8])
def test_weights_of_two_losses_stay_on_three_meshes(layers):
    models = [make(0, layers), make(1, layers)]
    optimizer = optax.sgd(1e-2)
    state = models, list(map(optimizer.init, models))
    batch = tuple(np.ones((2, MICROBATCHES * ROWS, WIDTH), "f"))
    meshes = {f"m{i}": Mesh(jax.devices()[i : i + 1], "x") for i in range(3)}
    jitted = mw.auto(make_step(GAN, optimizer, is_accumulated=True), meshes)
    items = jitted.lower(state, batch).partitioning_result.program["items"]
    sent = [item["bytes"] for item in items if item["kind"] == "transfer"]
    assert max(sent) < WEIGHT
    assert max(division.evenness for division in jitted.divisions) < 1.6


@pytest.mark.parametrize("stages", [2, 3, 4])
def test_short_models_of_few_rows_stay_on_their_meshes(stages):
    """An optimizer is much of their work, and each cut leaves one loss uneven."""
    optimizer = optax.adam(1e-2)
    meshes = {f"m{i}": Mesh(jax.devices()[i : i + 1], "x") for i in range(stages)}
    models = [make(0, 3), make(1, 3)]
    state = models, list(map(optimizer.init, models))
    batch = (np.zeros((3 * 2, WIDTH), "f"),) * 2
    step = make_step(GAN, optimizer, is_accumulated=True, microbatches=3)
    lowered = mw.auto(step, meshes).lower(state, batch)
    items = lowered.partitioning_result.program["items"]
    sent = [item["bytes"] for item in items if item["kind"] == "transfer"]
    assert max(sent) < WEIGHT
    assigned = lowered.function_mesh_assignment
    assert assigned.output_meshes[0] == assigned.input_meshes[0]


def perceptron(weights, x):
    *hidden, last = weights
    for weight in hidden:
        x = jnp.tanh(x @ weight)
    return x @ last


def with_penalty(critic, generator, noise, real):
    """As in WGAN-GP: a penalty on the critic's gradient between real and made rows."""
    made = perceptron(generator, noise)
    between = 0.3 * real + 0.7 * made
    grads = jax.vmap(jax.grad(lambda x: perceptron(critic, x)[0]))(between)
    penalty = ((jnp.sqrt((grads**2).sum(-1) + 1e-3) - 1) ** 2).mean()
    scores = [perceptron(critic, x).mean() for x in (made, real)]
    return scores[0] - scores[1] + 10 * penalty


def test_a_short_critic_is_not_cut_between_its_applications():
    """No cut is even: one within the critic would only part its first weight."""

    def step(state, noise, real):
        generator, critic, moments = state
        for part in range(2):
            grads = jax.grad(with_penalty)(critic, generator, noise[part], real[part])
            moments = [0.9 * m + grad for m, grad in zip(moments, grads, strict=True)]
            critic = [w - 0.01 * m for w, m in zip(critic, moments, strict=True)]

        def loss(generator):
            return -perceptron(critic, perceptron(generator, noise[2])).mean()

        grads = jax.grad(loss)(generator)
        generator = [w - 0.01 * g for w, g in zip(generator, grads, strict=True)]
        return generator, critic, moments

    width, rows = 16, 5
    draw = np.random.default_rng(2).standard_normal
    square = [np.float32(draw((width, width)) / 4) for _ in range(3)]
    critic = [square[2], np.float32(draw((width, 1)))]
    state = square[:2], critic, [np.zeros_like(w) for w in critic]
    batch = np.float32(draw((2, 3, rows, width)))
    lowered = mw.auto(step, MESHES).lower(state, *batch)
    items = lowered.partitioning_result.program["items"]
    sent = [item["bytes"] for item in items if item["kind"] == "transfer"]
    assert width * width * 4 not in sent
    assigned = lowered.function_mesh_assignment
    assert assigned.input_meshes[0] == (["m0"] * 2, ["m1"] * 2, ["m1"] * 2)
    assert assigned.output_meshes == assigned.input_meshes[0]


def of_critics(critics, others, batch):
    """As in soft actor-critic: two critics, and copies of them for what comes next."""
    actor, copies = others
    x, y = batch
    after = model(actor, y)
    value = jnp.minimum(*(score(copy, after) for copy in copies))
    value = jax.lax.stop_gradient(value)
    return sum((score(critic, x) - value) ** 2 for critic in critics)


def of_actor(actor, critics, batch):
    after = model(actor, batch[0])
    return -jnp.minimum(*(score(critic, after) for critic in critics))


def train_critics_and_actor(state, batch):
    def gradient(loss, *models):
        call = mw.pipeline.accumulate(jax.grad(loss), MICROBATCHES, batch_argnums=2)
        return jax.tree.map(lambda w, g: w - 0.1 * g, models[0], call(*models, batch))

    actor, critics, copies = state
    critics = gradient(of_critics, critics, (actor, copies))
    actor = gradient(of_actor, actor, critics)
    copies = jax.tree.map(lambda a, b: 0.9 * a + 0.1 * b, copies, critics)
    return actor, critics, copies


def test_copies_of_critics_are_kept_with_them():
    """All are of one function, and the actor is before the copies."""
    critics = [make(1), make(2)]
    state = make(0), critics, critics
    batch = tuple(np.ones((2, MICROBATCHES * ROWS, WIDTH), "f"))
    lowered = mw.auto(train_critics_and_actor, MESHES).lower(state, batch)
    assigned = lowered.function_mesh_assignment
    _, critics, copies = assigned.input_meshes[0]
    assert copies == critics
    assert {mesh for layer in critics[0] for mesh in layer.values()} == {*MESHES}
    assert assigned.output_meshes == assigned.input_meshes[0]


def test_gradients_around_calls_are_refused():
    """Their backward passes are calls of their own, whose stages nothing tells."""

    def loss(layers, rows):
        return sum(
            mw.call(score, call_counter=number)(layers, row)
            for number, row in enumerate(rows)
        )

    rows = np.ones((MICROBATCHES, ROWS, WIDTH), "f")
    step = mw.jit(jax.grad(loss), mw.auto_config(MESHES))
    why = "test_auto_calls.py:.*: auto: .* take the gradient inside, as"
    with pytest.raises(ValueError, match=why):
        step.lower(make(0), rows)
