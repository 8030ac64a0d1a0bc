"""What is not in JAX's documented interface is named in one table, and checked."""

import os
import pathlib
import re
import subprocess
import sys

import jax
import pytest
from meshwright.jaxapi import differences, names

ROOT = pathlib.Path(__file__).resolve().parents[3]
PACKAGE = ROOT / "python" / "meshwright"
UNDOCUMENTED = re.compile(
    r"""\bjax\.(_src|interpreters|extend|experimental\.transfer)\b
    |\bjaxlib\.(?!__version__)|\bimport_module\(["']jax""",
    re.VERBOSE,
)


def test_old_jax_is_an_import_error_that_names_the_version(monkeypatch):
    monkeypatch.setattr(jax, "__version_info__", (0, 9, 2))
    monkeypatch.setattr(jax, "__version__", "0.9.2")
    with pytest.raises(
        ImportError, match=r"needs jax 0\.10\.0 or newer, found 0\.9\.2"
    ):
        names.load()


@pytest.mark.parametrize(
    "table",
    [
        {"names": [("jax.extend.gone jax._src.gone", "thing")]},
        {"attributes": [("jax._src.gone", "thing")]},
        {"attributes": [("jax.sharding.NamedSharding", "spec gone")]},
        {"calls": {"dce_jaxpr": (9, "")}},
        {"calls": {"dce_jaxpr": (2, "gone")}},
        {"calls": {"dce_jaxpr": (1, "")}},
    ],
)
def test_an_unknown_jax_is_an_import_error_of_one_sentence(table, monkeypatch):
    monkeypatch.setattr(jax, "__version__", "9.9.9")
    with pytest.raises(ImportError) as error:
        names.load(**table)
    missing = r"(jax\._src\.gone\S*|\S+\.gone|dce_jaxpr with the arguments .*)"
    advice = r"install one that it was tried with, jax 0\.10 to \S+, or a newer \w+"
    assert re.fullmatch(
        rf"meshwright uses {missing}, which jax 9\.9\.9 does not have; {advice}",
        str(error.value),
    )


def test_a_newer_jax_of_known_shape_works(monkeypatch, recwarn):
    monkeypatch.setattr(jax, "__version_info__", (99, 0, 0))
    assert names.load().keys() == names.FOUND.keys()
    assert not recwarn


def test_names_beyond_the_documented_interface_are_in_one_table():
    jaxapi = PACKAGE / "jaxapi"
    # A command runs the second by its path: it says itself what it does not find. The
    # third is a part of the table, which is read without JAX, too.
    apart = [jaxapi / f"{name}.py" for name in ("names", "portable", "coordination")]
    for path in PACKAGE.rglob("*.py"):
        if path in apart:
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            assert not UNDOCUMENTED.search(line), f"{path}:{number}: {line}"


def test_the_table_names_only_what_is_used():
    users = ("frontend.py", "differences.py", "runtime.py")
    text = "".join((PACKAGE / "jaxapi" / user).read_text() for user in users)
    used = set(re.findall(r"_FOUND\[\s*\"(\w+)\"\s*\]", text))
    # What has no other shape, the rest of the package takes by its name.
    for path in PACKAGE.rglob("*.py"):
        used |= set(re.findall(r"\bcompat\.(\w+)", path.read_text())) & set(names.FOUND)
    assert used == set(names.FOUND)
    assert set(names._CALLS) <= used


def test_the_documentation_says_what_differs_of_names_that_are_used():
    page = (ROOT / "docs" / "jax-versions.md").read_text()
    rows = re.findall(r"^\| (`[^|]+) \| 0\.\d+\.\d+ \|", page, re.MULTILINE)
    changed = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    owners = {place.rpartition(".")[2] for place, _ in names._ATTRIBUTES}
    assert "dce_rules" in changed
    assert changed <= set(names.FOUND) | owners


def test_functions_that_do_not_tell_their_parameters_are_taken_as_they_are():
    assert names._takes(int.from_bytes, 1, "")
    assert not differences._has_parameter(object(), "x")


def test_importing_the_package_imports_little_beside_jax():
    script = """
import sys, jax
before = set(sys.modules)
import meshwright
print(*sorted(set(sys.modules) - before))
"""
    path = os.pathsep.join([str(PACKAGE.parent), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    found = [m for m in done.stdout.split() if m.split(".")[0] != "meshwright"]
    assert "jax.extend" not in found
    # More of JAX, and a few modules of Python.
    known = {"jax", "jaxlib"} | set(sys.stdlib_module_names)
    assert {module.split(".")[0] for module in found} <= known
    heavy = "asyncio concurrent email http multiprocessing sqlite3 unittest urllib"
    assert not {module.split(".")[0] for module in found} & set(heavy.split())
    assert "_meshwright" not in found
    assert len(found) < 40, found
