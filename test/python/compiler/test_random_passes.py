"""Random sequences of passes over random partitioned programs.

After each pass the program is valid (mpmd-opt verifies it), and once erased it
has the numbers of the original. No pass adds a transfer between meshes.
"""

import random
import re

import pytest
from support import numerics, random_programs

SEEDS = range(40)
STEPS = 6

PASSES = [
    "canonicalize",
    "cse",
    "mpmd-absorb-inferred-fragments",
    "mpmd-absorb-inferred-fragments{absorb-on-entry-point-function=true}",
    "mpmd-accumulate-in-units",
    "mpmd-copy-constants",
    "mpmd-defer-reductions",
    "mpmd-fragment-dce",
    "mpmd-fragment-dedup",
    "mpmd-hoist-invariant-computations",
    "mpmd-merge-forward-with-backward",
    "mpmd-merge-inferred-fragments",
    "mpmd-merge-inferred-fragments{merge-any-consumer=true}",
    "mpmd-merge-inferred-fragments{merge-sideways=true}",
    "mpmd-merge-transfers",
    "mpmd-merge-user-fragments-into-scheduling-units",
    "mpmd-pipeline-scheduler{must-happen-before=CircularWithReversedBackward}",
    "mpmd-pipeline-scheduler{must-happen-before=GPipe}",
    "mpmd-remat-fragment",
    "mpmd-remat-fragment{merge-remat-fragments=true}",
    "mpmd-move-transfers-to-producer",
    "mpmd-remove-transfer-cycles",
    "mpmd-split-and-prioritize-transfer-independent-computations",
    "mpmd-split-bwd-fragments",
]
MODULE_PASSES = ["mpmd-call-inline", "symbol-dce"]


def import_pipeline(assignment: dict[str, str]) -> str:
    """Import up to mesh inference, before anything is merged or inlined."""
    names = ",".join(f"{name}@{mesh}" for name, mesh in assignment.items())
    option = f"{{assignment={names}}}"
    return (
        "builtin.module(inline,func.func(cse,canonicalize),"
        "mpmd-copy-topology-from-main,"
        "mpmd-sink-negligible-ops-into-call-op,"
        "func.func(mpmd-insert-nameless-clone-of-negligible-ops,"
        "mpmd-simplify-named-computations,"
        f"mpmd-inline-nested-user-exposed-ops{option},"
        f"mpmd-map-named-ops-to-mpmd-ops{option}),"
        "mpmd-introduce-transfers,mpmd-erase-unused-callee-block-arguments,"
        "mpmd-infer-mesh-pipeline{infer-transfers=true})"
    )


def transfers_between_meshes(text: str) -> int:
    count = 0
    for line in text.splitlines():
        if "mpmd.transfer " in line:
            source, target = re.findall(r'!mpmd\.mesh_tensor<"([^"]*)"', line)
            count += source != target
    return count


@pytest.mark.parametrize("seed", SEEDS)
def test_passes_keep_meaning(tools, same_numbers, seed):
    program = random_programs.generate(seed)
    pipeline = import_pipeline(program.config["assignment"])
    text = tools.opt(program.with_topology(), f"--pass-pipeline={pipeline}")

    original = numerics.strip_names(program.text)
    checked = None
    rng = random.Random(seed)
    for _ in range(STEPS):
        before = transfers_between_meshes(text)
        name = rng.choice(PASSES + MODULE_PASSES)
        nested = name if name in MODULE_PASSES else f"func.func({name})"
        text = tools.opt(text, f"--pass-pipeline=builtin.module({nested})")
        if name != "mpmd-call-inline":
            assert transfers_between_meshes(text) <= before, name
        erased = tools.opt(text, "--mpmd-erase-partitioning")
        if erased == checked:
            continue  # The same program has the same numbers.
        same_numbers(original, erased, name)
        checked = erased
