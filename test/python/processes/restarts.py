"""Counts steps in a file; what happens in which attempt is said by the arguments.

    restarts.py FILE FAULT...

FAULT is of the first attempt, the second and so on: a process kills itself, raises or
exits; beyond the last of them all is well.
"""

import os
import pathlib
import signal
import sys

import meshwright as mw

mw.distributed.initialize()

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402

file, *faults = sys.argv[1:]
saved = pathlib.Path(file)
attempt, process = mw.elastic.attempt(), jax.process_index()
fault = faults[attempt] if attempt < len(faults) else "none"
first = int(saved.read_text()) if saved.exists() else 0
print(f"attempt {attempt} from step {first}", flush=True)
for step in range(first, 20):
    value = mw.fetch(jnp.int32(step))
    if process == 0:
        aside = saved.with_suffix(".new")
        aside.write_text(str(step + 1))
        aside.replace(saved)
    if process == 1 and step == first + 1:
        if fault == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if fault == "raise":
            raise KeyError("lost")
        if fault == "exit":
            sys.exit(5)
print(f"end {value}", flush=True)
