"""Forwards and backwards that a schedule overlaps are one program."""

import collections
import functools
import itertools
import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh
from meshwright.runtime.program.pair_options import pair_options
from support.launching import launch, reports
from support.paired_training import (
    DEVICES,
    MESHES,
    PAIRED,
    SHARED,
    assert_close,
    distance,
    experts,
    find_pairs,
    lower,
    make_inputs,
    make_step,
    make_topology,
    sum_plainly,
    train,
    train_compiled,
    train_plainly,
)
from support.schedule_training import count_copies, stage_config

import meshwright as mw

pytestmark = pytest.mark.usefixtures("x32", "equal_compiles_once")

# What several tests look at, or run.
lower_once = functools.cache(lower)
PARTS = {"mpmd_fuse_overlapped_pairs": False}


@functools.cache
def compile_once(schedule, **options):
    return lower_once(schedule, **options).compile()


@pytest.mark.parametrize("schedule", PAIRED)
def test_pairs_train_as_jit(schedule):
    """The orders of their parts are those of test_schedule_training."""
    assert find_pairs(lower_once(schedule))
    found = train_compiled(compile_once(schedule), schedule)
    assert_close(found, train_plainly(PAIRED[schedule], count_copies(schedule)))


@pytest.mark.parametrize("schedule", ["Combined1F1B", "DualPipe"])
def test_parts_train_as_jit(schedule):
    """Experts in programs that nothing pairs, in one copy of a model and in two."""
    assert not find_pairs(lower_once(schedule, **PARTS))
    found = train_compiled(compile_once(schedule, **PARTS), schedule)
    assert_close(found, train_plainly(PAIRED[schedule], count_copies(schedule)))


@pytest.mark.parametrize("schedule", PAIRED)
def test_a_pair_is_a_forward_and_a_backward(schedule):
    lowered = lower_once(schedule)
    program, pairs = lowered.partitioning_result.program, find_pairs(lowered)
    assert pairs
    for pair in pairs:
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
        {"mpmd_split_manual_computations": False},
        {"mpmd_accumulate_in_units": False},
        {"mpmd_schedule_device": "h100"},
    ],
    ids=lambda options: next(iter(options)),
)
def test_pairs_go_with_other_options(options):
    lowered = lower("Combined1F1B", **options)
    assert find_pairs(lowered)
    assert_close(train(lowered, "Combined1F1B"), train_plainly(4, 1))


@pytest.mark.parametrize("suffix", ["csv", "json"])
@pytest.mark.parametrize("schedule", ["DualPipeV", "Combined1F1B"])
def test_plans_in_files_pair(schedule, suffix, tools, tmp_path):
    shape = [f"--meshes={MESHES}", "--microbatches=8"]
    path = tmp_path / f"plan.{suffix}"
    path.write_text(
        tools.check("meshwright", "schedule", schedule, f"--{suffix}", *shape)
    )
    lowered, named = lower(schedule, plan=f"file:{path}"), lower_once(schedule)
    assert 0 < len(find_pairs(lowered)) == len(find_pairs(named))
    shape = PAIRED[schedule], count_copies(schedule)
    assert_close(train(lowered, schedule), train_plainly(*shape))


def test_a_late_half_follows_its_pair():
    """Other meshes get the results of a pair while the late half runs."""
    options = {"shared": True, "mpmd_schedule_device": "h100"}
    lowered = lower("Combined1F1B", **options)
    calls = collections.defaultdict(list)
    for item in lowered.partitioning_result.program["items"]:
        if item["kind"] == "call":
            calls[item["mesh"]].append(item)
    assert any(
        later["origins"] == pair["overlapped"][1]["origins"]
        for queue in calls.values()
        for pair, later in itertools.pairwise(queue)
        if "overlapped" in pair
    )
    apart = lower("Combined1F1B", **options, **PARTS)
    steps = [each.simulate("h100").makespan_s for each in (lowered, apart)]
    assert steps[0] < steps[1]
    assert_close(
        train(lowered, "Combined1F1B", shared=True), train_plainly(4, 1, shared=True)
    )


def test_late_halves_hide_what_is_in_no_pair():
    """While the pipeline drains, backwards run with late halves that have waited."""

    def count(lowered):
        """Pairs whose first part is a backward, too."""
        firsts = [pair["overlapped"][0]["origins"] for pair in find_pairs(lowered)]
        return sum(all(name.endswith("(1)") for name in names) for names in firsts)

    timed = lower("DualPipeV", shared=True, mpmd_schedule_device="h100")
    assert count(timed) > 0
    assert count(lower_once("DualPipeV", shared=True)) == 0
    whole = lower(
        "DualPipeV",
        shared=True,
        mpmd_schedule_device="h100",
        mpmd_fuse_overlapped_pairs=False,
    )
    assert timed.simulate("h100").makespan_s < whole.simulate("h100").makespan_s
    assert_close(
        train(timed, "DualPipeV", shared=True), train_plainly(8, 1, shared=True)
    )


