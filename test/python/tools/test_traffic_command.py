# SPDX-License-Identifier: Apache-2.0
"""`meshwright traffic`: what compiled.traffic() counts, of files."""

import json
import shutil

import pytest
from meshwright.runtime.run import traffic_command
from support.launching import run_forked
from support.tools import ROOT

ENDS = "inputs", "outputs"
LISTS = "meshes", "values", *ENDS, "fragments", "items", "issue_order"


@pytest.fixture(scope="module")
def folder(tools, tmp_path_factory):
    out = tmp_path_factory.mktemp("traffic") / "out"
    program = (ROOT / "docs" / f"traffic.{suffix}" for suffix in ("mlir", "json"))
    source, config = program
    tools.check("meshwright", "partition", source, "--config", config, "-o", out)
    return out


def test_a_folder_as_a_table(tools, folder):
    rows = tools.check("meshwright", "traffic", folder).splitlines()
    assert [row.split() for row in rows] == [
        ["where", "what", "axes", "count", "bytes"],
        # Two microbatches, of a weight of 64 x 64 numbers each.
        ["m1", "all-gather", "x", "2", "32,768"],
        ["m2", "all-gather", "x", "2", "32,768"],
        ["m1", "->", "m2", "transfer", "-", "2", "4,096"],
    ]


def test_a_module_as_json(tools, folder):
    module = folder / "partitioned.mlir"
    before = sorted(path.name for path in folder.iterdir())
    found = json.loads(tools.check("meshwright", "traffic", module, "--json"))
    gathers = [{"kind": "all-gather", "axes": ["x"], "count": 2, "bytes": 32768}]
    assert found == {
        "collectives": {"m1": gathers, "m2": gathers},
        "edges": [{"source": "m1", "target": "m2", "count": 2, "bytes": 4096}],
    }
    assert sorted(path.name for path in folder.iterdir()) == before


def refused(capsys, folder, name="out"):
    """The error in this process for a folder that is not compiled."""
    assert traffic_command.main(str(folder), name) == 1
    out, errors = capsys.readouterr()
    assert out == ""
    return errors


def test_what_is_no_partitioned_program(tools, tmp_path, capsys):
    def fails(path):
        done = tools.run("meshwright", "traffic", path)
        assert (done.returncode, done.stdout) == (1, b"")
        assert "Traceback" not in done.stderr
        return done.stderr

    assert "cannot be read" in fails(tmp_path / "nowhere")
    plain = ROOT / "docs" / "traffic.mlir"
    assert "has no function over meshes" in fails(plain)
    assert "error: out holds no partitioned program" in refused(capsys, tmp_path)
    (tmp_path / "schedule.json").write_text('{"fragments": []}')
    says = "schedule.json has no 'meshes'; partition again"
    assert says in refused(capsys, tmp_path)
    (tmp_path / "schedule.json").write_text(
        json.dumps({name: [] for name in LISTS if name != "items"})
    )
    assert "schedule.json has no 'items'" in refused(capsys, tmp_path)


@pytest.mark.parametrize("command", [["traffic"], ["compile", "--target=v5e:1x1"]])
def test_python_is_given_what_errors_are_to_name(command, tools, folder, monkeypatch):
    """What was given, also where it is a module that becomes a folder meanwhile."""
    python = folder.parent / "python"
    python.write_text("#!/bin/sh\nshift 3 && printf '%s\\n' \"$@\"\n")
    python.chmod(0o755)
    monkeypatch.setenv("MESHWRIGHT_PYTHON", str(python))

    def passed(path):
        return tools.check("meshwright", *command, path).splitlines()

    assert passed(folder)[:2] == [str(folder)] * 2
    taken, shown, *options = passed(folder / "partitioned.mlir")
    assert taken != shown == str(folder / "partitioned.mlir")
    assert options == command[1:]


def without_meshes(out):
    out.mkdir()
    (out / "schedule.json").write_text(json.dumps({name: [] for name in LISTS}))


def with_a_name_that_commands(out):
    path = out / "schedule.json"
    path.write_text(path.read_text().replace('"m1"', '"m\\u001b[31m"'))


def with_a_python_function(out):
    path = out / "fragments" / "p0_encoder.main.mlir"
    text = path.read_text()
    call = (
        "    stablehlo.custom_call @xla_ffi_python_cpu_callback(%arg1) {api_version = "
        "4 : i32, backend_config = {index = 2 : ui64}, has_side_effect = true} : "
        "(tensor<8x64xf32>) -> ()\n"
    )
    path.write_text(text.replace("    return", call + "    return"))


@pytest.fixture(scope="module")
def tables(folder, tmp_path_factory):
    """What is said of changed folders, by processes that share a start."""
    found, here = {}, tmp_path_factory.mktemp("changed")
    for change in (without_meshes, with_a_name_that_commands, with_a_python_function):
        out = here / change.__name__
        if change is not without_meshes:
            shutil.copytree(folder, out)
        change(out)
        found[change] = [traffic_command.__file__, str(out), "out"], {}
    done = run_forked(found)
    assert {one.returncode for one in done.values()} == {0}, done
    return {change: one.stdout for change, one in done.items()}


def test_a_program_without_meshes(tables):
    assert tables[without_meshes].split() == ["where", "what", "axes", "count", "bytes"]


def test_names_of_a_file_do_not_command_a_terminal(tables):
    assert "m\\x1B[31m -> m2" in tables[with_a_name_that_commands]


def test_python_functions_are_not_needed(tables):
    assert "m1 -> m2" in tables[with_a_python_function]


def test_a_platform_that_is_not_there(tools, folder, monkeypatch):
    monkeypatch.setenv("JAX_PLATFORMS", "abacus")
    done = tools.run("meshwright", "traffic", folder)
    assert done.returncode == 1
    assert done.stderr.startswith("error: Unable to initialize backend 'abacus'")
