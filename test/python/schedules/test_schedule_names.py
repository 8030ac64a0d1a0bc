"""Names of schedules, their stage maps and the options that come with them."""

import jax
import pytest
from jax.sharding import Mesh
from meshwright.pipeline_registry import pipeline_schedule_names
from meshwright.schedule_names import (
    PIPELINE_SCHEDULE_NAMES,
    REGISTRY_NAMES,
    find_schedule_name,
)

import meshwright as mw

NAMES = ("m0", "m1", "m2", "m3")


@pytest.fixture(scope="module")
def topology():
    devices = jax.devices()
    return {name: Mesh(devices[i : i + 1], "x") for i, name in enumerate(NAMES)}


def test_python_knows_what_the_command_line_lists(tools):
    listed = tools.check("meshwright", "schedule")
    names = {line.split()[0] for line in listed.splitlines()}
    assert {name.replace("None", "none") for name in PIPELINE_SCHEDULE_NAMES} == names
    assert pipeline_schedule_names() == tuple(REGISTRY_NAMES)


@pytest.mark.parametrize(("key", "name"), REGISTRY_NAMES.items())
def test_schedules_have_two_names(topology, key, name):
    schedule = mw.get_pipeline_schedule(name)
    assert mw.get_pipeline_schedule(key) is schedule
    assert schedule.required_mpmd_options["mpmd_pipeline_schedule"] == name
    for option in (key, name):
        options = {"mpmd_pipeline_schedule": option}
        config = mw.make_config(topology, {}, partitioning_options=options)
        assert config.compiler_options["mpmd_pipeline_schedule"] == name
        both = mw.make_config(
            topology, {}, partitioning_options=options, pipeline_schedule=schedule
        )
        assert both.partitioning_options["mpmd_pipeline_schedule"] == option


@pytest.mark.parametrize(
    ("spelled", "name"),
    [
        ("DUALPIPE", "DualPipe"),
        ("LOOPEDBFS", "LoopedBFS"),
        ("INTERLEAVED_ONE_FWD_ONE_BWD", "Interleaved1F1B"),
        ("none", "None"),
    ],
)
def test_words_end_where_one_likes(spelled, name):
    assert find_schedule_name(spelled) == name


@pytest.mark.parametrize("name", ["gpipe", "interleaved1f1b", "", "F", None, 3])
def test_other_spellings_are_unknown(name):
    assert find_schedule_name(name) is None


@pytest.mark.parametrize("name", PIPELINE_SCHEDULE_NAMES)
def test_schedules_with_weight_gradients_or_pairs_split(tools, name):
    # Wrap-around is for as many microbatches as meshes.
    count = 4 if name.startswith("Parallel") else 8
    shape = "--meshes", 4, "--microbatches", count
    drawn = tools.check("meshwright", "schedule", name, *shape, "--csv")
    required = mw.get_pipeline_schedule(name).required_mpmd_options
    wanted = "W" in drawn or "OVERLAP" in drawn
    assert ("mpmd_split_bwd_fragments" in required) == wanted


def test_files_with_pairs_split(tools, tmp_path):
    for name, splits in (("Combined1F1B", True), ("1F1B", False)):
        path = tmp_path / f"{name}.csv"
        path.write_text(tools.check("meshwright", "schedule", name, "--csv"))
        required = mw.get_pipeline_schedule(f"file:{path}").required_mpmd_options
        assert ("mpmd_split_bwd_fragments" in required) == splits


