"""Pytrees whose leaves are not all arrays pass through annotations and `mw.jit`."""

import collections
import dataclasses
import typing

import equinox as eqx
import flax.linen
import flax.struct
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax.training import train_state
from jax.sharding import Mesh

import meshwright as mw
from meshwright import stages

pytestmark = pytest.mark.usefixtures("x32", "equal_compiles_once")

CONFIG = mw.make_config({"m": Mesh(jax.devices()[:2], "x")}, {"f": "m", "g": "m"})
X = jnp.arange(4.0)


def plain(fn, name="f"):
    return fn


def named(fn, name="f"):
    return mw.named_computation(fn, name=name)


def called(fn, name="f"):
    return mw.call(named(fn, name))


MARKS = [named, called]


def check(actual, expected):
    assert jax.tree.structure(actual) == jax.tree.structure(expected)
    for a, b in zip(*map(jax.tree.leaves, (actual, expected)), strict=True):
        if isinstance(b, (jax.Array, np.ndarray, float)):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
        else:
            assert type(a) is type(b) and a == b


class Block(eqx.Module):
    """Arrays beside a function, a string, numbers and None."""

    weight: jax.Array
    activation: typing.Callable
    mode: str
    repeats: int
    scale: float
    bias: jax.Array | None = None
    table: dict = eqx.field(static=True, default_factory=lambda: {"a": 1.0})

    def __call__(self, x):
        for _ in range(self.repeats):
            x = self.activation(x * self.weight)
        if self.mode == "double":
            x = x * 2
        if self.scale > 1:
            x = x * self.scale
        return x if self.bias is None else x + self.bias


def block(**fields):
    defaults = dict(
        weight=X, activation=jnp.tanh, mode="double", repeats=3, scale=1.5, bias=None
    )
    return Block(**{**defaults, **fields})


def apply(mark, model, x):
    y = mark(lambda m, x: m(x))(model, x)
    changed = mark(lambda m: eqx.tree_at(lambda m: m.weight, m, m.weight + 1))(model)
    grads = mark(eqx.filter_grad(lambda m, x: m(x).sum()), "g")(changed, x)
    return y, changed, grads.weight


@pytest.mark.parametrize("mark", MARKS)
def test_equinox_modules_are_arguments(mark):
    model = block()
    expected = apply(plain, model, X)
    check(apply(mark, model, X), expected)
    check(eqx.filter_jit(lambda m, x: apply(mark, m, x))(model, X), expected)
    arrays, static = eqx.partition(model, eqx.is_array)

    def combined(arrays, x):
        y, changed, grads = apply(mark, eqx.combine(arrays, static), x)
        return y, eqx.filter(changed, eqx.is_array), grads

    wanted = expected[0], eqx.filter(expected[1], eqx.is_array), expected[2]
    check(jax.jit(combined)(arrays, X), wanted)
    check(mw.jit(combined, CONFIG)(arrays, X), wanted)


@pytest.mark.parametrize("mark", MARKS)
def test_equinox_modules_are_arguments_of_programs(mark):
    traces = []

    def step(model, x):
        traces.append(1)
        return apply(mark, model, x)

    jitted, model = mw.jit(step, CONFIG), block()
    for _ in range(3):
        expected = apply(plain, model, X)
        actual = jitted(model, X)
        check(actual, expected)
        model = actual[1]
    assert len(traces) == 1
    other = block(activation=jnp.sin, repeats=1)
    check(jitted(other, X), apply(plain, other, X))
    assert len(traces) == 2
    compiled = jitted.lower(model, X).compile()
    args = jax.tree.map(
        lambda x, s: jax.device_put(x, s) if eqx.is_array(x) else x,
        (model.weight, X),
        tuple(jax.tree.leaves(compiled.input_shardings)),
    )
    model = eqx.tree_at(lambda m: m.weight, model, args[0])
    check(compiled(model, args[1]), apply(plain, model, X))
    with pytest.raises(TypeError, match="was compiled for arguments of the structure"):
        compiled(block(mode="single"), args[1])


