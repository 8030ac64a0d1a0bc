# SPDX-License-Identifier: Apache-2.0
"""MaxText's own trainer as a pipeline (docs/trainers.md).

python examples/maxtext/pipeline.py MESHES SCHEDULE STAGES CONFIG.yml KEY=VALUE ...

MESHES share all devices among them, and MaxText's parallelism is that of one mesh.
STAGES are the paths of the modules that begin the second, the third, ... stage, with
commas; or a number, of scanned layers; or `auto`.
"""

import functools
import sys

import jax
import numpy as np
from absl import app
from maxtext.trainers.pre_train import train
from maxtext.utils import max_utils, train_utils

import meshwright as mw

_, MESHES, SCHEDULE, STAGES, *sys.argv[1:] = sys.argv
DEVICES = np.reshape(jax.devices(), (int(MESHES), -1))
setup, scan = train_utils.setup_train_loop, jax.lax.scan


def setup_on_first_mesh(config, recorder):
    *others, state = setup(config, recorder, list(DEVICES[0]))
    marks = [path for path in STAGES.split(",") if "/" in path]
    state.model = mw.marked(state.model, marks)
    return *others, state


def scan_in_stages(body, carry, xs=None, length=None, **options):
    if "accumulate_gradient" in body.__qualname__:  # MaxText's loop over microbatches.
        return mw.pipeline.scan_microbatches(body, carry, xs, length)
    if "layer_fn" in body.__qualname__ and STAGES.isdigit():
        return mw.pipeline.scan(body, carry, xs, num_stages=int(STAGES))
    return scan(body, carry, xs, length, **options)


def jit_train_step(config, graph, _, states, batches, step, params, mesh):
    rows = enumerate(DEVICES.reshape(-1, *mesh.devices.shape))
    meshes = {f"m{i}": jax.sharding.Mesh(row, mesh.axis_names) for i, row in rows}
    make_config = mw.auto_config if STAGES == "auto" else mw.make_config
    schedule = mw.get_pipeline_schedule(SCHEDULE)
    pipeline = make_config(meshes, pipeline_schedule=schedule)
    step = functools.partial(step, graph, config, states, params)
    shardings = dict(in_shardings=(states, batches), tie_state=True)
    return mw.jit(step, pipeline, donate_argnums=0, **shardings)


train_utils.setup_train_loop = setup_on_first_mesh
train_utils.jit_train_step, jax.lax.scan = jit_train_step, scan_in_stages
max_utils.print_compiled_memory_stats = lambda stats, prefix: print(stats)
app.run(train.main)
