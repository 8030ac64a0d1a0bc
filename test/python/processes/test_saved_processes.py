"""Programs that several processes save together, or load."""

import json

import pytest
from support.launching import launch, reports


@pytest.fixture(scope="module")
def folders(tmp_path_factory) -> dict:
    folder = tmp_path_factory.mktemp("saved")
    names = {name: folder / name for name in ("spanning", "apart")}
    return names | {"not shared": folder / "program-{process}"}


def run(processes: int, *cases: tuple, folders: dict) -> list[list[dict]]:
    """What each process says of each case: a verb, a kind, a folder."""
    words = [word for *case, name in cases for word in (*case, str(folders[name]))]
    found = reports(launch(processes, 6 // processes, "saved.py", *words))
    assert [report["process"] for report in found] == [*range(processes)]
    return [report["found"] for report in found]


@pytest.fixture(scope="module")
def saved(folders) -> list[list[dict]]:
    """By two processes, each into a program of both and one that is refused."""
    cases = ("save", "spanning", "spanning"), ("save", "apart", "not shared")
    return run(2, *cases, folders=folders)


@pytest.fixture(scope="module")
def alone(folders, saved) -> list[dict]:
    """What one process says that saves a program, and loads that of two."""
    cases = ("save", "apart", "apart"), ("load", "spanning", "spanning")
    (found,) = run(1, *cases, folders=folders)
    return found


@pytest.fixture(scope="module")
def loaded(folders, saved, alone) -> list[list[dict]]:
    """By two processes."""
    cases = ("load", "spanning", "spanning"), ("load", "apart", "apart")
    return run(2, *cases, folders=folders)


def test_processes_save_one_program_and_load_it_without_a_compiler(
    saved, loaded, folders
):
    for (before, _), (after, _) in zip(saved, loaded, strict=True):
        assert before["compiled"] > 0
        assert after == before | {"compiled": 0}
    text = (folders["spanning"] / "compiled.json").read_text()
    figures = json.loads(text)["body"]["figures"]
    assert len(figures["fragments"]) == 3
    assert figures["meshes"].keys() == {"m0", "wide", "m1"}
    assert all(mesh["peak_bytes"] > 0 for mesh in figures["meshes"].values())


def test_a_program_of_one_process_runs_in_two(alone, loaded):
    before, _ = alone
    for _, after in loaded:
        assert after == before | {"compiled": 0}


def test_a_mesh_has_to_fall_into_processes_as_it_did(alone):
    error = alone[1]["error"]
    assert "mesh 'wide' was saved for devices of 2 processes, and has" in error
    assert "those of one process here" in error


def test_processes_that_do_not_share_the_folder_are_refused(saved, folders):
    for _, refused in saved:
        assert "all processes save into one folder" in refused["error"]
    assert not list(folders["not shared"].parent.glob("program-*/**/compiled.json"))
