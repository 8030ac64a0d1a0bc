"""NumPy arrays of the script, in the meshes of several processes."""

import pytest
from support.launching import launch, reports


@pytest.fixture(scope="module")
def found() -> list[dict]:
    found = reports(launch(2, 2, "given.py"))
    assert [report["process"] for report in found] == [0, 1]
    return found


def test_what_is_placed_stays_as_it_was_where_the_buffer_is_refilled(found):
    for report in found:
        assert len(report["placed"]) == 9
        assert all(report["placed"].values()), report["placed"]


def test_large_captured_arrays_are_where_they_are_read_and_nowhere_else(found):
    for report in found:
        assert report["constants"] == 2
        assert report["longest line"] < 2000  # None of them is text,
        assert report["sent"] == 4 * 8 * 256  # and none is sent.
        assert report["here"] == [f"m{report['process']}"]


def test_captured_arrays_are_those_of_when_the_program_was_lowered(found):
    for report in found:
        assert report["sums"] == pytest.approx([report["expected"]] * 2)
