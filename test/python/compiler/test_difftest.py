"""A part of what `make difftest` runs: operations, programs, models against JAX."""

import dataclasses
import re
import subprocess
import sys

import numpy as np
import pytest
from support import op_corpus, random_functions, random_ops
from support.difftest import jit as difftest_jit
from support.difftest import meant as difftest_meant
from support.difftest import ops as difftest_ops
from support.difftest import oracle as difftest_oracle
from support.difftest import programs as difftest_programs
from support.difftest import seeds as difftest_seeds
from support.difftest import values as difftest_values
from support.tools import ROOT


@pytest.fixture
def comparison(comparing):
    return comparing(difftest_ops.OpComparison)


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


def test_seeds_of_fuzzing_agree_with_jaxlib(comparison):
    words = ("atan2", "broadcast_multiply")
    programs = difftest_seeds.programs(words)
    assert {p.op for p in programs} == {
        f"{dialect}.{name}"
        for dialect, name in (
            ("chlo", "broadcast_atan2"),
            ("chlo", "broadcast_multiply"),
            ("stablehlo", "atan2"),
        )
    }
    some = [p for p in programs if re.search(r"tensor<[\dx]*(i8|bf16|com)", p.text)]
    comparison.check(some)
    assert not comparison.findings, "\n".join(map(str, comparison.findings))
    static = [p for p in some if difftest_ops.is_transferable(p)]
    assert comparison.passed["named"] == len(static)
    assert comparison.numbered >= 10


@pytest.mark.parametrize("number", [2006490, 2013169])
def test_differences_that_are_meant_are_no_findings(comparison, number):
    """A barrier that both partitioners take out; a sum whose terms cancel out."""
    comparison.check([random_ops.generate(number)])
    assert not comparison.findings, "\n".join(map(str, comparison.findings))


def test_programs_are_no_larger_than_those_of_the_peer(comparing):
    comparison = comparing(difftest_programs.ProgramComparison)
    comparison.check(range(12))
    assert not comparison.findings, "\n".join(map(str, comparison.findings))
    assert comparison.outcomes["same text"] >= 6, comparison.outcomes


@pytest.mark.parametrize("number", [100997, 302303])
def test_fragments_left_whole_by_chance_are_no_finding(comparing, number):
    comparison = comparing(difftest_programs.ProgramComparison)
    comparison.check([number])
    assert not comparison.findings, "\n".join(map(str, comparison.findings))
    assert comparison.outcomes["the peer splits less by chance"] == 1


def test_calls_in_calls_are_dissolved_for_the_peer_where_it_rejects_them(comparing):
    comparison = comparing(difftest_programs.ProgramComparison)
    comparison.check([301538])
    assert not comparison.findings, "\n".join(map(str, comparison.findings))
    assert comparison.outcomes["same text"] == 1


def test_models_have_the_numbers_of_jax():
    comparison = difftest_jit.JitComparison()
    comparison.check(range(4))
    assert not comparison.findings, "\n".join(map(str, comparison.findings))


@pytest.mark.parametrize("number", [5312, 5518])
def test_models_that_are_refused_as_documented_are_no_finding(number):
    """Recomputed for halves that it is merged with; five microbatches in two rounds."""
    comparison = difftest_jit.JitComparison()
    comparison.check([number])
    assert not comparison.findings, "\n".join(map(str, comparison.findings))
    assert comparison.outcomes == {"refused as it should be": 1}


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


def test_results_are_distinguished_by_how_they_are_computed(comparison):
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


def test_results_of_calls_are_what_the_callee_computes(comparison):
    inlined = """
func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
  %c = stablehlo.constant dense<(1.0, 2.0)> : tensor<complex<f32>>
  %0 = stablehlo.abs %a : tensor<2xf32>
  %1 = stablehlo.negate %0 : tensor<2xf32>
  %2 = stablehlo.abs %1 : tensor<2xf32>
  return %2 : tensor<2xf32>
}
"""
    called = """
func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
  %0 = call @f(%a) : (tensor<2xf32>) -> tensor<2xf32>
  %1 = stablehlo.negate %0 : tensor<2xf32>
  %2 = call @f(%1) : (tensor<2xf32>) -> tensor<2xf32>
  return %2 : tensor<2xf32>
}
func.func private @f(%a: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.abs %a : tensor<2xf32>
  return %0 : tensor<2xf32>
}
"""
    texts = inlined, called, called.replace("f(%1)", "f(%0)")
    first, second, other = (
        comparison.jaxlib.call(difftest_values.read_results, text) for text in texts
    )
    assert first == second
    assert first != other


def test_a_program_with_other_numbers_is_found(comparing):
    """Also where another process partitions it."""
    comparison = comparing(difftest_programs.ProgramComparison)
    program = difftest_programs.generate(6)
    right = comparison._partitioned(6, program)
    assert "stablehlo.tanh" in right.ours
    wrong = right.ours.replace("stablehlo.tanh", "stablehlo.sine")
    for ours in (right.ours, wrong):
        comparison._check([dataclasses.replace(right, ours=ours)])
    assert [finding.route for finding in comparison.findings] == ["numbers"]


