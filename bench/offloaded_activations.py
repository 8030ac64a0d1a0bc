#!/usr/bin/env python3
"""What waits in the host's memory, and what that costs a step.

    .venv/bin/python bench/offloaded_activations.py [--bounds auto 40GB]

A GPT of 32 layers in 8 stages with 32 microbatches under 1F1B, a device for each stage,
in bfloat16, by default as small as those of `test/programs`. Its training step is made
once as ever and once with `mpmd_offload_activations`. Nothing runs: the program is
compiled for CPU devices, whose account of memory is that of the plan, and simulated on
H100.

Prints a line of JSON for each bound: the peak of each stage by that without,
by `compiled.memory_analysis()` and by the simulator, with both in MB for each
stage, and the simulated step by that without.
"""

import argparse
import functools
import json
import os
import sys

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ["XLA_FLAGS"] = (
    os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=8"
)

import jax
import jax.numpy as jnp
from jax.sharding import Mesh

import meshwright as mw

LAYERS, STAGES, MICROBATCHES = 32, 8, 32


def layer(x, w):
    """Attention and a feed-forward block, of [batch, sequence, features]."""
    batch, length, width = x.shape
    head = min(128, width // 4)
    query, key, value = (
        part.reshape(batch, length, -1, head)
        for part in jnp.split(x @ w["qkv"], 3, axis=-1)
    )
    scores = jnp.einsum("bqhd,bkhd->bhqk", query, key) / head**0.5
    found = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), value)
    x = x + found.reshape(x.shape) @ w["out"]
    return x + jax.nn.gelu(x @ w["up"]) @ w["down"]


def loss(kept, params, tokens):
    x = params["words"][tokens[:, :-1]]
    for number in range(LAYERS):
        x = kept(layer)(x, params["layers"][number])
        if number + 1 < LAYERS and (number + 1) % (LAYERS // STAGES) == 0:
            x = mw.stage_boundary(x)
    logits = (x @ params["head"]).astype(jnp.float32)
    picked = jnp.take_along_axis(
        jax.nn.log_softmax(logits), tokens[:, 1:, None], axis=-1
    )
    return -picked.mean()


def step(kept, params, tokens):
    gradient = jax.value_and_grad(functools.partial(loss, kept))
    gradient = mw.pipeline.accumulate(gradient, MICROBATCHES)
    value, grads = gradient(params, tokens)
    return jax.tree.map(lambda p, g: p - 1e-3 * g, params, grads), value


def lower(args, bound):
    topology = {
        f"m{i}": Mesh([device], "x") for i, device in enumerate(jax.devices()[:STAGES])
    }
    options = {"mpmd_schedule_device": args.device}
    if bound:
        options["mpmd_offload_activations"] = bound
    config = mw.make_config(
        topology,
        partitioning_options=options,
        pipeline_schedule=mw.get_pipeline_schedule("1F1B"),
    )
    width, words = args.width, args.words

    def struct(*shape, dtype=jnp.bfloat16):
        return jax.ShapeDtypeStruct(shape, dtype)

    one = {
        "qkv": struct(width, 3 * width),
        "out": struct(width, width),
        "up": struct(width, 4 * width),
        "down": struct(4 * width, width),
    }
    params = {
        "words": struct(words, width),
        "layers": [dict(one) for _ in range(LAYERS)],
        "head": struct(width, words),
    }
    rows = MICROBATCHES * args.batch
    tokens = struct(rows, args.length + 1, dtype=jnp.int32)
    policy = jax.checkpoint_policies.dots_with_no_batch_dims_saveable
    kept = functools.partial(jax.checkpoint, policy=policy)
    if not args.recompute:
        kept = lambda layer: layer  # noqa: E731
    found = functools.partial(step, kept)
    return mw.jit(found, config, donate_argnums=0).lower(params, tokens)


def measure(args, bound):
    lowered = lower(args, bound)
    found = lowered.simulate(args.device)
    simulated = {name: mesh.peak_bytes for name, mesh in found.meshes.items()}
    planned = {}
    if args.compile:
        analysis = lowered.compile().mpmd_executable.runtime_executable()
        planned = {
            name: mesh.live_bytes for name, mesh in analysis.memory_analysis().items()
        }
    return found, simulated, planned


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="h100")
    parser.add_argument("--bounds", nargs="+", default=["auto"])
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--batch", type=int, default=2, help="of a microbatch")
    parser.add_argument("--length", type=int, default=16)
    parser.add_argument("--words", type=int, default=128)
    parser.add_argument(
        "--compile", action=argparse.BooleanOptionalAction, default=True
    )
    parser.add_argument(
        "--recompute", action="store_true", help="scores of attention, in the backward"
    )
    parser.add_argument("--show", action="store_true", help="what is simulated")
    args = parser.parse_args()
    before, simulated, planned = measure(args, "")
    for bound in args.bounds:
        found, now, account = measure(args, bound)
        if args.show:
            print(found)
        row = {"bound": bound, "step_ms": round(1e3 * found.makespan_s, 3)}
        row["ratio_step"] = round(found.makespan_s / before.makespan_s, 4)
        for name, peaks, base in (
            ("simulated", now, simulated),
            ("planned", account, planned),
        ):
            if peaks:
                row[f"ratio_{name}_first"] = round(peaks["m0"] / base["m0"], 4)
                row[name] = {
                    mesh: [round(base[mesh] / 1e6, 3), round(peaks[mesh] / 1e6, 3)]
                    for mesh in peaks
                }
        print(json.dumps(row), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
