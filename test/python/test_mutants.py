"""Programs that are almost right are read as by jaxlib: a part of `make difftest`."""

import pathlib
import sys

from conftest import ROOT

sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "bench")]

import difftest_mutants  # noqa: E402
import op_corpus  # noqa: E402


def test_programs_that_are_almost_right_are_read_as_by_jaxlib(tools):
    comparison = difftest_mutants.MutantComparison(
        op_corpus.Tools(pathlib.Path(tools.folder))
    )
    comparison.check(range(120))
    comparison.close()
    assert not comparison.findings, "\n".join(map(str, comparison.findings))
    assert comparison.outcomes["both read and print the same"] >= 10
    assert comparison.outcomes["both refuse"] >= 10


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
