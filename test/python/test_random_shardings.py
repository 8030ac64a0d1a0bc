"""Shardings spread through random programs as Shardy's in jaxlib do.

The two run the same passes, up to propagation and to the end; what they print
must be equal.
"""

import re
import sys

import pytest
import random_shardings
from conftest import ROOT
from isolated import Aborted, Isolated
from jaxlib_releases import without_empty_shardings

sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "scripts")]

import numerics  # noqa: E402

SEEDS = range(40)

PROPAGATE = (
    "sdy-import-pipeline,sdy-apply-sharding-constraints,sdy-sharding-group-import,"
    "sdy-user-priority-propagate{propagation-strategy=basic-then-aggressive}"
)
CLOSE = (
    "func.func(sdy-constant-or-scalar-merger,sdy-sink-data-flow-edges),"
    "sdy-update-non-divisible-input-output-shardings,"
    "sdy-remove-sub-axes-in-input-output-shardings,sdy-close-shardings"
)


def run_by_jaxlib(text: str, pipeline: str) -> str:
    """What jaxlib's passes, which its partitioner registers, make of a module."""
    import peer
    from jaxlib.mlir import ir, passmanager

    peer.load()
    with numerics.make_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        passmanager.PassManager.parse(pipeline).run(module.operation)
        return str(module)


def renumber_groups(text: str) -> str:
    """Ids in the order of the text: jaxlib's depend on where groups start."""
    numbers: dict[str, int] = {}
    return re.sub(
        r"group_id=(\d+)",
        lambda match: f"group_id={numbers.setdefault(match[1], len(numbers))}",
        text,
    )


@pytest.fixture(scope="module")
def jaxlib():
    isolated = Isolated()
    yield isolated
    isolated.close()


@pytest.mark.parametrize(
    "passes", [PROPAGATE, f"{PROPAGATE},{CLOSE}"], ids=["open", "closed"]
)
@pytest.mark.parametrize("kind", [random_shardings.plain, random_shardings.partitioned])
@pytest.mark.parametrize("seed", SEEDS)
def test_shardings_are_as_jaxlibs(tools, jaxlib, kind, seed, passes):
    pipeline = f"builtin.module({passes})"
    text = without_empty_shardings(kind(seed))
    try:
        expected = jaxlib.call(run_by_jaxlib, text, pipeline)
    except Aborted:
        tools.opt(text, f"--pass-pipeline={pipeline}")
        pytest.skip("jaxlib cannot run this program")
    ours = tools.opt(text, f"--pass-pipeline={pipeline}")
    ours = renumber_groups(numerics.print_module(ours))
    assert ours == renumber_groups(expected)
