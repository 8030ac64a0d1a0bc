"""`mw.auto` where a model is applied more than once in a loss, or a copy of it is."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jax.sharding import Mesh

import meshwright as mw

MESHES = {f"m{i}": Mesh(jax.devices()[i : i + 1], "x") for i in range(2)}
LAYERS, WIDTH, ROWS, MICROBATCHES = 4, 32, 8, 4
ACTIVATION = ROWS // MICROBATCHES * WIDTH * 4  # In bytes, of one microbatch.
STOP = jax.lax.stop_gradient


def make(seed=0):
    draw = np.random.default_rng(seed).standard_normal
    shape = (WIDTH, WIDTH)
    return [
        {"w": np.float32(draw(shape) / WIDTH**0.5), "b": np.zeros(WIDTH, "f")}
        for _ in range(LAYERS)
    ]


def encode(params, x):
    for layer in params:
        x = x + jnp.tanh(x @ layer["w"] + layer["b"])
    return x


def cross_entropy(logits):
    rows = jnp.arange(logits.shape[0])
    return optax.softmax_cross_entropy_with_integer_labels(logits, rows).mean()


def two_views(params, _, a, b):
    return cross_entropy(encode(params, a) @ encode(params, b).T)


def checkpointed(params, _, a, b):
    apply = jax.checkpoint(encode)
    return cross_entropy(apply(params, a) @ apply(params, b).T)


def compiled(params, _, a, b):
    return cross_entropy(jax.jit(encode)(params, a) @ jax.jit(encode)(params, b).T)


def cast(params, _, a, b):
    def apply(x):
        half = jax.tree.map(lambda w: w.astype(jnp.bfloat16), params)
        return encode(jax.tree.map(lambda w: w.astype(jnp.float32), half), x)

    return cross_entropy(apply(a) @ apply(b).T)


def three_views(params, _, a, b):
    near, far = encode(params, b), encode(params, b[:, ::-1])
    a = encode(params, a)
    return jax.nn.relu(((a - near) ** 2 - (a - far) ** 2).sum(-1) + 1).mean()


def preference(params, reference, a, b):
    def score(weights, x):
        return jax.nn.log_softmax(encode(weights, x))[:, 0]

    margin = score(params, a) - score(params, b)
    base = STOP(score(reference, a) - score(reference, b))
    return -jax.nn.log_sigmoid(margin - base).mean()


def distillation(params, teacher, a, b):
    del b
    wanted = STOP(jax.nn.softmax(encode(teacher, a)))
    return optax.softmax_cross_entropy(encode(params, a), wanted).mean()


# How many activations each sends forward and backward for a microbatch.
LOSSES = {
    two_views: (2, 2),
    checkpointed: (2, 2),
    compiled: (2, 2),
    cast: (2, 2),
    three_views: (3, 3),
    preference: (4, 2),
    distillation: (2, 1),
}


def make_step(loss, optimizer):
    def step(params, state, copy, a, b):
        value, grads = mw.pipeline.accumulate(
            jax.value_and_grad(loss), MICROBATCHES, batch_argnums=(2, 3)
        )(params, copy, a, b)
        updates, state = optimizer.update(grads, state, params)
        params = optax.apply_updates(params, updates)
        if copy is not None:
            copy = jax.tree.map(lambda old, new: 0.9 * old + 0.1 * new, copy, params)
        return params, state, copy, value

    return step


def make_arguments(optimizer):
    draw = np.random.default_rng(7).standard_normal
    views = [np.float32(draw((ROWS, WIDTH))) for _ in range(2)]
    params = make()
    return params, optimizer.init(params), make(1), *views


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.__name__)
def test_each_weight_is_on_one_mesh_with_its_copy_and_its_moments(loss):
    optimizer = optax.adam(1e-2)
    arguments = make_arguments(optimizer)
    schedule = mw.get_pipeline_schedule("1F1B")
    step = make_step(loss, optimizer)
    lowered = mw.auto(step, MESHES, pipeline_schedule=schedule).lower(*arguments)
    params, state, copy = lowered.function_mesh_assignment.input_meshes[:3]
    wanted = [dict.fromkeys("wb", f"m{n * 2 // LAYERS}") for n in range(LAYERS)]
    assert params == copy == state[0].mu == state[0].nu == wanted
    sent = [cost["bytes_transferred"] for cost in lowered.cost_analysis().values()]
    forward, backward = LOSSES[loss]
    activations = (forward + backward) * MICROBATCHES * ACTIVATION
    assert activations <= sum(sent) < activations + WIDTH * WIDTH * 4


@pytest.mark.parametrize("loss", [two_views, preference], ids=lambda f: f.__name__)
def test_training_equals_that_of_the_whole(loss):
    optimizer = optax.sgd(1e-2, momentum=0.9)
    step = make_step(loss, optimizer)
    schedule = mw.get_pipeline_schedule("ZeroBubbleH1")
    jitted = mw.auto(step, MESHES, pipeline_schedule=schedule)
    ours = theirs = make_arguments(optimizer)
    for _ in range(2):
        *new, mine = jitted(*ours)
        ours = (*new, *ours[3:])
        *new, value = jax.jit(step)(*theirs)
        theirs = (*new, *theirs[3:])
        np.testing.assert_allclose(mine, value, rtol=1e-5)
    for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_two_trained_models_of_one_code_are_one_after_the_other():
    """Side by side each cut would send what both have; so it sends one number a row."""

    def loss(params, _, a, b):
        left = encode(params[0], a).mean(-1, keepdims=True)
        return ((encode(params[1], b) - left) ** 2).mean()

    optimizer = optax.adam(1e-2)
    params = [make(0), make(1)]
    a, b = make_arguments(optimizer)[3:]
    lowered = mw.auto(
        make_step(loss, optimizer),
        MESHES,
        pipeline_schedule=mw.get_pipeline_schedule("1F1B"),
    ).lower(params, optimizer.init(params), None, a, b)
    first, second = lowered.function_mesh_assignment.input_meshes[0]
    assert {mesh for layer in first for mesh in layer.values()} == {"m0"}
    assert {mesh for layer in second for mesh in layer.values()} == {"m1"}


def test_what_comes_before_one_application_does_not_part_it_from_the_other():
    """A generator of the same code makes what a discriminator sees beside real rows."""

    def loss(params, generator, a, b):
        fake = encode(params, STOP(encode(generator, a)))
        real = encode(params, b)
        return jax.nn.softplus(fake).mean() + jax.nn.softplus(-real).mean()

    def step(params, generator, a, b):
        value, grads = mw.pipeline.accumulate(
            jax.value_and_grad(loss), MICROBATCHES, batch_argnums=(2, 3)
        )(params, generator, a, b)
        return jax.tree.map(lambda w, g: w - 0.1 * g, params, grads), value

    params, _, generator, a, b = make_arguments(optax.sgd(0.1))
    jitted = mw.auto(step, MESHES)
    lowered = jitted.lower(params, generator, a, b)
    items = lowered.partitioning_result.program["items"]
    sent = [item["bytes"] for item in items if item["kind"] == "transfer"]
    assert max(sent) <= 2 * ACTIVATION < params[0]["w"].nbytes
    found = jitted(params, generator, a, b)
    wanted = jax.jit(step)(params, generator, a, b)
    for x, y in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-5)


def test_applications_that_read_their_weights_in_another_order():
    """Each weight is read in two places that cannot be side by side with both."""

    def tanh(w, x):
        return jnp.tanh(x @ w)

    def sine(w, x):
        return jnp.sin(x @ w)

    def loss(params, _, a, b):
        (v, w), c, d = params, a + b, a - b
        return ((sine(w, tanh(v, c)) - tanh(v, sine(w, d))) ** 2).mean()

    optimizer = optax.sgd(1e-2)
    params = tuple(layer["w"] for layer in make()[:2])
    arguments = params, optimizer.init(params), None, *make_arguments(optimizer)[3:]
    step = make_step(loss, optimizer)
    ours, *_, mine = mw.auto(step, MESHES)(*arguments)
    theirs, *_, value = jax.jit(step)(*arguments)
    np.testing.assert_allclose(mine, value, rtol=1e-5)
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("width", "numbers"), [(4, (2, 3, 4, 5)), (8, (3, 4)), (16, (2, 5))]
)
def test_no_cut_is_between_the_cast_of_a_weight_and_its_reader(width, numbers):
    """Though the casts of a narrow model are much of its work."""

    def loss(params, x):
        for w in params:
            x = jnp.tanh(x @ w.astype(jnp.bfloat16).astype(jnp.float32))
        return (x**2).mean()

    optimizer = optax.adam(1e-2)

    def step(params, state, x):
        value, grads = mw.pipeline.accumulate(
            jax.value_and_grad(loss), MICROBATCHES, batch_argnums=1
        )(params, x)
        updates, state = optimizer.update(grads, state, params)
        return optax.apply_updates(params, updates), state, value

    schedule = mw.get_pipeline_schedule("1F1B")
    jitted = mw.auto(step, MESHES, pipeline_schedule=schedule)
    for layers in numbers:
        params = [np.eye(width, dtype="f")] * layers
        state = jax.eval_shape(optimizer.init, params)
        lowered = jitted.lower(params, state, np.ones((4, width), "f"))
        homes, state = lowered.function_mesh_assignment.input_meshes[:2]
        assert homes == state[0].mu == state[0].nu
        assert set(homes) == {"m0", "m1"}


def generate(params, x):
    """Tokens of a greedy search, each of which goes into the model again."""
    table = params[0]["w"][:16]
    tokens, found = jnp.argmax(x[:, :16], -1), []
    for _ in range(3):
        tokens = jnp.argmax(encode(params, table[tokens])[:, :16], -1)
        found.append(tokens)
    return jnp.stack(found)


def recycle(params, x):
    for _ in range(3):
        x = encode(params, x)
    return x


@pytest.mark.parametrize("again", [generate, recycle], ids=lambda f: f.__name__)
def test_a_model_that_is_applied_to_what_it_gave_keeps_its_weights(again):
    params = make()
    x = np.float32(np.random.default_rng(1).standard_normal((ROWS, WIDTH)))
    lowered = mw.jit(again, mw.auto_config(MESHES)).lower(params, x)
    homes = lowered.function_mesh_assignment.input_meshes[0]
    assert [set(layer.values()) for layer in homes] == [
        {"m0"},
        {"m0"},
        {"m1"},
        {"m1"},
    ]
    items = lowered.partitioning_result.program["items"]
    sent = [item["bytes"] for item in items if item["kind"] == "transfer"]
    # An activation to the last layers each time, and what they gave back.
    assert sum(sent) <= 5 * ROWS * WIDTH * 4
    compiled = lowered.compile()
    found = compiled(*compiled.place(params, x))
    np.testing.assert_allclose(found, jax.jit(again)(params, x), rtol=1e-4, atol=1e-5)


def test_a_table_that_all_layers_read_is_no_model_that_is_applied_again():
    """Layers have weights of their own, and share what they look up."""

    def step(params, table, x):
        for layer in params:
            looked_up = table[jnp.argmax(x, -1)]
            x = x + jnp.tanh(x @ layer["w"] + looked_up) @ layer["v"]
        return x

    weight = jax.ShapeDtypeStruct((WIDTH, WIDTH), jnp.float32)
    params, table = [{"w": weight, "v": weight}] * 8, weight
    x = jax.ShapeDtypeStruct((ROWS, WIDTH), jnp.float32)
    lowered = mw.jit(step, mw.auto_config(MESHES)).lower(params, table, x)
    items = lowered.partitioning_result.program["items"]
    assert sum(item["kind"] == "call" for item in items) == 2
    homes = [
        set(layer.values())
        for layer in lowered.function_mesh_assignment.input_meshes[0]
    ]
    assert homes == [{"m0"}] * 4 + [{"m1"}] * 4


def test_one_layer_that_is_applied_again_is_on_both_meshes():
    """It could be in one stage alone, beside which there would be none."""

    def step(w, x):
        for _ in range(6):
            x = jnp.tanh(x @ w)
        return x

    jitted = mw.auto(step, MESHES)
    w, x = make()[0]["w"], jnp.ones((ROWS, WIDTH))
    np.testing.assert_allclose(jitted(w, x), jax.jit(step)(w, x), rtol=1e-5, atol=1e-6)
    assert jitted.divisions[0].evenness < 1.1
