"""Random annotated programs through all phases, here and by the peer in jaxlib.

Both accept a program or both reject it. What we make has the numbers of the program
as it was, and no more transfers, bytes in them, fragments to call, or distinct
functions than what the peer makes. The peer aborts on some programs, which tells
nothing of them.
"""

import collections
import functools
import json
import math
import os
import pathlib
import re
import tempfile

import numerics
import random_functions
import random_programs
from isolated import Aborted, Isolated
from op_corpus import Finding, ToolError, Tools

TOLERANCE = 1e-5


def peer_partition(text: str, config: dict) -> str:
    import peer

    _be_silent()
    return peer.partition(peer.load(), text, config, "partition")[0]


@functools.cache
def _be_silent() -> None:
    """The peer writes what it does to the standard streams."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)


# Dimensions and bits of the elements.
TRANSFERRED = re.compile(
    r"= mpmd\.transfer .*?: "
    r"\(!mpmd\.mesh_tensor<\"[^\"]*\", tensor<((?:\d+x)*)[a-z]+(\d+)>"
)


def transferred_bytes(text: str) -> int:
    """Of whole tensors, however they are split; types of programs are `f32` and the
    like."""
    return sum(
        math.prod(map(int, dims.split("x")[:-1])) * max(8, int(bits)) // 8
        for dims, bits in TRANSFERRED.findall(text)
    )


def count(text: str) -> dict[str, int]:
    return {
        "bytes transferred": transferred_bytes(text),
        "transfers": len(re.findall(r"= mpmd\.transfer ", text)),
        "fragment calls": len(re.findall(r"= mpmd\.fragment_call<", text)),
        "functions": len(re.findall(r"func\.func ", text)),
    }


def generate(seed: int) -> random_programs.Program:
    """The program of a number: even ones are of operations at random, odd ones are
    models with microbatches, as the front end makes them."""
    if seed % 2 == 0:
        return random_programs.generate_whole(seed // 2)
    model = random_functions.draw(seed // 2)
    return random_programs.Program(model.text(), model.config())


class ProgramComparison:
    def __init__(self, tools: Tools):
        self.tools = tools
        self.peer = Isolated()
        self.findings: list[Finding] = []
        self.outcomes: collections.Counter = collections.Counter()

    def close(self) -> None:
        self.peer.close()

    def check(self, seed: int) -> None:
        """Runs the program of a number: every other one is a model."""
        self._check(seed, generate(seed))

    def _check(self, seed: int, program: random_programs.Program) -> None:
        theirs = self._theirs(program)
        try:
            ours = self._ours(program)
        except ToolError as error:
            if " exits with 1:" not in str(error):
                self._find(seed, "ours", str(error))
            elif theirs is None or theirs == "aborts":
                self.outcomes["both reject it"] += 1
            else:
                self._find(seed, "ours", f"only we reject it: {error}")
            return
        try:
            self._check_numbers(seed, program, ours)
        except ToolError as error:
            self._find(seed, "numbers", str(error))
        if theirs is None:
            self._find(seed, "peer", "only the peer rejects it")
        elif theirs == "aborts":
            self.outcomes["the peer aborts"] += 1
        else:
            splits = program.config["options"].get("mpmd_split_bwd_fragments", False)
            self._compare(seed, ours, theirs, splits)

    def _theirs(self, program: random_programs.Program) -> str | None:
        try:
            return self.peer.call(peer_partition, program.text, program.config)
        except RuntimeError:
            return None
        except Aborted:
            return "aborts"

    def _ours(self, program: random_programs.Program) -> str:
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder)
            (path / "in.mlir").write_text(program.text)
            (path / "config.json").write_text(json.dumps(program.config))
            options = [f"--config={path / 'config.json'}", "-o=-"]
            return self.tools.run("meshwright", "partition", path / "in.mlir", *options)

    def _check_numbers(self, seed: int, program, ours: str) -> None:
        original = numerics.strip_names(random_programs.without_shardings(program.text))
        arguments = numerics.random_arguments(original)
        erased = self.tools.run("meshwright", "erase", "-", stdin=ours)
        difference = numerics.largest_difference(
            numerics.run(original, arguments, False, False),
            numerics.run(
                random_programs.without_shardings(erased), arguments, False, False
            ),
        )
        if difference > TOLERANCE:
            self._find(seed, "numbers", f"off by {difference:.2g} of the largest")

    def _compare(self, seed: int, ours: str, theirs: str, splits: bool) -> None:
        mine, other = count(ours), count(theirs)
        more = {key: (mine[key], other[key]) for key in mine if mine[key] > other[key]}
        if splits and more.keys() <= {"fragment calls", "functions"} and more:
            # docs/developing/differences.md says what the peer leaves whole.
            self.outcomes["split otherwise"] += 1
            return
        for key, (left, right) in more.items():
            self._find(seed, "size", f"{left} {key}, the peer has {right}")
        if ours.strip() == theirs.strip():
            self.outcomes["same text"] += 1
        elif mine == other:
            self.outcomes["same size"] += 1
        elif not more:
            self.outcomes["smaller than the peer's"] += 1

    def _find(self, seed: int, where: str, what: str) -> None:
        self.outcomes["differ"] += 1
        self.findings.append(Finding(f"program {seed}", where, what))
