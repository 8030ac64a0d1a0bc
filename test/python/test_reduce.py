"""scripts/reduce.py finds the few lines that a failure needs."""

import subprocess
import sys

from conftest import PROGRAMS, ROOT


def reduce(tools, program, output, says, *command):
    return subprocess.run(
        [
            *(sys.executable, ROOT / "scripts" / "reduce.py", program, "-o", output),
            *("--bin", tools.folder, "--says", says, "--", *command),
        ],
        capture_output=True,
        text=True,
    )


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


def test_a_call_gives_way_to_its_body(tools, tmp_path):
    program = tmp_path / "program.mlir"
    program.write_text(
        "func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n"
        "  %0 = call @inner(%a) : (tensor<4xf32>) -> tensor<4xf32>\n"
        "  return %0 : tensor<4xf32>\n}\n"
        "func.func private @inner(%a: tensor<4xf32>) -> tensor<4xf32> {\n"
        "  %0 = stablehlo.sine %a : tensor<4xf32>\n"
        "  return %0 : tensor<4xf32>\n}\n"
    )
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
    found = small.read_text()
    assert "stablehlo.sine" in found
    assert "call" not in found and found.count("func.func") == 1
