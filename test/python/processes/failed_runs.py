"""Runs that fail, in all processes or in one of them, and are caught.

    failed_runs.py caught|last

First each process runs out of memory at some item of the step, four times, then tries a
smaller batch, and the larger one once more. Then process 0 alone fails, and both go on.
"last": process 0 fails once more, and process 1 does not go on.
"""

import gc
import json
import sys
import time

import meshwright as mw

mw.distributed.initialize()

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

kind, me = sys.argv[1], jax.process_index()
MESHES = {f"m{i}": jax.sharding.Mesh([d], "x") for i, d in enumerate(jax.devices())}
report: dict = {"process": me}


def loss(weights, x):
    h = mw.stage_boundary(jnp.tanh(x @ weights[0]))
    return ((h @ weights[1]) ** 2).mean()


def build(rows):
    step = mw.pipeline.accumulate(jax.value_and_grad(loss), microbatches=8)
    schedule = mw.get_pipeline_schedule("GPIPE")
    args = [np.eye(64, dtype=np.float32)] * 2, np.ones((8 * rows, 64), np.float32)
    config = mw.make_config(MESHES, pipeline_schedule=schedule)
    compiled = mw.jit(step, config).lower(*args).compile()
    return compiled, mw.distributed.place(args, compiled.input_shardings[0])


def live():
    """Types of the arrays that are there, but for tokens."""
    gc.collect()
    return sorted(str(a.aval) for a in jax.live_arrays() if a.size > 2)


def becomes(wanted):
    """Whether those are there once all has arrived that was on its way."""
    limit = time.monotonic() + 100
    while live() != wanted and time.monotonic() < limit:
        time.sleep(0.02)
    return live() == wanted


def run_out_of_memory(slots):
    raise jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: Out of memory")


def fail_everywhere():
    compiled, args = build(16)
    before, issues = live(), compiled.runtime_executable()._issues
    mw.fetch(compiled(*args)[0])
    report["freed"], report["errors"] = [], []
    for positions in ((0, -1), (-1, 0), (7, 19), (20, 20)):
        issue, issues[positions[me]] = issues[positions[me]], run_out_of_memory
        try:
            compiled(*args)
        except jax.errors.JaxRuntimeError as error:
            report["errors"].append(str(error))
        issues[positions[me]] = issue
        report["freed"].append(becomes(before))
    smaller, others = build(2)
    losses = [mw.fetch(smaller(*others)[0]), mw.fetch(compiled(*args)[0])]
    report["losses"] = [float(found) for found in losses]


def fail_in_one():
    missing = ""

    def check(x):
        if missing:
            raise KeyError(missing)
        return x

    def first(x):
        return jax.pure_callback(check, jax.ShapeDtypeStruct(x.shape, x.dtype), x + 1)

    def step(x):
        h = mw.named_computation(first, name="first")(x)
        return mw.named_computation(lambda h: h.sum(), name="second")(h)

    config = mw.make_config(
        MESHES,
        {"first": "m0", "second": "m1"},
        partitioning_options={"mpmd_infer_transfers": True},
    )
    x = np.ones(100, np.float32)
    compiled = mw.jit(step, config).lower(x).compile()
    x = mw.distributed.place(x, compiled.input_shardings[0][0])
    mw.fetch(compiled(x))
    missing = "" if me else "no more data"
    try:
        with mw.elastic.guard():
            jax.block_until_ready(compiled(x))
    except jax.errors.JaxRuntimeError as error:
        report["error"] = str(error)
        report["notes"] = getattr(error, "__notes__", [])
    missing = ""
    report["sum"] = float(mw.fetch(compiled(x)))
    print(json.dumps(report), flush=True)
    if kind == "caught":
        return
    missing = "" if me else "nothing at all"
    try:
        with mw.elastic.guard():
            jax.block_until_ready(compiled(x))
    except jax.errors.JaxRuntimeError:
        if me == 1:
            raise
    missing = ""
    mw.fetch(compiled(x))


if kind == "caught":
    fail_everywhere()
fail_in_one()
