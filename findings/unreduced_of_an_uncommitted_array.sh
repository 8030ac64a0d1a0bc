#!/usr/bin/env bash
# JAX 0.12.0.1 (0.10.2 too): a jitted function that reshards its argument to a sharding
# with `unreduced` runs if the argument was put on the mesh before, and fails with
# NotImplementedError if it is an ordinary, uncommitted array. XLA gives the parameter
# the sharding of the constraint that reads it, and JAX cannot place an array so.
#
# Expected: it runs; the other reshards place uncommitted arguments by themselves.
# Seen:
#   committed: [0. 1. 2. 3.]
#   uncommitted: device_indices_map doesn't work with unreduced. Please file a bug at ...
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
source "$(dirname "$0")/frame.bash"
packages jax==0.12.0.1 jaxlib==0.12.0.1 numpy==2.3.5
program <<'PYTHON'
import sys

import jax
import jax.numpy as jnp
from jax.sharding import AxisType
from jax.sharding import PartitionSpec as P

jax.config.update("jax_num_cpu_devices", 2)
mesh = jax.make_mesh((2,), ("x",), axis_types=(AxisType.Explicit,))
there_and_back = jax.jit(
    lambda w: jax.reshard(jax.reshard(w, P(unreduced={"x"})), P())
)
w = jnp.arange(4.0)
with jax.set_mesh(mesh):
    print("committed:", there_and_back(jax.device_put(w, jax.NamedSharding(mesh, P()))))
    try:
        print("uncommitted:", there_and_back(w))
    except NotImplementedError as error:
        print("uncommitted:", str(error).splitlines()[0])
        sys.exit(0)
sys.exit(1)
PYTHON
