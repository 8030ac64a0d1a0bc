"""Donated arguments: the numbers of `jax.jit`, and the array is gone afterwards."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

import meshwright as mw

pytestmark = pytest.mark.usefixtures("x32")

MESHES = {"a": Mesh(jax.devices()[:2], "x"), "b": Mesh(jax.devices()[2:6], "y")}
CONFIG = mw.make_config(
    MESHES, {"f": "a", "g": "b"}, partitioning_options={"mpmd_infer_transfers": True}
)
X = np.arange(16, dtype=np.float32).reshape(4, 4)


def f(x):
    return mw.named_computation(jnp.sin, name="f")(x)


def g(x):
    return mw.named_computation(jnp.cos, name="g")(x)


CASES = {
    "overwritten": f,
    "returned": lambda x: (x, f(x)),
    "returned twice": lambda x: (x, x),
    "read twice": lambda x: (f(x), f(2 * x)),
    "read here and there": lambda x: (f(x), g(x)),
    "sent on": lambda x: g(f(x)),
    "sent and returned": lambda x: (x, g(x)),
    "of another shape": lambda x: f(x).sum(),
    "unused": lambda x: f(jnp.ones(3)),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("spec", [P(), P("x"), P(None, "x")], ids=str)
def test_donated_arrays(case, spec):
    function = CASES[case]
    donating = mw.jit(
        function,
        CONFIG,
        donate_argnums=0,
        in_shardings=NamedSharding(MESHES["a"], spec),
    )
    compiled = donating.lower(X).compile()
    x = jax.device_put(X, compiled.input_shardings[0][0])
    found = compiled(x)
    assert x.is_deleted()
    jax.tree.map(
        lambda mine, plain: np.testing.assert_allclose(mine, plain, rtol=1e-6),
        found,
        jax.jit(function)(X),
    )


def test_split_changes_on_the_way():
    shardings = [NamedSharding(MESHES["a"], spec) for spec in (P("x"), P(None, "x"))]
    step = mw.jit(
        f,
        CONFIG,
        donate_argnums=0,
        in_shardings=shardings[0],
        out_shardings=shardings[1],
    )
    x = jax.device_put(X, shardings[0])
    y = step(x)
    assert x.is_deleted() and y.sharding == shardings[1]
    np.testing.assert_allclose(y, np.sin(X), rtol=1e-6)


@pytest.mark.parametrize("value", [X, 1.0, np.float32(2)], ids=["array", "float", "np"])
def test_what_is_no_array_of_jax_stays(value):
    before = np.copy(value)
    found = mw.jit(f, CONFIG, donate_argnums=0)(value)
    np.testing.assert_allclose(found, np.sin(before), rtol=1e-6)
    np.testing.assert_array_equal(value, before)


@pytest.mark.parametrize("donated", [(0,), (0, 1)])
def test_one_array_for_two_arguments(donated):
    """An error, as under `jax.jit`; the array survives, as nothing ran."""
    step = mw.jit(lambda x, y: (f(x), f(2 * y)), CONFIG, donate_argnums=donated)
    x = jax.device_put(X, NamedSharding(MESHES["a"], P()))
    with pytest.raises(ValueError, match="donated; pass a copy"):
        step(x, x)
    np.testing.assert_allclose(step(x, x + 0)[0], np.sin(X), rtol=1e-6)
    assert x.is_deleted()


def test_nothing_is_said_about_donation(recwarn):
    """An array that no result can take over is freed early nevertheless."""
    mw.jit(CASES["of another shape"], CONFIG, donate_argnums=0).lower(X)
    assert not [w for w in recwarn if "donat" in str(w.message)]
