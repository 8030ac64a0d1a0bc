"""Modules of Flax NNX keep their state through annotations, as without them."""

import dataclasses
import functools
import os
import subprocess
import sys
import types

import flax.errors
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import nnx
from jax.sharding import Mesh
from meshwright.tracing.trace_cache import sharing_traces
from support.frontend_ir import calls, emitted

import meshwright as mw

pytestmark = pytest.mark.usefixtures("x32", "equal_compiles_once")

MESHES = {f"m{i}": Mesh(jax.devices()[2 * i : 2 * i + 2], "x") for i in range(2)}
CONFIG = mw.make_config(
    MESHES,
    {"enc": "m0", "dec": "m1"},
    partitioning_options={"mpmd_infer_transfers": True},
)
RNG = np.random.default_rng(0)
X = RNG.normal(size=(8, 4)).astype(np.float32)
Y = RNG.normal(size=(8, 2)).astype(np.float32)


class Net(nnx.Module):
    """Batch statistics, random streams and a counter."""

    def __init__(self):
        rngs = nnx.Rngs(0)
        self.first = nnx.Linear(4, 6, rngs=rngs)
        self.norm = nnx.BatchNorm(6, rngs=rngs)
        self.dropout = nnx.Dropout(0.5, rngs=rngs)
        self.second = nnx.Linear(6, 2, rngs=rngs)
        self.count = nnx.Variable(jnp.zeros((), jnp.int32))

    def encode(self, x):
        self.count[...] += 1
        return self.dropout(nnx.relu(self.norm(self.first(x))))

    def decode(self, h):
        return self.second(h)

    def __call__(self, x):
        return self.decode(self.encode(x))


@functools.cache
def initialized():
    with jax.enable_x64(False):
        return Net()


def net():
    """The same network each time: initializing it takes longer than training."""
    return nnx.clone(initialized())


class Counter(nnx.Module):
    """The smallest module that changes."""

    def __init__(self):
        self.count = nnx.Variable(jnp.float32(0))

    def __call__(self, x):
        self.count[...] += 1
        return x * self.count[...]


def plain(fn, name):
    return fn


def named(fn, name):
    return mw.named_computation(fn, name=name)


def called(fn, name):
    return mw.call(named(fn, name))


def as_closures(mark, model, x):
    return mark(lambda h: model.decode(h), "dec")(mark(model.encode, "enc")(x))


def as_arguments(mark, model, x):
    h = mark(lambda net, x: net["net"].encode(x), "enc")({"net": model}, x)
    return mark(lambda h, decode: decode(h), "dec")(h, model.decode)


def as_both(mark, model, x):
    h = mark(lambda net, x: model.encode(x) + 0 * net.count[...], "enc")(model, x)
    return mark(lambda net, h: net(h), "dec")(model.second, h)


def train(jit, mark, use, steps=3):
    """Losses and the state afterwards."""

    def step(model, optimizer, x, y):
        def loss(model):
            return ((use(mark, model, x) - y) ** 2).mean()

        value, grads = nnx.value_and_grad(loss)(model)
        optimizer.update(model, grads)
        return value

    model = net()
    optimizer = nnx.Optimizer(model, optax.sgd(1e-2, momentum=0.9), wrt=nnx.Param)
    jitted = jit(step)
    losses = [float(jitted(model, optimizer, X, Y)) for _ in range(steps)]
    return losses, arrays(model), arrays(optimizer)


def arrays(node):
    def data(value):
        if jnp.issubdtype(getattr(value, "dtype", None), jax.dtypes.prng_key):
            value = jax.random.key_data(value)
        return np.asarray(value)

    return jax.tree.map(data, nnx.to_pure_dict(nnx.state(node)))


def check(actual, expected):
    assert jax.tree.structure(actual) == jax.tree.structure(expected)
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6),
        actual,
        expected,
    )


def on_meshes(function):
    return mw.nnx.jit(function, CONFIG)


@pytest.fixture(scope="module")
def trained():
    with jax.enable_x64(False):
        return train(nnx.jit, plain, as_closures)


@pytest.mark.parametrize("use", [as_closures, as_arguments, as_both])
def test_training_is_that_of_plain_nnx(use, trained):
    check(train(nnx.jit, called, use), trained)


def test_eager_training_is_that_of_plain_nnx(trained):
    check(train(lambda f: f, called, as_both), trained)


