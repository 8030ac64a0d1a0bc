"""What `meshwright partition` writes after the last phase."""

import collections
import json
import re

import jax
import numpy as np
import pytest
from jax.extend import backend
from support import schedule_schema
from support.tools import PROGRAMS, ROOT

NAMES = ["gpt_4_4_4", "gpt_8_4_8", "gpt_16_4_16", "gpt_32_8_32"]


@pytest.fixture(scope="module")
def exported(tools, tmp_path_factory):
    """The folder a program is written to, with 1F1B."""
    folders = {}

    def export(name):
        if name not in folders:
            folder = tmp_path_factory.mktemp(name)
            program = PROGRAMS / "mpmd" / f"{name}.mlir"
            config = program.with_suffix(".json")
            tools.check(
                "meshwright",
                "partition",
                program,
                f"--config={config}",
                "--schedule=1F1B",
                f"-o={folder}",
            )
            folders[name] = folder
        return folders[name]

    return export


def read_schedule(folder):
    return json.loads((folder / "schedule.json").read_text())


@pytest.mark.parametrize("name", NAMES[:2])
def test_schedule_follows_its_schema(exported, name):
    schedule_schema.validate(read_schedule(exported(name)))


@pytest.mark.parametrize("name", NAMES)
def test_schedule_is_a_program(exported, name):
    """Values are defined once, before use, on the mesh that reads them, and
    are never read after their last use."""
    program = read_schedule(exported(name))
    values = program["values"]
    defined = {entry["value"] for entry in program["inputs"]}
    assert len(defined) == len(program["inputs"])
    gone = set()
    for item in program["items"]:
        if item["kind"] == "call":
            operands, results = item["operands"], item["results"]
            meshes = {item["mesh"]}
            fragment = program["fragments"][item["fragment"]]
            assert fragment["mesh"] == item["mesh"]
            assert len(fragment["arguments"]) == len(operands)
            assert len(fragment["results"]) == len(results)
            for slot in fragment["arguments"]:
                assert slot["alias"] is None or slot["alias"] < len(results)
            assert {values[value]["mesh"] for value in operands + results} <= meshes
        else:
            operands, results = [item["operand"]], [item["result"]]
            assert values[item["operand"]]["mesh"] == item["from"]
            assert values[item["result"]]["mesh"] == item["to"]
        assert defined.issuperset(operands)
        assert gone.isdisjoint(operands)
        assert defined.isdisjoint(results)
        defined.update(results)
        assert gone.isdisjoint(item["last_uses"])
        gone.update(item["last_uses"])
    outputs = {entry["value"] for entry in program["outputs"]}
    assert defined == set(range(len(values)))
    assert outputs.isdisjoint(gone)
    unread = {entry["value"] for entry in program["inputs"]} - outputs - gone
    reads = collections.Counter(
        value
        for item in program["items"]
        for value in item.get("operands", [item.get("operand")])
    )
    assert all(reads[value] == 0 for value in unread)


@pytest.mark.parametrize("name", NAMES)
def test_each_mesh_has_its_items_in_order(exported, name):
    program = read_schedule(exported(name))
    for mesh in program["meshes"]:
        takes_part = [
            index
            for index, item in enumerate(program["items"])
            if mesh["name"] in (item.get("mesh"), item.get("from"), item.get("to"))
        ]
        assert mesh["items"] == takes_part
    calls = collections.Counter(
        item["fragment"] for item in program["items"] if item["kind"] == "call"
    )
    assert [fragment["calls"] for fragment in program["fragments"]] == [
        calls[index] for index in range(len(program["fragments"]))
    ]


def compile_module(text: str, device_count: int):
    devices = jax.devices()[:device_count]
    options = backend.get_compile_options(
        num_replicas=1,
        num_partitions=device_count,
        device_assignment=np.array([devices]),
    )
    # Whether it compiles is asked, not how fast it runs.
    options.env_option_overrides = [("xla_backend_optimization_level", "0")]
    return devices[0].client.compile_and_load(text, devices, options)


# Those between have the same kinds of fragments, of a number of layers between.
@pytest.mark.parametrize("name", [NAMES[0], NAMES[-1]])
def test_every_fragment_compiles_under_jax(exported, name):
    folder = exported(name)
    program = read_schedule(folder)
    sizes = {
        mesh["name"]: int(np.prod([size for _, size in mesh["axes"]]))
        for mesh in program["meshes"]
    }
    files = {path.stem for path in (folder / "fragments").iterdir()}
    assert files == {fragment["name"] for fragment in program["fragments"]}
    seen = set()
    for fragment in program["fragments"]:
        text = (folder / "fragments" / f"{fragment['name']}.mlir").read_text()
        assert "mpmd." not in text
        # Stages of equal shape differ in their name only.
        body = re.sub(r"^module @\S+", "module", text)
        if body in seen:
            continue
        seen.add(body)
        executable = compile_module(text, sizes[fragment["mesh"]])
        assert len(executable.get_parameter_shardings()) == len(fragment["arguments"])


def test_a_failed_run_leaves_an_earlier_result(tools, tmp_path):
    program = ROOT / "docs" / "first.mlir"
    config = ROOT / "docs" / "first.json"
    command = ["partition", program, f"--config={config}", f"-o={tmp_path}"]
    tools.check("meshwright", *command)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.*")}
    done = tools.run("meshwright", *command, "--schedule=1F1C")
    assert done.returncode == 1
    assert 'did you mean "1F1B"?' in done.stderr
    assert before == {path: path.read_bytes() for path in tmp_path.rglob("*.*")}


def test_phases_can_be_run_one_after_the_other(tools, tmp_path):
    program = PROGRAMS / "mpmd" / "gpt_4_4_4.mlir"
    config = program.with_suffix(".json")
    whole = tools.check(
        "meshwright", "partition", program, f"--config={config}", "-o=-"
    )
    text = program.read_text()
    for phase in ["import", "optimize", "shard", "export"]:
        text = tools.check(
            "meshwright",
            "partition",
            "-",
            f"--config={config}",
            "-o=-",
            f"--from={phase}",
            f"--until={phase}",
            stdin=text,
        )
    assert text == whole


def test_phases_in_the_wrong_order_are_refused(tools):
    program = ROOT / "docs" / "first.mlir"
    config = ROOT / "docs" / "first.json"
    done = tools.run(
        "meshwright",
        "partition",
        program,
        f"--config={config}",
        "--from=shard",
        "--until=import",
    )
    assert done.returncode == 1
    assert "comes after" in done.stderr


def test_bytecode_says_nothing_about_the_order_of_uses(tools, exported, tmp_path):
    program = PROGRAMS / "mpmd" / "gpt_4_4_4.mlir"
    tools.check(
        "meshwright",
        "partition",
        program,
        f"--config={program.with_suffix('.json')}",
        "--schedule=1F1B",
        "--emit-bytecode",
        f"-o={tmp_path / 'out'}",
    )
    written = []
    for path in (
        tmp_path / "out" / "partitioned.mlirbc",
        exported("gpt_4_4_4") / "partitioned.mlir",
    ):
        file = tmp_path / f"from{path.suffix}"
        options = ["--strip-debuginfo", "--emit-bytecode", "-o", file]
        tools.check("mpmd-opt", path, *options)
        written.append(file.read_bytes())
    # A text has no order of uses, and bytecode would have one for each value.
    assert written[0] == written[1]
