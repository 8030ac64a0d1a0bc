"""A part of what `make difftest` runs: operations, programs, models against JAX."""

import pathlib
import sys

import numpy as np
import pytest
import random_functions
import random_ops
from conftest import ROOT

sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "bench")]

import difftest_jit  # noqa: E402
import difftest_ops  # noqa: E402
import difftest_programs  # noqa: E402
import difftest_values  # noqa: E402
import op_corpus  # noqa: E402


@pytest.fixture
def comparison(tools):
    found = difftest_ops.OpComparison(op_corpus.Tools(pathlib.Path(tools.folder)))
    yield found
    found.close()


def test_every_operation_agrees_with_jaxlib(comparison):
    programs = [random_ops.generate(n) for n in range(len(random_ops.OPS))]
    assert {p.op for p in programs} == set(random_ops.OPS)
    for at in range(0, len(programs), 100):
        comparison.check(programs[at : at + 100])
    assert not comparison.findings, "\n".join(map(str, comparison.findings))
    # Most of them are run, not only read.
    assert comparison.numbered > 0.7 * len(programs)
    for route in ("print", "bytecode", "fold", "decompose"):
        assert comparison.passed[route] == len(programs)


def test_programs_are_no_larger_than_those_of_the_peer(tools):
    comparison = difftest_programs.ProgramComparison(
        op_corpus.Tools(pathlib.Path(tools.folder))
    )
    for seed in range(12):
        comparison.check(seed)
    comparison.close()
    assert not comparison.findings, "\n".join(map(str, comparison.findings))
    assert comparison.outcomes["same text"] >= 6, comparison.outcomes


def test_models_have_the_numbers_of_jax():
    comparison = difftest_jit.JitComparison()
    for seed in range(4):
        comparison.check(seed)
    assert not comparison.findings, "\n".join(map(str, comparison.findings))


def test_a_wrong_number_is_found():
    left = [np.ones(3, np.float32), np.zeros(2, np.float32)]
    assert difftest_jit.difference(left, [a.copy() for a in left]) is None
    assert "off by" in difftest_jit.difference(left, [left[0] * 1.001, left[1]])
    assert "structure" in difftest_jit.difference(left, left[:1])
    nan = [left[0], np.full(2, np.nan, np.float32)]
    assert "result 1" in difftest_jit.difference(left, nan)


def test_models_have_all_that_is_drawn():
    """Names with memory kinds, counted calls, stages, donated weights, all options."""
    models = [random_functions.draw(seed, ours=True) for seed in range(200)]
    assert any("#pinned_host" in mesh for m in models for mesh in m.assignment.values())
    assert any(m.donates for m in models)
    assert any(m.stages for m in models)
    options = {name for m in models for name, on in m.options.items() if on}
    assert options >= set(random_functions.OPTIONS)
    schedules = {m.options["mpmd_pipeline_schedule"] for m in models}
    assert schedules >= {"Circular", "ZeroBubbleH1", "Interleaved1F1B", "Eager1F1B"}
    text = random_functions.draw(0).text()
    assert random_functions.draw(0).text() == text


def test_a_number_says_the_program():
    for number in (3, 77, 4017):
        first, second = random_ops.generate(number), random_ops.generate(number)
        assert first.text == second.text
        for left, right in zip(first.arrays, second.arrays, strict=True):
            assert left is right is None or left.tobytes() == right.tobytes()


def test_every_operation_of_the_dialects_is_drawn():
    """What is left out is drawn under another name."""
    from test_differential import TOO_NEW, defined_operations

    text = "".join(random_ops.generate(n).text for n in range(20 * len(random_ops.OPS)))
    missing = {
        op
        for op in defined_operations() - TOO_NEW
        if op.startswith(("stablehlo.", "chlo.")) and f'"{op}"' not in text
    }
    assert not missing


@pytest.mark.parametrize(
    ("left", "right", "apart"),
    [
        (np.complex64(1 + 1e-9j), np.complex64(1), 0),
        (np.complex64(complex(np.nan, 1)), np.complex64(complex(1, np.nan)), 0),
        (np.float32(1), np.float32(1 + 2**-16), 2),
        (np.int8(1), np.int8(2), np.inf),
        (np.float32(np.nan), np.float32(1), np.inf),
    ],
)
def test_distance(left, right, apart):
    found = difftest_ops.distance(np.array([left]), np.array([right]))
    assert round(found) == apart if np.isfinite(apart) else found == apart


def test_results_are_told_apart_by_how_they_are_computed(comparison):
    text = """
func.func @main(%a: tensor<2xf32>, %b: tensor<2xf32>)
    -> (tensor<2xf32>, tensor<2xf32>) {
  FIRST
  %d = stablehlo.negate %c : tensor<2xf32>
  %e = stablehlo.negate %a : tensor<2xf32>
  return %d, %e : tensor<2xf32>, tensor<2xf32>
}
"""
    keys = [
        comparison.jaxlib.call(
            difftest_values.read_results, text.replace("FIRST", first)
        )
        for first in (
            "%c = stablehlo.subtract %a, %b : tensor<2xf32>",
            "%x = stablehlo.abs %a : tensor<2xf32>\n"
            "%c = stablehlo.subtract %a, %b : tensor<2xf32>",
            "%c = stablehlo.subtract %b, %a : tensor<2xf32>",
        )
    ]
    assert keys[0] == keys[1]
    assert keys[0][0] != keys[2][0]
    assert keys[0][1] == keys[2][1]
