"""Programs that are almost right are read as by jaxlib: a part of `make difftest`."""

import pytest
from support import op_corpus
from support.difftest import mutants as difftest_mutants
from support.difftest import tokens as difftest_tokens


@pytest.mark.parametrize(
    ("kind", "count", "read", "refused"),
    [
        (difftest_mutants.MutantComparison, 120, 10, 10),
        (difftest_tokens.TokenComparison, 200, 5, 100),
    ],
)
def test_changed_programs_are_read_as_by_jaxlib(comparing, kind, count, read, refused):
    comparison = comparing(kind)
    comparison.check(range(count))
    assert not comparison.findings, "\n".join(map(str, comparison.findings))
    assert comparison.outcomes["both read and print the same"] >= read
    assert comparison.outcomes["both refuse"] >= refused


def test_one_token_changes_or_what_is_in_brackets():
    text = 'sdy.mesh @m = <["a"=2, "b"=4]>\n'
    changed = [difftest_tokens.change(text, number) for number in range(3000)]
    assert changed == [difftest_tokens.change(text, number) for number in range(3000)]
    for expected in (
        'sdy.mesh @m = <["a"=2 "b"=4]>',
        'sdy.mesh @m = <["a"=2, , "b"=4]>',
        'sdy.mesh @m = <["a"=2, = "b"4]>',
        'sdy.mesh @m = <["a"=2, "a"=4]>',
        'sdy.mesh @m = <["a"=2, ? "b"=4]>',
        "sdy.mesh @m = <[]>",
        "sdy.mesh @m = <>",
    ):
        assert f"{expected}\n" in changed


def test_readers_that_differ_are_found():
    good = difftest_mutants.Reading("module {\n}")
    other = difftest_mutants.Reading("module {\n  a\n}")
    bad = difftest_mutants.Reading(error="mpmd-opt exits with 1: error: no")
    compare = difftest_mutants.compare
    assert compare("", good, good) == ("both read and print the same", "")
    assert compare("", bad, bad) == ("both refuse", "")
    assert "we print '}'" in compare("", good, other)[1]
    assert "jaxlib: reads it" in compare("", bad, good)[1]
    assert compare("", difftest_mutants.Reading(), bad)[1] == "mpmd-opt crashes"
    large = difftest_mutants.Reading(error="1:4: error: integer value too large")
    assert compare("#sdy.op_sharding_rule<>", good, large)[1] == ""
    assert compare("dense<0>", good, large)[1]


def test_regions_that_read_each_other_are_changed(tools, tmp_path):
    """A copy of the op must not read its values, nor a region another that is gone."""
    program = tmp_path / "program.mlir"
    program.write_text(
        """
"func.func"() <{function_type = (tensor<i32>) -> (), sym_name = "f"}> ({
^bb0(%x: tensor<i32>):
  %0 = "stablehlo.while"(%x) ({
  ^bb0(%i: tensor<i32>):
    %p = "stablehlo.compare"(%n, %m) <{comparison_direction =
      #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    "stablehlo.return"(%p) : (tensor<i1>) -> ()
  }, {
  ^bb0(%j: tensor<i32>):
    %n = "stablehlo.add"(%j, %j) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %m = "stablehlo.add"(%j, %n) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    "stablehlo.return"(%n) : (tensor<i32>) -> ()
  }) : (tensor<i32>) -> tensor<i32>
  "func.return"() : () -> ()
}) : () -> ()
"""
    )
    count = 1000
    (tmp_path / "out").mkdir()
    op_corpus.Tools(tools.folder).run(
        "fuzz-mutate", 0, tmp_path / "out", stdin=f"{program}\n" * count
    )
    assert len(list((tmp_path / "out").iterdir())) == count
