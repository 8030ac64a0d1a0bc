"""What a release is checked for."""

import io
import json
import re
import sys
import tarfile
import tomllib
import zipfile

import jsonschema
from support.tools import ROOT

from scripts import build_wheel, release

VERSION = release.read_version()


def test_version_is_the_same_everywhere():
    import meshwright

    assert meshwright.__version__ == VERSION
    package = json.loads((ROOT / "editors" / "vscode" / "package.json").read_text())
    assert package["version"] == VERSION
    cmake = (ROOT / "CMakeLists.txt").read_text()
    assert "core/version.py" in cmake and VERSION not in cmake
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["dynamic"] == ["version"]


def test_changelog_needs_a_section_for_the_version():
    assert release.check_changelog("1.2.0", "## Unreleased\n\n## 1.2.0\n") == []
    [problem] = release.check_changelog("1.2.0", "## Unreleased\n\n## 1.1.0\n")
    assert "no section 1.2.0; turn Unreleased into it" in problem


def test_source_archives_are_whole_and_clean(tmp_path):
    archive = tmp_path / "source.tar.gz"

    def pack(*names):
        with tarfile.open(archive, "w:gz") as files:
            for name in names:
                files.addfile(tarfile.TarInfo(f"meshwright-1/{name}"), io.BytesIO())
        return release.check_source(archive)

    assert pack(*release.SOURCES) == []
    assert pack(*release.SOURCES[1:]) == ["source.tar.gz lacks CMakeLists.txt"]
    found = pack(*release.SOURCES, "build-wheel/a.txt", "python/x.so")
    assert found == [
        "source.tar.gz has build-wheel/a.txt",
        "source.tar.gz has python/x.so",
    ]


def test_bill_names_everything_linked_in_or_asked_for():
    bill = release.make_bill(VERSION)
    names = {component["name"] for component in bill["components"]}
    assert {"llvm-22-dev", "libmlir-22-dev", "nanobind", "jax", "numpy"} <= names
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert {re.match(r"[\w-]+", text)[0] for text in project["dependencies"]} <= names
    assert bill["dependencies"][0]["dependsOn"] == [
        component["bom-ref"] for component in bill["components"]
    ]
    reference = {"type": "object", "required": ["type", "name", "bom-ref"]}
    jsonschema.validate(bill["components"], {"type": "array", "items": reference})


def test_wheels_that_lack_something_are_refused(tmp_path):
    wheel = tmp_path / "meshwright-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("meshwright-1.data/scripts/mpmd-opt", "")
        archive.writestr("meshwright-1.dist-info/licenses/LICENSE", "")
        archive.write(sys.executable, "needs_libpython")
    problems = build_wheel.check(wheel)
    assert "not tagged for a C library" in problems
    assert "no command meshwright" in problems
    assert "no command mpmd-opt" not in problems
    assert "no licence of llvm-22-dev" in problems
