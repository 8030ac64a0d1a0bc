#!/usr/bin/env bash
# IREE 3.13.0 on StableHLO of JAX 0.12.0.1: `stablehlo.convert` of a float that does not
# fit the integer type. XLA takes the nearest integer there is, and 0 for NaN, for any
# width. IREE's result depends on the width, and on how large the float is: 300 becomes
# 255 in ui8, as with XLA, 1e10 becomes 0 there; in i32 and i64 every float that is too
# large, and NaN, becomes the smallest integer.
#
# Expected: the largest integer for 1e10, and 0 for NaN, or the same rule for all widths.
# Seen:
#   uint8 XLA [255 255   0] IREE [255   0   0]
#   int16 XLA [  300 32767     0] IREE [300   0   0]
#   int32 XLA [       300 2147483647 0] IREE [        300 -2147483648 -2147483648]
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
source "$(dirname "$0")/frame.bash"
packages jax==0.12.0.1 jaxlib==0.12.0.1 numpy==2.3.5 \
  iree-base-compiler==3.13.0 iree-base-runtime==3.13.0
program <<'PYTHON'
import sys

import iree.compiler
import iree.runtime
import jax
import jax.numpy as jnp
import numpy as np

values = np.array([300, 1e10, np.nan], np.float32)
equal = {}
for kind in (jnp.uint8, jnp.int16, jnp.int32):
    function = jax.jit(lambda x, kind=kind: x.astype(kind))
    binary = iree.compiler.compile_str(
        function.lower(values).as_text(),
        target_backends=["llvm-cpu"],
        input_type="stablehlo",
        extra_args=["--iree-llvmcpu-target-cpu=generic"],
    )
    module = iree.runtime.load_vm_flatbuffer(binary, driver="local-sync")
    theirs = module.main(values).to_host()
    wanted = np.asarray(function(values))
    print(f"{kind.__name__:5} XLA {wanted} IREE {theirs}")
    equal[kind.__name__] = list(theirs == wanted)
narrow, wide = [True, False, True], [True, False, False]
expected = {"uint8": narrow, "int16": narrow, "int32": wide}
sys.exit(0 if equal == expected else 1)
PYTHON
