"""Fragments for other readers: `meshwright partition --portable` and `--plain`."""

import json
import pathlib
import re
import sys

import jax
import numpy as np
import pytest
from jax._src.interpreters import mlir as jax_mlir
from jax.sharding import Mesh
from jaxlib.mlir.dialects import stablehlo
from meshwright.jaxapi import portable
from support.tools import ROOT

import meshwright
from meshwright import runtime

FIRST = ROOT / "docs" / "first.mlir"
ONE_DEVICE = {
    "topology": {"m1": {"x": 1}, "m2": {"x": 1}},
    "assignment": {"encoder": "m1", "decoder": "m2"},
}
# An accuracy that only StableHLO 1.9 and later can ask for, and a type of 1.8.
NEWER_OP = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = mpmd.named_computation<"encoder"> (%x) (%a: tensor<4xf32>) {
    %1 = stablehlo.exponential %a {result_accuracy = #stablehlo.result_accuracy<
      ulps = 10,
      mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : tensor<4xf32>
    mpmd.return %1 : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}"""
NEWER_TYPE = """
func.func @main(%x: tensor<4xf4E2M1FN>) -> tensor<4xf4E2M1FN> {
  %0 = mpmd.named_computation<"encoder"> (%x) (%a: tensor<4xf4E2M1FN>) {
    %1 = stablehlo.add %a, %a : tensor<4xf4E2M1FN>
    mpmd.return %1 : tensor<4xf4E2M1FN>
  } : (tensor<4xf4E2M1FN>) -> tensor<4xf4E2M1FN>
  return %0 : tensor<4xf4E2M1FN>
}"""
ONLY_CHLO = """
func.func @main(%x: tensor<4x4xf32>, %w: tensor<2x4x4xf32>, %n: tensor<2xi64>)
    -> tensor<4x4xf32> {
  %0 = mpmd.named_computation<"encoder"> (%x, %w, %n)
      (%a: tensor<4x4xf32>, %b: tensor<2x4x4xf32>, %c: tensor<2xi64>) {
    %1 = "chlo.ragged_dot"(%a, %b, %c) {ragged_dot_dimension_numbers =
      #chlo.ragged_dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [],
        lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1],
        lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}
      : (tensor<4x4xf32>, tensor<2x4x4xf32>, tensor<2xi64>) -> tensor<4x4xf32>
    mpmd.return %1 : tensor<4x4xf32>
  } : (tensor<4x4xf32>, tensor<2x4x4xf32>, tensor<2xi64>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}"""


@pytest.fixture
def partition(tools, tmp_path):
    """Partitions a program, and returns the completed process."""

    def run(program, *options, config=ONE_DEVICE):
        config_file = tmp_path / "config.json"
        if isinstance(program, str):
            config = {"topology": {"m1": {"x": 1}}, "assignment": {"encoder": "m1"}}
            (tmp_path / "program.mlir").write_text(program)
            program = tmp_path / "program.mlir"
        config_file.write_text(json.dumps(config))
        folder = f"-o={tmp_path / 'out'}"
        return tools.run(
            "meshwright",
            "partition",
            program,
            f"--config={config_file}",
            folder,
            *options,
        )

    return run


@pytest.fixture
def refused(partition, tmp_path):
    """Partitions what is refused, and returns the one line that says why."""

    def run(program, *options, **arguments):
        done = partition(program, *options, **arguments)
        assert done.returncode == 1
        assert not (tmp_path / "out").exists()
        (line,) = done.stderr.splitlines()
        return line

    return run


def read_artifact(file):
    """What jaxlib reads in a portable artifact."""
    with jax_mlir.make_ir_context() as context:
        module = stablehlo.deserialize_portable_artifact(context, file.read_bytes())
        return module.operation.get_asm(enable_debug_info=True)


def version_of(file):
    """The version of StableHLO that a portable artifact is for."""
    return re.search(rb"StableHLO_v([\d.]+)\0", file.read_bytes())[1].decode()


def test_portable_artifacts_are_for_the_version(partition, tmp_path):
    done = partition(FIRST, "--portable=1.2.0")
    assert done.returncode == 0, done.stderr
    files = sorted((tmp_path / "out" / "fragments").iterdir())
    assert [file.name for file in files] == [
        "p0_encoder.main.mlirbc",
        "p1_decoder.main.mlirbc",
    ]
    assert {version_of(file) for file in files} == {"1.2.0"}
    text = read_artifact(files[1])
    assert "stablehlo.tanh" in text
    assert "tf.aliasing_output" in text
    assert "first.mlir" in text
    assert "sdy" not in text


def test_default_is_the_version_of_12_weeks_ago(partition, tmp_path):
    assert partition(FIRST, "--portable").returncode == 0
    (encoder, _) = sorted((tmp_path / "out" / "fragments").iterdir())
    requirement = stablehlo.StablehloCompatibilityRequirement.WEEK_12
    expected = stablehlo.get_version_from_compatibility_requirement(requirement)
    assert version_of(encoder) == expected


def test_portable_and_plain_have_nothing_of_jax(partition, tmp_path):
    assert partition(FIRST, "--portable", "--plain").returncode == 0
    for file in (tmp_path / "out" / "fragments").iterdir():
        text = read_artifact(file)
        assert not re.search(r"sdy|tf[.]|jax[.]|mhlo[.]|first[.]mlir", text), text


def test_shardings_of_several_devices_stay(partition, tmp_path):
    config = json.loads(FIRST.with_suffix(".json").read_text())
    assert partition(FIRST, "--portable", "--plain", config=config).returncode == 0
    (encoder, _) = sorted((tmp_path / "out" / "fragments").iterdir())
    assert 'sdy.mesh @mesh = <["x"=2]>' in read_artifact(encoder)


@pytest.mark.parametrize("options", [["--plain"], ["--emit-bytecode"]])
def test_other_forms_of_fragments_run(options, partition, tmp_path):
    """What plain ones leave out is in schedule.json."""
    assert partition(FIRST, *options).returncode == 0
    program, fragments = runtime.read_folder(tmp_path / "out")
    device = jax.devices()[:1]
    meshes = {name: Mesh(device, ("x",)) for name in ("m1", "m2")}
    loaded = runtime.load(program, fragments, meshes)
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(8, 4)), rng.normal(size=(4, 16))
    x, w = x.astype(np.float32), w.astype(np.float32)
    (result,) = loaded(jax.numpy.asarray(x), jax.numpy.asarray(w))
    np.testing.assert_allclose(result, np.tanh(x @ w), rtol=1e-5, atol=1e-6)


def test_portable_folder_is_not_for_the_runtime(partition, tmp_path):
    assert partition(FIRST, "--portable").returncode == 0
    with pytest.raises(runtime.ProgramError, match="without --portable"):
        runtime.read_folder(tmp_path / "out")


@pytest.mark.parametrize(
    "program, version, subject, needed",
    [
        (NEWER_OP, "1.8.0", "'stablehlo.exponential'", "1.9.0"),
        (NEWER_TYPE, "1.7.0", "a type of its arguments or results", "1.8.0"),
    ],
)
def test_newer_operations_are_refused(refused, program, version, subject, needed):
    assert refused(program, f"--portable={version}") == (
        f"error: --portable: fragment p0_encoder.main: {subject} is newer than "
        f"StableHLO {version}; its reader has to be of {needed} or newer: "
        f"--portable={needed}"
    )


@pytest.mark.parametrize(
    "program, version", [(NEWER_OP, "1.9.0"), (NEWER_TYPE, "1.8.0")]
)
def test_newer_operations_have_a_version(partition, program, version):
    assert partition(program, f"--portable={version}").returncode == 0


def refusal(version):
    """What is wrong with a version, before anything is written."""
    return portable.main("", version)


@pytest.mark.parametrize(
    "version", ["1", "1.9", "v1.9.0", "1.9.0-rc1", "newest", "1.2.3.4"]
)
def test_what_is_no_version_is_refused(version):
    assert refusal(version) == (
        "--portable: expected a version of StableHLO such as "
        f"{stablehlo.get_current_version()}, got {version!r}"
    )


def test_versions_that_jaxlib_does_not_write_are_refused(refused):
    oldest, newest = stablehlo.get_minimum_version(), stablehlo.get_current_version()
    written = f"--portable: this jaxlib writes StableHLO {oldest} to {newest}"
    assert refusal("0.3.0") == (
        f"{written}, not 0.3.0; the reader has to be of {oldest} or newer"
    )
    says = f"{written}, not 99.0.0; readers of newer versions read {newest}, too"
    assert refusal("99.0.0") == says
    assert refused(FIRST, "--portable=99.0.0") == f"error: {says}"


def test_what_stablehlo_has_not_is_refused(partition, tmp_path):
    done = partition(ONLY_CHLO, "--portable")
    assert done.returncode == 1
    assert not (tmp_path / "out").exists()
    assert (
        "cannot be written with --portable: 'chlo.ragged_dot' on these types has no "
        "form in StableHLO; partition without --portable, which keeps it"
    ) in done.stderr


def test_needs_jaxlib(refused, tmp_path, monkeypatch):
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "$@"\n')
    python.chmod(0o755)
    package = tmp_path / "path" / "meshwright"
    package.parent.mkdir()
    package.symlink_to(pathlib.Path(meshwright.__file__).parent)
    monkeypatch.setenv("MESHWRIGHT_PYTHON", str(python))
    monkeypatch.setenv("PYTHONPATH", str(package.parent))
    line = refused(FIRST, "--portable")
    assert "has no jaxlib that writes portable artifacts" in line
    assert "MESHWRIGHT_PYTHON" in line
