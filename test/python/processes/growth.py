"""What process 0 keeps of a pipeline of 2 and of 8 stages, of which it has the first.

Process 1 has all others. Prints, for each, the steps, slots and executables of this
process, and by how much its memory grew.
"""

import ctypes
import gc
import json
import os
import pathlib

import meshwright as mw

WIDTH, ROWS, MICROBATCHES, MOST = 2048, 16, 2, 8

import jax  # noqa: E402

second = os.environ.get("MESHWRIGHT_PROCESS") == "1"
jax.config.update("jax_num_cpu_devices", MOST - 1 if second else 1)
mw.distributed.initialize()

import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import Mesh  # noqa: E402


def allocated() -> int:
    """Bytes of this process's own memory, also where the system has swapped it out.

    Not of files, which it drops where memory is short.
    """
    # What compiling left in the pools of its threads is not kept.
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    own = [line for line in lines if line.startswith(("RssAnon:", "VmSwap:"))]
    return 1024 * sum(int(line.split()[1]) for line in own)


def layer(w, x):
    return jnp.tanh(x @ w)


def loss(weights, x):
    for stage, w in enumerate(weights):
        x = mw.named_computation(layer, name=f"stage{stage}")(w, x)
    return (x**2).mean()


def step(weights, xs):
    total = None
    for m in range(MICROBATCHES):
        found = mw.call(jax.value_and_grad(loss), call_counter=m)(weights, xs[m])
        total = found if total is None else jax.tree.map(jnp.add, total, found)
    value, gradients = total
    return [w - 0.1 * g for w, g in zip(weights, gradients, strict=True)], value


def train(stages: int) -> dict:
    before = allocated()
    meshes = {f"m{i}": Mesh([d], "x") for i, d in enumerate(jax.devices()[:stages])}
    config = mw.make_config(
        meshes,
        {f"stage{i}": f"m{i}" for i in range(stages)},
        name_to_stage_assignment={f"stage{i}": i for i in range(stages)},
        pipeline_schedule=mw.get_pipeline_schedule("ONE_FWD_ONE_BWD"),
        partitioning_options={"mpmd_infer_transfers": True},
    )
    # Values that take no memory until they are placed.
    weights = [np.broadcast_to(np.float32(1 / WIDTH), (WIDTH, WIDTH))] * stages
    xs = [np.broadcast_to(np.float32(1), (ROWS, WIDTH))] * MICROBATCHES
    compiled = mw.jit(step, config, donate_argnums=0).lower(weights, xs).compile()
    state, xs = mw.distributed.place((weights, xs), compiled.input_shardings[0])
    for _ in range(2):
        state, value = compiled(state, xs)
    jax.block_until_ready(state)
    program = compiled.runtime_executable()
    return {
        "loss": float(mw.fetch(value)),
        "steps": len(program.steps),
        "kept": len(program._plan.slots),
        "compiled": sorted(f.name for f in program.fragments if f.compile_seconds),
        "bytes": allocated() - before,
    }


train(2)  # What the first program of a process needs once.
found = [train(2), train(MOST)]
print(json.dumps({"process": jax.process_index(), "found": found}), flush=True)
