"""Real programs: parsed, printed, partitioned, erased, and run by JAX."""

import contextlib
import functools
import pathlib
import re

import pytest
from support import numerics, op_corpus
from support.difftest.values import read_results
from support.isolated import Isolated
from support.tools import PROGRAMS

PLAIN = sorted(path.stem for path in PROGRAMS.glob("*.mlir"))
MPMD = ["gpt_4_4_4", "gpt_8_4_8", "gpt_16_4_16", "gpt_32_8_32"]
ALL = [PROGRAMS / f"{name}.mlir" for name in PLAIN] + [
    PROGRAMS / "mpmd" / f"{name}.mlir" for name in MPMD
]


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.stem)
def test_prints_back_byte_for_byte(tools, path: pathlib.Path):
    text = path.read_text()
    assert tools.opt(text).rstrip("\n") == numerics.print_module(text).rstrip("\n")


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.stem)
def test_generic_form_is_that_of_jaxlib(tools, path: pathlib.Path):
    text = path.read_text()
    ours = tools.opt(text, "--mlir-print-op-generic")
    theirs = numerics.print_module(text, print_generic_op_form=True)
    assert ours.rstrip("\n") == theirs.rstrip("\n")


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.stem)
def test_bytecode_keeps_everything(tools, path: pathlib.Path):
    bytecode = tools.run("mpmd-opt", path, "--emit-bytecode").stdout
    assert bytecode.startswith(b"ML\xefR")
    again = tools.run("mpmd-opt", "-", stdin=bytecode).stdout.decode()
    assert again == tools.check("mpmd-opt", path)


@pytest.fixture(scope="module")
def partitioned(tools, tmp_path_factory):
    """The file with a program of several meshes, after it was imported."""

    @functools.cache
    def partition(name: str) -> pathlib.Path:
        source = PROGRAMS / "mpmd" / f"{name}.mlir"
        config = source.with_suffix(".json")
        folder = tmp_path_factory.mktemp(name)
        tools.check(
            "meshwright",
            "partition",
            source,
            f"--config={config}",
            "--until=import",
            f"-o={folder}",
        )
        return folder / "partitioned.mlir"

    return partition


@pytest.mark.parametrize("name", MPMD)
def test_every_computation_is_in_a_fragment(partitioned, name):
    text = partitioned(name).read_text()
    top_level = set(re.findall(r"^    (?:%\S+ = )?\"?([\w.]+)", text, re.MULTILINE))
    assert top_level == {"mpmd.fragment", "mpmd.transfer", "return"}
    numerics.check_module(text)


@pytest.mark.parametrize("name", MPMD)
def test_fragments_and_transfers_are_as_many_as_the_peers(partitioned, name):
    from support import peer

    source = PROGRAMS / "mpmd" / f"{name}.mlir"
    config = peer.json.loads(source.with_suffix(".json").read_text())
    theirs, _ = peer.partition(peer.load(), source.read_text(), config, "import")
    assert peer.count(partitioned(name).read_text()) == peer.count(theirs)


@pytest.fixture(scope="module")
def erased(tools, partitioned):
    """A program without names, and its partitioned form erased."""

    def erase(name: str) -> tuple[str, str]:
        text = tools.check("meshwright", "erase", partitioned(name))
        assert "mpmd" not in text
        source = PROGRAMS / "mpmd" / f"{name}.mlir"
        return numerics.strip_names(source.read_text()), text

    return erase


def test_erased_program_computes_the_same_numbers(erased):
    texts = erased(MPMD[0])
    arguments = numerics.random_arguments(texts[0])
    # With all of its optimizations, XLA compiles these for twice as long.
    found = numerics.run_together(texts, arguments, fold=False)
    assert numerics.largest_difference(*found) <= 1e-5


def test_erased_larger_program_has_the_same_computations(tools, erased):
    """XLA would compile it for four times as long."""
    texts = [tools.opt(text, *op_corpus.FOLD, "--cse") for text in erased(MPMD[1])]
    with contextlib.closing(Isolated("support.difftest.values")) as jaxlib:
        original, again = (jaxlib.call(read_results, text) for text in texts)
    assert original == again
