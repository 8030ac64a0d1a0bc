"""Programs that several processes save together, or load."""

import json

import pytest
from support.launching import launch, reports


def run(processes, verb, kind, folder):
    return launch(processes, 6 // processes, "saved.py", verb, kind, str(folder))


@pytest.fixture(scope="module")
def spanning(tmp_path_factory):
    """A folder that two processes have saved, and what they said."""
    folder = tmp_path_factory.mktemp("saved") / "program"
    return folder, reports(run(2, "save", "spanning", folder))


def test_processes_save_one_program_and_load_it_without_a_compiler(spanning):
    folder, saved = spanning
    assert all(report["compiled"] > 0 for report in saved)
    loaded = reports(run(2, "load", "spanning", folder))
    assert loaded == [report | {"compiled": 0} for report in saved]
    figures = json.loads((folder / "compiled.json").read_text())["body"]["figures"]
    assert len(figures["fragments"]) == 3
    assert figures["meshes"].keys() == {"m0", "wide", "m1"}
    assert all(mesh["peak_bytes"] > 0 for mesh in figures["meshes"].values())


def test_a_program_of_one_process_runs_in_two(tmp_path):
    (saved,) = reports(run(1, "save", "apart", tmp_path))
    loaded = reports(run(2, "load", "apart", tmp_path))
    assert len(loaded) == 2
    for number, report in enumerate(loaded):
        assert report == saved | {"process": number, "compiled": 0}


def test_a_mesh_has_to_fall_into_processes_as_it_did(spanning):
    done = run(1, "load", "spanning", spanning[0])
    assert done.returncode != 0
    assert "mesh 'wide' was saved for devices of 2 processes, and has" in done.stderr
    assert "those of one process here" in done.stderr


def test_processes_that_do_not_share_the_folder_are_refused(tmp_path):
    done = run(2, "save", "apart", tmp_path / "program-{process}")
    assert done.returncode != 0
    assert "all processes save into one folder" in done.stderr
    assert not list(tmp_path.rglob("compiled.json"))
