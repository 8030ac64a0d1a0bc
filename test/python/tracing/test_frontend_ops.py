"""What each annotation means to plain JAX, and what `mw.jit` emits for it."""

import functools
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support.frontend_ir import calls, computations, emitted, microbatched, mlp_step

import meshwright as mw

pytestmark = pytest.mark.usefixtures("x32")

X = jnp.arange(4, dtype=jnp.float32)


def twice(x):
    return 2 * x


# named_computation


def test_named_computation_emits_origin_operands_and_body():
    text = emitted(mw.named_computation(twice, name="enc"), X)
    assert re.search(
        r'%0 = mpmd\.named_computation<"enc"> \(%arg0\) \(%arg1: tensor<4xf32>\) \{\n'
        r"(?:.*\n)*? +%\d+ = stablehlo\.multiply .*\n"
        r" +mpmd\.return %\d+ : tensor<4xf32>\n"
        r" +\} : \(tensor<4xf32>\) -> tensor<4xf32>",
        text,
    ), text


def test_named_computation_is_a_decorator_too():
    @mw.named_computation(name="enc")
    def f(x):
        """Doubles."""
        return 2 * x

    assert f.__doc__ == "Doubles."
    assert computations(emitted(f, X)) == ['"enc"']


def test_named_computation_is_transparent_to_eager_execution_and_jit():
    f = mw.named_computation(twice, name="enc")
    np.testing.assert_array_equal(f(X), 2 * X)
    np.testing.assert_array_equal(jax.jit(f)(X), 2 * X)
    assert "mpmd" not in jax.jit(f).lower(X).as_text()


def test_named_computation_is_a_private_function_under_plain_jit():
    text = jax.jit(mw.named_computation(twice, name="enc")).lower(X).as_text()
    assert "func.func private @partir_named_computation_call_enc(" in text


def test_plain_and_mpmd_lowering_of_one_function_do_not_mix():
    f = mw.named_computation(twice, name="enc")
    for _ in range(2):
        assert "mpmd." in emitted(f, X)
        assert "mpmd." not in jax.jit(f).lower(X).as_text()


def test_captured_values_come_before_arguments():
    def f(w, x):
        return mw.named_computation(lambda a: a - w, name="enc")(x)

    text = emitted(f, X, X)
    assert '<"enc"> (%arg0, %arg1) (%arg2: tensor<4xf32>, %arg3:' in text
    assert "stablehlo.subtract %arg3, %arg2" in text


def test_closed_over_arrays_are_constants_inside():
    k = jnp.arange(4.0)
    text = emitted(mw.named_computation(lambda x: x + k, name="enc"), X)
    assert '<"enc"> (%arg0) (%arg1' in text
    assert "stablehlo.constant dense<[0.000000e+00, 1.0" in text


def test_hoisted_constants_come_first():
    x = k = jnp.arange(64.0)
    jax.config.update("jax_use_simplified_jaxpr_constants", True)
    try:
        text = emitted(mw.named_computation(lambda x: x - k, name="enc"), x)
    finally:
        jax.config.update("jax_use_simplified_jaxpr_constants", False)
    assert re.search(r'<"enc"> \(%cst, %arg0\) \(%arg1: .*, %arg2: ', text), text
    assert "stablehlo.subtract %arg2, %arg1" in text


def test_pytrees_go_in_and_out():
    @mw.named_computation(name="enc")
    def f(tree, *, scale):
        return {"sum": tree["a"] + tree["b"][0], "scaled": tree["a"] * scale}

    out = jax.jit(f)({"a": X, "b": [X]}, scale=3.0)
    np.testing.assert_array_equal(out["sum"], 2 * X)
    np.testing.assert_array_equal(out["scaled"], 3 * X)


def test_computation_without_results_emits_nothing():
    def f(x):
        mw.named_computation(lambda a: None, name="enc")(x)
        return x

    assert computations(emitted(f, X)) == []


@pytest.mark.parametrize("static", ["n", ["n"], ("n",)])
def test_static_arguments_are_python_values(static):
    def f(x, n):
        assert isinstance(n, int)
        return x * n

    f = mw.named_computation(f, name="enc", static_argnames=static)
    np.testing.assert_array_equal(f(X, 3), 3 * X)
    np.testing.assert_array_equal(f(X, n=4), 4 * X)
    text = emitted(lambda x: f(x, 3), X)
    assert '<"enc"> (%arg0) (%arg1: tensor<4xf32>)' in text


def test_static_argument_may_come_first_and_be_unhashable():
    f = mw.named_computation(
        lambda shape, x: x.reshape(shape), name="enc", static_argnames="shape"
    )
    assert f([2, 2], X).shape == (2, 2)


