"""A sample of JAX's own op harnesses through the tools, by the numbers.

`support.op_corpus` runs all of them; this is every n-th and all of the ops
that we write as formulas or fold in a way of our own.
"""

import numpy as np
import pytest
from support import op_corpus

FORMULAS = ["acos", "asinh", "atan_", "atanh", "cosh", "erf", "lgamma", "digamma"]
FORMULAS += ["bessel_i1e", "nextafter", "top_k_dtypes", "tan_shape"]


def check(tools, inputs, routes, cases, batch=40):
    comparison = op_corpus.Comparison(op_corpus.Tools(tools.folder), inputs, routes)
    count = 0
    for some in op_corpus.batches(cases, batch):
        comparison.check(some)
        count += len(some)
    assert not comparison.findings, "\n".join(map(str, comparison.findings))
    for route in routes:
        assert comparison.passed[route] == count - len(comparison.refused)
    return count


def test_sample_of_all_ops(tools):
    routes = ["print", "fold", "partition", "named"]
    cases = op_corpus.harness_cases(every=47)
    assert check(tools, "constants", routes, cases) > 100


def test_formulas_that_xla_cannot_fold(tools):
    cases = op_corpus.harness_cases(FORMULAS)
    assert check(tools, "arguments", ["fold"], cases) > 30


def test_constants_of_booleans(tools):
    """Comparisons of 400 elements become constants that jaxlib must read."""
    cases = op_corpus.harness_cases(["ge_shape", "is_finite", "not_shape", "select_n"])
    assert check(tools, "constants", ["print", "fold", "partition"], cases) > 10


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ([1.0], [1.0], 0),
        ([1.0], [1 + 2**-52], 1),
        ([0.0], [-0.0], 0),
        ([-(2.0**-1022)], [2.0**-1022], 2 * 2**52),
        ([np.nan], [np.nan], 0),
        ([np.nan], [1.0], np.inf),
        ([1 + 1j], [1 + (1 + 2**-52) * 1j], 1),
        ([1], [2], np.inf),
        ([1e-310], [0.0], 0),
    ],
)
def test_units_in_the_last_place(left, right, expected):
    assert op_corpus.ulps(np.array(left), np.array(right)) == expected
