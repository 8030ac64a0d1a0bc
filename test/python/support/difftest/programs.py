"""Random annotated programs through all phases, here and by the peer in jaxlib.

Both accept a program or both reject it. What we make has the numbers of the program
as it was, and no more bytes in transfers than what the peer makes; if there are as
many, no more transfers, fragments to call, or distinct functions. The peer fails on
some programs that are good, by ending the process or in its export, which tells nothing
of them.
"""

import collections
import dataclasses
import functools
import json
import math
import os
import re
from collections.abc import Sequence

from support import numerics, random_functions, random_programs, same_numbers
from support.difftest import chance as difftest_chance
from support.difftest import values as difftest_values
from support.isolated import Aborted, Isolated
from support.op_corpus import FOLD, Finding, ToolError, Tools


def peer_partition(text: str, config: dict) -> str:
    from support import peer

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


def words_of_lines(text: str) -> collections.Counter:
    """The lines, each as its words in order, without names of values, which come from
    the order of operands, and without what the peer leaves of unrolled loops."""
    text = re.sub(r"%[\w#:]+|unroll_counter = \d+ : ui32", "", text)
    lines = (sorted(re.findall(r"[^\s,(){}]+", line)) for line in text.splitlines())
    return collections.Counter(tuple(words) for words in lines if words)


