"""Process 1 does not come to its end while process 0 waits for it."""

import os
import select

import meshwright as mw

TIMEOUT = 3.0
mw.distributed.initialize()

import jax  # noqa: E402
from meshwright.runtime.processes.world import current  # noqa: E402

world = current()
if jax.process_index() == 0:
    world.put("first", str(os.getpid()).encode())
    world.timeout = TIMEOUT  # To wait at its end; all have started by now.
else:
    first = int(world.get("first", 0, "say which it is"))
    select.select([os.pidfd_open(first)], [], [])  # Until it has ended.
print("through", flush=True)