LOOP = {stage: NAMES[stage % 4] for stage in range(8)}
FOLD = {stage: NAMES[min(stage, 7 - stage)] for stage in range(8)}
LINE = dict(enumerate(NAMES))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Interleaved1F1B", LOOP),
        ("LOOPED_BFS", LOOP),
        ("Circular", LOOP),
        ("none", LOOP),
        ("ZeroBubbleV", FOLD),
        ("DUAL_PIPE_V", FOLD),
        ("DualPipe", FOLD),
        ("V_MIN", FOLD),
        ("auto", LOOP),
        ("AUTO", LINE),
        ("1F1B", LINE),
        ("ParallelPipelinesWithWrapAround", LINE),
    ],
)
def test_stages_are_assigned(topology, name, expected):
    meshes = {**topology, "host/cpu": topology["m0"]}
    for names in (meshes, list(meshes), iter(meshes)):
        found = mw.pipeline.stage_assignment(name, names, len(expected))
        assert found == expected
        assert list(found) == sorted(found)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("ZeroBubleV", NAMES, 8), "did you mean 'ZeroBubbleV'"),
        (("ZeroBubbleV", NAMES, 4), "needs 2 stages on each mesh, got 1"),
        (("Interleaved1F1B", NAMES, 4), "at least 2 stages on each mesh"),
        (("Circular", NAMES, 6), "6 cannot be divided evenly over 4 meshes"),
        (("Circular", NAMES, 0), "0 cannot be divided evenly"),
        (("1F1B", [], 4), "at least one mesh"),
        (("1F1B", ["a/cpu"], 4), "at least one mesh"),
        (("file:nowhere.csv", NAMES, 4), "nowhere.csv: cannot be read"),
    ],
)
def test_stages_without_a_place_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        mw.pipeline.stage_assignment(*arguments)


PLAN = "0F0,0F1,0B0,0B1\n1F0,1I0,1W0,1F1,1I1,1W1\n"


def test_a_file_is_a_schedule(topology, tmp_path):
    path = tmp_path / "my.csv"
    path.write_text(PLAN)
    schedule = mw.get_pipeline_schedule(f"file:{path}")
    assert schedule.required_mpmd_options == {
        "mpmd_pipeline_schedule": f"file:{path}",
        "mpmd_split_bwd_fragments": True,
    }
    for option in ({}, {"mpmd_pipeline_schedule": f"file:{path}"}):
        mw.make_config(
            topology, {}, partitioning_options=option, pipeline_schedule=schedule
        )
    places = mw.pipeline.stage_assignment(f"file:{path}", ["a", "b"], 2)
    assert places == {0: "a", 1: "b"}
    with pytest.raises(ValueError, match="2 rows and 2 stages; expected a row for"):
        mw.pipeline.stage_assignment(f"file:{path}", NAMES, 2)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "cannot be read: No such file"),
        ("0F0,0X0", "row 1 column 2: unknown cell '0X0'"),
        ("0B0,0F0", "out of order"),
    ],
)
def test_a_file_that_is_no_schedule_is_refused(topology, tmp_path, text, message):
    path = tmp_path / "my.csv"
    if text is not None:
        path.write_text(text)
    with pytest.raises(ValueError, match=message):
        mw.get_pipeline_schedule(f"file:{path}")
    options = {"mpmd_pipeline_schedule": f"file:{path}"}
    with pytest.raises(ValueError, match=f"mpmd_pipeline_schedule.*{message}"):
        mw.make_config(topology, {}, partitioning_options=options)


def test_conflicts_go_by_the_schedule_not_its_spelling(topology):
    schedule = mw.get_pipeline_schedule("ZeroBubbleV")
    with pytest.raises(ValueError, match="is 'GPIPE' but must be 'ZeroBubbleV'"):
        mw.make_config(
            topology,
            {},
            partitioning_options={"mpmd_pipeline_schedule": "GPIPE"},
            pipeline_schedule=schedule,
        )


def test_a_backward_dependency_goes_by_the_topology(caplog, topology):
    def f(x):
        return mw.named_computation(jax.numpy.cos, name="g")(
            mw.named_computation(jax.numpy.sin, name="f")(x)
        )

    def warnings(meshes, **assignment):
        caplog.clear()
        config = mw.make_config(
            dict(zip(meshes, topology.values(), strict=False)),
            assignment,
            partitioning_options={"mpmd_infer_transfers": True},
        )
        mw.jit(f, config).lower(1.0)
        return [m for m in caplog.messages if "backward dependency" in m]

    assert not warnings(["pre", "dec"], f="pre", g="dec")
    assert not warnings(["m10", "m2"], f="m10", g="m2")
    assert warnings(["a", "b"], f="b", g="a")
