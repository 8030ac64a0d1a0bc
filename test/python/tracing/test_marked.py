"""Marks by the paths of modules, in models that know nothing of them."""

import os

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

os.environ["KERAS_BACKEND"] = "jax"  # Read when Keras is imported.
keras = pytest.importorskip("keras")

MESHES = {f"m{i}": Mesh(jax.devices()[i : i + 1], "x") for i in range(2)}
CONFIG = mw.make_config(MESHES, pipeline_schedule=mw.get_pipeline_schedule("1F1B"))
MICROBATCHES, STEPS = 2, 2
X, Y = np.random.default_rng(0).standard_normal((2, 8, 4)).astype("f")


def close(found, wanted):
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def meshes_of(tree):
    found = {leaf.sharding.mesh for leaf in jax.tree.leaves(tree)}
    return [name for name, mesh in MESHES.items() if mesh in found]


class Block(nnx.Module):
    def __init__(self, rngs):
        self.dense = nnx.Linear(4, 4, rngs=rngs)
        self.drop = nnx.Dropout(0.5, rngs=rngs)

    def __call__(self, *, x, scale=1.0):
        return x + jnp.tanh(self.drop(self.dense(x))) * scale


class Tower(nnx.Module):
    """Layers by name and by number, under `jax.checkpoint`."""

    def __init__(self, rngs):
        self.layers_0 = Block(rngs)
        self.layers = nnx.List([Block(rngs), Block(rngs)])
        self.calls = nnx.BatchStat(jnp.zeros((), jnp.int32))

    def __call__(self, x):
        self.calls[...] += 1
        for layer in (self.layers_0, *self.layers):
            graph, state = nnx.split(layer)

            def call(state, x, graph=graph):
                layer = nnx.merge(graph, state)
                return layer(x=x, scale=2.0), nnx.state(layer)

            x, state = jax.checkpoint(call)(state, x)
            nnx.update(layer, state)
        return x


class NnxNet(nnx.Module):
    def __init__(self, rngs):
        self.tower = Tower(rngs)

    def __call__(self, x):
        return self.tower(x)


def train_nnx(model, wrap):
    optimizer = nnx.Optimizer(model, optax.adam(0.01), wrt=nnx.Param)

    def step(model, optimizer, x, y):
        gradient = nnx.value_and_grad(lambda model, x, y: ((model(x) - y) ** 2).mean())
        gradient = mw.pipeline.accumulate(gradient, MICROBATCHES, batch_argnums=(1, 2))
        value, grads = gradient(model, x, y)
        optimizer.update(model, grads)
        return value

    jitted = wrap(step)
    return [jitted(model, optimizer, X, Y) for _ in range(STEPS)]


def test_nnx_model_shares_its_variables_with_the_marked_one():
    plain, model = NnxNet(nnx.Rngs(0)), NnxNet(nnx.Rngs(0))
    wanted = train_nnx(plain, nnx.jit)
    marked = mw.marked(model, ["tower/layers/0"])
    close(train_nnx(marked, lambda step: mw.nnx.jit(step, CONFIG)), wanted)
    close(nnx.state(model, nnx.Param), nnx.state(plain, nnx.Param))
    assert model.tower.calls[...] == STEPS * MICROBATCHES
    assert meshes_of(nnx.state(model.tower.layers_0, nnx.Param)) == ["m0"]
    assert meshes_of(nnx.state(model.tower.layers, nnx.Param)) == ["m1"]
    assert type(model.tower.layers[0]) is Block


def test_marks_go_with_the_graph_of_an_nnx_module():
    model = NnxNet(nnx.Rngs(0))
    graph, other = [
        nnx.split(mw.marked(model, ["tower/layers/1"]))[0] for _ in range(2)
    ]
    assert graph == other != nnx.split(model)[0]
    both = mw.marked(mw.marked(model, ["tower/layers/1"]), ["tower/layers/0"])
    twice = mw.marked(both, ["tower/layers/1"])
    assert nnx.split(twice)[0] == nnx.split(both)[0]
    graph, state = nnx.split(both)
    jaxpr = jax.make_jaxpr(lambda state, x: nnx.merge(graph, state)(x))(state, X)
    assert str(jaxpr).count("mpmd_stage_boundary") == 2


