"""Sharding and export of random programs of fragments, next to the peer's.

Both make the same text of a program, or both report an error. Layouts are left
out: the peer in jaxlib resets those of all transferred values.
"""

import pytest
from support import random_fragments
from support.isolated import Aborted, Isolated

SEEDS = range(60)


def export_by_peer(text: str, topology: list) -> str:
    from jaxlib.mlir import ir
    from support import numerics, peer

    native = peer.load()
    with numerics.shared_context(), ir.Location.unknown():
        result = native.apply_mpmd_partitioning(
            ir.Module.parse(text),
            func_name="main",
            named_meshes=topology,
            assignment={},
            input_meshes=[],
            output_meshes=[],
            donate_argnums=[],
            partitioning_options=None,
            fragment_merge_rules=[],
            fragment_schedule_rules=[],
            phases=native.PartitioningPhase.PARTITION,
        )
        return str(result.mpmd_module)


@pytest.fixture(scope="module")
def peer():
    worker = Isolated(__name__)
    yield worker
    worker.close()


@pytest.mark.parametrize("seed", SEEDS)
def test_exports_what_the_peer_exports(tools, peer, seed):
    text, topology = random_fragments.generate(seed)
    try:
        expected = peer.call(export_by_peer, text, topology)
    except (Aborted, RuntimeError):
        expected = None
    # The peer verifies once per phase, as `meshwright partition` does.
    done = tools.run(
        "mpmd-opt",
        "-",
        "--mpmd-sharding-propagation-pipeline",
        "--mpmd-export-pipeline",
        "--verify-each=false",
        stdin=text,
    )
    assert done.returncode in (0, 1), done.stderr
    if expected is None:
        assert "error:" in done.stderr
    else:
        assert done.returncode == 0, done.stderr
        assert done.stdout.decode().strip() == expected.strip()
