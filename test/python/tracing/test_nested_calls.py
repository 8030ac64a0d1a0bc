"""Calls in calls run; calls in what runs as a whole are one sentence."""

import json
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh

import meshwright as mw

pytestmark = pytest.mark.usefixtures("x32")

DEVICES = jax.devices()
CONFIG = mw.make_config(
    {"m0": Mesh(DEVICES[:2], "x"), "m1": Mesh(DEVICES[2:4], "x")},
    {"enc": "m0", "dec": "m1"},
    partitioning_options={"mpmd_infer_transfers": True},
)
X = jnp.linspace(-1, 1, 12, dtype=jnp.float32).reshape(4, 3)


def encode(x):
    return mw.named_computation(jnp.tanh, name="enc")(x)


def decode(x):
    return mw.named_computation(lambda a: a * a + 1, name="dec")(x)


def twice(x):
    return mw.call(encode, call_counter=1)(decode(mw.call(encode, call_counter=0)(x)))


def deep(x):
    return mw.call(twice)(mw.call(lambda y: mw.call(decode)(y) + y)(x))


def microbatches(x):
    return sum(mw.call(deep, call_counter=i)(x + i) for i in range(3))


def shared(x):
    return mw.call(twice)(mw.call(twice, call_counter=3)(x))


def looped(x):
    return mw.fori_loop(3, lambda i, y: mw.call(twice)(y) + i, x)


def gradient(x):
    def loss(y):
        return sum(mw.call(deep, call_counter=i)(y * i).sum() for i in range(2))

    return jax.grad(loss)(x)


def gradient_inside(x):
    def step(y):
        return jax.grad(lambda z: mw.call(deep)(z).sum())(y)

    return sum(mw.call(step, call_counter=i)(x * i) for i in range(2))


@pytest.mark.parametrize(
    "function", [twice, deep, microbatches, shared, looped, gradient, gradient_inside]
)
def test_calls_in_calls_run(function):
    np.testing.assert_allclose(
        mw.jit(function, CONFIG)(X), jax.jit(function)(X), rtol=1e-5, atol=1e-6
    )


def counters(function):
    """The counters of all fragments that the user has named."""
    program = mw.jit(function, CONFIG).lower(X).as_text("stablehlo")
    session = imported(program, {"enc": "m", "dec": "m"})
    return {counter for origins, _, counter, *_ in session.fragment_info if origins}


def test_the_outermost_counter_counts():
    # What is in a call without a counter need not have one.
    assert counters(twice) - {None} == {0, 1}
    assert counters(microbatches) == {0, 1, 2}
    assert counters(shared) - {None} == {0, 1, 3}


def called(x):
    return mw.call(jnp.sin)(x)


REGIONS = {
    "scan": lambda x: jax.lax.scan(lambda c, y: (c + called(y), None), X[0], x)[0],
    "while": lambda x: jax.lax.while_loop(lambda y: y[0, 0] < 9, called, x),
    "fori": lambda x: jax.lax.fori_loop(0, 3, lambda i, y: called(y), x),
    "cond": lambda x: jax.lax.cond(x[0, 0] < 9, called, lambda y: y, x),
    "map": lambda x: jax.lax.map(called, x),
    "computation": lambda x: mw.named_computation(called, name="enc")(x),
    "jit in scan": lambda x: jax.lax.scan(
        lambda c, y: (jax.jit(called)(c + y), None), X[0], x
    )[0],
    "scan in call": lambda x: mw.call(
        lambda y: jax.lax.scan(lambda c, z: (c + called(z), None), X[0], y)[0]
    )(x),
    "jit in computation": lambda x: mw.named_computation(
        lambda y: jax.jit(called)(y), name="enc"
    )(x),
}


@pytest.mark.parametrize("region", REGIONS)
def test_calls_in_regions_are_refused(region):
    with pytest.raises((ValueError, RuntimeError)) as raised:
        mw.jit(REGIONS[region], CONFIG).lower(X)
    first = str(raised.value).splitlines()[0]
    assert re.match(r".*test_nested_calls\.py:\d+", first), first
    assert "call of 'called'" in first or "call of 'sin'" in first
    assert "which runs on one mesh as a whole; call the function there" in first


def test_calls_that_double_with_each_level():
    def body(x):
        return encode(x)

    for _ in range(16):
        # Each level is a function of its own.
        body = (lambda inner: lambda x: mw.call(inner)(mw.call(inner)(x)))(body)
    options = {"mpmd_infer_transfers": True, "mpmd_max_inlined_ops": 10000}
    config = mw.make_config(
        CONFIG.topology, {"enc": "m0"}, partitioning_options=options
    )
    with pytest.raises(RuntimeError, match=r"more than 10000 .*mpmd_max_inlined_ops"):
        mw.jit(body, config).lower(X)


