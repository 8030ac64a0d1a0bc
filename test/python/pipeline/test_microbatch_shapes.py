"""Microbatches of a few shapes: one set of programs for each."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support.schedule_training import (
    count_planned_live,
    draw_plan,
    find_issued,
    make_meshes,
    train_beside,
)

import meshwright as mw

pytestmark = pytest.mark.usefixtures("x32", "equal_compiles_once")

ROWS, WIDTH, STAGES = 2, 4, 4
LENGTHS = (8, 2, 2, 8, 5, 2, 8, 5)


def make_inputs(lengths=LENGTHS):
    random = np.random.default_rng(0)

    def draw(*shape):
        return random.normal(size=shape).astype(np.float32) / 2

    weights = [draw(WIDTH, WIDTH) for _ in range(STAGES)]
    xs, ys = ([draw(ROWS, length, WIDTH) for length in lengths] for _ in range(2))
    return weights, xs, ys


def loss(weights, x, y):
    for stage, w in enumerate(weights):
        x = mw.stage_boundary(x) if stage else x
        # The cosine of zero is not zero: rows of padding would change the result.
        x = x + jnp.cos(x @ w @ x.swapaxes(1, 2)) @ x / max(LENGTHS)
    return ((x - y) ** 2).mean()


GRADIENT = jax.value_and_grad(loss)


def step(weights, xs, ys):
    gradient = mw.pipeline.accumulate(GRADIENT, len(xs), batch_argnums=(1, 2))
    value, grads = gradient(weights, xs, ys)
    return value, jax.tree.map(lambda w, g: w - 0.1 * g, weights, grads)


plain_gradient = jax.jit(GRADIENT)


def plain_step(weights, xs, ys):
    """Compiled once for each shape."""
    every = [plain_gradient(weights, x, y) for x, y in zip(xs, ys, strict=True)]
    value, grads = jax.tree.map(lambda *parts: np.mean(parts, 0), *every)
    return value, jax.tree.map(lambda w, g: w - 0.1 * g, weights, grads)


@pytest.mark.parametrize(
    ("name", "sizes"),
    [("1F1B", (1, 1, 1, 1)), ("ZERO_BUBBLE_H1", (1, 2, 1, 2)), ("GPipe", (1, 2, 1, 2))],
)
def test_shapes_train_as_drawn(tools, name, sizes):
    topology, schedule = make_meshes(sizes), mw.get_pipeline_schedule(name)
    config = mw.make_config(topology, pipeline_schedule=schedule)
    weights, *batch = make_inputs()
    lowered = mw.jit(step, config).lower(weights, *batch)
    program, compiled = lowered.partitioning_result.program, lowered.compile()
    recording = train_beside(compiled, plain_step, weights, batch)
    orders, lives = find_issued(program, topology, recording)
    plan = draw_plan(tools, schedule, len(LENGTHS), orders)
    assert orders == plan
    assert lives == [count_planned_live(row) for row in plan]


def count_makespan(tools, lengths, name):
    scales = "--scales=" + ",".join(map(str, lengths))
    text = tools.check("meshwright", "schedule", name, scales)
    return int(re.search(r"makespan (\d+),", text)[1])


@pytest.mark.parametrize(
    ("sizes", "lengths"),
    [((1, 1, 1, 1), LENGTHS), ((1, 2, 1, 2), LENGTHS), ((1, 1, 1, 1), (8, 2, 5, 3))],
    ids=["equal", "unequal", "all lengths differ"],
)
def test_auto_orders_short_and_long_ones(tools, tmp_path, sizes, lengths):
    topology, schedule = make_meshes(sizes), mw.get_pipeline_schedule("auto")
    config = mw.make_config(topology, pipeline_schedule=schedule)
    weights, *batch = make_inputs(lengths)
    lowered = mw.jit(step, config).lower(weights, *batch)
    recording = train_beside(lowered.compile(), plain_step, weights, batch)
    orders, _ = find_issued(lowered.partitioning_result.program, topology, recording)
    first = [microbatch for _, kind, microbatch in orders[0] if kind == "F"]
    assert first != sorted(first) == list(range(len(lengths)))
    # The order that was issued, drawn: what a fixed one takes is longer.
    rows = [",".join(f"{s}{kind}{m}" for s, kind, m in row) + "\n" for row in orders]
    issued = tmp_path / "issued.csv"
    issued.write_text("".join(rows))
    shortest = count_makespan(tools, lengths, f"file:{issued}")
    for name in ("1F1B", "GPipe"):
        assert shortest < count_makespan(tools, lengths, name), name


def test_auto_is_shorter_than_a_fixed_order():
    def simulate(schedule, options):
        config = mw.make_config(
            make_meshes([1] * STAGES),
            partitioning_options=options,
            pipeline_schedule=mw.get_pipeline_schedule(schedule),
        )
        lengths = [512 * length for length in LENGTHS]
        types = [
            [jax.ShapeDtypeStruct((ROWS, n, 512), jnp.float32) for n in lengths]
            for _ in range(2)
        ]
        weights = [jax.ShapeDtypeStruct((512, 512), jnp.float32)] * STAGES
        return mw.jit(step, config).lower(weights, *types).simulate("h100").makespan_s

    found = simulate("AUTO", {"mpmd_schedule_device": "h100"})
    assert found < 0.8 * simulate("1F1B", {})


def test_each_shape_has_its_programs_once():
    schedule = mw.get_pipeline_schedule("1F1B")
    config = mw.make_config(make_meshes([1] * 4), pipeline_schedule=schedule)

    def count(lengths):
        lowered = mw.jit(step, config).lower(*make_inputs(lengths))
        items = lowered.partitioning_result.program["items"]
        named = [item for item in items if item["kind"] == "call" and item["origins"]]
        return len({item["fragment"] for item in named})

    # However often a shape comes.
    assert count((2, 8) * 8) == count((2, 8) * 4)
    assert count((2, 8) * 4) <= 2 * count((2, 2, 2, 2))


@pytest.mark.parametrize("wrap", [lambda step: step, jax.jit], ids=["eager", "jit"])
def test_without_meshes_it_is_the_same(wrap):
    inputs = make_inputs(LENGTHS[:3])
    found, expected = wrap(step)(*inputs), plain_step(*inputs)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)


def test_results_of_several_shapes_are_not_stacked():
    _, xs, _ = make_inputs((2, 3))
    double = mw.pipeline.accumulate(lambda x: 2 * x, 2, batch_argnums=0, reduce="stack")
    for run in (double, jax.jit(double)):
        with pytest.raises(
            ValueError, match=r"\(2, 2, 4\), \(2, 3, 4\), cannot be stac"
        ):
            run(xs)


def test_sequences_in_chunks_are_of_one_length():
    weights, xs, ys = make_inputs((2, 4))
    gradient = mw.pipeline.accumulate(
        lambda w, x, y, carry: (loss(w, x, y), carry),
        2,
        batch_argnums=(1, 2),
        sequence_chunks=2,
    )
    with pytest.raises(ValueError, match="different shapes with sequence_chunks"):
        gradient(weights, xs, ys)