def test_static_leaves_that_differ_are_other_programs():
    def f(model, x):
        return x / model.scale

    jitted = mw.jit(f, CONFIG)
    for scale in (0.0, -0.0, 2.0, 0.0):
        np.testing.assert_array_equal(
            jitted(block(scale=scale), X[1:]), X[1:] / np.float32(scale)
        )

    def g(x):
        return [mw.call(f)(block(scale=scale), x) for scale in (1.0, -0.0, 0.0, 1.0)]

    check(mw.jit(g, CONFIG)(X[1:]), [X[1:] / np.float32(s) for s in (1, -0.0, 0, 1)])


def test_values_that_change_are_seen_or_refused():
    def f(x, value):
        return x * (2 if value[0] == "a" else 3), value

    jitted, names = mw.jit(f, CONFIG), np.array(["a", "b"])
    for name, factor in (("a", 2), ("z", 3), ("a", 2)):
        names[0] = name
        result, back = jitted(X, names)
        check(result, factor * X)
        assert back.tolist() == [name, "b"]
    assert len(jitted._programs) == 2
    check(mw.jit(lambda x, part: x[part], CONFIG)(X, slice(1, 3)), X[1:3])
    for value in ({1, 2}, bytearray(2), np.array([{}, 1])):
        with pytest.raises(
            TypeError, match=r"f: args\[1\]\[0\] is no array.* hashable"
        ):
            jitted(X, [value])
        with pytest.raises(TypeError, match=r"f: kwargs\['value'\] is no array"):
            jitted.lower(X, value=value)


def test_contents_of_static_fields_are_read_at_the_call():
    def f(x):
        table, out = {"a": 0.0}, []
        for i in range(3):
            table["a"] = float(i)
            model = block(table=table)
            out.append(mw.call(lambda m, x: x * m.table["a"])(model, x))
        return out

    check(mw.jit(f, CONFIG)(X), [X * i for i in range(3)])


def test_equinox_networks_train():
    model = eqx.nn.Sequential(
        [
            eqx.nn.MLP(4, 2, 8, 1, key=jax.random.key(0)),
            eqx.nn.LayerNorm(2),
            eqx.nn.Dropout(0.5),
        ]
    )
    optimizer = optax.adam(1e-2)

    def step(mark, model, state, x, key):
        def loss(model, x):
            keys = jax.random.split(key, len(x))
            return (jax.vmap(lambda x, k: model(x, key=k))(x, keys) ** 2).mean()

        value, grads = mark(eqx.filter_value_and_grad(loss))(model, x)
        updates, state = optimizer.update(grads, state)
        return value, eqx.apply_updates(model, updates), state

    def train(jit, mark):
        jitted = jit(lambda *args: step(mark, *args))
        current, state = model, optimizer.init(eqx.filter(model, eqx.is_inexact_array))
        x, losses = np.ones((3, 4), np.float32), []
        for i in range(3):
            value, current, state = jitted(current, state, x, jax.random.key(i))
            losses.append(float(value))
        return losses

    expected = train(eqx.filter_jit, plain)
    check(train(eqx.filter_jit, called), expected)
    check(train(lambda f: mw.jit(f, CONFIG), called), expected)


class Plain:
    """No pytree: a leaf."""

    factor = 3.0


Named = collections.namedtuple("Named", ["value", "label"])


@flax.struct.dataclass
class Struct:
    value: jax.Array
    label: str
    size: int = flax.struct.field(pytree_node=False)


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Registered:
    value: jax.Array
    size: int = dataclasses.field(metadata={"static": True})


VALUES = {
    "string": "text",
    "none": None,
    "function": jnp.sin,
    "object": Plain(),
    "class": Plain,
    "dtype": jnp.dtype("int8"),
    "strings": np.array(["a", "b"]),
    "namedtuple": Named(X, "label"),
    "struct": Struct(X, "label", 3),
    "registered": Registered(X, 2),
    "partial": jax.tree_util.Partial(jnp.multiply, X),
    "nested": {"a": [X, "b", (None, jnp.cos)], "c": 2},
}