class LinenBlock(nn.Module):
    @nn.compact
    def __call__(self, x):
        return x + nn.Dropout(0.1, deterministic=False)(nn.tanh(nn.Dense(4)(x)))


class LinenNet(nn.Module):
    """The stack is traced once by `nn.jit`, whatever asks for it."""

    @nn.compact
    def __call__(self, x):
        return Inner(name="inner")(x)


class Stack(nn.Module):
    @nn.compact
    def __call__(self, x):
        for number in range(4):
            x = LinenBlock(name=f"block{number}")(x)
        return x


Inner = nn.jit(Stack)


class Outer(nn.Module):
    net: nn.Module

    @nn.compact
    def __call__(self, x):
        return self.net(x)


def linen_gradient(model):
    def loss(params, batch, key):
        x, y = batch
        return ((model.apply(params, x, rngs={"dropout": key}) - y) ** 2).mean()

    return mw.pipeline.accumulate(jax.value_and_grad(loss), MICROBATCHES, rng_argnums=2)


def test_linen_model_is_marked_though_it_was_traced_before():
    model = LinenNet()
    keys = jax.random.split(jax.random.key(0))
    params = model.init({"params": keys[0], "dropout": keys[1]}, X)
    wanted = jax.jit(linen_gradient(model))(params, (X, Y), keys[1])
    marked = mw.marked(model, ["inner/block2"])
    found = mw.jit(linen_gradient(marked), CONFIG)(params, (X, Y), keys[1])
    close(found, wanted)
    inner = found[1]["params"]["inner"]
    assert meshes_of(inner["block1"]) == ["m0"]
    assert meshes_of(inner["block2"]) == ["m1"]
    again = jax.make_jaxpr(linen_gradient(model))(params, (X, Y), keys[1])
    assert "mpmd_stage_boundary" not in str(again)
    shapes = jax.eval_shape(marked.init, dict(params=keys[0], dropout=keys[1]), X)
    assert jax.tree.structure(shapes) == jax.tree.structure(params)


@pytest.mark.parametrize("outer", [False, True])
def test_linen_model_inside_of_another(outer):
    model = mw.marked(mw.marked(Stack(), ["block2"]), ["block1"])
    model = Outer(model) if outer else model
    keys = jax.random.split(jax.random.key(0))
    rngs = {"params": keys[0], "dropout": keys[1]}
    params = model.init(rngs, X)

    def apply(x):
        return model.apply(params, x, rngs=rngs)

    assert str(jax.make_jaxpr(apply)(X)).count("mpmd_stage_boundary") == 2


def test_linen_model_by_another_method():
    class Pair(nn.Module):
        def setup(self):
            self.enc, self.dec = nn.Dense(4), nn.Dense(4)

        def __call__(self, x):
            return self.dec(self.enc(x))

        def decode(self, x):
            return self.dec(x)

    model = Pair()
    params = model.init(jax.random.key(0), X)
    model = mw.marked(model, ["dec"])

    def decode(x):
        return model.apply(params, x, method="decode")

    assert str(jax.make_jaxpr(decode)(X)).count("mpmd_stage_boundary") == 1
    with pytest.raises(ValueError, match="unknown path 'encoder'; near it are 'enc'"):
        mw.marked(model, ["encoder"]).apply(params, X)


def test_linen_modules_that_share_a_trace_cannot_be_distinguished():
    shared = nn.jit(nn.Dense)

    class Layers(nn.Module):
        wrap: type

        @nn.compact
        def __call__(self, x):
            for number in range(3):
                x = self.wrap(4, name=f"layer{number}")(x)
            return x

    with pytest.raises(ValueError, match="'layer1' .*shares a trace.*flax.linen.jit"):
        mw.marked(Layers(shared), ["layer1"]).init(jax.random.key(0), X)
    mw.marked(Layers(nn.Dense), ["layer1"]).init(jax.random.key(0), X)


