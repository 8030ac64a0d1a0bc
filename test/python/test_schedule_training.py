"""Every schedule trains: losses, order and memory beside `jax.jit` and the plan."""

import functools
import logging

import jax
import numpy as np
import pytest
from meshwright.schedule_names import PIPELINE_SCHEDULE_NAMES, REGISTRY_NAMES
from schedule_training import (
    MESHES,
    MICROBATCHES,
    Trained,
    as_split,
    count_planned_live,
    layer,
    make_inputs,
    make_topology,
    read_plan,
)

import meshwright as mw

pytestmark = pytest.mark.usefixtures("x32")

# The other one orders forwards only.
TRAINING = [n for n in PIPELINE_SCHEDULE_NAMES if not n.startswith("Parallel")]
BY_COMPILERS_NAME = {name: key for key, name in REGISTRY_NAMES.items()}


def get_csv(tools, name):
    shape = [f"--meshes={MESHES}", f"--microbatches={MICROBATCHES}"]
    return tools.check("meshwright", "schedule", name, "--csv", *shape)


def check(trained, plan):
    assert trained.difference <= 1e-6
    expected = as_split(plan, trained.orders)
    assert trained.orders == expected
    assert trained.lives == [count_planned_live(row) for row in plan]


def find_warnings(caplog):
    """What the compiler says about the schedule."""
    return [m for m in caplog.messages if "schedule" in m and "sets" not in m]


@pytest.mark.parametrize("name", TRAINING)
def test_schedule_trains_as_drawn(tools, caplog, name):
    plan = read_plan(get_csv(tools, name))
    # By one name on meshes of one device, by the other on meshes of two.
    with caplog.at_level(logging.WARNING):
        check(Trained(name, plan, 1, options={"mpmd_pipeline_schedule": name}), plan)
        key = BY_COMPILERS_NAME[name]
        schedule = mw.get_pipeline_schedule(key)
        check(Trained(key, plan, 2, pipeline_schedule=schedule), plan)
    assert find_warnings(caplog) == []


def test_a_plan_from_a_file_trains_as_written(tools, caplog, tmp_path):
    path = tmp_path / "my.csv"
    csv = get_csv(tools, "Interleaved1F1B")
    path.write_text(csv.replace("0F4,0F5,0F6,4B0", "0F4,0F5,4B0,0F6"))
    plan = read_plan(path.read_text())
    assert plan != read_plan(csv)
    schedule = mw.get_pipeline_schedule(f"file:{path}")
    with caplog.at_level(logging.WARNING):
        check(Trained(f"file:{path}", plan, 1, pipeline_schedule=schedule), plan)
    assert find_warnings(caplog) == []


def test_the_ring_goes_round_as_drawn(tools):
    """It orders forwards only: microbatch m enters at mesh m."""
    topology = {f"pod2_m{i}": mesh for i, mesh in enumerate(make_topology(1).values())}
    name = "ParallelPipelinesWithWrapAround"
    where = mw.pipeline.stage_assignment(name, topology, MESHES)
    config = mw.make_config(
        topology,
        {f"stage{stage}": mesh for stage, mesh in where.items()},
        name_to_stage_assignment={f"stage{stage}": stage for stage in where},
        partitioning_options={"mpmd_infer_transfers": True},
        pipeline_schedule=mw.get_pipeline_schedule(name),
    )

    def go(m, weights, x):
        for stage in [(m + i) % MESHES for i in range(MESHES)]:
            x = mw.named_computation(layer, name=f"stage{stage}")(weights[stage], x)
        return x

    def forward(weights, xs):
        return [
            mw.call(functools.partial(go, m), call_counter=m)(weights, x)
            for m, x in enumerate(xs)
        ]

    weights, xs, _ = make_inputs(MESHES)
    xs = xs[:MESHES]
    lowered = mw.jit(forward, config).lower(weights, xs)
    compiled = lowered.compile()
    placed = jax.tree.map(jax.device_put, (weights, xs), compiled.input_shardings[0])
    with mw.profile() as recording:
        found = compiled(*placed)
    for ours, plain in zip(found, jax.jit(forward)(weights, xs), strict=True):
        np.testing.assert_allclose(ours, plain, rtol=1e-6)
    program = lowered.partitioning_result.program
    microbatch = {entry["value"]: m for m, entry in enumerate(program["inputs"][-4:])}
    rows = {mesh: [] for mesh in topology}
    for event in recording.events:
        item = program["items"][event.item]
        values = [item["operand"]] if item["kind"] == "transfer" else item["operands"]
        (m,) = {microbatch[value] for value in values if value in microbatch}
        results = item["results"] if item["kind"] == "call" else [item["result"]]
        microbatch |= dict.fromkeys(results, m)
        if event.kind == "fragment":
            rows[event.mesh].append(m)
    shape = [f"--meshes={MESHES}", f"--microbatches={MESHES}"]
    plan = read_plan(tools.check("meshwright", "schedule", name, "--csv", *shape))
    assert list(rows.values()) == [[m for _, _, m in row] for row in plan]


def test_sums_the_other_way_are_named(caplog):
    """With the sums merged before scheduling, the message says what to change."""
    plan = [[(stage, "F", 0), (stage, "B", 0)] for stage in range(MESHES)]
    options = {
        "mpmd_pipeline_schedule": "LoopedBFS",
        "mpmd_merge_inferred_after_scheduling": False,
    }
    with caplog.at_level(logging.WARNING):
        trained = Trained("LoopedBFS", plan, 1, steps=1, options=options)
    assert trained.difference <= 1e-6
    (warning,) = find_warnings(caplog)
    assert "backward of stage 3 of microbatch 7 runs before another" in warning
    assert "here and in 27 other pairs" in warning
    assert "sum from the last to the first" in warning
