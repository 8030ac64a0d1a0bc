# SPDX-License-Identifier: Apache-2.0
"""`meshwright traffic`: what compiled.traffic() counts, of files."""

import json

import pytest
from conftest import ROOT


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


def test_a_platform_that_is_not_there(tools, folder, monkeypatch):
    monkeypatch.setenv("JAX_PLATFORMS", "abacus")
    done = tools.run("meshwright", "traffic", folder)
    assert done.returncode == 1
    assert done.stderr.startswith("error: Unable to initialize backend 'abacus'")
