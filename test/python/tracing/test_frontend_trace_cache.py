"""Functions made again for each call share their trace, different ones do not."""

import dataclasses
import functools
import gc
import math
import re
import weakref
from collections import namedtuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from meshwright.jaxapi import frontend as compat
from meshwright.tracing.trace_cache import sharing_traces
from meshwright.utils import function_name
from support.frontend_ir import calls, emitted

import meshwright as mw

pytestmark = pytest.mark.usefixtures("x32")

X = jnp.arange(4, dtype=jnp.float32)


def shared(fn, *args):
    with sharing_traces():
        return emitted(fn, *args)


@dataclasses.dataclass(frozen=True)
class Options:
    scale: float


def callees(text):
    return len(re.findall(r"func\.func private", text))


@pytest.fixture
def traced(monkeypatch):
    """Names of functions in the order in which they are traced.

    The functions cannot count for themselves: what they count in would change.
    """
    names, trace_body = [], compat.trace_body

    def counted(name, *args):
        names.append(function_name(name))
        return trace_body(name, *args)

    monkeypatch.setattr(compat, "trace_body", counted)
    return names


def step(w, x):
    return (w * x).sum()


def test_transformations_made_again_share_a_callee(traced):
    def f(w, xs):
        return [
            mw.call(jax.value_and_grad(step), call_counter=i)(w, x)
            for i, x in enumerate(xs)
        ]

    text = shared(f, X, [X, X + 1, X + 2])
    assert len(traced) == 1
    assert callees(text) == 1 and len(calls(text)) == 3


OPTIONS = Options(2.0)
LAYERS = (jnp.sin, jax.nn.gelu, jax.nn.relu)


def with_everything(w, x, layers=LAYERS, *, dtype=jnp.float32):
    x = jnp.where(x > 0, x, np.sqrt(2.0)).astype(dtype)
    for layer in layers:
        x = layer(x) * math.pi * OPTIONS.scale
    return jax.lax.cond(w.sum() > 0, lambda: x, lambda: jnp.zeros_like(x)).sum()


def test_functions_that_read_what_cannot_change_are_traced_once(traced):
    pair = namedtuple("Pair", "scale bias")(2.0, None)
    key = jax.random.key(0)

    def f(w, xs):
        total = 0.0
        for i, x in enumerate(xs):

            @jax.checkpoint
            def loss(w, x=x, pair=pair):
                inner = mw.named_computation(with_everything, name="f")
                noise = jax.random.normal(key, x.shape)
                return inner(w, x + noise) * pair.scale

            total += mw.call(jax.grad(lambda w: loss(w)), call_counter=i)(w)
        return total

    assert len(calls(shared(f, X, [X, X + 1, X + 2]))) == 3
    # The argument is another one each time, but what is inside is the same.
    assert traced.count("with_everything") == 1

    def g(w, xs):
        grad = jax.value_and_grad(with_everything)
        return [mw.call(grad, call_counter=i)(w, x) for i, x in enumerate(xs)]

    traced.clear()
    text = shared(g, X, [X, X + 1, X + 2])
    assert len(calls(text)) == 3 and len({callee for callee, _ in calls(text)}) == 1
    assert traced == ["with_everything"]


def test_traces_that_come_out_equal_share_a_callee(traced):
    def f(w, xs):
        rest = iter(xs)
        scales = {"scale": np.float32(2)}

        def loss(w):
            inner = mw.named_computation(
                lambda w, x: jax.nn.gelu(w * x * scales["scale"]), name="f"
            )
            return jax.jit(inner)(w, next(rest)).sum()

        calls = [mw.call(jax.value_and_grad(loss)) for _ in range(3)]
        return [call(w) for call in calls]

    text = shared(f, X, [X, X + 1, X + 2])
    assert traced.count("loss") == 3
    assert len(calls(text)) == 3 and len(set(calls(text))) == 1


@pytest.mark.parametrize(
    "values",
    [
        (0.0, -0.0),
        (1.0, float("nan")),
        (np.zeros(2, np.float32), -np.zeros(2, np.float32)),
        (jnp.sin, jnp.cos),
        ("highest", "default"),
    ],
    ids=str,
)
def test_traces_that_differ_in_a_value_do_not_share_a_callee(values):
    def use(x, value):
        if callable(value):
            return value(x)
        if isinstance(value, str):
            return jnp.matmul(x, x, precision=value)
        return x[:2] * value

    def f(x):
        rest = iter(values)
        return [mw.call(lambda x: use(x, next(rest)))(x) for _ in values]

    assert callees(shared(f, X)) == 2


def test_traces_that_differ_in_a_name_scope_do_not_share_a_callee():
    def f(x):
        names = iter(["a", "b", "a"])

        def scoped(x):
            with jax.named_scope(next(names)):
                return jnp.sin(x)

        return [mw.call(scoped)(x) for _ in range(3)]

    assert callees(shared(f, X)) == 2


def test_equal_nans_share_a_callee():
    def f(x):
        rest = iter([float("nan"), float("nan")])
        return [mw.call(lambda x: x * next(rest))(x) for _ in range(2)]

    assert callees(shared(f, X)) == 1