def test_equinox_model_under_vmap():
    keys = jax.random.split(jax.random.key(0), 3)
    model = eqx.nn.Sequential(
        [
            eqx.nn.Linear(4, 4, key=keys[0]),
            eqx.nn.Lambda(jnp.tanh),
            eqx.nn.Linear(4, 4, key=keys[1]),
        ]
    )

    def step(model, batch):
        def loss(model, batch):
            return ((jax.vmap(model)(batch[0]) - batch[1]) ** 2).mean()

        gradient = mw.pipeline.accumulate(eqx.filter_value_and_grad(loss), MICROBATCHES)
        value, grads = gradient(model, batch)
        return eqx.apply_updates(model, jax.tree.map(lambda g: -0.1 * g, grads)), value

    wanted, value = eqx.filter_jit(step)(model, (X, Y))
    marked = mw.marked(model, ["layers/2"])
    found, ours = mw.jit(step, CONFIG)(marked, (X, Y))
    arrays = eqx.filter((found, ours), eqx.is_array)
    close(arrays, eqx.filter((wanted, value), eqx.is_array))
    found = eqx.filter(found, eqx.is_array)
    assert meshes_of(found.layers[0]) == ["m0"]
    assert meshes_of(found.layers[2]) == ["m1"]
    assert type(model.layers[2]) is eqx.nn.Linear
    assert jax.tree.structure(mw.marked(model, ["layers/2"])) == jax.tree.structure(
        marked
    )


@pytest.mark.parametrize("kind", ["sequential", "functional", "subclass"])
def test_keras_model(kind):
    class Own(keras.Model):
        def __init__(self):
            super().__init__()
            self.blocks = [keras.layers.Dense(4, "tanh") for _ in range(3)]

        def call(self, x):
            for block in self.blocks:
                x = block(x)
            return x

    def make():
        keras.utils.set_random_seed(0)
        dense = [keras.layers.Dense(4, "tanh", name=f"dense{i}") for i in range(3)]
        if kind == "subclass":
            model = Own()
        elif kind == "sequential":
            model = keras.Sequential(dense)
        else:
            x = inputs = keras.Input((4,))
            for layer in dense:
                x = layer(x)
            model = keras.Model(inputs, x)
        model(X)
        return model

    path = "blocks/1" if kind == "subclass" else "dense1"
    plain, model = make(), make()
    assert mw.marked(model, [path]) is model
    config = model.layers[1].get_config()
    assert config.keys() == plain.layers[1].get_config().keys()

    def step(weights, batch, model):
        def loss(weights, batch):
            out, _ = model.stateless_call(weights, [], batch[0])
            return ((out - batch[1]) ** 2).mean()

        return mw.pipeline.accumulate(jax.value_and_grad(loss), MICROBATCHES)(
            weights, batch
        )

    weights = [variable.value for variable in plain.trainable_variables]
    wanted = jax.jit(step, static_argnums=2)(weights, (X, Y), plain)
    found = mw.jit(step, CONFIG, static_argnums=2)(weights, (X, Y), model)
    close(found, wanted)
    assert [meshes_of(grad) for grad in found[1]] == [["m0"]] * 2 + [["m1"]] * 4


def test_paths_that_lead_nowhere():
    model = NnxNet(nnx.Rngs(0))
    for paths, error, text in (
        (["tower/layer_0"], ValueError, "near it are 'tower/layers_0', "),
        (["tower/layers/7"], ValueError, "near it are 'tower/layers/1'"),
        (["tower/layers"], TypeError, "tower/layers is of type List, which is not"),
        (["tower/calls"], TypeError, "tower/calls is of type BatchStat, which is not"),
        (["tower", "tower"], ValueError, "path 'tower' is given twice"),
        ([1], TypeError, r"paths\[0\] must be a text, got 1"),
        ("tower", TypeError, "must be a list of texts in the order of the stages"),
        ({"tower"}, TypeError, "must be a list of texts in the order of the stages"),
    ):
        with pytest.raises(error, match=text):
            mw.marked(model, paths)
    with pytest.raises(TypeError, match="call stage_boundary where a stage ends"):
        mw.marked(lambda x: x, ["layers"])


def test_a_module_that_gets_no_activations():
    class Bias(nnx.Module):
        def __init__(self):
            self.value = nnx.Param(jnp.ones(4))

        def __call__(self, name):
            return self.value[...]

    class Net(nnx.Module):
        def __init__(self):
            self.bias = Bias()

        def __call__(self, x):
            return x + self.bias("bias")

    with pytest.raises(TypeError, match="Bias is called without an array"):
        mw.marked(Net(), ["bias"])(X)
