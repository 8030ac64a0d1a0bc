"""What goes from a script to meshes of other processes, and back."""

import concurrent.futures
import json
import pathlib

import jax.numpy as jnp
import numpy as np
import pytest
from meshwright.runtime.processes import values
from meshwright.runtime.processes.world import ProcessError
from support.fake_world import Store, make_world
from support.launching import reports_of_each


@pytest.fixture(scope="module")
def found_by() -> dict:
    scripts = ("values.py", "given.py", "checked.py", "many_fetches.py")
    return reports_of_each(2, 2, *scripts)


@pytest.fixture(scope="module")
def found(found_by) -> list[dict]:
    return [report["found"] for report in found_by["values.py"]]


@pytest.mark.parametrize("mesh", ["own", "spanning"])
def test_keys_go_there_and_back(mesh, found):
    assert [each[mesh]["keys"] for each in found] == [True, True]


@pytest.mark.parametrize("mesh", ["own", "spanning"])
def test_a_value_has_one_type_in_all_processes(mesh, found):
    types = found[0][mesh]["types"]
    assert found[1][mesh]["types"] == types
    assert [weak for _, weak in types] == [True, True, False, True, False, True]


@pytest.mark.parametrize("mesh", ["own", "spanning"])
def test_an_integer_that_does_not_fit_is_refused_everywhere(mesh, found):
    assert [each[mesh]["large"] for each in found] == ["refused", "refused"]


def test_placed_keys_and_scalars_are_those_of_the_program(found):
    assert [each["program"] for each in found] == [["bfloat16", True]] * 2


def test_meshes_of_several_processes_call_python(found):
    assert [each["python"] for each in found] == [[1.0, 4.0, 7.0]] * 2


def test_results_are_moved_within_a_process_and_all_know(found):
    for number, each in enumerate(found):
        values, key, (devices, here) = each["moved"]
        assert (values, key, devices) == ([0.0, 4.0, 8.0], [True, True], [2049])
        assert devices == [3 if len(found) == 2 else None] or devices == [2049]
        assert here == (number == 1)


def test_what_is_in_place_can_be_placed_again(found):
    assert [each["placed again"] for each in found] == [[True] * 4] * 2


def test_a_way_to_another_process_is_named(found):
    for each in found:
        called, placed, _ = each["other process"]
        way = "mw.distributed.place(mw.fetch(x), sharding) on every process"
        assert "inputs do not have the sharding" in called and way in called
        assert placed.startswith("ValueError: ") and "mw.distributed.place" in placed
        assert each["fetched"] == [0.0, 4.0, 8.0]
    assert "and these devices are of several processes" in found[0]["other process"][1]
    text = "place: an array float32[3] is on devices [2048], not all of this process"
    assert text in found[0]["other process"][2]
    assert found[1]["other process"][2] is None  # It has the values.


def test_errors_of_checkify_are_fetched_as_any_value(found_by):
    """Of both meshes and of JAX's own checks: the text of `jax.jit`, everywhere."""
    for report in found_by["checked.py"]:
        assert report["found"] == report["wanted"]
        nothing, of_first, of_second, of_jax = report["found"]
        assert nothing is None
        assert of_first.startswith("the sum is -1.0")
        assert "is too large" in of_second
        assert "out-of-bounds" in of_jax


def test_programs_keep_to_themselves_after_thousands_of_fetches(found_by):
    for report in found_by["many_fetches.py"]:
        assert report["fetched"] == 2100
        assert report["found"] == [[1.0, 2.0]] * 10


def test_what_is_placed_stays_as_it_was_where_the_buffer_is_refilled(found_by):
    for report in found_by["given.py"]:
        assert len(report["placed"]) == 9
        assert all(report["placed"].values()), report["placed"]


def test_large_captured_arrays_are_where_they_are_read_and_nowhere_else(found_by):
    for report in found_by["given.py"]:
        assert report["constants"] == 2
        assert report["longest line"] < 2000  # None of them is text,
        assert report["sent"] == 4 * 8 * 256  # and none is sent.
        assert report["here"] == [f"m{report['process']}"]


def test_captured_arrays_are_those_of_when_the_program_was_lowered(found_by):
    for report in found_by["given.py"]:
        assert report["sums"] == pytest.approx([report["expected"]] * 2)


def exchange(*trees):
    """The error of each process that fetches an array of process 0."""
    store = Store()

    def run(process):
        world = make_world(store, process, len(trees))
        world.barrier = lambda name, what: None
        world.drop = lambda *keys: None
        errors = [
            leaf if leaf is None else values._describe(leaf, [(0, (slice(None),))])
            for leaf in trees[process]
        ]
        parts = {} if process else {(0, 0): np.asarray(trees[0][0])}
        try:
            got = values._exchange(world, 0, json.loads(json.dumps(errors)), parts, [0])
        except ProcessError as error:
            return str(error)
        return got[0, 0].tobytes() == np.asarray(trees[0][0]).tobytes()

    with concurrent.futures.ThreadPoolExecutor(len(trees)) as pool:
        return list(pool.map(run, range(len(trees))))


def test_trees_that_differ_are_not_taken_for_each_other():
    ours, longer, other = jnp.arange(4.0), jnp.arange(6.0), jnp.arange(4)
    assert exchange([ours], [ours, None]) == [True, True]
    for tree, text in (
        ([longer], "leaf 0 is float32[4] in process 0 and float32[6] in process 1"),
        ([other], "leaf 0 is float32[4] in process 0 and int32[4] in process 1"),
        ([ours, ours], "leaf 1 is no array in process 0 and float32[4] in process 1"),
    ):
        _, errors = exchange([ours], tree)
        assert text in errors
        assert errors.startswith("the processes call mw.fetch with different trees: ")


def test_a_fetch_that_fails_counts(monkeypatch):
    """The next one of this process is the next one of the others."""
    world = make_world(Store(), 0, 2)
    monkeypatch.setattr(values, "current", lambda: world)
    gone = jnp.arange(3.0)
    gone.delete()
    with pytest.raises(
        RuntimeError, match="mw.fetch: an array has been deleted"
    ) as error:
        values.fetch(gone)
    assert world.next_number() == 1
    # The traceback ends at the line of the user.
    assert [entry.path.name for entry in error.traceback] == [
        pathlib.Path(__file__).name
    ]
