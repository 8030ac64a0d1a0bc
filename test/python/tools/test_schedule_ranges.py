"""Version 2 of schedule.json says what version 1 does, and is read alike."""

import collections
import json
import re

import jax
import jax.numpy as jnp
import jsonschema
import numpy as np
import pytest
from meshwright.runtime import ProgramError, read_folder
from meshwright.runtime.program.schedule import Schedule
from meshwright.runtime.program.schedule_ranges import (
    RangedSchedule,
    read_text,
    write_out,
)
from support import schedule_schema
from support.schedule_training import make_meshes, stage_config
from support.tools import PROGRAMS

import meshwright as mw

# The mesh of each of four stages.
LINE, LOOP, V = (0, 1, 2, 3), (0, 1, 0, 1), (0, 1, 1, 0)


def place_stages(config, places):
    """A configuration with its stages on other meshes."""
    names = list(config["topology"])
    for stage, (name, place) in enumerate(
        zip(config["assignment"], places, strict=True)
    ):
        config["assignment"][name] = [names[place], stage]
    kept = {names[place] for place in places}
    config["topology"] = {n: m for n, m in config["topology"].items() if n in kept}
    return config


@pytest.fixture(scope="module")
def exported(tools, tmp_path_factory):
    """Folders of one program, written out and with ranges."""
    folders = {}

    def export(name, schedule, places=None, *options):
        key = name, schedule, places
        if key not in folders:
            folders[key] = []
            program = PROGRAMS / "mpmd" / f"{name}.mlir"
            config = json.loads(program.with_suffix(".json").read_text())
            if places:
                config = place_stages(config, places)
            path = tmp_path_factory.mktemp("config") / "config.json"
            path.write_text(json.dumps(config))
            for form in ("flat", "ranges"):
                folder = tmp_path_factory.mktemp(f"{name}-{schedule}-{form}")
                tools.check(
                    "meshwright",
                    "partition",
                    program,
                    f"--config={path}",
                    f"--schedule={schedule}",
                    f"--schedule-json={form}",
                    *options,
                    f"-o={folder}",
                )
                folders[key].append(folder)
        return folders[key]

    return export


def read(folder):
    return json.loads((folder / "schedule.json").read_text())


SPLIT = "--set=mpmd_split_bwd_fragments=true"


@pytest.mark.parametrize(
    ("schedule", "places", "options"),
    [
        ("none", LINE, ()),
        ("1F1B", LINE, ()),
        ("GPipe", LINE, ()),
        ("GPipeBut1F1BForLastMesh", LINE, ()),
        ("ZeroBubbleH1", LINE, (SPLIT,)),
        ("ZeroBubbleH2ZeroTxLatency", LINE, (SPLIT,)),
        ("ZeroBubbleH2HalfTxLatency", LINE, (SPLIT,)),
        ("ZeroBubbleH2FullTxLatency", LINE, (SPLIT,)),
        ("Eager1F1B", LINE, ()),
        ("Combined1F1B", LINE, ()),
        ("Seq1F1B", LINE, ()),
        ("auto", LINE, ()),
        ("Circular", LOOP, ()),
        ("CircularWithReversedBackward", LOOP, ()),
        ("Interleaved1F1B", LOOP, ()),
        ("CombinedInterleaved1F1B", LOOP, ()),
        ("KimiK2", LOOP, ()),
        ("SlimPipe", LOOP, ()),
        ("LoopedBFS", LOOP, ()),
        ("InterleavedZeroBubble", LOOP, (SPLIT,)),
        ("ZeroBubbleV", V, (SPLIT,)),
        ("VHalf", V, (SPLIT,)),
        ("VMin", V, (SPLIT,)),
        ("DualPipeV", V, (SPLIT,)),
    ],
)
def test_ranges_say_what_is_written_out(exported, schedule, places, options):
    flat, ranged = exported("gpt_8_4_8", schedule, places, *options)
    for folder, version in ((flat, 1), (ranged, 2)):
        program = read(folder)
        assert program["version"] == version
        schedule_schema.validate(program)
    assert write_out(read(ranged)) == read(flat)
    assert read_folder(ranged) == read_folder(flat)


