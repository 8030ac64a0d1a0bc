# SPDX-License-Identifier: Apache-2.0
"""One program for a TPU, a GPU and a CPU which is here, each by its own compiler."""

import importlib.util

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

import meshwright as mw

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("jax_cuda13_plugin") is None,
    reason="the compiler of CUDA is not installed",
)
WIDTH = 128
STAGES = ["m0", "m1", "m2"]


@pytest.fixture(scope="module")
def lowered():
    devices = {
        "m0": mw.aot.devices("v5e:2x2")[:2],
        "m1": mw.aot.devices("h100:2"),
        "m2": jax.devices("cpu")[:2],
    }
    meshes = {name: Mesh(np.array(found), "x") for name, found in devices.items()}

    def step(weights, x):
        for mesh, w in zip(STAGES, weights, strict=True):
            stage = mw.named_computation(lambda w, x: jnp.tanh(x @ w), name=mesh)
            x = stage(w, x)
        return (x**2).mean()

    weights = [
        jax.ShapeDtypeStruct(
            (WIDTH, WIDTH), jnp.float32, sharding=NamedSharding(mesh, P("x"))
        )
        for mesh in meshes.values()
    ]
    x = jax.ShapeDtypeStruct((8, WIDTH), jnp.float32)
    config = mw.make_config(meshes, {name: name for name in STAGES})
    return mw.jit(jax.value_and_grad(step), config).lower(weights, x)


@pytest.fixture(scope="module")
def compiled(lowered):
    # An option that the other compilers do not know.
    return lowered.compile({"m1": {"xla_gpu_enable_latency_hiding_scheduler": True}})


def test_each_mesh_is_answered_for_by_its_compiler(compiled):
    fit = compiled.runtime_executable().fit()
    # The memory of a CPU is that of its machine.
    assert [fit.meshes[mesh].fits for mesh in STAGES] == [True, True, None]
    text = compiled.as_text()
    # Tiles of a TPU, and a kernel of a GPU.
    assert ":T(8,128)" in text and "gemm_fusion" in text
    sent = {
        mesh: {one.kind for one in compiled.traffic().collectives[mesh]}
        for mesh in STAGES
    }
    assert all(sent.values())
    # Of a gradient whose weight is split (docs/hardware.md).
    assert "reduce-scatter" in sent["m1"] and "reduce-scatter" not in sent["m0"]


def test_a_call_names_the_meshes_that_are_not_here(compiled):
    values = [np.ones((WIDTH, WIDTH), np.float32)] * 3, np.ones((8, WIDTH), np.float32)
    says = r"not here, those of meshes 'm0' \(TPU v5 lite\), 'm1' \(NVIDIA H100"
    with pytest.raises(RuntimeError, match=says):
        compiled(*values)


@pytest.mark.parametrize("mesh", ["m0", "m1"])
def test_an_option_that_the_compiler_of_a_mesh_does_not_know(lowered, mesh):
    says = f'on mesh "{mesh}" does not compile: .*xla_nonsense'
    with pytest.raises(mw.FragmentError, match=says):
        lowered.compile({mesh: {"xla_nonsense": 1}})
