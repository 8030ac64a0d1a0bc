"""scripts/reduce.py finds the few lines that a failure needs."""

import json
import subprocess
import sys

import pytest
from support.tools import PROGRAMS, ROOT


def reduce(tools, program, output, says, *command):
    return subprocess.run(
        [
            *(sys.executable, ROOT / "scripts" / "reduce.py", program, "-o", output),
            *("--bin", tools.folder, "--says", says, "--", *command),
        ],
        capture_output=True,
        text=True,
    )


def reduce_around_sines(tools, tmp_path, text):
    """What mpmd-reduce leaves of a program if its sines are what matters."""
    program = tmp_path / "program.mlir"
    program.write_text(text)
    check = tmp_path / "check.sh"
    check.write_text("#!/bin/sh\ngrep -q stablehlo.sine $1 && exit 1\nexit 0\n")
    check.chmod(0o755)
    small = tmp_path / "small.mlir"
    subprocess.run(
        [
            *(tools.folder / "mpmd-reduce", program, "-o", small),
            f"-mpmd-reduce-program=test={check}",
        ],
        check=True,
    )
    return small.read_text()


def test_an_injected_mistake_is_reduced_to_ten_lines(tools, tmp_path):
    """A sine in a program without any, and a check that refuses sines."""
    text = (PROGRAMS / "mlp_train_step.mlir").read_text()
    position = text.index("stablehlo.maximum")
    line = text[text.rindex("\n", 0, position) + 1 : text.index("\n", position)]
    name, _, kind = line.split()[0], None, line.rsplit(" ", 1)[1]
    sine = f"    %injected = stablehlo.sine {name} : {kind}\n"
    rest = text[text.index("\n", position) + 1 :]
    program = tmp_path / "program.mlir"
    program.write_text(
        text[: text.index("\n", position) + 1]
        + sine
        + rest.replace(name, "%injected", 1)
    )
    check = tmp_path / "check.sh"
    check.write_text(
        f"#!/bin/sh\n{tools.folder / 'meshwright'} check $1 || exit 0\n"
        "grep -q stablehlo.sine $1 || exit 0\n"
        "echo sines are refused >&2; exit 1\n"
    )
    check.chmod(0o755)
    output = tmp_path / "small.mlir"
    done = reduce(tools, program, output, "sines are refused", check)
    assert done.returncode == 0, done.stderr
    small = output.read_text()
    assert "stablehlo.sine" in small
    assert small.count("\n") <= 10, small
    assert tools.run("meshwright", "check", output).returncode == 0


def test_a_program_that_does_not_fail_is_refused(tools, tmp_path):
    done = reduce(
        tools,
        ROOT / "docs" / "first.mlir",
        tmp_path / "small.mlir",
        "error",
        *(tools.folder / "meshwright", "check"),
    )
    assert done.returncode == 1
    assert "there is nothing to reduce" in done.stderr


def test_a_command_that_disappears_is_no_answer(tools, tmp_path):
    """It fails as it should, and is not there when it is asked again."""
    check = tmp_path / "check.sh"
    check.write_text('#!/bin/sh\nrm "$0"\necho refused >&2\nexit 1\n')
    check.chmod(0o755)
    program = ROOT / "docs" / "first.mlir"
    done = reduce(tools, program, tmp_path / "small.mlir", "refused", check)
    assert done.returncode != 0
    assert f"No such file or directory: '{check}'" in done.stderr


@pytest.mark.parametrize(
    "flag",
    [
        "-mpmd-reduce-program=test=none.sh",
        "-reduction-tree=traversal-mode=0 test=none.sh",
        "-opt-reduction-pass=opt-pass=cse test=none.sh",
        "-mpmd-reduce-program",
    ],
)
def test_a_script_that_is_not_there_is_refused(tools, flag):
    done = tools.run("mpmd-reduce", ROOT / "docs" / "first.mlir", flag)
    assert done.returncode == 1
    name = "none.sh" if "=" in flag else ""
    assert f'the script "{name}" cannot be run' in done.stderr
    assert "a bug in Meshwright" not in done.stderr


def test_a_configuration_that_is_none_is_refused(tools, tmp_path):
    config = tmp_path / "config.json"
    config.write_text("{")
    command = (tools.folder / "meshwright", "partition", "--config", config)
    program = ROOT / "docs" / "first.mlir"
    done = reduce(tools, program, tmp_path / "small.mlir", "error", *command)
    assert done.returncode == 2
    assert f"{config}: Expecting" in done.stderr


def test_a_call_gives_way_to_its_body(tools, tmp_path):
    small = reduce_around_sines(
        tools,
        tmp_path,
        "func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n"
        "  %0 = call @inner(%a) : (tensor<4xf32>) -> tensor<4xf32>\n"
        "  return %0 : tensor<4xf32>\n}\n"
        "func.func private @inner(%a: tensor<4xf32>) -> tensor<4xf32> {\n"
        "  %0 = stablehlo.sine %a : tensor<4xf32>\n"
        "  return %0 : tensor<4xf32>\n}\n",
    )
    assert "stablehlo.sine" in small
    assert "call" not in small and small.count("func.func") == 1


def test_an_operation_that_reads_itself_gives_way(tools, tmp_path):
    small = reduce_around_sines(
        tools,
        tmp_path,
        "%0 = stablehlo.add %0, %0 : tensor<4xf32>\n"
        "%1 = stablehlo.sine %0 : tensor<4xf32>\n",
    )
    assert "stablehlo.sine" in small and "stablehlo.add" not in small