@pytest.mark.parametrize("name", VALUES)
def test_leaves_of_any_kind_go_in_and_out(name):
    value = VALUES[name]
    seen = []

    def look(x, value):
        seen.append(value)
        return x + 1, value

    for mark in MARKS:
        for jit in (jax.jit, lambda f: mw.jit(f, CONFIG)):
            result = jit(lambda x, mark=mark: mark(look)(x, value)[0])(X)
            np.testing.assert_array_equal(result, X + 1)
            assert jax.tree.structure(seen[-1]) == jax.tree.structure(value)
        mark(look)(X, value)
        assert seen[-1] is value
    result, back = mw.jit(look, CONFIG)(X, value)
    np.testing.assert_array_equal(result, X + 1)
    for a, b in zip(*map(jax.tree.leaves, (back, value)), strict=True):
        assert a is b or np.all(np.asarray(a) == np.asarray(b))


@pytest.mark.parametrize("mark", [mw.broadcast, mw.reduce, None])
def test_tensors_of_modules_are_named(mark):
    mark = mark or (lambda x: mw.named_tensor(x, name="f"))
    model = block()
    assert mark(model) is model
    expected = model(X)
    jitted = [
        eqx.filter_jit(lambda m: mark(m)(X)),
        mw.jit(lambda m: mark(m)(X), CONFIG),
    ]
    for f in jitted:
        check(f(model), expected)


def test_loops_carry_modules():
    def body(i, carry):
        model, state = carry
        model = eqx.tree_at(lambda m: m.weight, model, model.weight * 2)
        return model, state.replace(step=state.step + 1)

    state = train_state.TrainState(0, jnp.sin, {}, None, ())
    for jit in (lambda f: f, eqx.filter_jit, lambda f: mw.jit(f, CONFIG)):
        model, after = jit(lambda m, s: mw.fori_loop(3, body, (m, s)))(block(), state)
        check(model(X), block(weight=8 * X)(X))
        assert int(after.step) == 3
    with pytest.raises(ValueError, match="expected that of the initial value"):
        mw.fori_loop(2, lambda i, m: block(mode="single"), block())


def test_keyword_arguments_may_be_strings():
    def f(x, *, mode="a", fn=jnp.sin):
        return fn(x) if mode == "sin" else x

    g = mw.call(f)
    check(mw.jit(lambda x: g(x, mode="sin"), CONFIG)(X), jnp.sin(X))
    check(mw.jit(lambda x: g(x, mode="b", fn=jnp.cos), CONFIG)(X), X)


def test_numbers_in_containers_are_arrays_and_in_modules_part_of_the_program():
    kinds = []

    def f(x, number, model):
        kinds.append((isinstance(number, jax.Array), type(model.repeats)))
        return x * number

    mw.jit(lambda x: mw.call(f)(x, 2, block()), CONFIG)(X)
    assert kinds == [(True, int)]


def test_states_of_linen_and_optax_trace_once(monkeypatch):
    model = flax.linen.Dense(2)
    params = model.init(jax.random.key(0), X[None])
    traces, compiled, compile_ = [], [], stages.Lowered.compile
    monkeypatch.setattr(
        stages.Lowered, "compile", lambda self, _: compiled.append(1) or compile_(self)
    )

    def step(mark, state, x):
        traces.append(1)

        def loss(params, x):
            return (mark(state.apply_fn)(params, x) ** 2).mean()

        value, grads = mw.call(jax.value_and_grad(loss))(state.params, x)
        return value, state.apply_gradients(grads=grads)

    def train(jit, mark):
        state = train_state.TrainState.create(
            apply_fn=model.apply, params=params, tx=optax.adam(1e-2)
        )
        jitted = jit(lambda state, x: step(mark, state, x))
        losses = []
        for _ in range(3):
            value, state = jitted(state, X[None])
            losses.append(float(value))
        return losses, int(state.step)

    expected = train(jax.jit, plain)
    traces.clear()
    check(train(lambda f: mw.jit(f, CONFIG), named), expected)
    assert len(traces) == len(compiled) == 1


def test_nodes_that_convert_their_children_say_so():
    @jax.tree_util.register_pytree_node_class
    class Picky:
        def __init__(self, value):
            self.value = jnp.asarray(value)

        def tree_flatten(self):
            return (self.value,), None

        @classmethod
        def tree_unflatten(cls, _, children):
            return cls(*children)

    with pytest.raises(TypeError) as caught:
        mw.jit(lambda x: x.value, CONFIG)(Picky(X))
    [note] = caught.value.__notes__
    assert "args[0] is a tree with a node that cannot be made of types" in note
    assert "unflatten function must take any children as they are" in note
