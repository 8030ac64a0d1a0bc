"""Runs until a file says that it has been suspended, and has gone on."""

import pathlib
import sys

from meeting import meet

import meshwright as mw

meet(2)
mw.distributed.initialize()

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
from meshwright.runtime.processes.world import current  # noqa: E402

world, resumed = current(), pathlib.Path(sys.argv[1])
for number in range(10**6):
    mw.fetch(jnp.int32(number))
    if number == 3:
        print("running", flush=True)
    if jax.process_index() == 0:
        world.put(f"over/{number}", str(resumed.exists()).encode())
    if world.get(f"over/{number}", 0, "say so") == b"True":
        break
print("end", flush=True)
