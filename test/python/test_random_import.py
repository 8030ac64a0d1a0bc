"""Import of random, partly annotated programs.

For each program, import either fails with a diagnostic, or gives a program in
which every computation is in a fragment and which, erased, has the numbers of
the original. It never needs more transfers than the peer in jaxlib, where that
accepts the program at all.
"""

import json
import re
import sys

import pytest
import random_programs
from conftest import ROOT
from isolated import Aborted, Isolated

sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "bench")]

import numerics  # noqa: E402

SEEDS = range(60)


def peer_transfers(text: str, config: dict) -> int:
    import peer

    module, _ = peer.partition(peer.load(), text, config, "import")
    return module.count("mpmd.transfer ")


class Peer(Isolated):
    def transfers(self, program: random_programs.Program) -> int | None:
        """None if the peer rejects the program or aborts."""
        try:
            return self.call(peer_transfers, program.text, program.config)
        except (Aborted, RuntimeError):
            return None


@pytest.fixture(scope="module")
def peer():
    worker = Peer()
    yield worker
    worker.close()


@pytest.fixture
def imported(tools, tmp_path):
    def run(program):
        source, config = tmp_path / "program.mlir", tmp_path / "config.json"
        source.write_text(program.text)
        config.write_text(json.dumps(program.config))
        return tools.run(
            "meshwright",
            "partition",
            source,
            f"--config={config}",
            "--until=import",
            "-o=-",
        )

    return run


@pytest.mark.parametrize("with_mpmd_ops", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_import_keeps_meaning_or_explains(tools, imported, peer, seed, with_mpmd_ops):
    program = random_programs.generate(seed, with_mpmd_ops=with_mpmd_ops)
    done = imported(program)
    if done.returncode != 0:
        assert done.returncode == 1, done.stderr
        assert "error:" in done.stderr
        return
    text = done.stdout.decode()
    top_level = set(
        re.findall(r"^    (?:%\S+ = )?\"?([a-z]\w*(?:\.\w+)?)", text, re.MULTILINE)
    )
    assert top_level <= {"mpmd.fragment", "mpmd.transfer", "return"}, text

    original = numerics.strip_names(program.text)
    arguments = numerics.random_arguments(original)
    erased = tools.check("meshwright", "erase", "-", stdin=text)
    difference = numerics.largest_difference(
        numerics.run(original, arguments), numerics.run(erased, arguments)
    )
    assert difference <= 1e-5
    theirs = peer.transfers(program)
    if theirs is not None:
        assert text.count("mpmd.transfer ") <= theirs


def test_most_random_programs_can_be_imported(imported):
    accepted = sum(
        imported(random_programs.generate(seed)).returncode == 0 for seed in SEEDS
    )
    assert accepted >= len(SEEDS) // 2
