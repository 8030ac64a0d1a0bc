"""A training loop traces and compiles once, whatever its first arguments are."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P
from meshwright.layers import lower as layers_lower

import meshwright as mw
from meshwright import stages

pytestmark = pytest.mark.usefixtures("x32", "equal_compiles_once")

MESHES = {f"m{i}": Mesh(jax.devices()[2 * i : 2 * i + 2], "x") for i in range(2)}
CONFIG = mw.make_config(
    MESHES,
    {"f": "m0", "g": "m1"},
    partitioning_options={"mpmd_infer_transfers": True},
)


@pytest.fixture
def compiled(monkeypatch):
    """One entry for each program that was compiled."""
    found, compile_ = [], stages.Lowered.compile

    def counted(self, *args, **kwargs):
        found.append(self.name)
        return compile_(self, *args, **kwargs)

    monkeypatch.setattr(stages.Lowered, "compile", counted)
    return found


def on(mesh, *axes):
    return lambda x: jax.device_put(x, NamedSharding(MESHES[mesh], P(*axes)))


FIRST = {
    "numpy": lambda x: x,
    "numpy of 64 bits": lambda x: x.astype(np.float64),
    "uncommitted": jnp.asarray,
    "replicated": on("m0"),
    "sharded": on("m0", "x"),
}


@pytest.mark.parametrize("first", FIRST.values(), ids=FIRST)
def test_results_that_become_arguments_do_not_trace_again(first, compiled):
    traces = []

    def step(w):
        traces.append(1)
        return mw.named_computation(jnp.sin, name="f")(w)

    jitted, w = mw.jit(step, CONFIG), first(np.ones(4, np.float32))
    for _ in range(4):
        w = jitted(w)
    assert len(traces) == len(compiled) == 1
    np.testing.assert_allclose(w, [0.6276] * 4, atol=1e-3)


def loss(params, x):
    h = mw.named_computation(lambda w: jnp.tanh(x @ w), name="f")(params["w"])
    return mw.named_computation(lambda v, h: ((h @ v) ** 2).mean(), name="g")(
        params["v"], h
    )


@pytest.mark.parametrize("donate", [None, 0])
@pytest.mark.parametrize("first", ["numpy", "uncommitted"])
def test_training_on_two_meshes_traces_once(first, donate, compiled):
    traces = []

    def step(state, x):
        traces.append(1)
        params, count, key = state
        grads = jax.grad(loss)(params, x)
        params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
        return params, count + 1, key

    rng = np.random.default_rng(0)
    params = {
        name: FIRST[first](rng.normal(size=(4, 4)).astype(np.float32)) for name in "wv"
    }
    x = np.ones((2, 4), np.float32)
    state = expected = params, 0, jax.random.key(0)
    plain = jax.jit(step)
    for _ in range(4):
        expected = plain(expected, x)
    traces.clear()
    jitted = mw.jit(step, CONFIG, donate_argnums=donate)
    for _ in range(4):
        state = jitted(state, x)
    assert len(traces) == len(compiled) == 1
    assert int(state[1]) == 4 and state[1].weak_type == expected[1].weak_type
    for name in "wv":
        np.testing.assert_allclose(state[0][name], expected[0][name], rtol=1e-5)


def test_numbers_that_come_back_as_arrays_do_not_trace_again(compiled):
    traces = []
    jitted = mw.jit(lambda x: (traces.append(1), x * 2)[1], CONFIG)
    x = 1.5
    for _ in range(3):
        x = jitted(x)
    assert float(x) == 12 and x.weak_type
    assert (x + jnp.ones(2, jnp.bfloat16)).dtype == jnp.bfloat16
    assert len(traces) == len(compiled) == 1
    jitted(jnp.float32(1))  # Not weak: it may promote others.
    assert len(traces) == len(compiled) == 2


def test_other_shardings_are_another_program(compiled):
    jitted = mw.jit(mw.named_computation(lambda x: x * 2, name="f"), CONFIG)
    x = np.ones((4, 4), np.float32)
    for place in ("numpy", "sharded", "replicated", "sharded", "uncommitted"):
        np.testing.assert_array_equal(jitted(FIRST[place](x)), 2 * x)
    assert jitted(FIRST["sharded"](x)).sharding.spec == P("x")
    # The replicated array is what the first program expects.
    assert len(compiled) == 2


def test_unused_arguments_may_be_anywhere(compiled):
    jitted = mw.jit(lambda x, unused: x * 2, CONFIG)
    x = np.ones(4, np.float32)
    for place in (lambda x: x, on("m0"), on("m1"), on("m1", "x")):
        np.testing.assert_array_equal(jitted(x, place(x)), 2 * x)
    assert len(compiled) == 1


@pytest.fixture
def lowered(monkeypatch):
    """One entry for each program that was lowered."""
    found, lower = [], layers_lower.lower_traced

    def counted(*args, **kwargs):
        found.append(args[1])
        return lower(*args, **kwargs)

    monkeypatch.setattr(layers_lower, "lower_traced", counted)
    return found


def test_a_program_that_was_looked_at_is_called(lowered):
    """As trainers do that print how much memory a step needs before they train."""
    jitted = mw.jit(
        mw.named_computation(lambda x, y: x * y, name="f"),
        CONFIG,
        in_shardings=(NamedSharding(MESHES["m0"], P("x")), None),
    )
    x, y = FIRST["sharded"](np.ones(4, np.float32)), np.float32(2)
    assert jitted.lower(x, y).compile().memory_analysis()["m0"].argument_bytes
    for _ in range(2):
        np.testing.assert_array_equal(jitted(x, y), 2 * x)
    assert len(lowered) == 1
    # It is for calls alone, and another type is another program.
    assert jitted.lower(x, y) is not jitted.lower(x, y)
    assert len(lowered) == 3
    np.testing.assert_array_equal(jitted(x, np.ones(4, np.float32)), x)
    assert len(lowered) == 4
