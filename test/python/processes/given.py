"""NumPy arrays of the script, whose owner refills them, in meshes of two processes.

Those that are placed, and large ones that a function closes over.
"""

import gc
import json

import meshwright as mw

mw.distributed.initialize()

import jax  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import Mesh, NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402
from meshwright.lowering.constants import LIMIT_BYTES  # noqa: E402

me, devices = jax.process_index(), jax.devices()
OWN = [Mesh([d for d in devices if d.process_index == p], "x") for p in range(2)]
SPANNING = Mesh(devices, "x")
N = 256
assert 4 * N * N > LIMIT_BYTES


def aligned(value):
    """Elements begin at a multiple of 64 bytes: CPU devices share such memory."""
    memory = np.empty(4 * N * N + 64, np.uint8)
    start = -memory.ctypes.data % 64
    array = memory[start : start + 4 * N * N].view(np.float32).reshape(N, N)
    array[...] = value
    return array


def refilled(place):
    """Whether what was placed is as it was, once its owner has refilled the buffer."""
    buffer = aligned(1)
    placed = place(buffer)
    buffer[...] = 0
    return bool((mw.fetch(placed) == 1).all())


report: dict = {"process": me, "placed": {}}
for name, mesh in (("first", OWN[0]), ("second", OWN[1]), ("spanning", SPANNING)):
    for spec in (P(), P("x"), P(None, "x")):
        there = NamedSharding(mesh, spec)
        found = refilled(
            lambda x, there=there: mw.distributed.place({"x": x}, there)["x"]
        )
        report["placed"][f"{name} {spec}"] = found

first, second = aligned(2), aligned(3)
for number, array in enumerate((first, second)):
    array[:, number::3] += 1  # One of equal numbers is no argument.
x = np.eye(8, N, dtype=np.float32)
expected = float((x @ first @ second).sum())


def step(x):
    h = mw.named_computation(lambda x: x @ first, name="a")(x)
    return mw.named_computation(lambda h: (h @ second).sum(), name="b")(h)


meshes = dict(zip(("m0", "m1"), OWN, strict=True))
config = mw.make_config(
    meshes, {"a": "m0", "b": "m1"}, partitioning_options={"mpmd_infer_transfers": True}
)
lowered = mw.jit(step, config).lower(x)
first[...] = second[...] = 7
compiled = lowered.compile()
program = lowered.partitioning_result.program
text = lowered.as_text()
gc.collect()
constants = [a for a in jax.live_arrays() if a.shape == (N, N)]
report |= {
    "constants": len(lowered.const_args),
    "longest line": max(map(len, text.splitlines())),
    # Which meshes this process has arrays for.
    "here": sorted(
        name
        for array in constants
        for name, mesh in meshes.items()
        if array.addressable_shards
        and array.sharding.device_set == {*mesh.devices.flat}
    ),
}
report["expected"] = expected
x = mw.distributed.place(x, compiled.input_shardings[0][0])
for array in (first, second):
    array[...] = 9
report["sums"] = [float(mw.fetch(compiled(x))) for _ in range(2)]
report["sent"] = max(
    [item["bytes"] for item in program["items"] if item["kind"] == "transfer"]
)
print(json.dumps(report), flush=True)
