# SPDX-License-Identifier: Apache-2.0
"""`meshwright compile` where no compiler of TPUs or GPUs is installed."""

import itertools
import types

import jax
import numpy as np
import pytest
from meshwright.aot.names import parse_target
from meshwright.runtime.program.errors import ProgramError
from meshwright.runtime.run import compile_command, places
from support.tools import ROOT


@pytest.fixture(scope="module")
def folder(tools, tmp_path_factory):
    out = tmp_path_factory.mktemp("compile") / "out"
    source, config = (
        ROOT / "docs" / f"traffic.{suffix}" for suffix in ("mlir", "json")
    )
    tools.check("meshwright", "partition", source, "--config", config, "-o", out)
    return out


def _fails(tools, *args):
    done = tools.run("meshwright", "compile", *args)
    assert (done.returncode, done.stdout) == (1, b"")
    assert "Traceback" not in done.stderr
    return done.stderr


@pytest.fixture
def refused(capsys):
    """The error in this process, where nothing is compiled."""

    def run(*args):
        before = jax.config.values["jax_enable_x64"]
        try:
            assert compile_command.main(*map(str, args)) == 1
        finally:
            jax.config.update("jax_enable_x64", before)
        out, errors = capsys.readouterr()
        assert out == ""
        return errors

    return run


def test_a_target_that_is_too_small(tools, folder):
    says = "the program needs 4 devices (m1 2, m2 2), and v5e:1x1 has 1; take"
    assert says in _fails(tools, folder, "--target", "v5e:1x1")


def test_a_target_that_there_is_not(refused, folder):
    # All of a name: aot/test_targets.py.
    assert "unknown" in refused(folder, "out", "--target=v5q:2x2")


def test_what_is_no_partitioned_program(tools, refused, tmp_path):
    target = "--target=v5e:2x2"
    assert "cannot be read" in _fails(tools, tmp_path / "nowhere", target)
    says = "error: out holds no partitioned program"
    assert says in refused(tmp_path, "out", target)
    plain = ROOT / "docs" / "traffic.mlir"
    assert "has no function over meshes" in _fails(tools, plain, target)


def test_a_target_must_be_named(tools, folder):
    assert "--target" in _fails(tools, folder)


def test_meshes_are_parts_of_the_target_one_after_the_other(monkeypatch):
    chips = [
        types.SimpleNamespace(platform="gpu", process_index=0, id=index)
        for index in range(8)
    ]
    monkeypatch.setattr(places, "find_devices", lambda target: chips)
    monkeypatch.setattr(places, "Mesh", lambda devices, axes: (devices, axes))
    described = [
        {"name": "a", "axes": [["x", 2], ["y", 2]]},
        {"name": "b", "axes": [["x", 3]]},
    ]
    meshes = places.place_meshes(parse_target("h100:8"), described)
    assert meshes["a"][1] == ("x", "y")
    ids = [np.vectorize(lambda d: d.id)(devices) for devices, _ in meshes.values()]
    assert [found.tolist() for found in ids] == [[[0, 1], [2, 3]], [4, 5, 6]]
    with pytest.raises(ProgramError, match=r"needs 7 devices \(a 4, b 3\), and h100:4"):
        places.place_meshes(parse_target("h100:4"), described)


def test_chips_along_an_axis_are_neighbours(monkeypatch):
    chips = [
        types.SimpleNamespace(
            platform="tpu",
            device_kind="TPU v5 lite",
            process_index=0,
            coords=[x, y, 0],
            core_on_chip=0,
            id=2 * y + x,
        )
        for y, x in itertools.product(range(2), range(2))
    ]
    ring = places.arrange(chips, (4,))
    steps = zip(ring, [*ring[1:], ring[0]], strict=True)
    for one, other in steps:
        assert (
            sum(abs(a - b) for a, b in zip(one.coords, other.coords, strict=True)) == 1
        )
