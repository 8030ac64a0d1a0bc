"""Marks inside modules of Flax Linen, Flax NNX and Equinox."""

import equinox as eqx
import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import nnx
from jax.sharding import Mesh

import meshwright as mw

pytestmark = pytest.mark.usefixtures("equal_compiles_once")

MESHES = {f"m{i}": Mesh(jax.devices()[i : i + 1], "x") for i in range(2)}
CONFIG = mw.make_config(MESHES, pipeline_schedule=mw.get_pipeline_schedule("1F1B"))


def batch():
    return list(np.random.default_rng(1).standard_normal((2, 2, 4, 3), "f"))


def close(found, wanted):
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def accumulate(loss, params, xs, ys):
    parts = [
        mw.call(jax.value_and_grad(loss), call_counter=i)(params, xs[i], ys[i])
        for i in range(len(xs))
    ]
    return jax.tree.map(lambda *part: sum(part) / len(xs), *parts)


class Block(nn.Module):
    """A mark in the middle of a block, deep inside the model."""

    last: bool

    @nn.compact
    def __call__(self, x):
        x = nn.tanh(nn.Dense(3)(x))
        return x if self.last else mw.stage_boundary(x)


class Linen(nn.Module):
    @nn.compact
    def __call__(self, x):
        return Block(True)(nn.LayerNorm()(Block(False)(x)))


def test_linen_with_adam():
    model, tx = Linen(), optax.chain(optax.clip_by_global_norm(1.0), optax.adam(0.01))
    xs, ys = batch()
    params = model.init(jax.random.key(0), xs[0])

    def loss(params, x, y):
        return ((model.apply(params, x) - y) ** 2).mean()

    def step(state, xs, ys):
        params, opt = state
        value, grads = accumulate(loss, params, xs, ys)
        updates, opt = tx.update(grads, opt, params)
        return value, (optax.apply_updates(params, updates), opt)

    ours = theirs = params, tx.init(params)
    jitted, plain = mw.jit(step, CONFIG), jax.jit(step)
    for _ in range(3):
        mine, ours = jitted(ours, xs, ys)
        value, theirs = plain(theirs, xs, ys)
        np.testing.assert_allclose(mine, value, rtol=1e-5)
    close(ours, theirs)


class Net(nnx.Module):
    def __init__(self, rngs):
        self.enc = nnx.Linear(3, 3, rngs=rngs)
        self.norm = nnx.BatchNorm(3, rngs=rngs)
        self.drop = nnx.Dropout(0.2, rngs=rngs)
        self.dec = nnx.Linear(3, 3, rngs=rngs)

    def __call__(self, x):
        x = mw.stage_boundary(jnp.tanh(self.norm(self.enc(x))))
        return self.dec(self.drop(x))


def test_nnx_keeps_its_state():
    xs, ys = batch()

    def step(model, optimizer, x, y):
        value, grads = nnx.value_and_grad(lambda m: ((m(x) - y) ** 2).mean())(model)
        optimizer.update(model, grads)
        return value

    def train(wrap):
        model = Net(nnx.Rngs(0))
        optimizer = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)
        jitted = wrap(step)
        values = [jitted(model, optimizer, xs[0], ys[0]) for _ in range(3)]
        return values, nnx.state(model)

    found, wanted = train(lambda f: mw.nnx.jit(f, CONFIG)), train(nnx.jit)
    close(found[0], wanted[0])
    for kind in (nnx.Param, nnx.BatchStat):
        close(nnx.filter_state(found[1], kind), nnx.filter_state(wanted[1], kind))


class Drops(nnx.Module):
    def __init__(self, mark):
        rngs = nnx.Rngs(0)
        self.layers = nnx.List([nnx.Linear(8, 8, rngs=rngs) for _ in range(4)])
        self.drops = nnx.List([nnx.Dropout(0.2, rngs=rngs) for _ in range(4)])
        self.mark = mark

    def __call__(self, x):
        for number, layer in enumerate(self.layers):
            x = self.drops[number](layer(self.mark(x) if number == 2 else x))
        return x