def test_the_configuration_becomes_smaller_with_the_program(tools, tmp_path):
    """Five stages on three meshes, a callee, a branch, and a sine in the fourth."""
    stage = (
        '  %{i} = mpmd.named_computation<"stage{i}"> (%{p}, %w) '
        "(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>) {{\n"
        "    %c = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] "
        ": (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>\n"
        "    %d = stablehlo.reshape %c : (tensor<4x4xf32>) -> tensor<16xf32>\n"
        "    %e = stablehlo.{op} %d : tensor<16xf32>\n"
        "    %f = stablehlo.reshape %e : (tensor<16xf32>) -> tensor<4x4xf32>\n"
        "    mpmd.return %f : tensor<4x4xf32>\n"
        "  }} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>\n"
    )
    ops = ["tanh", "exponential", "logistic", "sine", "cosine"]
    program = tmp_path / "program.mlir"
    program.write_text(
        "func.func @main(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>, %k: tensor<i32>)"
        " -> (tensor<4x4xf32>, tensor<4x4xf32>) {\n"
        "  %0 = call @prepare(%x, %w) : (tensor<4x4xf32>, tensor<4x4xf32>)"
        " -> tensor<4x4xf32>\n"
        + "".join(
            stage.format(i=i, p=i - 1, op=op) for i, op in enumerate(ops, start=1)
        )
        + "  return %5, %2 : tensor<4x4xf32>, tensor<4x4xf32>\n}\n"
        "func.func private @prepare(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>)"
        " -> tensor<4x4xf32> {\n"
        "  %0 = stablehlo.abs %x : tensor<4x4xf32>\n"
        "  return %0 : tensor<4x4xf32>\n}\n"
    )
    config = tmp_path / "config.json"
    config.write_text(
        json.dumps(
            {
                "topology": {f"m{i}": {"x": 2} for i in range(3)},
                "assignment": {f"stage{i}": [f"m{i // 2}", i - 1] for i in range(1, 6)},
                "input_meshes": ["m0", "m0", "m0"],
                "options": {"mpmd_infer_transfers": True},
            }
        )
    )
    check = tmp_path / "check.sh"
    check.write_text(
        f"#!/bin/sh\n{tools.folder / 'meshwright'} partition $1 $2 -o - $3 "
        f">{tmp_path}/out || exit 0\n"
        f"sed '/func.func @main/,/^  }}/d' {tmp_path}/out >{tmp_path}/rest\n"
        f"grep -q stablehlo.sine {tmp_path}/rest || exit 0\n"
        "echo a program of m1 has a sine >&2; exit 1\n"
    )
    check.chmod(0o755)
    output = tmp_path / "small.mlir"
    says = "has a sine"
    done = reduce(tools, program, output, says, check, "--config", config)
    assert done.returncode == 0, done.stderr
    small = output.read_text()
    assert "stablehlo.sine" in small
    assert small.count("\n") <= 6, small
    assert json.loads((tmp_path / "small.json").read_text()) == {"topology": {"m0": {}}}
    again = subprocess.run(
        [check, "--config", tmp_path / "small.json", output], stderr=subprocess.PIPE
    )
    assert again.returncode == 1


def test_each_kind_of_thing_goes(tools, tmp_path):
    """A loop, a branch, fragments, transfers and what they take and return."""
    small = reduce_around_sines(
        tools,
        tmp_path,
        '!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>\n'
        '!m2 = !mpmd.mesh_tensor<"m2", tensor<4xf32>>\n'
        "func.func @main(%x: !m1, %y: !m1, %z: !m2) -> (!m2, !m1) attributes "
        '{topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>} {\n'
        '  %0:2 = mpmd.fragment<mesh="m1", origin=["f"]> (%x, %y) '
        "(%a: tensor<4xf32>, %b: tensor<4xf32>) {\n"
        "    %c = stablehlo.constant dense<1.0> : tensor<4xf32>\n"
        "    %s = stablehlo.add %a, %c : tensor<4xf32>\n"
        "    mpmd.return %s, %b : tensor<4xf32>, tensor<4xf32>\n"
        "  } : (!m1, !m1) -> (!m1, !m1)\n"
        "  %1 = mpmd.transfer %0#0 : (!m1) -> !m2\n"
        '  %2 = mpmd.fragment<mesh="m2", origin=["g"], '
        'in_shardings=[<@mesh, [{}]>, <@mesh, [{"x"}]>]> (%1, %z) '
        "(%a: tensor<4xf32>, %b: tensor<4xf32>) {\n"
        "    %i = stablehlo.constant dense<1> : tensor<i32>\n"
        '    %r = "stablehlo.case"(%i) ({\n'
        "      %s = stablehlo.sine %b : tensor<4xf32>\n"
        "      stablehlo.return %s : tensor<4xf32>\n"
        "    }, {\n"
        "      stablehlo.return %a : tensor<4xf32>\n"
        "    }) : (tensor<i32>) -> tensor<4xf32>\n"
        "    mpmd.return %r : tensor<4xf32>\n"
        "  } : (!m2, !m2) -> !m2\n"
        "  return %2, %0#1 : !m2, !m1\n}\n"
        'sdy.mesh @mesh = <["x"=2]>\n',
    )
    lines = small.splitlines()
    # What computes on tensors is in a fragment; all around it has gone.
    assert len(lines) <= 9, small
    assert sum("fragment" in line for line in lines) == 1
    assert not any("transfer" in line or "case" in line for line in lines)
    assert not any("sdy.mesh" in line for line in lines)
