"""Steps until it is asked to end; saves the step then."""

import json
import pathlib
import sys

import meshwright as mw

mw.distributed.initialize()
mw.elastic.notice_preemption()

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402

folder = pathlib.Path(sys.argv[1])
for step in range(10**6):
    value = mw.fetch(jnp.int32(step))
    if step == 3:
        print("running", flush=True)
    if mw.elastic.preempted(step):
        (folder / f"{jax.process_index()}.json").write_text(json.dumps(step))
        sys.exit(mw.elastic.PREEMPTED)