@pytest.mark.parametrize("form", [0, 1])
def test_what_the_schema_does_not_have_is_refused(exported, form):
    """However often, and after programs with elements like it."""
    program = read(exported("gpt_8_4_8", "1F1B")[form])
    for change in ({"results": [-1]}, {"results": [True]}, {"results": [], "more": 1}):
        items = program["classes" if form else "items"]
        item = (items["items"] if form else items)[-1]
        before = dict(item)
        for _ in range(2):
            schedule_schema.validate(program)
            item.update(change)
            with pytest.raises(jsonschema.ValidationError):
                schedule_schema.validate(program)
            item.clear()
            item.update(before)


def test_ranges_of_many_microbatches_say_what_is_written_out(exported):
    flat, ranged = exported("gpt_32_8_32", "1F1B")
    assert write_out(read(ranged)) == read(flat)


@pytest.mark.parametrize("schedule", ["1F1B", "ZeroBubbleH1"])
def test_items_are_found_without_writing_out(exported, schedule):
    """Each question gets the answer of a schedule in which all is written out."""
    flat, ranged = map(read, exported("gpt_32_8_32", schedule))
    whole, found = Schedule(flat), RangedSchedule(ranged)
    found.check()
    assert [mesh["name"] for mesh in found.meshes] == [m["name"] for m in whole.meshes]
    for name in ("inputs", "outputs", "fragments", "count"):
        assert getattr(found, name) == getattr(whole, name)
    assert found.order.tolist() == whole.order.tolist()
    for index in reversed(range(whole.count)):
        assert found.item(index) == whole.item(index)
        assert found.results(index) == whole.results(index)
    for index, value in enumerate(whole.values()):
        assert found.value(index) == value
        assert found.maker(index) == whole.maker(index)

    def is_sent(item):
        return item.get("to") == "mesh1"

    assert whole.find(is_sent).any()
    assert found.find(is_sent).tolist() == whole.find(is_sent).tolist()
    assert found.digest(has_locations=False) == whole.digest(has_locations=False)
    calls = [collections.Counter() for _ in range(2)]
    for counts, each in zip(calls, (whole, found), strict=True):
        for item, count in each.kinds():
            counts[item.get("fragment")] += count
    assert list(calls[0].items()) == list(calls[1].items())


def test_items_of_others_are_not_written_out(exported, monkeypatch):
    """A process asks for the items of its meshes."""
    flat, ranged = map(read, exported("gpt_8_4_8", "1F1B"))
    write_out_lists, written = RangedSchedule._write_out_lists, []

    def note(schedule, number):
        written.append(schedule.form["classes"]["items"][number])
        return write_out_lists(schedule, number)

    monkeypatch.setattr(RangedSchedule, "_write_out_lists", note)

    def is_here(item):
        return "mesh2" in (item.get("mesh"), item.get("from"), item.get("to"))

    found = RangedSchedule(ranged)
    here = np.flatnonzero(found.find(is_here)).tolist()
    assert [found.item(index) for index in here] == [
        item for item in flat["items"] if is_here(item)
    ]
    assert len(written) == len([c for c in ranged["classes"]["items"] if is_here(c)])
    assert all(map(is_here, written))


def test_digests_of_texts_tell_programs_apart(exported):
    """With lines of the user's program they are those of the texts, and without them
    those of what is written out."""
    texts = [
        (folder / "schedule.json").read_text()
        for schedule in ("1F1B", "GPipe")
        for folder in exported("gpt_8_4_8", schedule)
    ]
    digests = [read_text(text).digest(has_locations=True) for text in texts]
    assert digests == [read_text(text).digest(has_locations=True) for text in texts]
    assert len(set(digests)) == 4
    flat, ranged, *others = (read_text(t).digest(has_locations=False) for t in texts)
    assert flat == ranged
    assert others == [others[0]] * 2
    assert others[0] != flat


