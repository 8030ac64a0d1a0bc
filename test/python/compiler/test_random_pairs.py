"""Random pairs of random partitioned programs: fused and erased, as before."""

import collections
import random
import re

import pytest
from support import numerics, random_programs

SEEDS = range(32)
PREPARE = (
    "builtin.module(inline,func.func(cse,canonicalize),mpmd-copy-topology-from-main,"
    "func.func(mpmd-simplify-named-computations,"
    "mpmd-inline-nested-user-exposed-ops{{assignment={0}}},"
    "mpmd-map-named-ops-to-mpmd-ops{{assignment={0}}}),"
    "mpmd-introduce-transfers,mpmd-erase-unused-callee-block-arguments,"
    "mpmd-infer-mesh-pipeline{{infer-transfers=true}},mpmd-call-inline,symbol-dce,"
    "func.func(mpmd-pipeline-scheduler{{must-happen-before=GPipe}}))"
)
FRAGMENT = re.compile(r'mpmd\.fragment<mesh="(\w+)"[^>]*> \([^()]*\) (\{[^{}]*\} )?')
FUSE = "--mpmd-fuse-overlapped-pairs=only-with-collectives=false"


def mark_pairs(text: str, rng: random.Random) -> str:
    """Marks neighbours of each mesh, at random."""
    queues = collections.defaultdict(list)
    for found in FRAGMENT.finditer(text):
        queues[found[1]].append(found)
    marks, number = {}, 0
    for queue in queues.values():
        at = rng.randrange(2)
        while at + 1 < len(queue):
            for part in range(2):
                marks[queue[at + part].end()] = (
                    queue[at + part],
                    f"mpmd.overlap = array<i64: {number}, {part}>",
                )
            number += 1
            at += 2 + rng.randrange(2)
    for end in sorted(marks, reverse=True):
        found, mark = marks[end]
        if found[2]:
            at = text.rindex("}", found.start(), end)
            text = f"{text[:at]}, {mark}{text[at:]}"
        else:
            text = f"{text[:end]}{{{mark}}} {text[end:]}"
    return text


@pytest.fixture(scope="module")
def fused():
    """How many fragments became parts of others, for each seed; in some, some do."""
    counts: dict[int, int] = {}
    yield counts
    assert len(counts) < len(SEEDS) or sum(map(bool, counts.values())) >= 4


@pytest.mark.parametrize("seed", SEEDS)
def test_fused_pairs_keep_meaning(tools, same_numbers, seed, fused):
    program = random_programs.generate(seed)
    names = ",".join(f"{n}@{m}" for n, m in program.config["assignment"].items())
    pipeline = PREPARE.format(names)
    text = tools.opt(program.with_topology(), f"--pass-pipeline={pipeline}")
    marked = mark_pairs(text, random.Random(seed))
    paired = tools.opt(marked, FUSE)
    assert "mpmd.overlap =" not in paired
    fused[seed] = text.count("mpmd.fragment<") - paired.count("mpmd.fragment<")

    erased = tools.opt(paired, "--mpmd-erase-partitioning")
    same_numbers(numerics.strip_names(program.text), erased)
