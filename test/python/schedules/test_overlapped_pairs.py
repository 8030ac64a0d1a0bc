"""Forwards and backwards that a schedule overlaps are one program."""

import collections
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import io_callback
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P
from support.schedule_training import count_copies

import meshwright as mw

pytestmark = pytest.mark.usefixtures("x32")

MESHES, DEVICES, ROWS, WIDTH = 4, 2, 4, 8
PAIRED = {
    "DualPipe": 8,
    "DualPipeV": 8,
    "Combined1F1B": 4,
    "CombinedInterleaved1F1B": 8,
}


def make_topology() -> dict[str, Mesh]:
    devices = np.array(jax.devices()[: MESHES * DEVICES]).reshape(MESHES, DEVICES)
    return {f"m{i}": Mesh(row, "x") for i, row in enumerate(devices)}


def experts(mesh, w, x):
    """Rows go to the device of their expert, and come back."""

    def own(w, x):
        x = jax.lax.all_to_all(x, "x", 1, 0, tiled=True)
        x = jnp.tanh(x @ w[0])
        return jax.lax.all_to_all(x, "x", 0, 1, tiled=True)

    specs = {"in_specs": (P("x"), P("x")), "out_specs": P("x")}
    return x + jax.shard_map(own, mesh=mesh, **specs)(w, x)


def distance(x, y):
    return ((x - y) ** 2).mean()


def make_step(mesh, stages, copies, microbatches, log=None):
    of_copy = [list(part) for part in np.split(np.arange(stages), copies)]

    def layer(stage, w, x):
        if log is not None and stage == 0:
            io_callback(log, None, x[0, 0])
        return experts(mesh, w, x)

    def loss(mine, weights, x, y):
        for w, stage in zip(weights, mine, strict=True):
            named = mw.named_computation(
                functools.partial(layer, stage), name=f"stage{stage}"
            )
            x = named(w, x)
        return mw.named_computation(distance, name=f"stage{mine[-1]}")(x, y)

    def step(weights, xs, ys):
        sums, total = [None] * copies, 0.0
        for m in range(microbatches):
            copy = m * copies // microbatches
            mine = of_copy[copy]
            gradient = mw.call(
                jax.value_and_grad(functools.partial(loss, mine)), call_counter=m
            )
            found, grads = gradient([weights[s] for s in mine], xs[m], ys[m])
            total = total + found
            if sums[copy] is not None:
                grads = jax.tree.map(jnp.add, sums[copy], grads)
            sums[copy] = grads
        grads = sums[0]
        if copies == 2:
            both = zip(*sums, strict=True)
            grads = 2 * [mw.reduce(a + b) for a, b in both]
        return total, [w - 0.1 * g for w, g in zip(weights, grads, strict=True)]

    return step


