"""Runs that fail and are caught: nothing is kept, no process waits for missing values.

The timeout is longer than a test may take: what is reported is not reported by it.
"""

import pytest
from support.launching import LIMIT, launch, reports


@pytest.fixture(scope="module")
def found() -> list[dict]:
    return reports(run("caught"))


def run(kind: str):
    options = ("--timeout", str(2 * LIMIT))
    return launch(2, 1, "failed_runs.py", kind, options=options)


def test_what_fails_everywhere_keeps_nothing_and_can_be_tried_again(found):
    assert [len(report["errors"]) for report in found] == [4, 4]
    for errors in zip(*(report["errors"] for report in found), strict=True):
        assert any("Out of memory" in error for error in errors)
    for report in found:
        assert report["freed"] == [True] * 4
        assert report["losses"] == pytest.approx([0.580026] * 2, rel=1e-4)


def test_the_others_hear_of_a_run_that_fails_in_one_process(found):
    first, second = found
    assert "no more data" in first["error"]
    assert first["notes"] == []
    (note,) = second["notes"]
    assert note.startswith("The run has failed in another process first: process 0 (")
    assert note.endswith("KeyError: 'no more data'")
    assert (first["sum"], second["sum"]) == (200.0, 200.0)


def test_the_process_in_which_the_run_failed_is_blamed():
    """For what failed last, not for what was caught before."""
    done = run("last")
    assert done.returncode == 1
    (line,) = [x for x in done.stderr.splitlines() if x.startswith("meshwright.launch")]
    assert line.startswith("meshwright.launch: process 0 (pid ")
    assert line.endswith("on mesh \"m0\" failed: KeyError: 'nothing at all'")