def test_items_of_another_form_are_refused_when_they_are_asked_for():
    entry = {"operands": [9], "last_uses": []}
    schedule = RangedSchedule(make(items=[[entry]]))
    with pytest.raises(ProgramError, match=r"items\[0\] has a value that"):
        schedule.item(0)
    with pytest.raises(
        ProgramError, match=r"meshes\[0\] of schedule.json has no 'axes'"
    ):
        schedule.check()


@pytest.mark.parametrize(
    ("keys", "value", "message"),
    [
        (("classes", "values", 0, "mesh"), "m9", "classes.values[0].mesh of"),
        (("classes", "items", 0, "kind"), "jump", "classes.items[0].kind of"),
        (("classes", "items", 0, "results"), [10**6], "not of the form of version 2"),
        (
            ("inputs", 1, "value"),
            0,
            "inputs[1].value of schedule.json is 0; expected 1",
        ),
        (("outputs", 0, "value"), 10**6, "outputs[0].value of"),
        (
            ("issue_order", 0),
            {"repeat": 1000, "of": [0]},
            "issue_order has a class more often than it has items",
        ),
        (("issue_order",), [0], "issue_order of schedule.json does not have each"),
        (("version",), 3, "version of schedule.json is 3; expected 2"),
    ],
)
def test_what_is_not_looked_up_item_by_item_is_checked(exported, keys, value, message):
    form = read(exported("gpt_8_4_8", "1F1B")[1])
    RangedSchedule(form).check()
    changed = form
    for key in keys[:-1]:
        changed = changed[key]
    changed[keys[-1]] = value
    with pytest.raises(ProgramError, match=re.escape(message)):
        RangedSchedule(form).check()


def test_large_programs_come_from_the_compiler_in_ranges():
    """What is planned and run is what a plain function computes."""
    meshes = {
        f"m{i}": jax.sharding.Mesh(np.array([device]), ("x",))
        for i, device in enumerate(jax.devices("cpu")[:2])
    }

    def step(x):
        for i in range(1100):
            x = mw.named_computation(lambda x: x * 0.5 + 1, name=f"n{i % 2}")(x)
        return x, x.sum()

    config = mw.make_config(
        meshes,
        {"n0": "m0", "n1": "m1"},
        partitioning_options={"mpmd_infer_transfers": True},
    )
    lowered = mw.jit(step, config).lower(jax.ShapeDtypeStruct((4,), np.float32))
    result = lowered.partitioning_result
    assert json.loads(result.program_text)["version"] == 2
    assert result.program["version"] == 1
    assert len(result.program["items"]) == result.schedule.count > 1000
    costs = lowered.cost_analysis()
    assert sum(cost["transfers"] for cost in costs.values()) >= 1099
    x = expected = np.arange(4, dtype=np.float32)
    for _ in range(1100):
        expected = expected * np.float32(0.5) + 1
    compiled = lowered.compile()
    ((sharding,), _) = compiled.input_shardings
    found, total = compiled(jax.device_put(x, sharding))
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    np.testing.assert_allclose(total, expected.sum(), rtol=1e-5)


def lower_step(counters, odd=None):
    """A step with these counters; in one microbatch the middle stage is another."""

    def step(weights, batch):
        total = jax.tree.map(jnp.zeros_like, weights)
        for position, counter in enumerate(counters):
            of_stage = [jnp.tanh, jnp.cos if position == odd else jnp.tanh, jnp.sum]

            def loss(weights, x, of_stage=of_stage):
                for number, (w, of) in enumerate(zip(weights, of_stage, strict=True)):
                    named = mw.named_computation(
                        lambda w, x, of=of: of(x @ w), name=f"stage{number}"
                    )
                    x = named(w, x)
                return x

            call = mw.call(jax.grad(loss), call_counter=counter)
            total = jax.tree.map(jnp.add, total, call(weights, batch[position]))
        return total

    config = stage_config(
        "1F1B",
        make_meshes([1, 1, 1]),
        3,
        {},
        pipeline_schedule=mw.get_pipeline_schedule("1F1B"),
    )
    weights = [jax.ShapeDtypeStruct((4, 4), jnp.float32)] * 3
    batch = jax.ShapeDtypeStruct((len(counters), 2, 4), jnp.float32)
    return mw.jit(step, config).lower(weights, batch)


