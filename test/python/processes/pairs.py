"""Trains every schedule that pairs, with or without other options, over processes.

Reports losses and weights.
"""

import json

import meshwright as mw

mw.distributed.initialize()

import jax  # noqa: E402
from support import paired_training as training  # noqa: E402

OPTIONS = {
    "mpmd_defer_reductions": True,
    "mpmd_hoist_invariants": True,
    "mpmd_schedule_device": "h100",
}


def measure(schedule: str, shared: bool) -> dict:
    lowered = training.lower(schedule, shared=shared, **(OPTIONS if shared else {}))
    found = training.train(lowered, schedule, shared=shared)
    return {
        "pairs": len(training.find_pairs(lowered)),
        "found": [leaf.tolist() for leaf in jax.tree.leaves(found)],
    }


found = {
    schedule: measure(schedule, schedule in training.SHARED)
    for schedule in training.PAIRED
}
print(json.dumps({"process": jax.process_index(), "found": found}), flush=True)
