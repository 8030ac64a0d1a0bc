"""Import of random, partly annotated programs.

For each program, import either fails with a diagnostic, or gives a program in
which every computation is in a fragment and which, erased, has the numbers of
the original. It has the operations of the peer in jaxlib, fragment by fragment,
where that accepts the program at all.
"""

import collections
import json
import re

import pytest
from support import numerics, random_programs
from support.isolated import Aborted, Isolated

SEEDS = range(60)


# Options that the peer takes and ignores.
IGNORED = (
    "mpmd_split_bwd_fragments",
    "mpmd_absorb_inferred_fragments_on_entry_point_function",
)


def peer_import(text: str, config: dict) -> str:
    from support import peer

    return peer.partition(peer.load(), text, config, "import")[0]


class Peer(Isolated):
    def imported(self, program: random_programs.Program) -> str | None:
        """None if the peer rejects the program or aborts."""
        try:
            return self.call(peer_import, program.text, program.config)
        except (Aborted, RuntimeError):
            return None


def operations(module: str) -> collections.Counter:
    """How often each operation occurs; fragments by mesh and origin.

    The peer adds up the terms of a reduction across meshes in the order of a hash
    table, so that neither the order of operations nor that of operands is compared.
    """
    return collections.Counter(
        re.findall(
            r'(?:mpmd|stablehlo)\.\w+(?:<mesh="[^"]*", origin=\[[^\]]*\])?', module
        )
    )


@pytest.fixture(scope="module")
def peer():
    worker = Peer(__name__)
    yield worker
    worker.close()


@pytest.fixture(scope="module")
def imported(tools, tmp_path_factory):
    """Imports a program; one that comes again is not imported again."""
    folder, done = tmp_path_factory.mktemp("imported"), {}
    source, config = folder / "program.mlir", folder / "config.json"

    def run(program, *options):
        texts = program.text, json.dumps(program.config), *options
        if texts not in done:
            source.write_text(texts[0])
            config.write_text(texts[1])
            done[texts] = start(options)
        return done[texts]

    def start(options):
        return tools.run(
            "meshwright",
            "partition",
            source,
            f"--config={config}",
            "--until=import",
            "-o=-",
            *options,
        )

    return run


@pytest.mark.parametrize("extra", [None, "with_mpmd_ops", "with_regions"])
@pytest.mark.parametrize("seed", SEEDS)
def test_import_keeps_meaning_or_explains(
    tools, imported, peer, same_numbers, seed, extra
):
    program = random_programs.generate(seed, **({extra: True} if extra else {}))
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

    erased = tools.check("meshwright", "erase", "-", stdin=text)
    same_numbers(numerics.strip_names(program.text), erased)
    theirs = peer.imported(program)
    if theirs is None:
        return
    assert text.count("mpmd.transfer ") <= theirs.count("mpmd.transfer ")
    if not any(program.config["options"][option] for option in IGNORED):
        as_theirs = imported(program, "--set=mpmd_minimize_transfers=false")
        assert operations(as_theirs.stdout.decode()) == operations(theirs)


def test_most_random_programs_can_be_imported(imported, peer):
    programs = map(random_programs.generate, SEEDS)
    accepted = [each for each in programs if imported(each).returncode == 0]
    assert len(accepted) >= len(SEEDS) // 2
    compared = [peer.imported(each) is not None for each in accepted]
    assert sum(compared) >= len(accepted) // 2
