# SPDX-License-Identifier: Apache-2.0
"""Backwards read weights themselves, not copies that forwards have reshaped."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P
from support.paired_training import assert_close

import meshwright as mw

pytestmark = pytest.mark.usefixtures("equal_compiles_once")


def reshaped(w, x):
    """The weight is a table of heads, the product takes a matrix."""
    return jnp.tanh(x @ w.reshape(8, 8))


def transposed(w, x):
    return jnp.tanh(x @ w.T)


def expert(w, x):
    """Each device has a part of the weight, with a dimension of size 1."""
    return jnp.tanh(x @ w[0])


def lower(layer, meshes, **options):
    def loss(ws, x):
        for i, w in enumerate(ws):
            x = mw.named_computation(layer, name=f"stage{i}")(w, x)
        return (x**2).sum()

    config = mw.make_config(
        meshes,
        {"stage0": "m0", "stage1": "m1"},
        partitioning_options={"mpmd_infer_transfers": True, **options},
    )
    shape = {reshaped: (2, 4, 8), transposed: (8, 8)}.get(layer, (2, 8, 8))
    ws = [np.full(shape, 0.1 * (i + 1), np.float32) for i in range(2)]
    x = np.linspace(-1, 1, 32, dtype=np.float32).reshape(4, 8)
    return mw.jit(jax.grad(loss), config).lower(ws, x), loss, (ws, x)


def count_results(lowered) -> int:
    """Values that forward fragments return."""
    return sum(
        len(item["results"])
        for item in lowered.partitioning_result.program["items"]
        if item["kind"] == "call"
    )


@pytest.mark.parametrize("layer", [reshaped, transposed, expert])
def test_forwards_keep_no_copy_of_a_weight(layer):
    devices = np.array(jax.devices()[:4]).reshape(2, 2)
    meshes = {f"m{i}": Mesh(row, "x") for i, row in enumerate(devices)}
    if layer is expert:
        specs = {"in_specs": (P("x"), P("x")), "out_specs": P("x")}
        layer = jax.shard_map(expert, mesh=meshes["m0"], **specs)
    lowered, loss, arguments = lower(layer, meshes, mpmd_repeat_views=True)
    apart, *_ = lower(layer, meshes)
    assert count_results(lowered) < count_results(apart)
    compiled = lowered.compile()
    placed = jax.device_put(arguments, compiled.input_shardings[0])
    assert_close(compiled(*placed), jax.jit(jax.grad(loss))(*arguments))


def attention(w, x):
    """Scores of products whose one operand is transposed."""
    heads = (x @ w).reshape(2, 2, 8)
    return jnp.tanh(heads @ heads.swapaxes(1, 2) @ heads).reshape(4, 8)


def test_forwards_keep_what_they_compute_as_it_is():
    meshes = {f"m{i}": Mesh(jax.devices()[i : i + 1], "x") for i in range(2)}

    def loss(ws, x):
        for i, w in enumerate(ws):
            x = mw.named_computation(attention, name=f"stage{i}")(w, x)
        return (x**2).sum()

    def transposed_results(**options):
        config = mw.make_config(
            meshes,
            {"stage0": "m0", "stage1": "m1"},
            partitioning_options={"mpmd_infer_transfers": True, **options},
        )
        lowered = mw.jit(jax.grad(loss), config).lower(ws, x)
        modules = [
            text
            for name, text in lowered.partitioning_result.fragments.items()
            if "fwd" in name
        ]
        returned = [
            re.search(r"^ *return (.*) :", text, re.MULTILINE)[1].split(", ")
            for text in modules
        ]
        made = [
            set(re.findall(r"(%\d+) = stablehlo\.transpose", text)) for text in modules
        ]
        counts = [len(m & set(r)) for m, r in zip(made, returned, strict=True)]
        return sum(counts), lowered.compile()

    ws = [
        np.linspace(-1, 1, 64, dtype=np.float32).reshape(8, 8) / (i + 1) for i in (0, 1)
    ]
    x = np.linspace(-1, 1, 32, dtype=np.float32).reshape(4, 8)
    count, compiled = transposed_results(mpmd_repeat_views=True)
    count_apart, _ = transposed_results()
    assert count_apart > count == 0
    placed = jax.device_put((ws, x), compiled.input_shardings[0])
    assert_close(compiled(*placed), jax.jit(jax.grad(loss))(ws, x))
