#!/usr/bin/env bash
# Orbax 0.12.8 with JAX 0.12.0.1 in two processes: an array may be restored with another
# sharding, but each process must have a part of it. With devices of process 0 alone, as
# for the first stage of a pipeline, process 1 raises ValueError, which asks for an
# argument of a function that the user does not call, and process 0 waits for process 1
# until that does something else together, which is then blamed. Arrays of that kind are
# valid in JAX: both processes make one, with `dtype`.
#
# Expected: process 0 gets its array, process 1 the same without a part of it.
# Seen:
#   process 0: AssertionError: sync_global_devices name mismatch ('_Checkpointer:restore')
#   process 1: ValueError: If the Array has no addressable shards, `dtype` must be
#     provided via the `dtype` argument to `jax.make_array_from_single_device_arrays`.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
source "$(dirname "$0")/frame.bash"
packages jax==0.12.0.1 jaxlib==0.12.0.1 numpy==2.3.5 orbax-checkpoint==0.12.8
program <<'PYTHON'
import os
import socket
import subprocess
import sys

RUN = """
import sys

import jax
import jax.experimental.multihost_utils
import jax.numpy as jnp
import numpy as np
import orbax.checkpoint as ocp
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

number, port, folder = int(sys.argv[1]), sys.argv[2], sys.argv[3]
jax.config.update("jax_num_cpu_devices", 2)
jax.config.update("jax_cpu_collectives_implementation", "gloo")
jax.distributed.initialize("127.0.0.1:" + port, 2, number)
everywhere = NamedSharding(Mesh(np.array(jax.devices()), "x"), P("x"))
first = NamedSharding(Mesh(np.array(jax.devices()[:2]), "x"), P("x"))
numbers = np.arange(8, dtype=np.float32)
pick = lambda index: numbers[index]
array = jax.make_array_from_callback((8,), everywhere, pick)
jax.make_array_from_callback((8,), first, pick, dtype=jnp.float32)  # Valid on both.
checkpointer = ocp.StandardCheckpointer()
checkpointer.save(folder + "/array", {"w": array})
checkpointer.wait_until_finished()
wanted = jax.ShapeDtypeStruct((8,), jnp.float32, sharding=first)
try:
    back = checkpointer.restore(folder + "/array", {"w": wanted})["w"]
    print(f"process {number}: restored {back.size} numbers", flush=True)
except (AssertionError, ValueError) as error:
    text = str(error).split(". Expected")[0]
    print(f"process {number}: {type(error).__name__}: {text}", flush=True)
    if number == 1:
        jax.experimental.multihost_utils.sync_global_devices("something else")
"""
with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = str(free.getsockname()[1])
processes = [
    subprocess.Popen(
        [sys.executable, "-c", RUN, str(number), port, os.path.abspath("checkpoints")],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    for number in range(2)
]
outputs = []
for process in processes:
    try:
        outputs.append(process.communicate(timeout=200)[0])
    finally:
        process.kill()
for line in "".join(outputs).splitlines():
    if line.startswith("process"):
        print(line)
sys.exit(
    0
    if "process 0: AssertionError: sync_global_devices name mismatch" in outputs[0]
    and "process 1: ValueError: If the Array has no addressable shards" in outputs[1]
    else 1
)
PYTHON