@pytest.mark.parametrize("is_marked", [True, False])
def test_draws_of_the_first_stage_wait_for_no_other_pass(is_marked, caplog):
    def step(model, x):
        gradient = nnx.value_and_grad(lambda model, x: (model(x) ** 2).mean())
        return mw.pipeline.accumulate(gradient, 4)(model, x)

    schedule = mw.get_pipeline_schedule("1F1B")
    config = CONFIG if is_marked else mw.auto_config(MESHES, pipeline_schedule=schedule)
    model = Drops(mw.stage_boundary if is_marked else lambda x: x)
    lowered = mw.nnx.jit(step, config).lower(model, jnp.ones((64, 8)))
    assert "runs before another" not in caplog.text
    items = lowered.partitioning_result.program["items"]
    sent = [item["bytes"] for item in items if item["kind"] == "transfer"]
    assert sent == [16 * 8 * 4] * 8
    units = [item for item in items if item["kind"] == "call" and item["origins"]]
    first = [str(item["origins"]) for item in units if item["mesh"] == "m0"]
    assert ["(1)" in origins for origins in first[:3]] == [False, False, True]


@pytest.mark.parametrize("is_marked", [True, False])
def test_keys_of_the_next_microbatch_wait_for_no_other_pass(is_marked, caplog):
    """As generators of seeds in Keras have them."""

    def loss(layers, keys, x):
        new = []
        for number, (w, key) in enumerate(zip(layers, keys, strict=True)):
            x = mw.stage_boundary(x) if is_marked and number == 2 else x
            x = (
                jax.random.bernoulli(jax.random.wrap_key_data(key), 0.8, x.shape)
                * x
                @ w
            )
            new.append(key + jnp.array([0, 1], jnp.uint32))
        return (x**2).mean(), new

    def step(layers, keys, xs):
        def body(carry, x):
            found, grads = jax.value_and_grad(loss, has_aux=True)(layers, carry[0], x)
            return (found[1], jax.tree.map(jnp.add, carry[1], grads)), found[0]

        zeros = jax.tree.map(jnp.zeros_like, layers)
        return mw.pipeline.scan_microbatches(body, (keys, zeros), xs)

    schedule = mw.get_pipeline_schedule("1F1B")
    config = CONFIG if is_marked else mw.auto_config(MESHES, pipeline_schedule=schedule)
    layers, keys = [np.eye(8, dtype="f")] * 4, [np.zeros(2, np.uint32)] * 4
    lowered = mw.jit(step, config).lower(layers, keys, np.ones((4, 16, 8), "f"))
    assert "runs before another" not in caplog.text
    places = lowered.function_mesh_assignment
    assert places.input_meshes[1] == places.output_meshes[0][0]
    assert places.input_meshes[1][::3] == ["m0", "m1"]


class Equinox(eqx.Module):
    first: eqx.nn.Linear
    second: eqx.nn.Linear

    def __call__(self, x):
        return self.second(mw.stage_boundary(jnp.tanh(self.first(x))))


def test_equinox_under_vmap():
    keys = jax.random.split(jax.random.key(0), 2)
    model = Equinox(*(eqx.nn.Linear(3, 3, key=key) for key in keys))
    xs, ys = batch()

    def loss(model, x, y):
        return ((jax.vmap(model)(x) - y) ** 2).mean()

    def step(model, xs, ys):
        value, grads = accumulate(loss, model, xs, ys)
        return value, jax.tree.map(lambda w, g: w - 0.1 * g, model, grads)

    jitted = mw.jit(step, CONFIG)
    lowered = jitted.lower(model, xs, ys)
    homes = lowered.function_mesh_assignment.input_meshes[0]
    assert set(jax.tree.leaves(homes.second)) == {"m1"}
    close(jitted(model, xs, ys), eqx.filter_jit(step)(model, xs, ys))


def test_a_plain_step_of_a_jitted_module_leaves_no_trace_to_a_marked_one():
    class Layer(nn.Module):
        @nn.compact
        def __call__(self, x):
            return jnp.tanh(nn.Dense(3)(x))

    @nn.jit
    class Model(nn.Module):
        @nn.compact
        def __call__(self, x):
            return Layer(name="second")(Layer(name="first")(x))

    def intercept(function, args, kwargs, context):
        if context.module.name == "second" and context.method_name == "__call__":
            args = (mw.stage_boundary(args[0]),)
        return function(*args, **kwargs)

    def loss(params, x):
        return (model.apply(params, x) ** 2).mean()

    def marked(params, x):
        with nn.intercept_methods(intercept):
            return loss(params, x)

    model, x = Model(), batch()[0].reshape(8, 3)
    params = model.init(jax.random.key(0), x)

    def step(loss):
        return mw.pipeline.accumulate(jax.value_and_grad(loss), 2)

    wanted = jax.jit(step(loss))(params, x)
    found = mw.jit(step(marked), CONFIG)(params, x)
    close(found, wanted)
    grads = found[1]["params"]
    meshes = [grads[name]["Dense_0"]["kernel"].sharding.mesh for name in sorted(grads)]
    assert meshes == list(MESHES.values())
