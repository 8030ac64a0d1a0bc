"""Large arrays that a function closes over are arguments of its program, not text."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh
from meshwright.lowering import constants

import meshwright as mw

N = 160
assert 4 * N * N > constants.LIMIT_BYTES
RNG = np.random.default_rng(0)


def array(*shape):
    return RNG.normal(size=shape or (N, N)).astype(np.float32) / 8


BIG, OTHER, ON_DEVICE = array(), array(), jnp.asarray(array())
X = array(8, N)
MESHES = {f"m{i}": Mesh(jax.devices()[i : i + 1], "x") for i in range(2)}


def config(**options):
    return mw.make_config(MESHES, {"a": "m0", "b": "m1"}, **options)


def named(function, name):
    return mw.named_computation(function, name=name)


def check(function, *args, config=config, count=None, **options):
    """Runs as by `jax.jit`, without a constant in the text or on the way."""
    wrapped = mw.jit(function, config(), **options)
    lowered = wrapped.lower(*args)
    longest = max(map(len, lowered.as_text().splitlines()))
    assert longest < 2000, "an array is text"
    if count is not None:
        assert len(lowered.const_args) == count
    for item in lowered.partitioning_result.program["items"]:
        assert item["kind"] != "transfer" or item["bytes"] < BIG.nbytes
    expected = jax.jit(function)(*args)
    for _ in range(2):
        jax.tree.map(
            lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-3),
            wrapped(*args),
            expected,
        )
    return lowered


def two_names(x):
    h = named(lambda x: x @ BIG + x @ ON_DEVICE, "a")(x)
    return named(lambda h: (h @ BIG + h @ OTHER).sum(), "b")(h)


def test_each_name_has_its_own_where_it_is():
    lowered = check(two_names, X, count=4)
    devices = [sharding.mesh for sharding in lowered.const_shardings]
    assert sorted(devices.count(mesh) for mesh in MESHES.values()) == [2, 2]


def test_the_text_that_is_partitioned_elsewhere_is_whole():
    lowered = mw.jit(two_names, config()).lower(X)
    text = lowered.as_text("stablehlo")
    (main,) = re.findall(r"func.func public @main\((.*?)\) ->", text)
    assert main.count("%arg") == 1
    assert len(text) > 3 * 2 * BIG.nbytes  # Two digits for each byte.


def loss(ws, x):
    h = mw.stage_boundary(jnp.tanh(x @ ws[0] @ BIG) + x @ ON_DEVICE)
    return ((h @ ws[1] @ BIG + jax.jit(lambda h: h @ OTHER)(h)) ** 2).mean()


def cut(schedule):
    found = mw.get_pipeline_schedule(schedule)
    return lambda: mw.make_config(MESHES, pipeline_schedule=found)


def test_stages_of_microbatches_and_inner_jit():
    ws = [array(), array()]
    step = mw.pipeline.accumulate(jax.value_and_grad(loss), microbatches=4)
    check(step, ws, X, config=cut("1F1B"))


def test_inside_of_control_flow():
    def body(x):
        h, _ = jax.lax.scan(lambda h, _: (jnp.tanh(h @ BIG), None), x, None, length=2)
        return jax.lax.cond(h[0, 0] > 0, lambda h: h @ OTHER, lambda h: h @ BIG, h)

    check(lambda x: named(jax.checkpoint(body), "a")(x), X)
    check(jax.grad(lambda x: named(body, "a")(x).sum()), X)
    check(jax.vmap(lambda x: named(lambda x: x @ BIG, "a")(x)), X, count=1)


def test_calls_share_theirs():
    def total(xs):
        one = jax.value_and_grad(two_names)
        return sum(mw.call(one, call_counter=i)(x)[0] for i, x in enumerate(xs))

    check(total, [X, X + 1], count=4)


def test_one_copy_of_what_a_mesh_reads_twice():
    def function(x):
        h = named(lambda x: x @ BIG, "a")(x)
        return named(lambda h: h @ BIG, "c")(h)

    wrapped = mw.jit(function, mw.make_config(MESHES, {"a": "m0", "c": "m0"}))
    wrapped(X)
    before = {id(a) for a in jax.live_arrays()}
    compiled = wrapped.lower(X + 1).compile()
    kept = [a for a in jax.live_arrays() if id(a) not in before and a.shape == (N, N)]
    assert len(kept) == 1
    np.testing.assert_allclose(compiled(compiled.place(X)), X @ BIG @ BIG, atol=1e-3)


@pytest.mark.parametrize("infers", [False, True])
def test_outside_of_names_on_any_mesh(infers):
    options = {"mpmd_infer_transfers": infers}

    def function(x):
        scale = jnp.sin(BIG)
        h = named(lambda x: x @ OTHER, "a")(x + scale[:8])
        return named(lambda h: h.sum(), "b")(h) * jnp.sin(BIG)[0, 0]

    check(function, X, config=lambda: config(partitioning_options=options))


def test_what_several_meshes_read_of_one_operation_stays_text():
    """One argument would be on one of the meshes, and the program refused."""

    def function(x):
        both = jnp.sin(BIG)[:8]
        h = named(lambda x: x @ OTHER, "a")(x + both)
        return named(lambda h: h + 0, "b")(h) + both

    found = mw.jit(function, config())(X)
    np.testing.assert_allclose(found, jax.jit(function)(X), rtol=1e-3, atol=1e-3)


def test_values_are_those_of_when_it_was_lowered():
    aligned = np.empty(4 * N * N + 64, np.uint8)
    start = -aligned.ctypes.data % 64
    mine = aligned[start : start + 4 * N * N].view(np.float32).reshape(N, N)
    mine[:] = BIG
    gone = jnp.asarray(OTHER)
    wrapped = mw.jit(
        lambda x: named(lambda x: x @ mine @ gone, "a")(x) + mine[:8], config()
    )
    lowered = wrapped.lower(X)
    mine[:] = 0
    gone.delete()
    compiled = lowered.compile()
    x = compiled.place(X)
    for _ in range(2):
        np.testing.assert_allclose(
            compiled(x), X @ BIG @ OTHER + BIG[:8], rtol=1e-3, atol=1e-3
        )


def test_a_result_that_is_a_constant_is_the_callers():
    wrapped = mw.jit(
        lambda x: (named(lambda x: x @ BIG, "a")(x), BIG, jnp.sin(x)), config()
    )
    for _ in range(2):
        _, result, _ = wrapped(X)
        np.testing.assert_array_equal(result, BIG)
        result.delete()


def test_what_the_compiler_does_well_is_text():
    equal = np.full((N, N), 3, np.float32)
    few = array(8, 8)

    def function(x):
        return named(lambda x: (x @ equal)[:, :8] @ few, "a")(x)

    lowered = mw.jit(function, config()).lower(X)
    assert lowered.const_args == []
    np.testing.assert_allclose(
        mw.jit(function, config())(X), jax.jit(function)(X), rtol=1e-3
    )


@pytest.mark.parametrize("dtype", ["bfloat16", "int8", "bool", "int32", "complex64"])
def test_other_types(dtype):
    values = (RNG.normal(size=(N, 4 * N)) * 3).astype(np.int8).astype(jnp.dtype(dtype))
    for given in (values, jnp.asarray(values), np.asfortranarray(values)):

        def function(x, given=given):
            return named(lambda x: (x @ given.astype(np.float32)).sum(), "a")(x)

        if dtype == "complex64":

            def function(x, given=given):
                return named(lambda x: jnp.abs(x @ given).sum(), "a")(x)

        check(function, X, count=1)


def test_arrays_without_contents():
    """An empty one, and the tangents of integers, which have no bytes at all."""
    empty, tangents = np.zeros((0, N), np.float32), np.zeros(N, jax.dtypes.float0)

    def function(x):
        def first(x, zeros):
            assert zeros.dtype == jax.dtypes.float0
            return x + empty.sum()

        return named(first, "a")(x, tangents)

    check(function, X, count=0)
