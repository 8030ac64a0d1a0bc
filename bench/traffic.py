#!/usr/bin/env python3
"""What a step of the example's GPT sends under FSDP, with work done once and without.

    .venv/bin/python bench/traffic.py [--microbatches 4,16] [--stages 2]

Weights in float32, split over the two devices of their stage's mesh, as the rows of a
microbatch are, and the activations by constraints; 1F1B. Bytes are
those of all collectives of a step, counted from the optimized code of the fragments and
how often each is called (`compiled.traffic()`): gathers of weights, reductions of
gradients. Nothing runs, so load does not matter.

Prints one line of JSON: bytes by number of microbatches, and ratios. Exit code 1 if
with `mpmd_hoist_invariants` and `mpmd_defer_reductions` the bytes grow with the
microbatches, or are more than 1/12 of those without at 16 microbatches.
"""

import argparse
import json
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / part) for part in ("python", "build/python", "examples")]
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import gpt  # noqa: E402
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
import training  # noqa: E402

import meshwright as mw  # noqa: E402

ROWS, DEVICES, SYMBOLS, BOUND = 2, 2, 40, 1 / 12
ONCE = {"mpmd_hoist_invariants": True, "mpmd_defer_reductions": True}


def count_bytes(microbatches: int, options: dict) -> int:
    """Bytes in collectives of a step."""
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
            **options,
        },
        pipeline_schedule=mw.get_pipeline_schedule("ONE_FWD_ONE_BWD"),
    )
    params = gpt.make_params(SYMBOLS)
    zeros = jax.tree.map(np.zeros_like, params)
    state = params, zeros, zeros, np.float32(0)
    shape = ROWS, gpt.LENGTH + 1
    tokens = [jax.ShapeDtypeStruct(shape, jnp.int32)] * microbatches
    split = jax.NamedSharding(meshes["mesh0"], jax.P("data"))
    whole = jax.NamedSharding(meshes["mesh0"], jax.P())
    shardings = jax.tree.map(lambda leaf: split if np.ndim(leaf) else whole, state)

    def rows(x):
        return jax.lax.with_sharding_constraint(x, split)

    def block(params, x):
        """The example's; without the constraints, propagation splits features."""
        x = rows(x)
        x = rows(x + gpt.attend(params, gpt.normalize(params["norm1"], x)))
        hidden = rows(gpt.normalize(params["norm2"], x) @ params["up"])
        return rows(x + rows(jax.nn.gelu(hidden)) @ params["down"])

    def loss_and_grads(params, microbatches):
        step = jax.value_and_grad(gpt.microbatch_loss)
        return mw.pipeline.accumulate(step, len(microbatches))(params, microbatches)

    gpt.block, gpt.loss_and_grads = block, loss_and_grads
    step = mw.jit(gpt.train_step, config, in_shardings=(shardings, split))
    traffic = step.lower(state, tokens).compile().traffic()
    return sum(c.bytes for mesh in traffic.collectives.values() for c in mesh)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--microbatches", default="4,16")
    parser.add_argument("--stages", type=int, default=2)
    args = parser.parse_args()
    gpt.STAGES = args.stages
    counts = [int(count) for count in args.microbatches.split(",")]
    plain = {count: count_bytes(count, {}) for count in counts}
    once = {count: count_bytes(count, ONCE) for count in counts}
    ratios = {count: once[count] / plain[count] for count in counts}
    growth = once[counts[-1]] / once[counts[0]]
    print(
        json.dumps(
            {
                "plain_bytes": plain,
                "once_bytes": once,
                **{f"ratio_at_{n}": round(ratio, 4) for n, ratio in ratios.items()},
                "ratio_of_growth": round(growth, 4),
            }
        )
    )
    fits = all(ratio <= BOUND for count, ratio in ratios.items() if count >= 16)
    return 0 if fits and growth <= 1.01 else 1


if __name__ == "__main__":
    sys.exit(main())
