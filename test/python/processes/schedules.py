"""Trains every schedule that it is given in one start, and reports the losses.

    schedules.py KIND '[[{"1F1B": 4, ...}, {}], ...]'

Each pair has numbers of stages, and options for all of these. The meshes are of one
device each, in turn in another process, or span all of them.
"""

import json
import sys
import time

import meshwright as mw

kind, cases = sys.argv[1], json.loads(sys.argv[2])
mw.distributed.initialize()

import jax  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import Mesh  # noqa: E402
from support import schedule_training as training  # noqa: E402

by_process = np.array(jax.devices()).reshape(jax.process_count(), -1)
# Column by column: a mesh on each process, or a mesh over all of them.
rows = by_process.T.reshape(training.MESHES, -1)
assert rows.shape[1] == (1 if kind == "own" else jax.process_count())
names = ("first", "encoder", "decoder", "a")
topology = {n: Mesh(d, "x") for n, d in zip(names, rows, strict=True)}
compiled_programs = []  # Alive, so that programs share executables.
compilations, compiled_here = [], 0
jax.monitoring.register_event_duration_secs_listener(
    lambda event, seconds, **kw: (
        compilations.append(event)
        if event.endswith("backend_compile_duration")
        else None
    )
)


def compile_and_count(lowered):
    global compiled_here
    before = len(compilations)
    compiled_programs.append(lowered.compile())
    compiled_here += len(compilations) - before
    return compiled_programs[-1]


def floats() -> int:
    """Bytes of this process's buffers; looking at shards makes more arrays of them."""
    arrays = [a for a in jax.live_arrays() if a.dtype == np.float32]
    shards = [s.data for a in arrays for s in a.addressable_shards]
    return sum({s.unsafe_buffer_pointer(): s.nbytes for s in shards}.values())


def wait_until_only(kept: int) -> None:
    """Waits for what sends and receives still hold."""
    end = time.monotonic() + 200  # Seconds that a busy machine does not take.
    while floats() != kept:
        assert time.monotonic() < end, (floats(), kept)
        time.sleep(0.01)


def train(name: str, stages: int, options: dict) -> dict:
    copies = training.count_copies(name)
    lowered = training.lower_training(
        name, stages, topology, options={"mpmd_pipeline_schedule": name, **options}
    )
    compiled = compile_and_count(lowered)
    before = floats()
    weights, *data = mw.distributed.place(
        training.make_inputs(stages, copies), compiled.input_shardings[0]
    )
    kept, losses = floats(), []
    for _ in range(training.STEPS):
        given = weights
        loss, weights = compiled(weights, *data)
        assert all(w.is_deleted() for w in given)
        losses.append(float(mw.fetch(loss)))
        jax.block_until_ready(weights)
        del given, loss
        wait_until_only(kept)
    del weights, data
    wait_until_only(before)
    for mesh, memory in compiled.memory_analysis().items():
        if not topology[mesh].local_devices:  # No figure that is only half known.
            assert memory.argument_bytes and not memory.live_bytes | memory.peak_bytes
    return {
        "losses": losses,
        "memory": {
            mesh: training.find_bytes(memory)
            for mesh, memory in compiled.memory_analysis().items()
            if topology[mesh].local_devices
        },
    }


def go_round() -> dict:
    meshes = {f"m{i}": mesh for i, mesh in enumerate(topology.values())}
    compiled = compile_and_count(training.lower_ring(meshes))
    weights, xs = training.make_ring_inputs()
    placed = mw.distributed.place((weights, xs), compiled.input_shardings[0])
    found = mw.fetch(compiled(*placed))
    pairs = zip(found, jax.jit(training.forward)(weights, xs), strict=True)
    return {"difference": max(float(np.abs(a - b).max()) for a, b in pairs)}


report: dict = {"process": jax.process_index(), "found": []}
for stages_of, options in cases:
    found = {
        name: go_round()
        if name.startswith("Parallel")
        else train(name, stages, options)
        for name, stages in stages_of.items()
    }
    report["found"].append(found)
    report.setdefault("compiled", compiled_here)  # Of the first case.
print(json.dumps(report), flush=True)