def test_no_late_half_makes_the_last_backwards_late():
    """While the pipeline drains, meshes would wait for halves of their neighbours."""
    schedule = "CombinedInterleaved1F1B"
    lowered = lower(schedule, mpmd_schedule_device="tpu-v5p")
    apart = lower(
        schedule, mpmd_schedule_device="tpu-v5p", mpmd_fuse_overlapped_pairs=False
    )
    steps = [each.simulate("tpu-v5p").makespan_s for each in (lowered, apart)]
    # With halves that join whatever runs next, 0.862.
    assert steps[0] < 0.856 * steps[1]
    assert_close(train(lowered, schedule), train_plainly(8, 1))


@pytest.mark.parametrize("schedule", [*PAIRED, "1F1B"])
def test_pairs_leave_little_in_the_half_that_others_wait_for(schedule):
    """Unless the user says otherwise."""
    options = ("mpmd_split_manual_computations", "mpmd_accumulate_in_units")

    @functools.cache
    def describe(**given):
        topology = make_topology()
        stages = PAIRED.get(schedule, 4)
        config = stage_config(
            schedule,
            topology,
            stages,
            {"mpmd_infer_cross_mesh_reductions": True, **given},
            pipeline_schedule=mw.get_pipeline_schedule(schedule),
        )
        step = make_step(topology["m0"], stages, count_copies(schedule), 8)
        inputs = make_inputs(stages, count_copies(schedule), 8)
        lowered = mw.jit(step, config).lower(*inputs)
        return lowered.partitioning_result.program

    default = describe()
    assert (default == describe(**dict.fromkeys(options, True))) == (schedule in PAIRED)
    assert default == describe(**dict.fromkeys(options, schedule in PAIRED))


def test_experts_are_recomputed_where_a_schedule_pairs():
    """Backwards of experts are then whole, unless the user says otherwise."""
    lowered = lower("DualPipeV", mpmd_fragment_remat=True)
    items = lowered.partitioning_result.program["items"]
    assert any(item.get("remat") for item in items)


@pytest.mark.parametrize(
    ("platform", "name"),
    [
        ("gpu", "xla_gpu_enable_latency_hiding_scheduler"),
        ("tpu", "xla_tpu_enable_async_all_to_all"),
        ("cpu", None),
    ],
)
def test_compilers_start_collectives_of_pairs_early(platform, name):
    mesh = types.SimpleNamespace(platform=platform)
    options = pair_options(mesh, {"other": 1}, is_pair=True)
    assert options["other"] == 1
    # On TPUs whole backwards hide their exchanges, too.
    others = pair_options(mesh, {"other": 1}, is_pair=False)
    assert others == (options if platform == "tpu" else {"other": 1})
    if name is None:
        assert options == {"other": 1}
    else:
        assert options[name] is True
        assert pair_options(mesh, {name: False}, is_pair=True)[name] is False


def test_auto_pairs_where_time_and_memory_allow():
    options = {"mpmd_schedule_device": "h100"}
    roomy = lower("auto", **options, mpmd_schedule_memory="8")
    tight = lower("auto", **options, mpmd_schedule_memory="1")
    assert find_pairs(roomy) and not find_pairs(tight)
    step, longer = (lowered.simulate("h100").makespan_s for lowered in (roomy, tight))
    assert step < longer
    assert_close(train(roomy, "auto"), train_plainly(4, 1))


TOGETHER = {
    "mpmd_accumulate_in_units": True,
    "mpmd_split_manual_computations": True,
    "mpmd_defer_reductions": True,
    "mpmd_hoist_invariants": True,
    "mpmd_schedule_device": "h100",
}


@pytest.mark.parametrize("schedule", PAIRED)
def test_pairs_go_with_all_of_them_together(schedule):
    """The step donates its weights, too."""
    plain = lower_once(schedule, shared=True)
    lowered = lower(schedule, shared=True, **TOGETHER)
    assert find_pairs(plain) and find_pairs(lowered)
    compiled = lowered.compile()

    def count_reductions(compiled):
        found = compiled.traffic().collectives
        return sum(
            c.count for mesh in found for c in found[mesh] if c.kind == "all-reduce"
        )

    def count_flops(lowered):
        program = lowered.partitioning_result.program
        fragments = program["fragments"]
        calls = (item for item in program["items"] if item["kind"] == "call")
        return sum(fragments[item["fragment"]]["flops"] for item in calls)

    assert count_reductions(compiled) < count_reductions(plain.compile())
    assert count_flops(lowered) < count_flops(plain)
    shape = PAIRED[schedule], count_copies(schedule)
    assert_close(
        train_compiled(compiled, schedule, shared=True),
        train_plainly(*shape, shared=True),
    )


def apply_marked_layer(mesh, w, x):
    return jnp.tanh(experts(mesh, w["experts"], x) @ w["shared"])


def make_marked_step(mesh, calls):
    """Experts with halves, called in turn, or by `accumulate`."""

    def loss(weights, batch):
        x, y = batch
        for stage, w in enumerate(weights):
            x = apply_marked_layer(mesh, w, mw.stage_boundary(x) if stage else x)
        return distance(x, y)

    gradient = jax.value_and_grad(loss)

    def in_turn(weights, batches):
        total = None
        for m in range(8):
            batch = tuple(part[m * 4 : m * 4 + 4] for part in batches)
            found = mw.call(gradient, call_counter=m)(weights, batch)
            total = found if total is None else jax.tree.map(jnp.add, total, found)
        return jax.tree.map(lambda a: a / 8, total)

    return in_turn if calls else mw.pipeline.accumulate(gradient, 8)