@pytest.mark.parametrize(
    "mark, use", [(named, as_closures), (named, as_arguments), (called, as_both)]
)
def test_training_on_meshes_is_that_of_plain_nnx(mark, use, trained):
    check(train(on_meshes, mark, use), trained)


def test_steps_on_meshes_trace_once():
    traces, model = [], net()

    def step(model, x):
        traces.append(1)
        return as_closures(named, model, x)

    jitted = on_meshes(step)
    for _ in range(3):
        jitted(model, X)
    assert len(traces) == 1 and int(model.count[...]) == 3


def microbatches(mark, model, x):
    def loss(model, x):
        return (model(x) ** 2).mean()

    total = []
    for i in range(2):
        value, grads = mark(nnx.value_and_grad(loss), i)(model, x)
        total.append((value, nnx.to_pure_dict(nnx.state(grads, nnx.Param))))
    return total, nnx.to_pure_dict(nnx.state(model, nnx.RngCount))


def test_microbatches_draw_their_own_masks_and_share_a_callee():
    marked = lambda fn, i: mw.call(fn, call_counter=i)  # noqa: E731
    model = net()
    expected = microbatches(plain, model, X), arrays(model)
    assert expected[0][0][0][0] != expected[0][0][1][0]
    for jit in (lambda f: f, nnx.jit, on_meshes):
        model = net()
        step = jit(lambda model, x: microbatches(marked, model, x))
        check((step(model, X), arrays(model)), expected)
    graph, state = nnx.split(nnx.Dropout(0.5, rngs=nnx.Rngs(0)))
    with sharing_traces():
        text = emitted(lambda s: microbatches(marked, nnx.merge(graph, s), X), state)
    assert len({callee for callee, _ in calls(text)}) == 1


def test_numbers_and_attributes_stay_python_values():
    class Numbers(nnx.Module):
        def __init__(self):
            self.number = nnx.Variable(1)
            self.calls = 0

        def __call__(self, x):
            self.calls += 1
            self.number.set_value(self.number.get_value() + 1)
            return sum([x] * self.number.get_value()) * self.calls

    def forward(mark, x):
        model = Numbers()
        y = [mark(model, i)(x) for i in range(3)]
        assert model.calls == 3 and model.number.get_value() == 4
        return y

    expected = forward(plain, X)
    for mark in (lambda f, _: named(f, "enc"), lambda f, _: called(f, "enc")):
        check(jax.jit(lambda x, mark=mark: forward(mark, x))(X), expected)
        check(mw.jit(lambda x, mark=mark: forward(mark, x), CONFIG)(X), expected)


MODEL = None
LAYERS = {"all": []}


class Holder:
    pass


def helper(x):
    return MODEL(x)


def ways_to_reach(model):
    """Functions that call the model, which each reaches in its own way."""
    global MODEL
    MODEL = model
    LAYERS["all"] = [model]
    holder = Holder()
    holder.model = {"model": (model,)}
    holder.inner = lambda x: model(x)
    local = types.ModuleType("local")
    local.model = model
    return [
        model,
        model.__call__,
        lambda x: MODEL(x),
        lambda x: LAYERS["all"][0](x),
        lambda x: helper(x) + 0,
        lambda x, model=model: model(x),
        lambda x, *, model=model: model(x),
        lambda x: holder.model["model"][0](x),
        lambda x: holder.inner(x),
        lambda x: local.model(x),
        functools.partial(lambda model, x: model(x), model),
        jax.tree_util.Partial(lambda x: model(x)),
        nnx.Sequential(model, lambda x: x),
        nnx.List([model])[0],
    ]


def test_modules_are_found_wherever_they_are():
    def forward(mark, model, x):
        return [mark(function, "enc")(x) for function in ways_to_reach(model)]

    expected = Counter()
    wanted = forward(plain, expected, X)
    for mark in (named, called):
        model = Counter()
        jitted = nnx.jit(functools.partial(forward, mark))
        check((jitted(model, X), arrays(model)), (wanted, arrays(expected)))