def test_unknown_static_argument_is_reported():
    with pytest.raises(ValueError, match="static_argnames m are no parameters"):
        mw.named_computation(lambda n: n, name="enc", static_argnames="m")


@pytest.mark.parametrize("name", ["main", "partir.x", "partir."])
def test_reserved_names_are_rejected(name):
    with pytest.raises(ValueError, match=re.escape(repr(name))):
        mw.named_computation(twice, name=name)


def test_name_must_be_a_string():
    with pytest.raises(TypeError, match="name must be a string"):
        mw.named_computation(twice, name=3)
    with pytest.raises(TypeError, match="named_tensor: .* string, got 3 of type int"):
        mw.named_tensor(X, name=3)


def test_inner_operations_carry_the_name_in_their_name_stack():
    @mw.named_computation(name="enc")
    def f(x):
        with jax.named_scope("inner_scope"):
            return x * x

    def g(x):
        return f(x)

    assert '"jit(g)/enc/inner_scope/mul"' in emitted(g, X, locations=True)
    plain = jax.jit(g).lower(X)
    assert "enc/inner_scope/mul" in plain.as_text(debug_info=True)
    assert re.search(r"jit\(g\)/.*enc/inner_scope/mul", plain.compile().as_text())


def test_locations_point_at_the_user_not_at_the_package():
    text = emitted(mw.named_computation(twice, name="enc"), X, locations=True)
    assert "test_frontend_ops.py" in text
    assert "meshwright/ops.py" not in text


def test_unused_operands_and_results_are_removed():
    f = mw.named_computation(lambda x, y: (x + 1, y + 1), name="enc")
    text = emitted(lambda x, y: f(x, y)[0], X, X)
    assert '<"enc"> (%arg0) (%arg1: tensor<4xf32>) {' in text


def test_ordered_effects_are_refused():
    def f(x):
        jax.debug.print("{}", x, ordered=True)
        return x + 1

    with pytest.raises(NotImplementedError, match="ordered side effects"):
        emitted(mw.named_computation(f, name="enc"), X)


# named_tensor, broadcast, reduce


def test_named_tensor_emits_its_name():
    text = emitted(lambda x: mw.named_tensor(x, name="mid"), X)
    assert '%0 = mpmd.named_tensor %arg0 name="mid" : tensor<4xf32>' in text


def test_broadcast_and_reduce_emit_their_ops():
    text = emitted(lambda x: mw.reduce(mw.broadcast(x) + 1), X)
    assert "mpmd.broadcast %arg0 : tensor<4xf32>" in text
    assert re.search(
        r"mpmd\.reduce<none> %\d+ : \(tensor<4xf32>\) -> tensor<4xf32>", text
    )


@pytest.mark.parametrize(
    "identity",
    [functools.partial(mw.named_tensor, name="t"), mw.broadcast, mw.reduce],
)
def test_identities_are_transparent_to_plain_jax(identity):
    np.testing.assert_array_equal(identity(X), X)
    np.testing.assert_array_equal(jax.jit(identity)(X), X)
    np.testing.assert_array_equal(jax.vmap(identity)(X), X)
    np.testing.assert_array_equal(identity({"a": X})["a"], X)
    assert "mpmd" not in jax.jit(identity).lower(X).as_text()


# call


def test_call_emits_private_callee_and_counter():
    def step(x):
        return 2 * x

    text = emitted(lambda x: mw.call(step, call_counter=3)(x), X)
    assert calls(text) == [("shardy_mpmdstep", 3)]
    assert "func.func private @shardy_mpmdstep(" in text


def test_call_without_counter_has_no_attribute():
    assert calls(emitted(lambda x: mw.call(twice)(x), X)) == [
        ("shardy_mpmdtwice", None)
    ]


def test_callees_of_lambdas_and_unnamed_callables_have_names():
    text = emitted(lambda x: mw.call(lambda y: y + 1)(x), X)
    assert '@"shardy_mpmd<lambda>"(' in text

    class Callable:
        def __call__(self, x):
            return x + 1

    assert "@shardy_mpmdfn(" in emitted(lambda x: mw.call(Callable())(x), X)
    partial = functools.partial(twice)
    assert "@shardy_mpmdtwice(" in emitted(lambda x: mw.call(partial)(x), X)


def test_equal_calls_share_a_callee_and_others_get_a_suffix():
    def f(x, y):
        a = mw.call(twice, call_counter=0)(x)
        b = mw.call(twice, call_counter=1)(a)
        return b, mw.call(twice, call_counter=2)(y)

    text = emitted(f, X, jnp.ones((2, 2)))
    assert calls(text) == [
        ("shardy_mpmdtwice", 0),
        ("shardy_mpmdtwice", 1),
        ("shardy_mpmdtwice_0", 2),
    ]


