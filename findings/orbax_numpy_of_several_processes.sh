#!/usr/bin/env bash
# Orbax 0.12.8 with JAX 0.12.0.1 in two processes: a leaf that is a NumPy array may differ
# from process to process, as a seed, a position in the data or a running mean does.
# StandardCheckpointer saves that of process 0, without a warning, and restores it
# everywhere; process 1 reads numbers back that it never had. A jax.Array that is a
# process's own in the same way is refused, with an error that says so.
#
# Expected: the same for both: an error, or each process its own.
# Seen:
#   process 1 saved [1. 2.] and restored [0. 1.]
#   process 1, as jax.Array: Cannot serialize host local jax.Array
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
import jax.numpy as jnp
import numpy as np
import orbax.checkpoint as ocp

number, port, folder = int(sys.argv[1]), sys.argv[2], sys.argv[3]
jax.config.update("jax_cpu_collectives_implementation", "gloo")
jax.distributed.initialize("127.0.0.1:" + port, 2, number)
own = np.array([number, number + 1.0])
checkpointer = ocp.StandardCheckpointer()
checkpointer.save(folder + "/numpy", {"own": own})
checkpointer.wait_until_finished()
back = checkpointer.restore(folder + "/numpy")["own"]
print(f"process {number} saved {own} and restored {back}", flush=True)
try:
    checkpointer.save(folder + "/array", {"own": jnp.asarray(own)})
except ValueError as error:
    print(f"process {number}, as jax.Array:", str(error).split(" (")[0], flush=True)
jax.experimental.multihost_utils.sync_global_devices("end")
"""
with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = str(free.getsockname()[1])
command = [sys.executable, "-c", "import jax.experimental.multihost_utils\n" + RUN]
processes = [
    subprocess.Popen(
        [*command, str(number), port, os.path.abspath("checkpoints")],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    for number in range(2)
]
outputs = [process.communicate(timeout=300)[0] for process in processes]
lines = [line for line in outputs[1].splitlines() if line.startswith("process")]
print(*lines, sep="\n")
seen = [
    "process 1 saved [1. 2.] and restored [0. 1.]",
    "process 1, as jax.Array: Cannot serialize host local jax.Array",
]
sys.exit(0 if lines == seen else 1)
PYTHON