def test_transformed_functions_change_modules():
    def forward(mark, model, x):
        outer = nnx.vmap(lambda m, x: mark(lambda x: m(x), "enc")(x), in_axes=(None, 0))
        inner = mark(nnx.remat(lambda m, x: m(x)), "enc")
        with_grad = nnx.grad(lambda m, x: mark(m, "enc")(x).sum(), argnums=1)
        return outer(model, x), inner(model, x), with_grad(model, x)

    expected = Counter()
    wanted = forward(plain, expected, X)
    for jit in (lambda f: f, nnx.jit, on_meshes):
        model = Counter()
        actual = jit(functools.partial(forward, named))(model, X)
        check((actual, arrays(model)), (wanted, arrays(expected)))


def test_what_a_body_adds_to_a_module_stays():
    class Recorder(nnx.Module):
        def __init__(self):
            self.scale = nnx.Param(jnp.float32(2))

        def __call__(self, x):
            y = self.scale[...] * x
            self.seen = nnx.Intermediate((y,))
            self.extra = nnx.Variable(y.sum())
            self.inner = Counter()
            self.flag = "set"
            return y

    def forward(mark):
        model = Recorder()
        y = mark(model, "enc")(X)
        return (
            y,
            model.seen.get_value()[0],
            model.extra[...],
            model.inner(X),
            model.flag,
        )

    expected = forward(plain)
    strip = lambda mark: forward(mark)[:-1]  # noqa: E731
    assert forward(named)[-1] == expected[-1]
    check(jax.jit(lambda: strip(named))(), expected[:-1])
    check(mw.jit(lambda: strip(named), CONFIG)(), expected[:-1])


def test_modules_made_inside_are_results():
    def make(mark, x):
        model = net()
        model, y = mark(lambda m, x: (nnx.Sequential(m.first, m.norm), m(x)), "enc")(
            model, x
        )
        return model(x), y, model.layers[1].mean[...]

    expected = make(plain, X)
    check(jax.jit(lambda x: make(named, x))(X), expected)


def test_a_failing_body_leaves_a_module_as_it_was():
    model = net()
    before = arrays(model)

    def fail(x):
        model.encode(x)
        raise KeyError("stop")

    def forward(model, x):
        with pytest.raises(KeyError, match="stop"):
            named(lambda x: (model.encode(x), {}["stop"]), "enc")(x)
        return model.count[...] + model.encode(x).sum() * 0

    assert int(nnx.jit(forward)(model, X)) == 0
    assert int(model.count[...]) == 1 and before["count"] == 0


def test_modules_of_an_outer_trace_are_read_but_not_assigned_to():
    model = net()
    y = mw.jit(named(lambda x: model.second(model.first(x)), "enc"), CONFIG)(X)
    np.testing.assert_allclose(y, model.second(model.first(X)), rtol=1e-5)
    with pytest.raises(flax.errors.TraceContextError, match="different trace level"):
        mw.jit(named(model.encode, "enc"), CONFIG)(X)
    assert int(model.count[...]) == 0


def test_functional_state_goes_through_plain_jit():
    graph, state = nnx.split(net())

    def step(state, x):
        model = nnx.merge(graph, state)
        y = as_closures(named, model, x)
        return y, nnx.state(model)

    expected = jax.jit(lambda s, x: step(s, x))(state, X)
    actual = mw.jit(step, CONFIG)(state, X)
    for a, b in zip(*map(jax.tree.leaves, (actual, expected)), strict=True):
        if not jnp.issubdtype(a.dtype, jax.dtypes.prng_key):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_state_that_jit_would_lose_is_an_error():
    model = net()
    with pytest.raises(ValueError) as error:
        mw.jit(lambda model, x: as_closures(named, model, x), CONFIG)(model, X)
    assert "args[0].norm.mean (BatchStat)" in str(error.value) or (
        "args[0].count (Variable)" in str(error.value)
    )
    assert "use meshwright.nnx.jit" in str(error.value)

    def functional(model, x):
        y = as_closures(named, model, x)
        return y, model

    y, after = mw.jit(functional, CONFIG)(model, X)
    assert int(after.count[...]) == 1 and int(model.count[...]) == 0


def test_state_comes_back_to_where_it_was_assigned():
    config = mw.make_config(
        MESHES, {"enc": "m1"}, input_mesh_assignment=("m1", "m1", None)
    )

    def forward(model, x, y):
        return mw.named_computation(model.encode, name="enc")(x).sum()

    model = net()
    jitted = mw.nnx.jit(forward, config, donate_argnums=(0,))
    lowered = jitted.lower(model, X, Y)
    assert set(jax.tree.leaves(lowered.function_mesh_assignment.output_meshes)) == {
        "m1"
    }
    assert int(model.count[...]) == 0
    for _ in range(2):
        jitted(model, X, Y)
    assert int(model.count[...]) == 2
    assert model.norm.mean[...].sharding.mesh == MESHES["m1"]


