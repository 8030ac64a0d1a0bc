"""Every schedule trains: losses, order and memory beside `jax.jit` and the plan."""

import logging

import pytest
from meshwright.schedule_names import PIPELINE_SCHEDULE_NAMES, REGISTRY_NAMES
from support.schedule_training import (
    MESHES,
    MICROBATCHES,
    Trained,
    as_split,
    count_planned_live,
    go_round,
    make_topology,
    read_plan,
)

import meshwright as mw

pytestmark = pytest.mark.usefixtures("x32", "equal_compiles_once")

# The other one orders forwards only.
TRAINING = [
    n for n in PIPELINE_SCHEDULE_NAMES if not n.startswith(("Parallel", "auto"))
]
BY_COMPILERS_NAME = {name: key for key, name in REGISTRY_NAMES.items()}


def get_csv(tools, name):
    shape = [f"--meshes={MESHES}", f"--microbatches={MICROBATCHES}"]
    return tools.check("meshwright", "schedule", name, "--csv", *shape)


def check(trained, plan):
    assert trained.difference <= 1e-6
    expected = as_split(plan, trained.orders)
    assert trained.orders == expected
    # A backward that the program has whole frees all at once.
    assert trained.lives == [count_planned_live(row) for row in expected]


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


@pytest.mark.parametrize("devices", [1, 2])
def test_a_schedule_made_to_measure_trains(devices, caplog):
    plan = [[(stage, "F", 0), (stage, "B", 0)] for stage in range(MESHES)]
    with caplog.at_level(logging.WARNING):
        schedule = mw.get_pipeline_schedule("auto")
        trained = Trained("auto", plan, devices, pipeline_schedule=schedule)
    assert trained.difference <= 1e-6
    assert max(trained.lives) <= MESHES
    for stage, row in enumerate(trained.orders):
        kinds = "FB" if stage == 0 else "FIW"
        assert {(s, k) for s, k, _ in row} == {(stage, kind) for kind in kinds}
        assert len(row) == len(kinds) * MICROBATCHES
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


@pytest.mark.parametrize("devices", [1, 2])
def test_the_ring_goes_round_as_drawn(tools, devices):
    name = "ParallelPipelinesWithWrapAround"
    meshes = make_topology(devices).values()
    topology = {f"pod2_m{i}": mesh for i, mesh in enumerate(meshes)}
    difference, rows = go_round(topology)
    assert difference <= 1e-6
    shape = [f"--meshes={MESHES}", f"--microbatches={MESHES}"]
    plan = read_plan(tools.check("meshwright", "schedule", name, "--csv", *shape))
    assert rows == [[m for _, _, m in row] for row in plan]


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
