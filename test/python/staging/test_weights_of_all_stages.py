"""What a loss with marks does to the weights of all stages at once."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jax.flatten_util import ravel_pytree
from jax.sharding import Mesh

import meshwright as mw

pytestmark = pytest.mark.usefixtures("equal_compiles_once")

MESHES = {f"m{i}": Mesh(jax.devices()[i : i + 1], "x") for i in range(2)}
WIDTH, ROWS, MICROBATCHES = 8, 2, 2
SENT = 2 * MICROBATCHES * ROWS * WIDTH * 4  # Activations and their derivatives.


def weights():
    draw = np.random.default_rng(0).standard_normal
    return [
        {"w": draw((WIDTH, WIDTH)).astype("f") / 4, "b": draw(WIDTH).astype("f")}
        for _ in MESHES
    ]


def vector(params):
    return ravel_pytree(params)[0]


def stacked(params):
    return jnp.stack([layer["w"] for layer in params], axis=1)


TERMS = {
    "norm": lambda p: jnp.linalg.norm(vector(p)),
    "two norms": lambda p: jnp.linalg.norm(vector(p)) + jnp.abs(vector(p)).sum(),
    "product": lambda p: jnp.vdot(vector(p), 2 * vector(p)),
    "stacked": lambda p: (stacked(p) ** 2).sum(),
    "norm of each": lambda p: jnp.linalg.norm(stacked(p), axis=(0, 2)).sum(),
    "for each": lambda p: jax.vmap(lambda w: (w**2).sum(), 1)(stacked(p)).max(),
    "einsum": lambda p: jnp.einsum("ijk,ijk->", stacked(p), stacked(p)),
    "one by one": lambda p: jax.lax.scan(
        lambda total, w: (total + (w**2).sum(), None), 0.0, stacked(p).swapaxes(0, 1)
    )[0],
    "mapped": lambda p: jax.lax.map(
        jnp.linalg.norm, jnp.stack([layer["w"] for layer in p])
    ).max(),
    # Made of numbers that are made of the weights of all stages.
    "variance": lambda p: vector(p).var(),
    "deviation": lambda p: vector(p).std(),
    "largest": lambda p: jnp.abs(vector(p)).max(),
    "soft maximum": lambda p: jax.nn.logsumexp(vector(p)),
    "count": lambda p: (jnp.abs(vector(p)) > 0.1).sum() * jnp.linalg.norm(vector(p)),
}
PREPARED = {
    "cast": jax.jit(
        lambda p: jax.tree.map(lambda w: w.astype(jnp.float16).astype("f"), p)
    ),
    "recomputed": jax.checkpoint(lambda p: jax.tree.map(jnp.tanh, p)),
    "barrier": jax.lax.optimization_barrier,
    "scaled vector": lambda p: ravel_pytree(p)[1](2 * vector(p)),
    "each normalized": jax.jit(
        lambda p: jax.tree.map(lambda w: w / jnp.linalg.norm(w), p)
    ),
}


def rows(params):
    """Weights that were stacked, one by one."""
    stack = stacked(params)
    return [{**layer, "w": stack[:, at]} for at, layer in enumerate(params)]


def indexed(params):
    """Weights at indices that are known while JAX traces."""
    stack = jnp.stack([layer["w"] for layer in params])
    return [
        {**layer, "w": jax.lax.dynamic_index_in_dim(stack, at, keepdims=False)}
        for at, layer in enumerate(params)
    ]


def normalized(params):
    """Weights of which each stage needs a number of all before it begins."""
    norm = jnp.sqrt(sum((w**2).sum() for w in jax.tree.leaves(params)))
    return jax.tree.map(lambda w: w / norm, params)


def halves(params):
    """Weights by two slices each of one vector of all."""
    flat = jnp.concatenate([layer["w"].ravel() for layer in params])
    size = WIDTH * WIDTH // 2
    parts = [flat[start : start + size] for start in range(0, flat.size, size)]
    return [
        {**layer, "w": jnp.concatenate(parts[2 * at :][:2]).reshape(WIDTH, WIDTH)}
        for at, layer in enumerate(params)
    ]


PREPARED |= {
    "rows of a stack": rows,
    "rows by index": indexed,
    "halves of a vector": halves,
    "normalized by all": normalized,
}
# Each is in need of the whole vector.
WHOLE = {
    "sorted": lambda p: jnp.sort(vector(p))[::2].sum(),
    "sums": lambda p: jnp.cumsum(vector(p) ** 2).mean(),
    "norm and sorted": lambda p: jnp.linalg.norm(vector(p)) + jnp.sort(vector(p))[0],
}


def step_of(term=lambda params: 0.0, prepare=lambda params: params):
    def loss(params, x):
        first, second = prepare(params)
        x = mw.stage_boundary(jnp.tanh(x @ first["w"] + first["b"]))
        x = jnp.tanh(x @ second["w"] + second["b"])
        return (x**2).mean() + 0.1 * term(params)

    return mw.pipeline.accumulate(jax.value_and_grad(loss), MICROBATCHES)


def lowered(step, *args):
    config = mw.make_config(MESHES, pipeline_schedule=mw.get_pipeline_schedule("1F1B"))
    return mw.jit(step, config).lower(*args)


def check(step, is_sent):
    x = np.linspace(-1, 1, MICROBATCHES * ROWS * WIDTH).reshape(-1, WIDTH)
    args = weights(), x.astype("f")
    program = lowered(step, *args)
    compiled = program.compile()
    found, wanted = compiled(*compiled.place(*args)), step(*args)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-3, atol=1e-4)
    sent = [
        item["bytes"]
        for item in program.partitioning_result.program["items"]
        if item["kind"] == "transfer" and item["bytes"] > 16
    ]
    assert (sum(sent) == SENT) is not is_sent
    if not is_sent:
        assert program.function_mesh_assignment.input_meshes[0] == [
            {"w": mesh, "b": mesh} for mesh in MESHES
        ]


@pytest.mark.parametrize("name", TERMS)
def test_a_sum_over_all_weights_is_a_sum_of_numbers(name):
    check(step_of(TERMS[name]), is_sent=False)


@pytest.mark.parametrize("name", PREPARED)
def test_what_is_done_to_each_weight_is_done_in_its_stage(name):
    check(step_of(prepare=PREPARED[name]), is_sent=False)


@pytest.mark.parametrize("name", WHOLE)
def test_what_needs_the_whole_has_it(name):
    check(step_of(WHOLE[name]), is_sent=True)


@jax.custom_vjp
def observed(x, largest):
    return x


observed.defvjp(
    lambda x, largest: (x, (x, largest)),
    lambda kept, ct: (ct, jnp.maximum(jnp.abs(kept[0]).max(), 0 * kept[1])),
)


def test_what_a_rule_of_a_derivative_finds_in_an_input_is_found_there():
    def loss(params, x):
        weights, largest = params
        first, second = weights
        x = mw.stage_boundary(jnp.tanh(observed(x, largest) @ first["w"]))
        return (jnp.tanh(x @ second["w"]) ** 2).mean()

    gradient = jax.value_and_grad(loss)
    reduce = ("mean", ("mean", jnp.maximum))
    step = mw.pipeline.accumulate(gradient, MICROBATCHES, reduce=reduce)
    args = (weights(), np.float32(0)), np.ones((MICROBATCHES * ROWS, WIDTH), "f")
    sent = [
        item["bytes"]
        for item in lowered(step, *args).partitioning_result.program["items"]
        if item["kind"] == "transfer" and item["bytes"] > 16
    ]
    assert sum(sent) == SENT


def test_a_memory_of_weights_is_where_they_are():
    optimizer = optax.lbfgs(0.1, memory_size=2, linesearch=None)

    def loss(params, x):
        first, second = params
        h = mw.stage_boundary(jnp.tanh(x @ first["w"] + first["b"]))
        return (jnp.tanh(h @ second["w"] + second["b"]) ** 2).mean()

    def train(params, state, x):
        grads = jax.grad(loss)(params, x)
        updates, state = optimizer.update(grads, state, params)
        return optax.apply_updates(params, updates), state

    state = jax.eval_shape(optimizer.init, weights())
    program = mw.jit(train, mw.make_config(MESHES)).lower(
        weights(), state, np.ones((ROWS, WIDTH), "f")
    )
    homes = [{"w": mesh, "b": mesh} for mesh in MESHES]
    found = program.function_mesh_assignment
    for params, state in (found.input_meshes[:2], found.output_meshes):
        assert params == homes
        assert state[0].diff_params_memory == homes
        assert state[0].diff_updates_memory == homes
