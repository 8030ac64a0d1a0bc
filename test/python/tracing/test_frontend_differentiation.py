"""Derivatives, batching and rematerialisation of annotated functions."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support.frontend_ir import calls, computations, emitted, mlp_step, plain_step

import meshwright as mw

pytestmark = pytest.mark.usefixtures("x32", "equal_compiles_once")

W = jnp.linspace(-1, 1, 16, dtype=jnp.float32).reshape(4, 4)
X = jnp.linspace(0, 2, 8, dtype=jnp.float32).reshape(2, 4)


def called_step(w, x):
    return mw.call(mlp_step, call_counter=2)(w, x)


STEPS = pytest.mark.parametrize("step", [mlp_step, called_step])


def check(actual, expected):
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6),
        actual,
        expected,
    )


TRANSFORMS = [
    jax.grad,
    jax.value_and_grad,
    jax.hessian,
    jax.jacfwd,
    lambda f: lambda w, x: jax.jvp(f, (w, x), (w, x)),
    lambda f: jax.grad(lambda w, x: jnp.vdot(jax.grad(f)(w, x), w)),
]


@pytest.fixture(scope="module")
def plain_derivatives():
    with jax.enable_x64(False):
        return jax.jit(lambda w, x: [t(plain_step)(w, x) for t in TRANSFORMS])(W, X)


@STEPS
@pytest.mark.parametrize("jit", [False, True])
def test_derivatives_equal_those_of_the_plain_function(step, jit, plain_derivatives):
    def derivatives(w, x):
        return [transform(step)(w, x) for transform in TRANSFORMS]

    check((jax.jit(derivatives) if jit else derivatives)(W, X), plain_derivatives)


@STEPS
def test_batching_equals_that_of_the_plain_function(step):
    ws = jnp.stack([W, W + 1, W - 1])
    for axes in ((0, None), (None, 0), (0, 0)):
        args = (ws if axes[0] == 0 else W, jnp.stack([X] * 3) if axes[1] == 0 else X)
        plain = jax.jit(jax.vmap(jax.value_and_grad(plain_step), axes))
        value, grads = plain(*args)
        check(jax.vmap(step, axes)(*args), value)
        check(jax.vmap(jax.grad(step), axes)(*args), grads)


@STEPS
@pytest.mark.parametrize("policy", [None, jax.checkpoint_policies.everything_saveable])
def test_checkpoint_keeps_derivatives(step, policy):
    rematted, expected = jax.checkpoint(step, policy=policy), jax.grad(plain_step)(W, X)
    check(jax.grad(rematted)(W, X), expected)
    check(jax.jit(jax.grad(rematted))(W, X), expected)


def test_checkpoint_computes_the_forward_part_again():
    def f(w, x):
        h = mw.named_computation(lambda a: jnp.sin(jnp.tanh(a @ w)), name="enc")(x)
        return mw.named_computation(lambda a: (a**3).sum(), name="dec")(h)

    text = emitted(jax.value_and_grad(jax.checkpoint(f)), W, X)
    assert computations(text).count('"enc"') == 2
    assert computations(text).count('"enc"(1)') == 1


def test_scan_over_a_computation_has_derivatives():
    def f(w, x):
        def step(carry, _):
            out = mw.named_computation(lambda a: jnp.tanh(a @ w), name="enc")(carry)
            return out, carry.sum()

        return jax.lax.scan(step, x, None, length=3)[1].sum()

    def g(w, x):
        total = 0.0
        for _ in range(3):
            total, x = total + x.sum(), jnp.tanh(x @ w)
        return total

    check(jax.grad(f)(W, X), jax.grad(g)(W, X))


def test_custom_derivative_inside_is_used():
    @jax.custom_vjp
    def f(x):
        return x

    f.defvjp(lambda x: (x, None), lambda _, g: (7 * g,))
    named = mw.named_computation(f, name="enc")
    check(jax.grad(lambda x: named(x).sum())(X), jnp.full_like(X, 7))


def test_each_transposition_counts_one():
    def f(w):
        return mw.named_computation(lambda a: jnp.tanh(a).sum(), name="enc")(w)

    def second(w):
        return jax.grad(lambda u: jax.grad(f)(u).sum())(w)

    assert computations(emitted(f, W)) == ['"enc"']
    assert computations(emitted(jax.value_and_grad(f), W)) == ['"enc"', '"enc"(1)']
    assert '"enc"(2)' in computations(emitted(second, W))


def test_forward_mode_stays_one_computation():
    def f(w):
        return jax.jvp(mw.named_computation(jnp.tanh, name="enc"), (w,), (w,))

    assert computations(emitted(f, W)) == ['"enc"']


def test_residuals_are_extra_results_of_the_forward_part():
    def f(w):
        return mw.named_computation(lambda a: jnp.sin(jnp.cos(a)), name="enc")(w).sum()

    text = emitted(jax.value_and_grad(f), W)
    assert ':3 = mpmd.named_computation<"enc"> (%arg0)' in text


def test_named_tensor_names_its_cotangent():
    text = emitted(
        jax.value_and_grad(lambda x: (mw.named_tensor(x, name="t") ** 2).sum()), X
    )
    assert text.count("mpmd.named_tensor") == 2
    assert text.count('name="t"') == 2


def test_broadcast_and_reduce_are_transposes_of_each_other():
    text = emitted(jax.grad(lambda x: (mw.broadcast(x) * x).sum()), X)
    assert "mpmd.reduce<none>" in text
    text = emitted(jax.grad(lambda x: mw.reduce(x).sum()), X)
    assert "mpmd.broadcast" in text


def test_all_parts_of_a_derivative_keep_the_counter():
    text = emitted(jax.value_and_grad(called_step), W, X)
    assert calls(text) == [
        ("shardy_mpmdmlp_step", 2),
        ("shardy_mpmdmlp_step_0", 2),
    ]


def test_unrolled_enumerated_for_has_derivatives():
    def f(w):
        def body(carry, i, x):
            return carry + plain_step(w, x)

        return mw.enumerated_for(body, jnp.float32(0), [X, X + 1], unroll=True)

    check(
        jax.grad(f)(W),
        jax.grad(lambda w: plain_step(w, X) + plain_step(w, X + 1))(W),
    )


def test_integer_operands_have_no_cotangent():
    f = mw.named_computation(lambda x, n: x * n, name="enc")
    n = jnp.int32(3)
    check(jax.grad(lambda x: f(x, n).sum())(X), jnp.full_like(X, 3))
    out, pullback = jax.vjp(f, X, n)
    assert pullback(out)[1].dtype == jax.dtypes.float0