def make_inputs(stages, copies, microbatches):
    random = np.random.default_rng(0)

    def draw(*shape):
        return random.normal(size=shape).astype(np.float32)

    weights = copies * [
        draw(DEVICES, WIDTH // 2, WIDTH // 2) for _ in range(stages // copies)
    ]
    xs, ys = ([draw(ROWS, WIDTH) for _ in range(microbatches)] for _ in range(2))
    return weights, xs, ys


def lower(schedule, microbatches=8, log=None, topology=None, **options):
    topology = topology or make_topology()
    stages, copies = PAIRED[schedule], count_copies(schedule)
    where = mw.pipeline.stage_assignment(schedule, topology, stages)
    config = mw.make_config(
        topology,
        {f"stage{stage}": mesh for stage, mesh in where.items()},
        name_to_stage_assignment={f"stage{stage}": stage for stage in where},
        partitioning_options={
            "mpmd_infer_transfers": True,
            "mpmd_infer_cross_mesh_reductions": True,
            **options,
        },
        pipeline_schedule=mw.get_pipeline_schedule(schedule),
    )
    mesh = next(iter(topology.values()))
    split = NamedSharding(mesh, P("x"))
    step = make_step(mesh, stages, copies, microbatches, log)
    train = mw.jit(step, config, in_shardings=(split, split, split), donate_argnums=0)
    return train.lower(*make_inputs(stages, copies, microbatches))


def train(lowered, schedule, microbatches=8, steps=2):
    weights, xs, ys = make_inputs(
        PAIRED[schedule], count_copies(schedule), microbatches
    )
    compiled = lowered.compile()
    place = compiled.input_shardings[0]
    weights, xs, ys = jax.tree.map(jax.device_put, (weights, xs, ys), place)
    losses = []
    for _ in range(steps):
        loss, weights = compiled(weights, xs, ys)
        losses.append(loss)
    return jax.tree.map(np.asarray, (losses, weights))


@functools.cache
def train_plainly(stages, copies, microbatches=8, steps=2):
    mesh = next(iter(make_topology().values()))
    step = jax.jit(make_step(mesh, stages, copies, microbatches))
    weights, xs, ys = make_inputs(stages, copies, microbatches)
    losses = []
    for _ in range(steps):
        loss, weights = step(weights, xs, ys)
        losses.append(loss)
    return jax.tree.map(np.asarray, (losses, weights))


def find_pairs(lowered):
    program = lowered.partitioning_result.program
    return [item for item in program["items"] if "overlapped" in item]


def assert_close(found, expected, tolerance=1e-5):
    jax.tree.map(
        functools.partial(np.testing.assert_allclose, rtol=tolerance, atol=tolerance),
        found,
        expected,
    )


@pytest.mark.parametrize("schedule", PAIRED)
def test_pairs_train_as_jit_and_as_parts(schedule):
    paired = lower(schedule)
    apart = lower(schedule, mpmd_fuse_overlapped_pairs=False)
    assert find_pairs(paired) and not find_pairs(apart)
    found = train(paired, schedule)
    assert_close(found, train(apart, schedule))
    assert_close(found, train_plainly(PAIRED[schedule], count_copies(schedule)))


@pytest.mark.parametrize("schedule", PAIRED)
def test_a_pair_is_a_forward_and_a_backward(schedule):
    lowered = lower(schedule)
    program = lowered.partitioning_result.program
    for pair in find_pairs(lowered):
        first, second = pair["overlapped"]
        assert pair["origins"] == [*first["origins"], *second["origins"]]
        assert not any(origin.endswith("(1)") for origin in first["origins"])
        assert all(origin.endswith("(1)") for origin in second["origins"])
        assert first["results"] + second["results"] == len(pair["results"])
        assert "_with_" in program["fragments"][pair["fragment"]]["name"]


@pytest.mark.parametrize(
    "options",
    [
        {"mpmd_defer_reductions": True},
        {"mpmd_hoist_invariants": True},
        {"mpmd_keep_units_alike": True},
        {"mpmd_schedule_device": "h100"},
    ],
    ids=lambda options: next(iter(options)),
)
def test_pairs_go_with_other_options(options):
    lowered = lower("Combined1F1B", **options)
    assert find_pairs(lowered)
    assert_close(train(lowered, "Combined1F1B"), train_plainly(4, 1))


def test_effects_keep_their_order():
    seen = collections.defaultdict(list)

    def count(log, **options):
        lowered = lower("Combined1F1B", log=seen[log].append, **options)
        train(lowered, "Combined1F1B", steps=1)
        jax.effects_barrier()
        return len(find_pairs(lowered))

    assert count("paired") > 0
    assert count("apart", mpmd_fuse_overlapped_pairs=False) == 0
    assert len(seen["apart"]) == 8 * DEVICES or len(seen["apart"]) == 8
    assert [float(x) for x in seen["paired"]] == [float(x) for x in seen["apart"]]


def test_more_microbatches_are_no_more_programs():
    def count(microbatches):
        lowered = lower("Combined1F1B", microbatches, mpmd_keep_units_alike=True)
        pairs = find_pairs(lowered)
        return len({pair["fragment"] for pair in pairs}), len(pairs)

    (few, some), (many, more) = count(16), count(32)
    assert many == few
    assert more - some == 4 * 16  # Each mesh pairs each of them.


def test_nothing_is_paired_without_collectives():
    devices = jax.devices()
    topology = {f"m{i}": Mesh(np.array(devices[i : i + 1]), "x") for i in range(4)}
    config = mw.make_config(
        topology,
        {f"stage{s}": f"m{s}" for s in range(4)},
        name_to_stage_assignment={f"stage{s}": s for s in range(4)},
        partitioning_options={"mpmd_infer_transfers": True},
        pipeline_schedule=mw.get_pipeline_schedule("Combined1F1B"),
    )

    def layer(w, x):
        return jnp.tanh(x @ w)

    def loss(weights, x):
        for stage, w in enumerate(weights):
            x = mw.named_computation(layer, name=f"stage{stage}")(w, x)
        return mw.named_computation(jnp.mean, name="stage3")(x)

    def step(weights, xs):
        total = None
        for m in range(8):
            grads = mw.call(jax.grad(loss), call_counter=m)(weights, xs[m])
            total = grads if total is None else jax.tree.map(jnp.add, total, grads)
        return total

    weights = [np.ones((4, 4), np.float32)] * 4
    lowered = mw.jit(step, config).lower(weights, [np.ones((4, 4), np.float32)] * 8)
    assert not find_pairs(lowered)


def test_memory_counts_the_parts_together():
    paired = lower("Combined1F1B").compile().memory_analysis()
    apart = lower("Combined1F1B", mpmd_fuse_overlapped_pairs=False)
    apart = apart.compile().memory_analysis()
    for mesh in paired:
        # Both parts need theirs until both have ended.
        assert paired[mesh].temporary_bytes >= apart[mesh].temporary_bytes
        assert paired[mesh].argument_bytes == apart[mesh].argument_bytes


def test_a_pair_takes_less_than_its_parts():
    lowered = lower("DualPipeV")
    with_pairs = lowered.simulate("h100")
    without = lowered.simulate("h100", overlap="none")
    assert with_pairs.makespan_s < without.makespan_s
    assert "overlapped" in {item.kind for item in with_pairs.items}
    assert "overlapped" not in {item.kind for item in without.items}
    apart = lower("DualPipeV", mpmd_fuse_overlapped_pairs=False).simulate("h100")
    # The same calls in the same order; fusing has cut nothing off.
    assert without.makespan_s == pytest.approx(apart.makespan_s, rel=0.05)
    with pytest.raises(
        ValueError, match="overlap is 'all'; expected 'pairs' or 'none'"
    ):
        lowered.simulate("h100", overlap="all")