def test_modules_are_no_tensors():
    with pytest.raises(TypeError, match="Counter is an NNX object"):
        nnx.jit(lambda model: mw.named_tensor(model, name="enc"))(Counter())


def test_references_in_modules_are_written_to():
    def forward(mark):
        model = Counter()
        model.count = nnx.Variable(jnp.float32(0), ref=True)
        return [mark(model, "enc")(X), mark(lambda x: model(x), "dec")(X)]

    expected = forward(plain)
    check(jax.jit(lambda: forward(called))(), expected)
    check(mw.jit(lambda: forward(called), CONFIG)(), expected)


def test_flax_is_not_needed():
    code = (
        "import sys; sys.modules['flax'] = None\n"
        "import jax, meshwright as mw\n"
        "f = mw.named_computation(lambda x: x + 1, name='f')\n"
        "assert int(jax.jit(f)(1)) == 2\n"
        "try:\n    mw.nnx\n"
        "except ImportError as error:\n    print(error)\n"
    )
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path))
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert "meshwright.nnx is for modules of Flax NNX" in done.stdout


def test_jit_of_modules_as_decorator_with_keywords():
    @mw.nnx.jit(config=CONFIG, static_argnames="times")
    def step(counter, x, *, times):
        counter.count[...] += times
        return mw.named_computation(lambda x: x * times, name="enc")(x)

    counter = Counter()
    np.testing.assert_array_equal(step(counter, x=X, times=2), 2 * X)
    assert counter.count[...] == 2
    with pytest.raises(TypeError, match="pass counter by position"):
        step(counter=counter, x=X, times=2)
    with pytest.raises(TypeError, match="needs a config"):
        mw.nnx.jit(step)


def test_jit_of_modules_is_a_method():
    class Trainer:
        @mw.nnx.jit(config=CONFIG)
        def step(self, counter, x):
            return counter(x)

    class Own(Counter):
        @mw.nnx.jit(config=CONFIG)
        def step(self, x):
            return self(x)

    counter, own = Counter(), Own()
    check(Trainer().step(counter, X), X)
    check(own.step(X), X)
    assert counter.count[...] == own.count[...] == 1
    assert isinstance(Own.step, mw.nnx.NnxWrapped)


def test_static_arguments_have_neither_shardings_nor_meshes():
    def forward(counter, times, x):
        return counter(x) * times

    sharding = jax.NamedSharding(MESHES["m0"], jax.P())
    config = dataclasses.replace(CONFIG, input_mesh_assignment=("m0", "m0"))
    for options in (
        {"config": config},
        {"config": CONFIG, "in_shardings": (sharding, sharding)},
        {"config": CONFIG, "in_shardings": [sharding, sharding]},
    ):
        counter = Counter()
        step = mw.nnx.jit(forward, static_argnums=1, **options)
        check(step(counter, 2, X), 2 * X)
        assert counter.count[...] == 1
        assert counter.count[...].sharding.mesh == MESHES["m0"]


def test_a_body_may_give_another_module_each_time():
    def body(counter, i, x):
        after = nnx.clone(counter)
        after.count[...] += x
        return after

    def step(x):
        counter = Counter()
        elements = [x, x + 1, x + 2]
        return mw.enumerated_for(body, counter, elements, unroll=True).count[...]

    assert float(jax.jit(step)(1.0)) == float(step(1.0)) == 6


def test_numbers_in_variables_may_change_with_each_microbatch():
    """They are a part of the program, so that it is traced again."""

    class Numbered(nnx.Module):
        def __init__(self):
            self.number = nnx.Variable(0)

        def __call__(self, x):
            self.number.set_value(self.number.get_value() + 1)
            return x.sum() * self.number.get_value()

    def step(x):
        module = Numbered()
        found = mw.pipeline.accumulate(lambda x: module(x), 4, 0, reduce="stack")(x)
        return found, module.number.get_value()

    found, number = jax.jit(step)(X)
    check(found, step(X)[0])
    assert int(number) == 4