def test_call_prepends_captured_values():
    def f(w, x):
        return mw.call(lambda a: a - w)(x)

    assert 'mpmd.call @"shardy_mpmd<lambda>"(%arg0, %arg1)' in emitted(f, X, X)


def test_callee_arguments_refer_to_the_empty_mesh():
    text = emitted(lambda x: mw.call(twice)(x), jnp.ones((2, 2)))
    assert "sdy.mesh @empty_mesh = <[]>" in text
    assert "{sdy.sharding = #sdy.sharding<@empty_mesh, [{}, {}]>}" in text


def test_counters_have_32_bits_and_no_sign():
    with pytest.raises(ValueError, match="call_counter must not be negative, got -1"):
        mw.call(twice, call_counter=-1)
    with pytest.raises(ValueError, match="below 2\\*\\*32, got 4294967296"):
        mw.call(lambda x: x, call_counter=1 << 32)


def test_call_is_transparent_to_plain_jax():
    f = mw.call(twice, call_counter=1)
    np.testing.assert_array_equal(f(X), 2 * X)
    np.testing.assert_array_equal(jax.jit(f)(X), 2 * X)
    np.testing.assert_array_equal(jax.vmap(f)(X), 2 * X)


def test_microbatched_step_emits_forward_in_order_and_backward_reversed():
    loss = microbatched(mlp_step, 2)
    w, xs = jnp.ones((4, 4)), [jnp.ones((4, 4))] * 2
    text = emitted(jax.value_and_grad(loss), w, xs, donate_argnums=(0,))
    assert calls(text) == [
        ("shardy_mpmdmlp_step", 0),
        ("shardy_mpmdmlp_step", 1),
        ("shardy_mpmdmlp_step_0", 1),
        ("shardy_mpmdmlp_step_0", 0),
    ]
    assert computations(text) == ['"enc"', '"dec"', '"dec"(1)', '"enc"(1)']
    assert "%arg0: tensor<4x4xf32> {tf.aliasing_output = 1 : i32}" in text
    assert re.search(r"%\d+:[34] = mpmd\.call @shardy_mpmdmlp_step\(", text)
    assert text.count('name="mid"') == 2


# fori_loop


def test_fori_loop_emits_for_around_a_call():
    def body(i, v):
        return v + i.astype(v.dtype)

    text = emitted(lambda x: mw.fori_loop(3, body, x), X)
    assert re.search(
        r"%0 = mpmd\.for \(%arg0\) \{iterations = 3 : ui32, unroll_factor = 3 : ui32\}"
        r" \(%arg1: tensor<4xf32>, %index: tensor<ui32>\) \{\n"
        r" +%1 = mpmd\.call @shardy_mpmd_body\(%arg1, %index\) : .*\n"
        r" +mpmd\.return %1 : tensor<4xf32>\n +\} : tensor<4xf32>",
        text,
    ), text


def test_fori_loop_carries_captured_values_along():
    def f(w, x):
        return mw.fori_loop(2, lambda i, v: v - w, x)

    text = emitted(f, X, X)
    assert "%0:2 = mpmd.for (%arg0, %arg1)" in text
    assert re.search(r"mpmd\.return %arg2, %\d+ :", text)
    assert "return %0#1" in text


def test_fori_loop_is_a_loop_to_plain_jax():
    def f(x):
        return mw.fori_loop(3, lambda i, v: {"a": v["a"] * 2 + i}, {"a": x})["a"]

    expected = ((X * 2) * 2 + 1) * 2 + 2
    np.testing.assert_array_equal(f(X), expected)
    np.testing.assert_array_equal(jax.jit(f)(X), expected)


def test_fori_loop_index_is_uint32():
    seen = []
    mw.fori_loop(2, lambda i, v: (seen.append(jax.typeof(i)), v)[1], X)
    assert seen[0].dtype == jnp.uint32 and seen[0].shape == ()


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (lambda i, v: (v, v), "structure"),
        (lambda i, v: v[:2], r"shape and dtype were float32\[4\]"),
        (lambda i, v: v.astype(jnp.int32), "returns int32"),
    ],
)
def test_fori_loop_body_must_keep_tree_shape_and_dtype(body, message):
    with pytest.raises(ValueError, match=message):
        mw.fori_loop(2, body, X)


def test_fori_loop_is_never_removed_as_dead():
    def f(x):
        mw.fori_loop(2, lambda i, v: v * 2, x)
        return x

    assert "mpmd.for" in emitted(f, X)


