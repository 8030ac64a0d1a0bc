"""Meshes on several platforms: each fragment is lowered for the one it runs on.

All devices here are CPUs; some meshes pass for GPUs until they are compiled.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh
from meshwright.lowering import partitioning, several_platforms

import meshwright as mw

pytestmark = pytest.mark.usefixtures("x32")

MESHES = {
    "gpu": Mesh(jax.devices()[:2], "x"),
    "host/cpu": Mesh(jax.devices()[2:4], "x"),
}
X = np.arange(4, dtype=np.float32)


@pytest.fixture(autouse=True)
def pretended(monkeypatch):
    """The first two devices are those of a GPU."""
    first = jax.devices()[:2]

    def platform(device):
        return "cuda" if device in first else "cpu"

    monkeypatch.setattr(several_platforms.described, "lowering_platform", platform)


def config(f, g, meshes=MESHES):
    return mw.make_config(
        meshes, {"f": f, "g": g}, partitioning_options={"mpmd_infer_transfers": True}
    )


def by_platform(x):
    """Another program on each platform: 10x on GPUs, x + 1 on CPUs."""
    return jax.lax.platform_dependent(x, cpu=lambda x: x + 1, cuda=lambda x: 10 * x)


def step(x):
    h = mw.named_computation(by_platform, name="f")(x)
    return mw.named_computation(by_platform, name="g")(h)


@pytest.mark.parametrize(
    ("f", "g", "expected"),
    [("gpu", "host/cpu", 10 * X + 1), ("host/cpu", "gpu", 10 * (X + 1))],
)
def test_fragments_are_lowered_for_the_platform_of_their_mesh(f, g, expected):
    np.testing.assert_array_equal(mw.jit(step, config(f, g))(X), expected)


def test_order_of_the_meshes_does_not_matter():
    meshes = dict(reversed(MESHES.items()))
    found = mw.jit(step, config("gpu", "host/cpu", meshes))(X)
    np.testing.assert_array_equal(found, 10 * X + 1)


def test_one_platform_is_lowered_for_once(monkeypatch):
    calls = []
    lower = partitioning._lower_for

    def lower_for(traced, program, platform, config):
        calls.append(platform)
        return lower(traced, program, platform, config)

    monkeypatch.setattr(partitioning, "_lower_for", lower_for)
    meshes = {"gpu": MESHES["gpu"]}
    mw.jit(step, config("gpu", "gpu", meshes)).lower(X)
    assert calls == ["cuda"]
    mw.jit(step, config("gpu", "host/cpu")).lower(X)
    assert calls[1:] == ["cuda", "cpu"]


def test_programs_that_differ_outside_of_fragments_are_refused():
    def branches(x):
        f, g = (mw.named_computation(jnp.sin, name=name) for name in "fg")
        return jax.lax.platform_dependent(x, cpu=f, cuda=g)

    with pytest.raises(
        NotImplementedError, match="different fragments on cuda and on cpu"
    ):
        mw.jit(branches, config("gpu", "host/cpu")).lower(X)


def test_python_functions_are_not_called_on_gpus_that_are_not_there():
    def printed(x):
        jax.debug.print("{}", x[0])
        return jnp.sin(x)

    def step(x):
        h = mw.named_computation(jax.jit(printed), name="f")(x)
        return mw.named_computation(jnp.sin, name="g")(h)

    says = r"test_platforms\.py:\d+.*printed.*: JAX lowers .* leave out"
    with pytest.raises(NotImplementedError, match=says):
        mw.jit(step, config("gpu", "host/cpu")).lower(X)