@pytest.mark.parametrize("value", [-1, True, "many", 1.5])
def test_limit_must_be_a_number(value):
    with pytest.raises(ValueError, match="mpmd_max_inlined_ops must be an int"):
        mw.make_config(
            CONFIG.topology,
            {"enc": "m0"},
            partitioning_options={"mpmd_max_inlined_ops": value},
        )


# what reaches the compiler from elsewhere


def imported(text, names=()):
    import _meshwright

    config = {
        "topology": {"m": {"x": 1}},
        "assignment": dict(names),
        "options": {"mpmd_infer_transfers": True},
    }
    session = _meshwright.Session(text)
    session.import_program(json.dumps(config))
    return session


def partition(text):
    return imported(text).finish()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("regions", "stablehlo.custom_call @f() {a = " + "[" * 50000 + "]" * 50000),
        ("types", "%0 = x : " + "tuple<" * 50000 + "f32" + ">" * 50000),
        ("modules", "module {" * 20000 + "}" * 20000),
        ("strings", '"' + "{" * 50000),
        ("locations", "loc(callsite(" * 20000),
    ],
)
def test_nested_text(name, text):
    import _meshwright

    with pytest.raises(_meshwright.PartitionError, match="program:1:"):
        partition(text)


def test_nested_regions():
    import _meshwright

    def nested(depth):
        begin = [f'%a{i} = "stablehlo.case"(%i) ({{' for i in range(depth)]
        end = []
        inner = "%x"
        for i in reversed(range(depth)):
            end += [
                f'"stablehlo.return"({inner}) : (tensor<f32>) -> ()',
                "}) : (tensor<i32>) -> tensor<f32>",
            ]
            inner = f"%a{i}"
        return "\n".join(
            [
                "func.func @main(%x: tensor<f32>, %i: tensor<i32>) -> tensor<f32> {",
                *begin,
                *end,
                f"return {inner} : tensor<f32>",
                "}",
            ]
        )

    assert partition(nested(100)).fragments
    with pytest.raises(_meshwright.PartitionError, match="more than 1000 deep"):
        partition(nested(3000))


def test_long_chain():
    lines = ["%v0 = stablehlo.tanh %x : tensor<f32>"]
    lines += [
        f"%v{i} = stablehlo.add %v{i - 1}, %x : tensor<f32>" for i in range(1, 20000)
    ]
    text = (
        "func.func @main(%x: tensor<f32>) -> tensor<f32> {\n"
        + "\n".join(lines)
        + "\nreturn %v19999 : tensor<f32>\n}"
    )
    assert len(partition(text).fragments) == 1


def in_scan(a, b, w):
    return jax.lax.scan(lambda h, w: (h * w + (a + b), None), w[0], w)[0]


def in_fori(a, b, w):
    return jax.lax.fori_loop(0, 2, lambda _, h: h + a + b, w[0])


def in_while(a, b, w):
    def body(state):
        return state[0] + 1, jnp.maximum(state[1], a) + jnp.maximum(a, b)

    return jax.lax.while_loop(lambda state: state[0] < 3, body, (0, w[0]))[1]


def in_cond(a, b, w):
    return jax.lax.cond(w.sum() > 0, lambda: a + b, lambda: a * b) + w[0]


def in_switch(a, b, w):
    branches = [lambda: a + b, lambda: a + b + w[0], lambda: jnp.concatenate([b])]
    return jax.lax.switch(1, branches)


def in_scan_of_cond(a, b, w):
    def body(h, w):
        return jax.lax.cond(w.sum() > 0, lambda: h + (a + b), lambda: h), None

    return jax.lax.scan(body, w[0], w)[0]


@pytest.mark.parametrize(
    "region", [in_scan, in_fori, in_while, in_cond, in_switch, in_scan_of_cond]
)
def test_regions_in_calls_add_values_of_two_meshes(region):
    def body(x, w):
        a = encode(x)
        return decode(region(a, decode(x), w) + a).sum()

    def step(x, w):
        function = body if region is in_while else jax.value_and_grad(body, (0, 1))
        calls = [mw.call(function, call_counter=i)(x + i, w) for i in range(2)]
        return jax.tree.map(jnp.add, *calls)

    w = jnp.stack([X, 1 - X])
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5),
        mw.jit(step, CONFIG)(X, w),
        jax.jit(step)(X, w),
    )