def test_fori_loop_has_no_derivative_and_no_batched_form():
    def f(x):
        return mw.fori_loop(2, lambda i, v: v * 2, x).sum()

    with pytest.raises(NotImplementedError, match="loop over '<lambda>' has no deriv"):
        jax.grad(f)(X)
    with pytest.raises(NotImplementedError, match="loop over '<lambda>' cannot be ba"):
        jax.vmap(f)(jnp.ones((2, 4)))


def test_nested_loops_are_refused_under_mpmd_lowering_only():
    def f(x):
        def body(i, v):
            return mw.fori_loop(2, lambda j, u: u * 2, v)

        return mw.fori_loop(2, body, x)

    np.testing.assert_array_equal(f(X), 16 * X)
    with pytest.raises(ValueError, match="loops do not nest"):
        emitted(f, X)


def test_negative_iteration_count_is_rejected_and_zero_does_nothing():
    with pytest.raises(ValueError, match="must not be negative"):
        mw.fori_loop(-1, lambda i, v: v, X)
    np.testing.assert_array_equal(mw.fori_loop(0, lambda i, v: v * 2, X), X)


# enumerated_for


def weigh(carry, i, element):
    return carry + element["a"] * i.astype(jnp.float32) + element["b"][0]


INPUTS = {"a": [X, X + 1, X + 2], "b": [(X, X, X)]}
EXPECTED = X + sum((X + i) * i + X for i in range(3))


@pytest.mark.parametrize("unroll", [False, True])
def test_enumerated_for_runs_body_per_element(unroll):
    f = functools.partial(mw.enumerated_for, weigh, unroll=unroll)
    np.testing.assert_allclose(f(X, INPUTS), EXPECTED, rtol=1e-6)
    np.testing.assert_allclose(jax.jit(f)(X, INPUTS), EXPECTED, rtol=1e-6)


def test_unrolled_enumerated_for_hands_arrays_of_jax_to_its_body():
    def body(carry, index, element):
        return {"rows": carry["rows"].at[index].set(element["a"] + element["b"])}

    inputs = {"a": [1.0, 2.0], "b": (np.float32(3), 4)}
    carry = {"rows": np.zeros(2, np.float32)}
    found = mw.enumerated_for(body, carry, inputs, unroll=True)["rows"]
    np.testing.assert_array_equal(found, [4, 6])


def test_unrolled_enumerated_for_is_one_call_per_element():
    text = emitted(
        lambda c, xs: mw.enumerated_for(weigh, c, xs, unroll=True), X, INPUTS
    )
    assert calls(text) == [("shardy_mpmdweigh", i) for i in range(3)]


def test_enumerated_for_stacks_and_slices_in_a_plain_callee():
    text = emitted(
        lambda c, x, y: mw.enumerated_for(lambda c, i, e: c + e, c, [x, y]), X, X, X
    )
    assert "%0:3 = mpmd.for (%arg0, %arg1, %arg2)" in text
    assert "func.call @shardy_mpmd__for_i_body(" in text
    body = text[text.index("func.func private @shardy_mpmd__for_i_body(") :]
    body = body[: body.index("return")]
    assert body.count("stablehlo.reshape") == 3
    assert "stablehlo.concatenate" in body and "stablehlo.dynamic_slice" in body
    assert calls(text) == [("shardy_mpmd<lambda>", None)]


@pytest.mark.parametrize("unroll", [False, True])
@pytest.mark.parametrize(
    ("carry", "numbers"),
    [
        (jnp.bfloat16(1), [1.0, 2.0]),
        (jnp.uint8(1), range(1, 3)),
        (jnp.float16(1), [True, 2.0]),
    ],
)
def test_numbers_take_the_type_of_what_they_meet(carry, numbers, unroll):
    f = functools.partial(mw.enumerated_for, lambda c, i, x: c + x, unroll=unroll)
    for found in (f(carry, numbers), jax.jit(lambda c: f(c, numbers))(carry)):
        assert found.dtype == carry.dtype and found == 4


@pytest.mark.parametrize("unroll", [False, True])
@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"a": X}, r"inputs\['a'\] must be a sequence"),
        (["a", "b"], "must hold arrays and numbers only"),
        ({"a": [X], "b": [X, X]}, r"same length, got inputs\['a'\]: 1"),
    ],
)
def test_enumerated_for_checks_its_inputs(inputs, message, unroll):
    with pytest.raises(ValueError, match=message):
        mw.enumerated_for(lambda c, i, e: c, X, inputs, unroll=unroll)
