#!/usr/bin/env bash
# JAX 0.12.0.1: an array whose sharding is `unreduced` is a value like others (its type,
# its shards and sums of such arrays are fine), but it can neither be fetched nor moved:
# np.asarray and print raise an error of the runtime that names no array, no axis and no
# remedy, and jax.device_put to a replicated sharding raises NotImplementedError that asks
# for a bug report. jax.reshard is the only way to its numbers. (In 0.10.2 both raise the
# NotImplementedError.)
#
# Expected: the sum of the parts, as with jax.reshard, or an error that names it.
# Seen:
#   reshard: [1. 2. 3. 4.]
#   asarray: JaxRuntimeError: INVALID_ARGUMENT: Unreduced sharding does not support
#     UniqueIndexDomains: sharding={unreduced}
#   device_put: NotImplementedError: device_indices_map doesn't work with unreduced. ...
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
source "$(dirname "$0")/frame.bash"
packages jax==0.12.0.1 jaxlib==0.12.0.1 numpy==2.3.5
program <<'PYTHON'
import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType
from jax.sharding import PartitionSpec as P

jax.config.update("jax_num_cpu_devices", 2)
mesh = jax.make_mesh((2,), ("x",), axis_types=(AxisType.Explicit,))
replicated = jax.NamedSharding(mesh, P())
failed = 0
with jax.set_mesh(mesh):
    w = jax.device_put(jnp.arange(1.0, 5.0), replicated)
    parts = jax.jit(lambda w: jax.reshard(w, P(unreduced={"x"})))(w)
    print("reshard:", jax.reshard(parts, P()))
    for name, way in (
        ("asarray", np.asarray),
        ("device_put", lambda x: jax.device_put(x, replicated)),
    ):
        try:
            print(f"{name}:", way(parts))
        except (NotImplementedError, RuntimeError) as error:
            print(f"{name}: {type(error).__name__}: {str(error).splitlines()[0]}")
            failed += 1
sys.exit(0 if failed == 2 else 1)
PYTHON
