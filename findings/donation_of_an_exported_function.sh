#!/usr/bin/env bash
# JAX 0.12.0.1, jax.export: a function that donates its argument is exported with the
# mark, `tf.aliasing_output`, and the exported function, called, does not donate: the
# argument stays valid, and the step holds its state twice. Nothing warns. The mark counts
# for other readers of the module alone; jax.jit(exported.call, donate_argnums=0) donates.
#
# Expected: a call of the exported function donates as the function did.
# Seen:
#   marked in the module: True
#   argument deleted by jax.jit: True, by exported.call: False, by jax.jit of it: True
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
source "$(dirname "$0")/frame.bash"
packages jax==0.12.0.1 jaxlib==0.12.0.1 numpy==2.3.5 flatbuffers==25.12.19
program <<'PYTHON'
import sys

import jax
import jax.numpy as jnp
from jax import export

step = jax.jit(lambda state: state + 1, donate_argnums=0)
exported = export.export(step)(jax.ShapeDtypeStruct((4,), jnp.float32))
exported = export.deserialize(exported.serialize())
marked = "tf.aliasing_output" in exported.mlir_module()
print("marked in the module:", marked)


def deletes(function):
    state = jnp.ones(4)
    function(state).block_until_ready()
    return state.is_deleted()


ways = step, exported.call, jax.jit(exported.call, donate_argnums=0)
seen = [deletes(way) for way in ways]
print(
    f"argument deleted by jax.jit: {seen[0]}, by exported.call: {seen[1]}, "
    f"by jax.jit of it: {seen[2]}"
)
sys.exit(0 if marked and seen == [True, False, True] else 1)
PYTHON
