"""What the doctor says where things are odd."""

import sys

import pytest

from meshwright import doctor


def test_a_count_of_devices_in_the_environment_is_no_illness(monkeypatch, capsys):
    monkeypatch.setenv("JAX_NUM_CPU_DEVICES", "1")
    monkeypatch.setenv("PYTHONPATH", ":".join(sys.path))
    report = doctor.Report(colours=False)
    doctor.check_running(report)
    assert (
        "ok      a program on two meshes of CPU devices runs" in capsys.readouterr().out
    )
    assert not report.failed


@pytest.mark.parametrize(
    "place", ["file", "file/below", "~no-user-has-this-name/x", "x" * 300]
)
def test_caches_that_cannot_be(place, monkeypatch, capsys, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR", raising=False)
    monkeypatch.setenv("MESHWRIGHT_CACHE_DIR", place)
    doctor.check_folders(doctor.Report(colours=False))
    line = capsys.readouterr().out.splitlines()[1]
    state = "warning" if place.startswith("file") else "ok"
    assert line.startswith(f"{state:<8}cache of compiled fragments in {place}")


def test_what_does_not_end_is_reported(monkeypatch):
    monkeypatch.setattr(doctor, "_SECONDS", 0.1)
    found = doctor._try("import time; time.sleep(100)")
    assert found == (False, "it has not ended within 0.1 s")
