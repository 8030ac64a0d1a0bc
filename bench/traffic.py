#!/usr/bin/env python3
"""What a step of the example's GPT sends under FSDP, with work done once and without.

    .venv/bin/python bench/traffic.py [--microbatches 4,16] [--stages 2] [--repeat 15]

Weights in float32, split over the two devices of their stage's mesh, as the rows of a
microbatch are; nothing is said of activations. 1F1B. Bytes are those of all
collectives of a step, counted from the optimized code of the fragments and how often
each is called (`compiled.traffic()`): gathers of weights, reductions of gradients. Load
does not matter to them. For the most microbatches, steps with and without also run on
CPU devices, in turns.

Prints one line of JSON: bytes by number of microbatches, and ratios, that of times by
the least of all repeats. Exit code 1 if with `mpmd_hoist_invariants` and
`mpmd_defer_reductions` the bytes grow with the microbatches, are more than 1/12 of
those without at 16 microbatches, or a step takes more than 1.03 of the time.
"""

import argparse
import functools
import json
import os
import pathlib
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import gpt  # noqa: E402
import jax  # noqa: E402
import numpy as np  # noqa: E402
import training  # noqa: E402

import meshwright as mw  # noqa: E402

ROWS, DEVICES, SYMBOLS, BOUND, TIME_BOUND = 2, 2, 40, 1 / 12, 1.03
ONCE = {"mpmd_hoist_invariants": True, "mpmd_defer_reductions": True}


@functools.cache
def compile_step(microbatches: int, once: bool):
    """A training step and arguments for it."""
    meshes = training.make_meshes(
        **{f"mesh{s}": {"data": DEVICES} for s in range(gpt.STAGES)}
    )
    config = mw.make_config(
        meshes,
        {f"stage{s}": f"mesh{s}" for s in range(gpt.STAGES)},
        name_to_stage_assignment={f"stage{s}": s for s in range(gpt.STAGES)},
        partitioning_options={
            "mpmd_infer_transfers": True,
            "mpmd_infer_cross_mesh_reductions": True,
            **(ONCE if once else {}),
        },
        pipeline_schedule=mw.get_pipeline_schedule("ONE_FWD_ONE_BWD"),
    )
    params = gpt.make_params(SYMBOLS)
    zeros = jax.tree.map(np.zeros_like, params)
    state = params, zeros, zeros, np.float32(0)
    shape = ROWS, gpt.LENGTH + 1
    tokens = [np.zeros(shape, np.int32)] * microbatches
    split = jax.NamedSharding(meshes["mesh0"], jax.P("data"))
    whole = jax.NamedSharding(meshes["mesh0"], jax.P())
    shardings = jax.tree.map(lambda leaf: split if np.ndim(leaf) else whole, state)

    def loss_and_grads(params, microbatches):
        step = jax.value_and_grad(gpt.microbatch_loss)
        return mw.pipeline.accumulate(step, len(microbatches))(params, microbatches)

    gpt.loss_and_grads = loss_and_grads
    step = mw.jit(gpt.train_step, config, in_shardings=(shardings, split))
    return step.lower(state, tokens).compile(), (state, tokens)


def count_bytes(microbatches: int, once: bool) -> int:
    """Bytes in collectives of a step."""
    traffic = compile_step(microbatches, once)[0].traffic()
    return sum(c.bytes for mesh in traffic.collectives.values() for c in mesh)


def compare_times(microbatches: int, repeat: int) -> float:
    """The least time of a step with both options, by that without; in turns."""
    steps = []
    for once in (False, True):
        compiled, arguments = compile_step(microbatches, once)
        steps.append((compiled, compiled.place(*arguments), []))
    for _ in range(repeat):
        for compiled, arguments, times in steps:
            start = time.perf_counter()
            jax.block_until_ready(compiled(*arguments))
            times.append(time.perf_counter() - start)
    usual, ours = (min(times) for *_, times in steps)
    return ours / usual


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--microbatches", default="4,16")
    parser.add_argument("--stages", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=15)
    args = parser.parse_args()
    gpt.STAGES = args.stages
    counts = [int(count) for count in args.microbatches.split(",")]
    plain = {count: count_bytes(count, once=False) for count in counts}
    once = {count: count_bytes(count, once=True) for count in counts}
    ratios = {count: once[count] / plain[count] for count in counts}
    growth = once[counts[-1]] / once[counts[0]]
    duration = compare_times(counts[-1], args.repeat)
    print(
        json.dumps(
            {
                "plain_bytes": plain,
                "once_bytes": once,
                **{f"ratio_at_{n}": round(ratio, 4) for n, ratio in ratios.items()},
                "ratio_of_growth": round(growth, 4),
                "ratio_of_time": round(duration, 4),
            }
        )
    )
    fits = all(ratio <= BOUND for count, ratio in ratios.items() if count >= 16)
    return 0 if fits and growth <= 1.01 and duration <= TIME_BOUND else 1


if __name__ == "__main__":
    sys.exit(main())