def test_the_order_of_operands_is_distinguished_from_other_texts():
    text = "%0 = f(%a, %b) {n, unroll_counter = 1 : ui32} : (tensor<f32>, tensor<i32>)"
    other = "%1 = f(%b, %a) {n} : (tensor<i32>, tensor<f32>)"
    words = difftest_programs.words_of_lines
    assert words(text) == words(other)
    assert words(text) != words(other.replace("i32>", "i64>"))
    assert words(text) != words(f"{text}\n{text}")


def test_numbers_of_the_interpreter_are_a_first_answer_only(comparing):
    """It scatters into arrays that are read again: those of XLA count."""
    comparison = comparing(difftest_programs.ProgramComparison)
    scatter = """
    %NAME = "stablehlo.scatter"(%zeros, %i, %a) <{scatter_dimension_numbers =
      #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0],
                         index_vector_dim = 1>}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %sum = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %sum : tensor<f32>
    }) : (tensor<4xf32>, tensor<2x1xi32>, tensor<2xf32>) -> tensor<4xf32>
"""
    text = """
func.func @main(%a: tensor<2xf32>, %i: tensor<2x1xi32>)
    -> (tensor<4xf32>, tensor<4xf32>) {
  %zeros = stablehlo.constant dense<0.0> : tensor<4xf32>
  FIRST
  %zeros_again = stablehlo.constant dense<0.0> : tensor<4xf32>
  SECOND
  return %first, %second : tensor<4xf32>, tensor<4xf32>
}
"""
    apart = text.replace("FIRST", scatter.replace("NAME", "first"))
    second = scatter.replace("NAME", "second")
    again = apart.replace("SECOND", second)
    apart = apart.replace("SECOND", second.replace("(%zeros,", "(%zeros_again,"))
    wrong = apart.replace("= stablehlo.add", "= stablehlo.subtract")
    for seed, erased in enumerate((apart, again, wrong)):
        comparison._check_numbers(seed, apart, erased)
    assert [finding.case for finding in comparison.findings] == ["program 2"]
    assert comparison.compiled == 2


def test_xla_sorts_along_dimensions_from_the_front():
    programs = [random_ops.generate(n, ("stablehlo.sort",)) for n in range(20)]
    before, after = (
        [re.findall(r"<{dimension = (-?\d+)", p.text)[0] for p in some]
        for some in (programs, map(difftest_meant.for_xla, programs))
    )
    ranks = [len(p.arguments[0].shape) for p in programs]
    assert any(int(number) < 0 for number in before)
    assert [int(n) % rank for n, rank in zip(before, ranks, strict=True)] == [
        int(number) for number in after
    ]


@pytest.fixture
def third(tools):
    comparison = difftest_oracle.OracleComparison(
        op_corpus.Tools(tools.folder), "interpreter"
    )
    yield comparison
    comparison.close()


ADDS = [random_ops.generate(n, ("stablehlo.add",)) for n in range(40)]


def test_interpreter_is_a_third_opinion(third):
    third.check(ADDS)
    assert not third.findings
    assert third.outcomes["all agree"] >= 10
    # It knows no small floats, for which Python has no buffers, and says so.
    assert third.outcomes["refused by interpreter"]


def test_command_asks_a_third(tools):
    command = [sys.executable, ROOT / "scripts" / "difftest.py", "20"]
    options = ["--oracle=interpreter", "--ops=stablehlo.add", f"--bin={tools.folder}"]
    result = subprocess.run(
        [*command, *options], capture_output=True, text=True, check=True
    )
    assert re.search(r"all agree: [1-9]\d* of 20", result.stdout)


def an_addition(third):
    known = third.ours._numbers([program for program in ADDS if program.runs])
    return next(
        one
        for one in known
        if one.numbers and one.numbers[0].size and one.numbers[0].dtype.kind in "iuf"
    )


def test_a_third_that_is_wrong_is_alone(third):
    """XLA and what we fold agree against it, which is no finding."""
    expected = an_addition(third)
    third._judge(expected, [numbers + 1 for numbers in expected.numbers])
    assert third.outcomes["interpreter alone"] == 1
    assert "stablehlo.add" in third.alone[0]
    assert not third.findings


def test_where_only_xla_differs_it_is_alone(third):
    expected = an_addition(third)
    wrong = dataclasses.replace(expected, numbers=[n + 1 for n in expected.numbers])
    third._judge(wrong, expected.numbers)
    assert third.outcomes["XLA alone"] == 1
    third._judge(wrong, [n + 2 for n in expected.numbers])
    assert third.outcomes["three opinions"] == 1
    assert third.findings
