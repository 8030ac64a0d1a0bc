"""examples/twins: a pipeline has the losses of plain JAX, and few lines more."""

import json
import subprocess
import sys

import pytest
from support.tools import ROOT

TWINS = ROOT / "examples" / "twins"
NEEDS = {"nnx_transformer": "flax", "flax_scan": "flax", "equinox_model": "equinox"}
NAMES = sorted(
    path.stem for path in TWINS.glob("*.py") if not path.stem.endswith("_plain")
)
STEPS, MORE_LINES = 20, 10


@pytest.fixture(scope="module")
def trained():
    """What all pairs printed; one process imports JAX once."""
    done = subprocess.run(
        [sys.executable, ROOT / "test" / "python" / "run_twins.py", *NAMES],
        capture_output=True,
        text=True,
        timeout=800,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("name", NAMES)
def test_losses_are_those_of_plain_jax(name, trained):
    pytest.importorskip(NEEDS.get(name, "jax"))
    assert isinstance(trained[name], list), trained[name]
    plain, *others = trained[name]
    assert len(plain) == STEPS
    assert len(set(plain)) > 1
    assert others
    for ours in others:
        assert ours == pytest.approx(plain, rel=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_a_pipeline_takes_few_more_lines(name):
    plain, ours = (
        sum(bool(line.strip()) for line in (TWINS / file).read_text().splitlines())
        for file in (f"{name}_plain.py", f"{name}.py")
    )
    assert ours - plain <= MORE_LINES


@pytest.mark.parametrize("name", NAMES)
def test_the_plain_twin_is_plain(name):
    assert "meshwright" not in (TWINS / f"{name}_plain.py").read_text()
    assert f"`{name}`" in (TWINS / "README.md").read_text()
