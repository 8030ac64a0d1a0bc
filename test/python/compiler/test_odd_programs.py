# SPDX-License-Identifier: Apache-2.0
"""Programs that no user writes, and mutated tests: every pass says what is wrong
with it, or does its work; the seeds of fuzzing are made."""

import re

import pytest
from support.tools import ROOT, Tools

from fuzz import every_pass, op_seeds
from fuzz import seeds as fuzz_seeds

EDGES = ROOT / "fuzz/edges.mlir"


def test_every_pass_takes_odd_programs(tools):
    passes = fuzz_seeds.single_passes(tools.folder)
    assert len(passes) > 80
    for name in passes:
        done = tools.run("mpmd-opt", EDGES, "--split-input-file", f"--{name}")
        assert done.returncode == 0 or "error: " in done.stderr, name


@pytest.mark.parametrize("end", ["kill -ABRT $$", "exit 126"])
def test_a_tool_that_crashes_fails_what_runs_it(tmp_path, end):
    """Also a test that takes an error as well as a result."""
    (tmp_path / "tool").write_text(f"#!/bin/sh\necho error: no >&2\n{end}\n")
    (tmp_path / "tool").chmod(0o755)
    with pytest.raises(AssertionError, match="error: no"):
        Tools(tmp_path).run("tool")


def test_each_input_that_ends_a_target_is_reported(tmp_path):
    """One that ends it keeps it from those after it."""
    target = tmp_path / "target"
    target.write_text(
        """#!/bin/sh
for input; do
  case $input in -*) continue;; esac
  echo "Running: $input" >&2
  ! grep -q bad "$input" || { echo "FINDING: $(cat "$input")" >&2; exit 77; }
done
"""
    )
    target.chmod(0o755)
    found = every_pass.take(target, ["good", "bad 1", "good", "bad 2", "good"])
    assert found == [("bad 1", "FINDING: bad 1"), ("bad 2", "FINDING: bad 2")]
    assert not every_pass.take(target, ["good"] * 3)


@pytest.fixture(scope="module")
def op_programs():
    return list(op_seeds.programs(ROOT))


def test_there_is_a_module_for_every_op_and_element_type(op_programs):
    ops = {
        re.search(r'"((?:stablehlo|chlo)\.[\w-]+)"', text)[1] for text in op_programs
    }
    assert {"stablehlo.add", "stablehlo.convolution", "chlo.erf", "chlo.scan"} <= ops
    assert len(ops) > 150
    assert len(op_programs) >= 2 * len(ops) * len(op_seeds.ELEMENTS) * 0.9


def test_modules_of_ops_are_read_or_rejected(tools, op_programs, tmp_path):
    source = tmp_path / "ops.mlir"
    source.write_text("// -----\n".join(op_programs[::7]))
    done = tools.run("mpmd-opt", source, "--split-input-file", "-o", "/dev/null")
    assert done.returncode == 1  # Shapes do not fit, by turns.
    assert "error: " in done.stderr


def test_pipelines_of_tests_become_seeds(tools, tmp_path):
    text = "// RUN: mpmd-opt %s -mpmd-split-bwd-fragments -cse | FileCheck %s\n"
    pipelines = fuzz_seeds.pipelines_of(text, tmp_path, tools.folder)
    split = "mpmd-split-bwd-fragments{manual-computations=false}"
    assert pipelines == [f"func.func({split}),cse"]
