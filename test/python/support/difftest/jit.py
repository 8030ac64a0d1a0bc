"""Random models by `mw.jit` on CPU devices, and by `jax.jit`.

The same numbers, in the first call and in one with the results of the first, and
the same structure of results.
"""

import collections
from collections.abc import Sequence

import jax
import numpy as np

from support import random_functions, xla_emitters
from support.op_corpus import Finding

DEVICES = 8
TOLERANCE = 2e-5


def use_devices() -> None:
    """To be called before JAX looks for devices. XLA compiles in a quarter of the time
    by its older emitters and without optimizations, which have no part in how a program
    is partitioned."""
    jax.config.update("jax_num_cpu_devices", DEVICES)
    jax.config.update("jax_disable_most_optimizations", True)
    xla_emitters.choose_older()


# A stage is recomputed once, but a backward fragment that is split has two halves.
REFUSED = "it would be recomputed for each half of its backward fragment"


def splits_and_recomputes(model: random_functions.Model) -> bool:
    both = "mpmd_fragment_remat", "mpmd_split_bwd_fragments"
    return all(model.options.get(name) for name in both)


UNEQUAL = "microbatches cannot be divided into"


def has_unequal_rounds(model: random_functions.Model) -> bool:
    """Rounds are of at least as many microbatches as there are meshes."""
    count = len(model.batches)
    rounds = max(1, count // len(model.meshes))
    interleaved = model.options["mpmd_pipeline_schedule"] == "Interleaved1F1B"
    return interleaved and count % rounds != 0


def is_meant(model: random_functions.Model, error: str) -> bool:
    return (REFUSED in error and splits_and_recomputes(model)) or (
        UNEQUAL in error and has_unequal_rounds(model)
    )


class JitComparison:
    def __init__(self):
        self.findings: list[Finding] = []
        self.outcomes: collections.Counter = collections.Counter()

    def close(self) -> None:
        pass

    def check(self, seeds: Sequence[int]) -> None:
        for seed in seeds:
            self._check(seed)

    def _check(self, seed: int) -> None:
        model = random_functions.draw(seed, ours=True)
        found = None
        try:
            found = self._difference(model)
        except Exception as error:
            if is_meant(model, str(error)):
                self.outcomes["refused as it should be"] += 1
                return
            found = f"{type(error).__name__}: {error}".splitlines()[0][:300]
        if found is None:
            self.outcomes["same numbers"] += 1
            return
        self.outcomes["differ"] += 1
        self.findings.append(Finding(f"model {seed}", "jit", found))

    def _difference(self, model: random_functions.Model) -> str | None:
        plain, partitioned = jax.jit(model.function), model.compiled()
        expected = plain(*model.arguments)
        ours = partitioned(*model.arguments)
        found = difference(expected, ours)
        if found or not model.trains:
            return found
        # What was returned is given again, as training does.
        copies = [np.asarray(w) for w in ours[1]]
        expected = plain(copies, model.batches)
        found = difference(expected, partitioned(ours[1], model.batches))
        return f"second call: {found}" if found else None


def difference(expected, ours) -> str | None:
    """What differs between two trees of arrays."""
    if jax.tree.structure(expected) != jax.tree.structure(ours):
        return "another structure"
    pairs = zip(jax.tree.leaves(expected), jax.tree.leaves(ours), strict=True)
    for i, (one, other) in enumerate(pairs):
        left, right = np.asarray(one), np.asarray(other)
        if left.dtype != right.dtype or left.shape != right.shape:
            return f"result {i} has another type"
        if left.dtype == bool:
            left, right = left.astype(int), right.astype(int)
        scale = max(float(np.abs(left).max(initial=0)), 1e-2)
        off = float(np.abs(left - right).max(initial=0)) / scale
        if not off <= TOLERANCE:
            return f"result {i} is off by {off:.2g}"
    return None
