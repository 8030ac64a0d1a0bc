"""What is traced inside of a function is found again when that is wrapped again."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh

import meshwright as mw

pytestmark = pytest.mark.usefixtures("x32")

MESHES = {f"m{i}": Mesh(jax.devices()[i : i + 1], "x") for i in range(2)}
ONE_F_ONE_B = mw.make_config(
    MESHES, pipeline_schedule=mw.get_pipeline_schedule("ONE_FWD_ONE_BWD")
)
GPIPE = mw.make_config(MESHES, pipeline_schedule=mw.get_pipeline_schedule("GPIPE"))
ARGUMENTS = [jnp.ones((4, 4)), jnp.full((4, 4), 0.5)], jnp.ones((8, 4))


def make_step(traces):
    """A training step that notes when the function jitted inside of it is traced."""

    @jax.jit
    def activate(x):
        traces.append(1)
        return jnp.tanh(x)

    def loss(params, x):
        h = mw.stage_boundary(activate(x @ params[0]))
        return ((h @ params[1]) ** 2).mean()

    return mw.pipeline.accumulate(jax.value_and_grad(loss), microbatches=2)


def text(step, config=ONE_F_ONE_B):
    return mw.jit(step, config).lower(*ARGUMENTS).as_text()


def test_a_function_that_is_wrapped_again_takes_its_traces():
    traces = []
    step = make_step(traces)
    assert text(step) == text(step)
    assert len(traces) == 1


def test_another_schedule_or_function_does_not():
    traces = []
    step = make_step(traces)
    texts = text(step), text(step, GPIPE)
    assert len(traces) == 2
    assert text(lambda *args: step(*args)) and len(traces) == 3
    assert texts == (text(step), text(step, GPIPE)) and len(traces) == 3


def test_plain_functions_take_no_traces_of_marked_ones_and_leave_none():
    traces = []
    step = make_step(traces)
    expected = jax.jit(step)(*ARGUMENTS)
    found = mw.jit(step, ONE_F_ONE_B)(*ARGUMENTS)
    assert len(traces) == 2
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, 1e-5), found, expected)


def test_a_function_without_annotations_may_get_them_from_around_it():
    marked = False

    @jax.jit
    def layer(x):
        x = jnp.tanh(x)
        return mw.stage_boundary(x) if marked else x

    def step(params, x):
        return (layer(x @ params[0]) @ params[1]).sum()

    assert "stage1" not in text(step)
    marked = True
    assert "stage1" in text(step)


def test_microbatches_inside_of_a_jitted_function_are_counted_each_time():
    traces = []
    step = make_step(traces)
    inner = jax.jit(step)

    def twice(params, x):
        value, gradients = inner(params, x)
        other, more = step(params, x)
        return value + other, jax.tree.map(jnp.add, gradients, more)

    first, second = text(twice), text(twice)
    assert len(traces) > 1
    assert first == second
