#!/usr/bin/env python3
"""How compile time grows with microbatches, beside the partitioner in jaxlib.

    .venv/bin/python bench/curve.py [--layers 16] [--stages 4]
        [--microbatches 4 8 16 32 64 128] [--no-peer]

Traces a GPT training step with the Python front end, partitions it with 1F1B by
`meshwright partition`, and by the peer. A row per number of microbatches:

- lower: seconds of `mw.jit(step).lower`, tracing and partitioning included;
- import … export: seconds that `meshwright partition` reports, parsing excluded;
- peer: seconds of its phases, parsing excluded, and the ratio to ours;
- calls, distinct: fragment calls, and functions that have to be compiled.

Exit code 1 if 128 microbatches are not partitioned 30 times as quickly.
"""

import argparse
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
os.environ.setdefault("JAX_NUM_CPU_DEVICES", "17")

import gpt  # noqa: E402
import jax  # noqa: E402
import numpy as np  # noqa: E402

import meshwright as mw  # noqa: E402
from bench import run  # noqa: E402

BATCH, LENGTH, SYMBOLS = 2, gpt.LENGTH, 64
# Of the time of the peer to ours, by microbatches.
LEAST_RATIO = {128: 30}


def make_step(stages: int, microbatches: int, inside: bool = False):
    """With the gradients added after the calls, or inside of them."""

    def blocks(params, x):
        for block in params:
            x = gpt.block(block, x)
        return x

    def first(params, embedding, positions, tokens):
        return blocks(params, embedding[tokens] + positions)

    def last(params, embedding, norm, x, targets):
        scores = gpt.normalize(norm, blocks(params, x)) @ embedding.T
        return -jax.nn.log_softmax(scores)[..., 0].mean() + targets.mean()

    def microbatch(params, tokens):
        x = mw.named_computation(first, name="stage0")(
            params["stages"][0], params["embedding"], params["positions"], tokens
        )
        for stage in range(1, stages - 1):
            name = f"stage{stage}"
            x = mw.named_computation(blocks, name=name)(params["stages"][stage], x)
        return mw.named_computation(last, name=f"stage{stages - 1}")(
            params["stages"][-1], params["scores"], params["norm"], x, tokens
        )

    def loss_and_grads(params, tokens):
        step = jax.value_and_grad(microbatch)
        total, grads = mw.call(step, call_counter=0)(params, tokens[0])
        for number in range(1, microbatches):
            loss, more = mw.call(step, call_counter=number)(params, tokens[number])
            total, grads = total + loss, jax.tree.map(jax.numpy.add, grads, more)
        return total, grads

    if inside:
        return mw.pipeline.accumulate(
            jax.value_and_grad(microbatch), microbatches, reduce="sum"
        )
    return loss_and_grads


def make_params(layers: int, stages: int):
    params = gpt.make_params(SYMBOLS)
    block = params.pop("blocks")[0]
    params["scores"] = params["embedding"]
    params["stages"] = [[block] * (layers // stages) for _ in range(stages)]
    return params


def make_meshes(stages: int):
    devices = np.array(jax.devices()[: 2 * stages]).reshape(stages, 2)
    return {f"mesh{s}": jax.sharding.Mesh(devices[s], ("data",)) for s in range(stages)}


def wrap(step, stages: int):
    """`mw.jit` of a step, with 1F1B on two devices a stage."""
    meshes = make_meshes(stages)
    config = mw.make_config(
        meshes,
        {f"stage{s}": f"mesh{s}" for s in range(stages)},
        name_to_stage_assignment={f"stage{s}": s for s in range(stages)},
        partitioning_options={"mpmd_infer_transfers": True},
        pipeline_schedule=mw.get_pipeline_schedule("ONE_FWD_ONE_BWD"),
    )
    return mw.jit(step, config)


def trace(layers: int, stages: int, microbatches: int, inside: bool = False):
    """The module's text, the configuration, and the seconds it took."""
    params = make_params(layers, stages)
    tokens = [np.zeros((BATCH, LENGTH), np.int32)] * microbatches
    step = wrap(make_step(stages, microbatches, inside), stages)
    start = time.perf_counter()
    lowered = step.lower(params, tokens)
    seconds = time.perf_counter() - start
    file_config = {
        "topology": {mesh: {"data": 2} for mesh in make_meshes(stages)},
        "assignment": {f"stage{s}": [f"mesh{s}", s] for s in range(stages)},
        "options": {
            "mpmd_infer_transfers": True,
            "mpmd_pipeline_schedule": "1F1B",
        },
    }
    return lowered.as_text("stablehlo"), file_config, seconds


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build" / "bin")
    parser.add_argument("--layers", type=int, default=16)
    parser.add_argument("--stages", type=int, default=4)
    parser.add_argument(
        "--microbatches", type=int, nargs="+", default=[4, 8, 16, 32, 64, 128]
    )
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--no-peer", action="store_true")
    args = parser.parse_args()
    columns = ["M", "lower", *run.PHASES, "total", "peer", "ratio", "calls", "distinct"]
    print("".join(f"{column:>10}" for column in columns))
    missed = False
    for microbatches in args.microbatches:
        text, config, lower = trace(args.layers, args.stages, microbatches)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "program.mlir"
            path.write_text(text)
            path.with_suffix(".json").write_text(json.dumps(config))
            runs = [run.run_ours(args.bin, path)[0] for _ in range(args.repeat)]
            ours = {phase: min(r[phase] for r in runs) for phase in run.PHASES}
            total = sum(ours.values())
            peer = math.nan
            if not args.no_peer:
                peer = sum(run.run_peer(path, 1)[0].values())
            calls, distinct = count_calls(args.bin, path, pathlib.Path(folder))
        cells = [lower, *ours.values(), total, peer]
        print(
            f"{microbatches:>10}"
            + "".join(f"{cell:>10.3f}" for cell in cells)
            + f"{peer / total:>9.1f}x{calls:>10}{distinct:>10}",
            flush=True,
        )
        least = LEAST_RATIO.get(microbatches, 0)
        if peer / total < least:
            missed = True
            print(
                f"missed: {peer / total:.1f} times as quick for {microbatches} "
                f"microbatches, at least {least} wanted",
                file=sys.stderr,
            )
    return 1 if missed else 0


def count_calls(
    binary: pathlib.Path, path: pathlib.Path, folder: pathlib.Path
) -> tuple[int, int]:
    subprocess.run(
        [binary / "meshwright", "partition", path, "--schedule-json=flat"]
        + [f"--config={path.with_suffix('.json')}", f"-o={folder / 'out'}"],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    program = json.loads((folder / "out" / "schedule.json").read_text())
    fragments = program["fragments"]
    return sum(fragment["calls"] for fragment in fragments), len(fragments)


if __name__ == "__main__":
    sys.exit(main())
