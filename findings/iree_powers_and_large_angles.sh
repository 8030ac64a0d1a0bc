#!/usr/bin/env bash
# IREE 3.13.0 on StableHLO of JAX 0.12.0.1: elementary functions on the CPU hold for the
# arguments one usually has, and give no error elsewhere. A power of a base that is not
# above 0 is NaN, also (-2)**2 and 0**0, so that a learning rate schedule with step**0 is
# lost at step 0; and the sine of a large angle is far outside of -1 to 1.
#
# Expected: 4 and 1, as StableHLO says of `power`; a sine of at most 1.
# Seen:
#   power of -2, 0: XLA [4. 1.] IREE [nan nan]
#   sine of 1e+09: XLA 0.5458434 IREE 1.7979823e+12
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


def compare(function, *args):
    binary = iree.compiler.compile_str(
        jax.jit(function).lower(*args).as_text(),
        target_backends=["llvm-cpu"],
        input_type="stablehlo",
        extra_args=["--iree-llvmcpu-target-cpu=generic"],
    )
    module = iree.runtime.load_vm_flatbuffer(binary, driver="local-sync")
    return np.asarray(jax.jit(function)(*args)), module.main(*args).to_host()


bases, exponents = np.array([-2, 0], np.float32), np.array([2, 0], np.float32)
wanted, powers = compare(lambda x, y: x**y, bases, exponents)
print("power of -2, 0: XLA", wanted, "IREE", powers)
wanted, sines = compare(jnp.sin, np.array([1e9], np.float32))
print("sine of 1e+09: XLA", wanted[0], "IREE", sines[0])
sys.exit(0 if np.isnan(powers).all() and abs(sines[0]) > 1 else 1)
PYTHON