@pytest.fixture
def programs(tools, tmp_path):
    """Version 1 of a step, and version 2."""

    def partition(*args):
        (tmp_path / "step.mlir").write_text(lower_step(*args).as_text("stablehlo"))
        meshes = {f"m{i}": {"x": 1} for i in range(3)}
        config = {
            "topology": meshes,
            "assignment": {f"stage{i}": [f"m{i}", i] for i in range(3)},
            "options": {
                "mpmd_infer_transfers": True,
                "mpmd_pipeline_schedule": "1F1B",
            },
        }
        (tmp_path / "config.json").write_text(json.dumps(config))
        for form in ("flat", "ranges"):
            tools.check(
                "meshwright",
                "partition",
                tmp_path / "step.mlir",
                f"--config={tmp_path / 'config.json'}",
                f"--schedule-json={form}",
                f"-o={tmp_path / form}",
            )
        return read(tmp_path / "flat"), read(tmp_path / "ranges")

    return partition


def test_counters_may_have_holes(programs):
    """Only names of fragments and the counters of items differ."""
    alike, _ = programs(range(8))
    flat, ranged = programs([0, 1, 2, 4, 5, 6, 7, 9])
    assert write_out(ranged) == flat
    assert len(flat["fragments"]) == len(alike["fragments"])
    for mesh, other in zip(flat["meshes"], alike["meshes"], strict=True):
        assert len(mesh["items"]) == len(other["items"]) > 8


def test_a_microbatch_that_differs_has_programs_of_its_own_where_it_does(programs):
    alike, _ = programs(range(8))
    flat, ranged = programs(range(8), 4)
    assert write_out(ranged) == flat
    own = len(flat["fragments"]) - len(alike["fragments"])
    assert own == 2  # The forward of the middle stage, and its backward.
    assert [f["mesh"] for f in flat["fragments"]].count("m1") == own + 3


def test_a_counter_that_two_calls_have_is_refused():
    with pytest.raises(RuntimeError, match="two calls have the call_counter 3"):
        lower_step([0, 1, 2, 3, 3, 4, 5, 6])


def test_size_grows_with_what_is_distinct(exported):
    """Of 32 microbatches most items are in ranges."""
    flat, ranged = (
        (folder / "schedule.json").stat().st_size
        for folder in exported("gpt_32_8_32", "1F1B")
    )
    assert ranged < flat / 15
    form = read(exported("gpt_32_8_32", "1F1B")[1])
    for entries in (sum(form["items"], []), form["order"]):
        ranges = [each for each in entries if isinstance(each, dict) and "of" in each]
        assert sum(each["repeat"] * len(each["of"]) for each in ranges) > 500


@pytest.mark.parametrize("what", ["simulate", "draw", "traffic"])
def test_commands_read_both(exported, tools, what):
    options = {
        "simulate": ["--device=h100", "--json", "--items"],
        "draw": ["--title=program", "--columns=100"],
        "traffic": [],
    }[what]
    # To count what is sent the fragments are compiled: it has half of the layers.
    program = "gpt_4_4_4" if what == "traffic" else "gpt_8_4_8"
    folders = exported(program, "1F1B")
    assert "repeat" in (folders[1] / "schedule.json").read_text()
    flat, ranged = (tools.check("meshwright", what, f, *options) for f in folders)
    assert flat and ranged.replace("-ranges", "-flat") == flat


