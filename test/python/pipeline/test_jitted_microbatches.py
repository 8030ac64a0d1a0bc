# SPDX-License-Identifier: Apache-2.0
"""Microbatches of a jitted function, whose trace JAX applies again, are as without."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh
from meshwright.pipeline import accumulate

import meshwright as mw

pytestmark = pytest.mark.usefixtures("x32")

WEIGHTS = [np.full((4, 4), 0.3, np.float32), np.full((4, 2), 0.2, np.float32)]
ROWS = np.linspace(0, 1, 32, dtype=np.float32).reshape(8, 4)


def loss(weights, x):
    h = mw.stage_boundary(jnp.tanh(x @ weights[0]))
    return ((h @ weights[1]) ** 2).mean()


def loss_of_chunk(weights, x, carry):
    carry = 0 if carry is None else carry
    h = mw.stage_boundary(jnp.tanh(x @ weights[0]).sum(1) + carry)
    return ((h @ weights[1]) ** 2).mean(), h


def make_config(schedule):
    meshes = {f"m{i}": Mesh(jax.devices()[i : i + 1], "x") for i in range(2)}
    return mw.make_config(
        meshes,
        pipeline_schedule=mw.get_pipeline_schedule(schedule),
        stage_to_mesh=list(meshes),
    )


def order(step, schedule, *args):
    program = mw.jit(step, make_config(schedule)).lower(*args).partitioning_result
    return [
        (item["mesh"], item["origins"])
        for item in program.program["items"]
        if item["kind"] == "call"
    ]


def apply_twice(gradient):
    def step(weights, x, y):
        uphill = jax.tree.map(jnp.add, weights, gradient(weights, x)[1])
        return gradient(uphill, y)

    return step


@pytest.mark.parametrize("schedule", ["1F1B", "LoopedBFS"])
def test_a_function_that_is_called_twice_is_scheduled_as_without_jit(schedule):
    gradient = accumulate(jax.value_and_grad(loss), 4)
    args = WEIGHTS, ROWS, ROWS
    expected = order(apply_twice(gradient), schedule, *args)
    assert order(apply_twice(jax.jit(gradient)), schedule, *args) == expected


def test_what_is_called_last_is_scheduled_last():
    functions = accumulate(jax.value_and_grad(loss), 4), accumulate(loss, 2)

    def make_step(gradient, last):
        return lambda *args: (gradient(*args), gradient(*args), last(*args))

    expected = order(make_step(*functions), "1F1B", WEIGHTS, ROWS)
    step = make_step(*map(jax.jit, functions))
    assert order(step, "1F1B", WEIGHTS, ROWS) == expected


def test_chunks_of_sequences_are_scheduled_as_without_jit():
    gradient = accumulate(loss_of_chunk, 2, sequence_chunks=2)
    args = WEIGHTS, ROWS.reshape(4, 2, 4), ROWS.reshape(4, 2, 4)
    expected = order(apply_twice(gradient), "Seq1F1B", *args)
    assert order(apply_twice(jax.jit(gradient)), "Seq1F1B", *args) == expected


def test_numbers_are_those_of_jax():
    step = apply_twice(jax.jit(accumulate(jax.value_and_grad(loss), 4)))
    args = WEIGHTS, ROWS, ROWS[::-1]
    ours = mw.jit(step, make_config("1F1B"))(*args)
    for found, expected in zip(*map(jax.tree.leaves, (ours, step(*args))), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize("is_inlined", [True, False])
@pytest.mark.parametrize("is_first", [True, False])
def test_a_trace_of_before_beside_microbatches_of_another_length(is_first, is_inlined):
    gradient = accumulate(jax.value_and_grad(loss), 4)
    other = accumulate(jax.grad(loss), 4)

    def make_step(gradient):
        def step(weights, x, y):
            calls = [lambda: gradient(weights, x), lambda: other(weights, y)]
            return [call() for call in (calls if is_first else calls[::-1])]

        return step

    step = make_step(jax.jit(gradient, inline=is_inlined))
    for rows in (ROWS, ROWS[:4]):  # JAX traces the jitted function once.
        args = WEIGHTS, ROWS, rows
        expected = order(make_step(gradient), "1F1B", *args)
        assert order(step, "1F1B", *args) == expected
