"""What recordings of several processes say: of a step, and of who is late."""

import pytest
from support.launching import launch, reports


@pytest.fixture(scope="module")
def found(tmp_path_factory) -> dict:
    folder = str(tmp_path_factory.mktemp("measured"))
    return reports(launch(2, 1, "measured.py", folder))[0]


def test_a_simulated_step_has_the_work_that_was_recorded_everywhere(found):
    assert found["processes"] == [0, 1]
    assert found["fragments"] == 8
    # None of it is dropped, however late an end was noticed.
    error = 1e-9 * found["fragments"]
    assert found["simulated"] == pytest.approx(found["recorded"], abs=error)
    # One mesh has at least half of it, and no step is longer without transfers.
    assert found["step"] >= found["recorded"] / 2 - error


def test_the_mesh_of_the_process_that_is_late_is_named(found):
    assert found["order"] == ["m1", "m0"]
    late, other = found["stragglers"]["m1"], found["stragglers"]["m0"]
    assert (late["runs"], other["runs"]) == (2, 0)
    # Four microbatches wait for so long.
    assert late["seconds"] >= 4 * found["late"]
    assert late["late"] == pytest.approx(late["seconds"] - other["seconds"])
