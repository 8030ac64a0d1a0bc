"""The optimize phase next to the partitioner that is compiled into jaxlib.

A GPT training step goes through import and optimize in both, under each builtin
schedule and with the other options of the phase; the programs must be equal,
character by character.
"""

import json

import pytest
from support import peer
from support.tools import PROGRAMS

PROGRAM = PROGRAMS / "mpmd" / "gpt_4_4_4.mlir"
SCHEDULES = [
    "none",
    "1F1B",
    "GPipe",
    "Circular",
    "CircularWithReversedBackward",
    "GPipeBut1F1BForLastMesh",
    "ZeroBubbleH1",
    "ZeroBubbleH2ZeroTxLatency",
    "ZeroBubbleH2HalfTxLatency",
    "ZeroBubbleH2FullTxLatency",
]
OPTIONS = [
    {},
    {"mpmd_split_bwd_fragments": True},
    {"mpmd_fragment_remat": True},
    {"mpmd_fragment_remat": True, "mpmd_split_bwd_fragments": True},
]


@pytest.fixture(scope="module")
def native():
    return peer.load()


def compare(tools, native, tmp_path, config):
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config))
    arguments = [PROGRAM, f"--config={path}", "-o=-", "--until=optimize"]
    try:
        theirs, _ = peer.partition(native, PROGRAM.read_text(), config, "optimize")
    except RuntimeError as error:
        # With stages, the copy for each half of a backward claims the same one.
        assert "cannot have more than one fragment" in str(error)
        assert tools.run("meshwright", "partition", *arguments).returncode == 1
        return
    ours = tools.check("meshwright", "partition", *arguments)
    assert ours.strip() == theirs.strip()


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("options", OPTIONS, ids=["plain", "split", "remat", "both"])
def test_programs_are_equal(tools, native, tmp_path, schedule, options):
    config = json.loads(PROGRAM.with_suffix(".json").read_text())
    config["options"] = {"mpmd_pipeline_schedule": schedule, **options}
    if schedule.startswith("Circular"):
        config["assignment"] = {
            name: [mesh, int(name.removeprefix("stage"))]
            for name, mesh in config["assignment"].items()
        }
    compare(tools, native, tmp_path, config)
