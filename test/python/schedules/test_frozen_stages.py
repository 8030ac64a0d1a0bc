"""Stages that train nothing, under schedules that split backward passes."""

import functools
import logging

import _meshwright
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jax.sharding import Mesh
from meshwright.pipeline_registry import get_pipeline_schedule, pipeline_schedule_names

import meshwright as mw

pytestmark = pytest.mark.usefixtures("x32", "equal_compiles_once")

D, STAGES, MICROBATCHES = 8, 4, 8
WEIGHTS = [jnp.eye(D) * scale for scale in (0.5, 0.6, 0.7, 0.8)]
X = jnp.linspace(-1, 1, 16 * D).reshape(16, D)
# Two stages on each of two meshes, or one on each of four.
MESHES = {
    "ZeroBubbleV": 2,
    "DualPipeV": 2,
    "VHalf": 2,
    "VMin": 2,
    "InterleavedZeroBubble": 2,
    "CombinedInterleaved1F1B": 2,
    "ZeroBubbleH1": 4,
    "Combined1F1B": 4,
    "ZeroBubbleH2ZeroTxLatency": 4,
    "ZeroBubbleH2HalfTxLatency": 4,
    "ZeroBubbleH2FullTxLatency": 4,
}
TRAINED = [(0,), (1,), (2,), (3,), (2, 3), (0, 3), (0, 2), (1, 3)]


def stages(layer, weights, x):
    for stage, weight in enumerate(weights):
        if stage:
            x = mw.stage_boundary(x)
        x = layer(stage, weight, x)
    return (x**2).mean()


def make_config(schedule):
    count = MESHES[schedule]
    meshes = {f"m{i}": Mesh(jax.devices()[i : i + 1], "x") for i in range(count)}
    pipeline_schedule = get_pipeline_schedule(schedule)
    return mw.make_config(meshes, pipeline_schedule=pipeline_schedule)


def stopped(trained):
    """Weights of other stages are read through `stop_gradient`."""

    def layer(stage, weight, x):
        return jnp.tanh(
            x @ (weight if stage in trained else jax.lax.stop_gradient(weight))
        )

    loss = functools.partial(stages, layer)
    return mw.pipeline.accumulate(jax.value_and_grad(loss), MICROBATCHES), WEIGHTS


def of_first(loss):
    """The microbatched gradient of a loss by the first part of its weights."""

    def value_and_grad(parts, x):
        return jax.value_and_grad(lambda mine: loss(mine, parts[1], x))(parts[0])

    return mw.pipeline.accumulate(value_and_grad, MICROBATCHES)


def given(trained):
    """The gradient is taken of the trained stages' weights alone."""

    def loss(mine, others, x):
        weights = [mine.get(str(i), others.get(str(i))) for i in range(STAGES)]
        return stages(lambda _, weight, x: jnp.tanh(x @ weight), weights, x)

    parts = [{}, {}]
    for i, weight in enumerate(WEIGHTS):
        parts[i not in trained][str(i)] = weight
    return of_first(loss), parts


def adapted(trained):
    """Only some stages have an adapter of low rank; no weight itself is trained."""

    def loss(adapters, weights, x):
        def layer(stage, weight, x):
            if str(stage) not in adapters:
                return jnp.tanh(x @ weight)
            down, up = adapters[str(stage)]
            return jnp.tanh(x @ weight + x @ down @ up)

        return stages(layer, weights, x)

    pair = (jnp.ones((D, 2)) * 0.1, jnp.ones((2, D)) * 0.1)
    return of_first(loss), [{str(i): pair for i in trained}, WEIGHTS]


def set_to_zero(trained):
    """The optimizer leaves other stages as they are."""
    labels = ["adam" if i in trained else "frozen" for i in range(STAGES)]
    groups = {"adam": optax.adam(1e-2), "frozen": optax.set_to_zero()}
    optimizer = optax.multi_transform(groups, labels)
    loss = functools.partial(stages, lambda _, weight, x: jnp.tanh(x @ weight))

    def step(train, x):
        weights, state = train
        value_and_grad = mw.pipeline.accumulate(jax.value_and_grad(loss), MICROBATCHES)
        value, gradients = value_and_grad(weights, x)
        updates, state = optimizer.update(gradients, state, weights)
        return value, optax.apply_updates(weights, updates), state

    return step, (WEIGHTS, optimizer.init(WEIGHTS))


def test_these_are_all_schedules_that_split():
    splitting = set()
    for name in pipeline_schedule_names():
        options = get_pipeline_schedule(name).required_mpmd_options or {}
        if options.get("mpmd_split_bwd_fragments"):
            splitting.add(options["mpmd_pipeline_schedule"])
    # DualPipe wants two copies of the model, and auto is the same as others.
    assert splitting - {"auto", "DualPipe"} == set(MESHES)


@pytest.mark.parametrize("schedule", MESHES)
def test_stages_that_train_nothing_have_no_halves(schedule, caplog):
    """All choices of trained stages with `stop_gradient`; each other way of freezing
    with one choice, rotated over the schedules."""
    first = 3 * list(MESHES).index(schedule)
    cases = [(stopped, trained) for trained in TRAINED]
    for number, freeze in enumerate((given, adapted, set_to_zero), first):
        cases.append((freeze, TRAINED[number % len(TRAINED)]))
    with caplog.at_level(logging.WARNING):
        for freeze, trained in cases:
            step, args = freeze(trained)
            mw.jit(step, make_config(schedule)).lower(args, X)
    assert caplog.text == ""


@pytest.mark.parametrize(
    ("freeze", "trained", "schedule"),
    [
        (stopped, (3,), "ZeroBubbleV"),
        (stopped, (0,), "DualPipeV"),
        (given, (1,), "InterleavedZeroBubble"),
        (adapted, (0, 2), "VHalf"),
        (adapted, (1,), "ZeroBubbleH1"),
        (set_to_zero, (1, 3), "VMin"),
    ],
)
def test_frozen_stages_give_the_numbers_of_jit(freeze, trained, schedule):
    step, args = freeze(trained)
    compiled = mw.jit(step, make_config(schedule)).lower(args, X).compile()
    found, expected = compiled(*compiled.place(args, X)), jax.jit(step)(args, X)
    for ours, theirs in zip(*map(jax.tree.leaves, (found, expected)), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-7)


def test_a_split_that_is_switched_off_is_missed():
    step, args = stopped((2, 3))
    meshes = make_config("ZeroBubbleV").topology
    options = {
        "mpmd_pipeline_schedule": "ZeroBubbleV",
        "mpmd_split_bwd_fragments": False,
    }
    config = mw.make_config(meshes, partitioning_options=options)
    with pytest.raises(
        _meshwright.PartitionError, match="no backward fragment is split"
    ):
        mw.jit(step, config).lower(args, X)