def generate(seed: int) -> random_programs.Program:
    """The program of a number: even ones are of operations at random, odd ones are
    models with microbatches, as the front end makes them."""
    if seed % 2 == 0:
        return random_programs.generate_whole(seed // 2)
    model = random_functions.draw(seed // 2)
    return random_programs.Program(model.text(), model.config())


def larger(ours: dict[str, int], theirs: dict[str, int]) -> dict[str, tuple]:
    """What we have more of."""
    return {key: (n, theirs[key]) for key, n in ours.items() if n > theirs[key]}


# One in this many programs of each kind is run also where nothing says that its
# numbers are others.
RUN_ANYWAY = 8
# The peer may leave a call that a callee makes, which its own export refuses; or it
# finds what it asks users to tell.
FAILURES = re.compile(
    r"Expected only TransferOp, .* in the function body\.(?s:.*) = \"mpmd\.call\"\("
    r"|Please reach out if you see this"
)
FAILS = "fails"  # In place of a text.
SEPARATOR = "// -----"


def splits(program: random_programs.Program) -> bool:
    return bool(program.config["options"].get("mpmd_split_bwd_fragments"))


def our_partition(text: str, config: dict) -> str:
    import _meshwright

    session = _meshwright.Session(text)
    session.import_program(json.dumps(config))
    return session.finish().module


def same_computations(texts: tuple[str, str]) -> bool:
    left, right = map(difftest_values.read_results, texts)
    return left == right


@dataclasses.dataclass(eq=False)
class Partitioned:
    """What is known of a program that we partition."""

    seed: int
    program: random_programs.Program
    theirs: str | None
    ours: str


class ProgramComparison:
    """Partitions in worker processes, one for each side; what is done with the texts
    of many programs is done at once."""

    def __init__(self, tools: Tools):
        self.tools = tools
        self.peer, self.us = Isolated(__name__), Isolated(__name__)
        self.findings: list[Finding] = []
        self.outcomes: collections.Counter = collections.Counter()
        self.compiled = 0

    def close(self) -> None:
        self.peer.close()
        self.us.close()

    def check(self, seeds: Sequence[int]) -> None:
        """Runs the programs of some numbers: every other one is a model."""
        found = [self._partitioned(seed, generate(seed)) for seed in seeds]
        self._check([p for p in found if p is not None])

    def _check(self, group: list[Partitioned]) -> None:
        if not group:
            return
        try:
            ours = self._each("mpmd-opt", [p.ours for p in group])
            erased = self._each(
                "mpmd-opt", [p.ours for p in group], "--mpmd-erase-partitioning"
            )
            erased = [random_programs.without_shardings(text) for text in erased]
            plain = [self._plain(p.program) for p in group]
            folded = self._each("mpmd-opt", plain + erased, *FOLD)
        except ToolError as error:
            if len(group) == 1:
                self._find(group[0].seed, "ours", str(error))
                return
            half = len(group) // 2
            self._check(group[:half])
            self._check(group[half:])
            return
        pairs = zip(folded[: len(group)], folded[len(group) :], strict=True)
        for p, text, before, after, both in zip(
            group, ours, plain, erased, pairs, strict=True
        ):
            if p.seed // 2 % RUN_ANYWAY == 0 or not self._are_the_same(both):
                self._check_numbers(p.seed, before, after)
            if p.theirs is None:
                p.theirs = self._theirs_without_nested_calls(p.program)
            if p.theirs is None:
                self._find(p.seed, "peer", "only the peer rejects it")
            elif p.theirs == FAILS:
                self.outcomes["the peer fails"] += 1
            else:
                self._compare(p, text)

    def _partitioned(
        self, seed: int, program: random_programs.Program
    ) -> Partitioned | None:
        theirs = self._theirs(program)
        try:
            ours = self.us.call(our_partition, program.text, program.config)
            return Partitioned(seed, program, theirs, ours)
        except Aborted:
            self._find(seed, "ours", "ends the process")
        except RuntimeError as error:
            if theirs is None or theirs == FAILS:
                self.outcomes["both reject it"] += 1
            elif self._is_accepted_by_chance(program):
                self.outcomes["the peer splits less by chance"] += 1
            else:
                message = str(error).splitlines()[0]
                self._find(seed, "ours", f"only we reject it: {message}")
        return None

    def _theirs(self, program: random_programs.Program) -> str | None:
        try:
            return self.peer.call(peer_partition, program.text, program.config)
        except RuntimeError as error:
            return FAILS if FAILURES.search(str(error)) else None
        except Aborted:
            return FAILS

    def _theirs_without_nested_calls(
        self, program: random_programs.Program
    ) -> str | None:
        """We inline calls in calls first: each may be on other meshes."""
        if len(re.findall(r"mpmd\.call @", program.text)) < 2:
            return None
        text = self.tools.run(
            "mpmd-opt", "-", "--mpmd-inline-nested-calls", stdin=program.text
        )
        return self._theirs(dataclasses.replace(program, text=text))

    def _each(self, tool: str, texts: list[str], *options: str) -> list[str]:
        """What a tool makes of each text, in one process."""
        text = f"\n{SEPARATOR}\n".join(texts)
        out = self.tools.run(tool, "-", "--split-input-file", *options, stdin=text)
        return out.split(SEPARATOR)

    def _plain(self, program: random_programs.Program) -> str:
        text = random_programs.without_shardings(program.text)
        return self.peer.call(numerics.strip_names, text)

    def _are_the_same(self, texts: tuple[str, str]) -> bool:
        """Whether they compute their results by the same operations."""
        try:
            return self.peer.call(same_computations, texts)
        except (RuntimeError, Aborted):
            return False

    def _check_numbers(self, seed: int, plain: str, erased: str) -> None:
        try:
            difference, is_of_xla = same_numbers.difference(self.peer, plain, erased)
        except RuntimeError as error:
            self.compiled += 1
            self._find(seed, "numbers", str(error).splitlines()[0])
            return
        self.compiled += is_of_xla
        if difference > same_numbers.TOLERANCE:
            self._find(seed, "numbers", f"off by {difference:.2g} of the largest")

    def _compare(self, p: Partitioned, ours: str) -> None:
        mine, other = count(ours), count(p.theirs)
        more = larger(mine, other)
        if more and mine["bytes transferred"] < other["bytes transferred"]:
            self.outcomes["fewer bytes, in more pieces"] += 1
            return
        if more and self._is_by_chance(p.program):
            self.outcomes["the peer splits less by chance"] += 1
            return
        for key, (left, right) in more.items():
            self._find(p.seed, "size", f"{left} {key}, the peer has {right}")
        if ours.strip() == p.theirs.strip():
            self.outcomes["same text"] += 1
        elif words_of_lines(ours) == words_of_lines(p.theirs):
            self.outcomes["same but for the order of operands"] += 1
        elif mine == other:
            self.outcomes["same size"] += 1
        elif not more:
            self.outcomes["smaller than the peer's"] += 1

    def _is_accepted_by_chance(self, program: random_programs.Program) -> bool:
        """Whether the peer, too, rejects it once the block of fragments is longer: what
        it has left whole has no halves that recomputing could not serve."""
        if not splits(program):
            return False
        longer = difftest_chance.with_unrelated_fragments(program.text, program.config)
        return self._theirs(random_programs.Program(*longer)) is None

    def _is_by_chance(self, program: random_programs.Program) -> bool:
        """Whether we have no more of anything once the block of fragments is longer."""
        if not splits(program):
            return False
        longer = difftest_chance.with_unrelated_fragments(program.text, program.config)
        theirs = self.peer.call(peer_partition, *longer)
        ours = self.us.call(our_partition, *longer)
        return not larger(count(ours), count(theirs))

    def _find(self, seed: int, where: str, what: str) -> None:
        self.outcomes["differ"] += 1
        self.findings.append(Finding(f"program {seed}", where, what))
