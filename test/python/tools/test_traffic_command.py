# SPDX-License-Identifier: Apache-2.0
"""`meshwright traffic`: what compiled.traffic() counts, of files."""

import json
import shutil

import pytest
from support.tools import ROOT


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


def test_what_is_no_partitioned_program(tools, tmp_path):
    def fails(path):
        done = tools.run("meshwright", "traffic", path)
        assert (done.returncode, done.stdout) == (1, b"")
        assert "Traceback" not in done.stderr
        return done.stderr

    assert "cannot be read" in fails(tmp_path / "nowhere")
    plain = ROOT / "docs" / "traffic.mlir"
    assert "has no function over meshes" in fails(plain)
    assert f"{tmp_path} holds no partitioned program" in fails(tmp_path)
    (tmp_path / "schedule.json").write_text('{"fragments": []}')
    assert "schedule.json has no 'meshes'; partition again" in fails(tmp_path)


def test_a_program_without_meshes(tools, tmp_path):
    ends = ("inputs", "outputs")
    lists = ("meshes", "values", *ends, "fragments", "items", "issue_order")
    (tmp_path / "schedule.json").write_text(json.dumps({name: [] for name in lists}))
    table = tools.check("meshwright", "traffic", tmp_path)
    assert table.split() == ["where", "what", "axes", "count", "bytes"]


def test_names_of_a_file_do_not_command_a_terminal(tools, folder, tmp_path):
    out = shutil.copytree(folder, tmp_path / "out")
    path = out / "schedule.json"
    path.write_text(path.read_text().replace('"m1"', '"m\\u001b[31m"'))
    assert "m\\x1B[31m -> m2" in tools.check("meshwright", "traffic", out)
    path.write_text(path.read_text().replace('"items"', '"no items"'))
    assert (
        "schedule.json has no 'items'" in tools.run("meshwright", "traffic", out).stderr
    )


def test_python_functions_are_not_needed(tools, folder, tmp_path):
    out = shutil.copytree(folder, tmp_path / "out")
    path = out / "fragments" / "p0_encoder.main.mlir"
    text = path.read_text()
    call = (
        "    stablehlo.custom_call @xla_ffi_python_cpu_callback(%arg1) {api_version = "
        "4 : i32, backend_config = {index = 2 : ui64}, has_side_effect = true} : "
        "(tensor<8x64xf32>) -> ()\n"
    )
    path.write_text(text.replace("    return", call + "    return"))
    assert "m1 -> m2" in tools.check("meshwright", "traffic", out)


def test_a_platform_that_is_not_there(tools, folder, monkeypatch):
    monkeypatch.setenv("JAX_PLATFORMS", "abacus")
    done = tools.run("meshwright", "traffic", folder)
    assert done.returncode == 1
    assert done.stderr.startswith("error: Unable to initialize backend 'abacus'")