def test_calls_of_one_function_share_a_callee_under_plain_lowering_too():
    values = iter([1.0, 1.0, 2.0])

    def scaled(x):
        return x * next(values)

    text = emitted(lambda x: [mw.call(scaled)(x) for _ in range(3)], X)
    assert callees(text) == 2


def test_lists_and_dicts_are_what_they_hold(traced):
    """As parameters in a closure are, which hold tracers."""

    def f(w, xs):
        params = {"layers": [w, w + 1], "names": ["a", "b"]}

        def run(x):
            return mw.call(lambda x: step(params["layers"][0], x) + len(params))(x)

        out = [run(x) for x in xs]
        params["layers"][0] = 2 * w
        out.append(run(xs[0]))
        params["more"] = 1
        return [*out, run(xs[0])]

    args = X, [X, X + 1, X + 2]
    text = shared(f, *args)
    assert len(calls(text)) == 5
    assert len(traced) == 3
    for ours, theirs in zip(jax.jit(f)(*args), f(*args), strict=True):
        np.testing.assert_allclose(ours, theirs)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda held: held.append(len(held)), 3),
        (lambda held: held.__setitem__(0, held[0] + 1), 3),
        # Twice the same: the third time nothing would change.
        (lambda held: held.__setitem__(0, 7), 2),
    ],
    ids=["append", "count", "set"],
)
def test_what_a_function_changes_is_changed_at_each_call(change, expected, traced):
    def f(xs):
        held = [0]

        def body(x):
            change(held)
            return x * held[0]

        outs = [mw.call(body)(x) for x in xs]
        return outs, jnp.array(sum(held))

    args = ([X, X + 1, X + 2],)
    shared(f, *args)
    assert len(traced) == expected
    jax.tree.map(np.testing.assert_array_equal, jax.jit(f)(*args), f(*args))


def test_large_containers_are_not_looked_through(traced):
    numbers = [1.0] * 20_000

    def f(xs):
        return [mw.call(lambda x: x * numbers[0])(x) for x in xs]

    text = shared(f, [X, X])
    assert len(traced) == 2 and callees(text) == 1


def test_forgotten_programs_are_freed():
    held = []

    def f(x):
        held.append(weakref.ref(compat.outermost_trace()))
        return [mw.call(lambda y: y * x)(x) for _ in "ab"]

    jax.make_jaxpr(lambda x: f(x))(X)
    jax.make_jaxpr(lambda x: mw.call(jnp.sin)(x))(X)
    with sharing_traces():
        jax.make_jaxpr(lambda x: f(x))(X)
    gc.collect()
    assert [ref() for ref in held] == [None, None]


@pytest.mark.parametrize(
    "wrap",
    [
        lambda f: lambda w, x: f(w, x),
        lambda f: functools.partial(f),
        lambda f: jax.checkpoint(jax.vmap(f)),
        lambda f: lambda w, x, scale=2.0: f(w, x) * scale,
    ],
)
def test_equal_wrappers_share_a_callee(wrap):
    def f(w, x):
        return mw.call(wrap(step))(w, x), mw.call(wrap(step))(w, x + 1)

    assert callees(shared(f, X, X)) == 1


@pytest.mark.parametrize(
    "wrap",
    [
        lambda i: lambda x: x * i,
        lambda i: functools.partial(jnp.multiply, float(i)),
        lambda i: lambda x, by=i: x * by,
        lambda i: lambda x: [jnp.sin, jnp.cos][i](x),
    ],
)
def test_other_free_variables_are_another_function(wrap):
    def f(x):
        return [mw.call(wrap(i))(x) for i in range(2)]

    text = shared(f, X)
    assert len(set(calls(text))) == 2


def test_free_variable_that_changes_is_seen():
    def f(x):
        outs = []
        scale = 0

        def scaled(x):
            return x * scale

        for scale in (2, 3, 2):  # noqa: B007
            outs.append(mw.call(lambda x: scaled(x))(x))
        return outs

    assert [callee for callee, _ in calls(shared(f, X))] == [
        "shardy_mpmd<lambda>",
        "shardy_mpmd<lambda>_0",
        "shardy_mpmd<lambda>",
    ]


def test_other_types_are_another_callee_and_captured_values_are_not():
    def f(w, v, x):
        def with_weight(weight):
            return mw.call(lambda a: a * weight)

        return (
            with_weight(w)(x),
            with_weight(v)(x),
            with_weight(w)(x[:1]),
            with_weight(w)(x + 1),
        )

    text = shared(f, X, X, X)
    # The weight is an operand: with one or the other, the body is the same.
    assert callees(text) == 2 and len(calls(text)) == 4


def test_recursive_functions_are_fine():
    def power(x, n):
        return x if n == 0 else x * power(x, n - 1)

    text = shared(lambda x: mw.call(lambda x: power(x, 3))(x), X)
    assert text.count("stablehlo.multiply") == 3


def test_nothing_is_kept_outside_of_a_program():
    assert callees(emitted(lambda x: [mw.call(lambda y: y)(x) for _ in "ab"], X)) == 2


def test_what_runs_at_once_is_freed():
    def run():
        array = jnp.ones(3)
        total = mw.fori_loop(2, lambda i, total: total + array.sum(), jnp.float32(0))
        assert float(total) == 6
        return weakref.ref(array)

    kept = [run() for _ in range(3)]
    gc.collect()
    assert [reference() for reference in kept] == [None] * 3
