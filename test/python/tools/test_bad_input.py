"""Bad input to the meshwright tool: one clear diagnostic, exit code 1, no output."""

import base64
import json
import os

import pytest

import meshwright as mw

PROGRAM = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = mpmd.named_computation<"enc"> (%x) (%a: tensor<4xf32>) {
    %1 = stablehlo.tanh %a : tensor<4xf32>
    mpmd.return %1 : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""
CONFIG = {"topology": {"m1": {"x": 2}, "m2": {"x": 2}}, "assignment": {"enc": "m1"}}


@pytest.fixture
def partition(tools, tmp_path):
    """Runs `meshwright partition` on a program and a configuration."""

    def run(program=PROGRAM, config=CONFIG, out=tmp_path / "out"):
        source = tmp_path / "program.mlir"
        if isinstance(program, bytes):
            source.write_bytes(program)
        elif program is not None:
            source.write_text(program)
        settings = tmp_path / "config.json"
        if config is not None:
            settings.write_text(
                config if isinstance(config, str) else json.dumps(config, indent=1)
            )
        return tools.run(
            "meshwright", "partition", source, "--config", settings, "-o", out
        )

    run.out = tmp_path / "out"
    return run


def expect_error(done, out, *parts):
    assert done.returncode == 1, done.stderr
    assert done.stderr.count("error:") == 1, done.stderr
    for part in parts:
        assert part in done.stderr, done.stderr
    assert not out.exists() or not list(out.iterdir())


def test_good_input_is_accepted(partition):
    done = partition()
    assert done.returncode == 0, done.stderr
    assert (partition.out / "partitioned.mlir").exists()


def test_missing_program(partition):
    done = partition(program=None)
    expect_error(done, partition.out, "program.mlir", "cannot be read", "No such file")


def test_missing_config(partition):
    done = partition(config=None)
    expect_error(done, partition.out, "config.json", "cannot be read", "No such file")


def test_unreadable_program_is_a_folder(tools, tmp_path):
    done = tools.run("meshwright", "check", tmp_path)
    assert done.returncode == 1
    assert "cannot be read" in done.stderr


def test_syntax_error(partition):
    done = partition(program=PROGRAM.replace("stablehlo.tanh %a", "stablehlo.tanh a"))
    expect_error(done, partition.out, "program.mlir:4:", "expected SSA operand")


def test_unknown_dialect(partition):
    program = PROGRAM.replace("stablehlo.tanh %a", "nope.tanh %a")
    expect_error(partition(program=program), partition.out, "program.mlir:4:", "nope")


def test_unknown_operation(partition):
    program = PROGRAM.replace("stablehlo.tanh %a", "stablehlo.tahn %a")
    expect_error(
        partition(program=program), partition.out, "program.mlir:4:", "stablehlo.tahn"
    )


def test_empty_program(partition):
    expect_error(partition(program=""), partition.out, "program.mlir", "is empty")


def test_truncated_bytecode(partition, tools):
    whole = tools.run("mpmd-opt", "-", "--emit-bytecode", stdin=PROGRAM.encode()).stdout
    assert whole.startswith(b"ML\xefR")
    done = partition(program=whole[: len(whole) // 2])
    assert done.returncode == 1
    assert "error:" in done.stderr
    assert not partition.out.exists()


def test_bytecode_is_accepted(partition, tools):
    whole = tools.run("mpmd-opt", "-", "--emit-bytecode", stdin=PROGRAM.encode()).stdout
    assert partition(program=whole).returncode == 0


# What MLIR's reader would write beyond a list for, and what it would not end with.
DAMAGED = {
    "where 24 are left": base64.b64decode(
        "TUzvUg1NTElSMjIuMS44AAEhBwEFCQsBAw8DBxMHFwUDGwNDMQcBEAsLCwsLCwsTCxMTExMTExMT"
        "ExMTExMTEwEHDxcHArMFDw0DBREFEwUVCQkJBRcBAQEFFxcBAwMXAQ0DFwEXAxcBFzUXARkRFwEb"
        "ERcBHQcXAQ01FwEPERcBEREXARMHFwEDIxcBBREXAQcRFwEJBxsBBQUDAQMBCwTpBQFQDwEHBNkD"
        "AQ0FUBMDBwQ5AwcPAwMpAANGKwUDAQMBA0YtBQMBAwMHBC8DBQVQFQcHBDkDBw8DAyEAA0YjCQMB"
        "AwEDRiUJAwEDAwcEJwMFBVAXCwcEOQMHDwMDGQAJRhsNAwEDAQlGHQ0DAQMDBwQfAwUGAwEFAQC7"
        "GQsNEQ0RCw8LDxULEWJ1aWx0aW4AZnVuYwBzdGFibGVobG8AbW9kdWxlAGNhbGwAcmV0dXJuAHRh"
        "bmgAPHN0ZGluPgB0d2ljZQBwcml2YXRlAHRocmVlAG1haW4ACEsPBQEBDQEDAQERAQkBDQEBDQED"
        "AQEFDwkBCwEBDQEDAQEJDwMB"
    ),
    "is a part of itself": base64.b64decode(
        "TUzvUg1NTElSMjIuMS44AAEhBwEFCQsBAw8DBRMXBQULGwM1HwcBGwsTCxMLCxMTEwsHExMDBWmN"
        "AQcXFwcC3wUPFwEBAQURFwEDAw0DBRMXAQUDFwEFTwMDExUFFQ8XAQcRFwEJByNzZHkubWVzaDxb"
        "InIiPTIsICJjIj00XT4AI3NkeS5zaGFyZGluZzxAZ3JpZCwgW3s/fSwgeyJjIn1dPgAbBTEhAQUD"
        "AQMBCwRXBQFQAwEHBEcDAQkDQAcDB1ANBQcEKwMFCwMDDwAFRxcRBwMBAwEJBBkDAwYDAQUBAOMX"
        "CzcLEQ8pCw8LCRFidWlsdGluAHNkeQBmdW5jAG1vZHVsZQBtZXNoAHNoYXJkaW5nX2NvbnN0cmFp"
        "bnQAcmV0dXJuADxzdGRpbj4AZ3JpZABjb25zdHJhaW50X2JlY29tZXNfcmVzaGFyZABrZXB0AAgh"
        "CQUBAQUbBQ0BCQEBCwEDHQ=="
    ),
}


@pytest.mark.parametrize("message", DAMAGED)
def test_damaged_bytecode(tools, tmp_path, message):
    source = tmp_path / "program.mlirbc"
    source.write_bytes(DAMAGED[message])
    for command in (
        ["mpmd-opt"],
        ["mpmd-reduce", "-mpmd-reduce-program=test=none.sh"],
        ["meshwright", "check"],
        ["meshwright", "erase"],
    ):
        done = tools.run(*command, source)
        assert done.returncode == 1
        assert message in done.stderr
        assert "program.mlirbc" in done.stderr
    with pytest.raises(RuntimeError, match=message):
        mw.compiler.native.partition(DAMAGED[message], CONFIG)


@pytest.mark.skipif(os.name != "posix", reason="needs /dev/full")
def test_unwritable_output_folder(partition, tmp_path):
    blocker = tmp_path / "file"
    blocker.write_text("not a folder")
    done = partition(out=blocker / "out")
    assert done.returncode == 1
    assert "cannot be made" in done.stderr
    assert blocker.read_text() == "not a folder"


def with_changes(**changes):
    return CONFIG | changes


BAD_CONFIGS = {
    "malformed": ('{"topology": }', ["config.json:1:", "malformed JSON"]),
    "not_an_object": ("[]", ["config.json:1:1", "expected a configuration object"]),
    "duplicate_key": (
        '{"topology": {"m1": {"x": 2}, "m1": {}}}',
        ["config.json:1:31", 'duplicate key "m1"; remove one of the two'],
    ),
    "unknown_key": (
        with_changes(topologie={}),
        ['unknown key "topologie"', "known are function, topology", '"topology"?'],
    ),
    "no_topology": ({"assignment": {}}, ['key "topology" is missing']),
    "empty_topology": (with_changes(topology={}), ["topology: expected at least one"]),
    "wrong_type_of_topology": (
        with_changes(topology=[]),
        ["topology: expected an object, but got an array"],
    ),
    "wrong_axis_size": (
        with_changes(topology={"m1": {"x": 0}}),
        ["topology.m1.x: expected a named axis of positive size, but got 0"],
    ),
    "axis_size_is_text": (
        with_changes(topology={"m1": {"x": "2"}}),
        ["topology.m1.x: expected an integer, but got a string"],
    ),
    "unknown_mesh": (
        with_changes(assignment={"enc": "m7"}),
        ['assignment.enc: unknown mesh "m7", known are m1, m2', 'did you mean "m1"?'],
    ),
    "wrong_type_of_assignment": (
        with_changes(assignment={"enc": 3}),
        ["assignment.enc: expected a mesh or [mesh, stage], but got an integer"],
    ),
    "negative_stage": (
        with_changes(assignment={"enc": ["m1", -1]}),
        ["assignment.enc[1]: expected a stage of 0 or more, but got -1"],
    ),
    "unknown_name": (
        with_changes(assignment={"enc": "m1", "emc": "m1"}),
        ['no computation or tensor is named "emc"', 'did you mean "enc"?'],
    ),
    "unknown_function": (
        with_changes(function="mian"),
        ["no function @mian", "known are main", 'did you mean "main"?'],
    ),
    "wrong_count_of_inputs": (
        with_changes(input_meshes=["m1", None]),
        ["input_meshes: expected one entry for each of the 1 arguments of @main"],
    ),
    "unknown_input_mesh": (
        with_changes(input_meshes=["m3"]),
        ['input_meshes[0]: unknown mesh "m3"'],
    ),
    "wrong_count_of_outputs": (
        with_changes(output_meshes=[None, None, None]),
        ["output_meshes: expected one entry for each of the 1 results of @main"],
    ),
    "donated_argument_does_not_exist": (
        with_changes(donate=[1]),
        ["donate: argument 1 does not exist; @main has 1 arguments"],
    ),
    "unknown_option": (
        with_changes(options={"mpmd_infer_transfer": True}),
        ['options: unknown key "mpmd_infer_transfer"', '"mpmd_infer_transfers"?'],
    ),
    "wrong_type_of_option": (
        with_changes(options={"mpmd_infer_transfers": "yes"}),
        ["options.mpmd_infer_transfers: expected a boolean, but got a string"],
    ),
    "unknown_schedule": (
        with_changes(options={"mpmd_pipeline_schedule": "1F2B"}),
        ['unknown schedule "1F2B"', 'did you mean "1F1B"?'],
    ),
}


@pytest.mark.parametrize("case", BAD_CONFIGS)
def test_bad_config(partition, case):
    config, parts = BAD_CONFIGS[case]
    expect_error(partition(config=config), partition.out, *parts)


def test_unassigned_computation_names_it(partition):
    done = partition(config={"topology": {"m1": {"x": 2}}})
    expect_error(done, partition.out, "program.mlir:3:", '"enc"', "not assigned")


def test_no_verb_prints_the_overview(tools):
    done = tools.run("meshwright")
    assert done.returncode == 1
    assert "meshwright partition program.mlir" in done.stderr


@pytest.mark.parametrize("verb", ["check", "erase", "partition"])
def test_help_of_each_verb(tools, verb):
    assert "program.mlir" in tools.check("meshwright", verb, "--help")


def test_mesh_of_more_devices_than_can_be_counted(partition):
    axes = {"x": 2**40, "y": 2**40}
    done = partition(config={**CONFIG, "topology": {"m1": axes, "m2": axes}})
    expect_error(done, partition.out, "topology.m1.y", "more devices than fit 64 bits")


@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_brackets_without_end(partition, opening):
    done = partition(config=opening * 300000)
    expect_error(done, partition.out, "config.json:1:", "nested too deeply")


@pytest.mark.parametrize(
    "command",
    [
        ["draw", "{}", "-o", "-"],
        ["plan", "{}", "--device=h100", "--devices=4"],
        ["plan", "{}", "--device={}", "--devices=4"],
        ["schedule", "auto", "--times={}", "--microbatches=4"],
    ],
)
def test_brackets_without_end_in_other_files(tools, tmp_path, command):
    source = tmp_path / "deep.json"
    source.write_text("[" * 3000000)
    done = tools.run("meshwright", *(word.format(source) for word in command))
    assert done.returncode == 1
    assert "deep.json: [1:1000, byte=1000]: Nested too deeply" in done.stderr


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("func.func @f() attributes {a = " + "[" * 300000, "more than 10000 deep"),
        ('"f"() ({' * 300000, "more than 10000 deep"),
        ("module attributes {a = " + "#mpmd.topology<" * 5000, "more than 500 deep"),
        ("%1 = stablehlo.abs %0#2147483647 : tensor<f32>", "result number 2147483647"),
        ("module attributes {sdy.a = array<index: 1>} {}", "expected an array of"),
    ],
)
@pytest.mark.parametrize("command", [["mpmd-opt"], ["meshwright", "check"]])
def test_text_that_no_parser_can_take(tools, tmp_path, command, program, message):
    source = tmp_path / "program.mlir"
    source.write_text(program)
    done = tools.run(*command, source)
    assert done.returncode == 1
    assert "program.mlir:1:" in done.stderr
    assert message in done.stderr


def test_a_string_without_end_after_an_alias(tools, tmp_path):
    source = tmp_path / "program.mlir"
    source.write_text('#mesh = #sdy.mesh<["x"=2]>\n"open\nfunc.func @main() { return }')
    done = tools.run("meshwright", "check", source)
    assert done.returncode == 1
    assert "program.mlir:2:6: error: expected '\"' in string literal" in done.stderr


def test_schedule_in_a_file_that_is_too_large(tools, tmp_path):
    plan = tmp_path / "plan.csv"
    plan.touch()
    os.truncate(plan, 2**26 + 1)
    done = tools.run("meshwright", "schedule", f"file:{plan}")
    assert done.returncode == 1
    assert "has 67108865 bytes; a schedule has 67108864 at most" in done.stderr


def test_writing_to_a_device_leaves_it_a_device(tools, tmp_path):
    source, pipe = tmp_path / "program.mlir", tmp_path / "pipe"
    source.write_text("func.func @main() { return }")
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    done = tools.run("meshwright", "erase", source, "-o", pipe)
    assert done.returncode == 0, done.stderr
    assert b"func.func @main()" in os.read(reader, 4096)
    os.close(reader)
    assert pipe.is_fifo()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--forward", str(2**63 - 1)], "at most 4294967296"),
        (["--transfer", str(2**63 - 1)], "at most 4294967296"),
        (["--forward", str(2**32)], "too large to be drawn"),
    ],
)
def test_timeline_that_cannot_be_drawn(tools, arguments, message):
    done = tools.run("meshwright", "schedule", "1F1B", *arguments)
    assert done.returncode == 1
    assert message in done.stderr
