"""Functions made anew for each call share their trace, different ones do not."""

import functools
import re

import jax
import jax.numpy as jnp
import pytest
from frontend_ir import calls, emitted
from meshwright._trace_cache import sharing_traces

import meshwright as mw

pytestmark = pytest.mark.usefixtures("x32")

X = jnp.arange(4, dtype=jnp.float32)


def shared(fn, *args):
    with sharing_traces():
        return emitted(fn, *args)


def callees(text):
    return len(re.findall(r"func\.func private", text))


def step(w, x):
    return (w * x).sum()


def test_transformations_made_anew_share_a_callee():
    traced = []

    def counted(w, x):
        traced.append(1)
        return step(w, x)

    def f(w, xs):
        return [
            mw.call(jax.value_and_grad(counted), call_counter=i)(w, x)
            for i, x in enumerate(xs)
        ]

    text = shared(f, X, [X, X + 1, X + 2])
    assert len(traced) == 1
    assert callees(text) == 1 and len(calls(text)) == 3


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


def test_other_types_and_captured_values_are_another_callee():
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
    assert callees(text) == 3 and len(calls(text)) == 4


def test_recursive_functions_are_fine():
    def power(x, n):
        return x if n == 0 else x * power(x, n - 1)

    text = shared(lambda x: mw.call(lambda x: power(x, 3))(x), X)
    assert text.count("stablehlo.multiply") == 3


def test_nothing_is_kept_outside_of_a_program():
    assert callees(emitted(lambda x: [mw.call(lambda y: y)(x) for _ in "ab"], X)) == 2