def make_marked_inputs(stages):
    weights, *batches = make_inputs(stages, 1, 8, shared=True)
    return weights, tuple(np.concatenate(part) for part in batches)


@functools.cache
def step_marked_plainly(stages):
    total = sum_plainly(apply_marked_layer, *make_inputs(stages, 1, 8, shared=True))
    return jax.tree.map(lambda a: a / 8, total)


@pytest.mark.parametrize(
    ("schedule", "calls"),
    [("DualPipeV", True), ("Combined1F1B", True), ("DualPipeV", False), ("1F1B", True)],
)
def test_marked_experts_train_as_jit(schedule, calls):
    """With halves of experts, and sums that are taken where terms are, in pairs."""
    topology = make_topology()
    stages = 8 if schedule == "DualPipeV" else 4
    inputs = make_marked_inputs(stages)
    config = mw.make_config(
        topology,
        pipeline_schedule=mw.get_pipeline_schedule(schedule),
    )
    step = make_marked_step(topology["m0"], calls)
    lowered = mw.jit(step, config).lower(*inputs)
    assert bool(find_pairs(lowered)) == (schedule != "1F1B")
    compiled = lowered.compile()
    found = compiled(*jax.device_put(inputs, compiled.input_shardings[0]))
    assert_close(mw.fetch(found), step_marked_plainly(stages))


@pytest.mark.parametrize("schedule", PAIRED)
def test_effects_keep_their_order(schedule):
    """Each device of the first stage logs each of its microbatches, in their order."""
    seen, copies = [], count_copies(schedule)
    lowered = lower(schedule, log=seen.append)
    assert find_pairs(lowered)
    train(lowered, schedule, steps=1)
    jax.effects_barrier()
    _, xs, _ = make_inputs(PAIRED[schedule], copies, 8)
    # Of two copies, one has the first stage.
    written = [x[0, 0] for x in xs[: 8 // copies]]
    found = [float(x) for x in seen]
    assert len(found) in (len(written), len(written) * DEVICES), found
    assert found == [
        float(x) for x in written for _ in range(len(found) // len(written))
    ]


def test_more_microbatches_are_no_more_programs():
    def count(microbatches):
        lowered = lower("Combined1F1B", microbatches, mpmd_keep_units_alike=True)
        pairs = find_pairs(lowered)
        return len({pair["fragment"] for pair in pairs}), len(pairs)

    (few, some), (many, more) = count(16), count(20)
    assert many == few
    assert more - some == 4 * 4  # Each mesh pairs each of them.


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
    paired, apart = (
        compile_once("Combined1F1B", **options).memory_analysis()
        for options in ({}, PARTS)
    )
    assert paired.keys() == apart.keys() == make_topology().keys()
    for mesh in paired:
        # Both parts need theirs until both have ended.
        assert paired[mesh].temporary_bytes >= apart[mesh].temporary_bytes
        assert paired[mesh].argument_bytes == apart[mesh].argument_bytes


def test_a_pair_takes_less_than_its_parts():
    lowered = lower_once("DualPipeV")
    with_pairs = lowered.simulate("h100")
    without = lowered.simulate("h100", overlap="none")
    assert with_pairs.makespan_s < without.makespan_s
    assert "overlapped" in {item.kind for item in with_pairs.items}
    assert "overlapped" not in {item.kind for item in without.items}
    parts = lower_once("DualPipeV", **PARTS)
    assert not find_pairs(parts)
    apart = parts.simulate("h100")
    # The same calls in the same order; fusing has cut nothing off.
    assert without.makespan_s == pytest.approx(apart.makespan_s, rel=0.05)
    with pytest.raises(
        ValueError, match="overlap is 'all'; expected 'pairs' or 'none'"
    ):
        lowered.simulate("h100", overlap="all")


@pytest.fixture(scope="module")
def over_processes(tmp_path_factory):
    """Two processes with two meshes each, one start for all schedules: what one
    process has compiled the other one loads."""
    cache = str(tmp_path_factory.mktemp("cache"))
    case = 2, MESHES * DEVICES // 2, "pairs.py"
    return reports(launch(*case, forks=False, MESHWRIGHT_CACHE_DIR=cache))


@pytest.mark.parametrize("schedule", PAIRED)
def test_pairs_train_over_processes(schedule, over_processes):
    assert [report["process"] for report in over_processes] == [0, 1]
    shape, shared = (PAIRED[schedule], count_copies(schedule)), schedule in SHARED
    wanted = jax.tree.leaves(train_plainly(*shape, shared=shared))
    for report in over_processes:
        found = report["found"][schedule]
        assert found["pairs"] > 0
        for leaf, expected in zip(found["found"], wanted, strict=True):
            np.testing.assert_allclose(leaf, expected, rtol=0, atol=1e-5)