def test_small_programs_are_written_out_and_large_ones_are_not(tools, tmp_path):
    """`f` is called on two meshes in turn."""
    for calls, version in ((100, 1), (1100, 2)):
        lines = ["func.func @main(%v0: tensor<4xf32>) -> tensor<4xf32> {"]
        for i in range(calls):
            lines += [
                f'  %v{i + 1} = mpmd.named_computation<"n{i % 2}"> (%v{i})',
                "      (%a: tensor<4xf32>) {",
                "    %0 = stablehlo.tanh %a : tensor<4xf32>",
                "    mpmd.return %0 : tensor<4xf32>",
                "  } : (tensor<4xf32>) -> tensor<4xf32>",
            ]
        lines += [f"  return %v{calls} : tensor<4xf32>", "}"]
        (tmp_path / "p.mlir").write_text("\n".join(lines))
        (tmp_path / "c.json").write_text(
            json.dumps(
                {
                    "topology": {"m0": {"x": 1}, "m1": {"x": 1}},
                    "assignment": {"n0": "m0", "n1": "m1"},
                    "options": {"mpmd_infer_transfers": True},
                }
            )
        )
        out = tmp_path / "out"
        tools.check(
            "meshwright",
            "partition",
            tmp_path / "p.mlir",
            f"--config={tmp_path / 'c.json'}",
            f"-o={out}",
        )
        assert read(out)["version"] == version


CALL = {"kind": "call", "results": [0]}


def make(**changed):
    return {
        "version": 2,
        "name": "main",
        "meshes": [{"name": "m", "items": [0]}],
        "classes": {"values": [{"mesh": "m"}], "slots": [], "items": [CALL]},
        "inputs": [{"value": 0, "class": 0}],
        "outputs": [],
        "fragments": [],
        "items": [[{"operands": [0], "last_uses": []}]],
        "order": [0],
        "issue_order": [0],
    } | changed


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"order": [1]}, "order has a class that does not exist"),
        ({"order": [-1]}, "order has a class that does not exist"),
        ({"order": [0, 0]}, "order does not have the items of each class"),
        (
            {"meshes": [{"items": [0, 0]}]},
            "items has a class more often than it has items",
        ),
        ({"outputs": [{"value": 2}]}, "outputs has a value that does not exist"),
        ({"items": []}, "order does not have the items of each class"),
        ({"items": [[{"last_uses": []}]]}, "'operands'"),
        ({"items": [[{"repeat": 9, "of": []}]]}, "items has an empty range"),
        (
            {"items": [[{"repeat": 10**7, "of": [{}]}]]},
            "items has more than 4000000 entries",
        ),
        (
            {"issue_order": [{"repeat": 10**12, "of": [0]}]},
            "issue_order has too many entries when ranges are written out",
        ),
        (
            {
                "items": [
                    [
                        {
                            "operands": [{"repeat": 40_000_000, "of": [0]}],
                            "last_uses": [],
                        }
                    ]
                ]
            },
            "items has too many entries when ranges are written out",
        ),
        ({"issue_order": [["a", 1]]}, "is not \\[first, step\\]"),
        ({"issue_order": [{"repeat": 2}]}, "'of'"),
        ({"classes": {}}, "'values'"),
        ({"meshes": 3}, "not iterable"),
        ({"fragments": [{"arguments": [0], "results": []}]}, "IndexError"),
    ],
)
def test_what_is_no_range_is_refused(changed, message):
    assert write_out(make())["items"][0]["results"] == [1]
    with pytest.raises(ProgramError, match=message):
        write_out(make(**changed))


def test_changed_file_is_refused_by_commands(exported, tools, tmp_path):
    _, ranged = exported("gpt_8_4_8", "1F1B")
    program = read(ranged)
    program["order"][0] = 10_000
    path = tmp_path / "schedule.json"
    path.write_text(json.dumps(program))
    done = tools.run("meshwright", "draw", path)
    assert done.returncode == 1
    assert (
        'schedule.json: expected the index of one of "classes" at schedule.order'
        in done.stderr
    )
