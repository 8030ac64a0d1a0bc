#!/usr/bin/env bash
# IREE 3.13.0 on StableHLO of JAX 0.12.0.1: by default the compiler makes f32 of f64, and
# leaves i64 as it is. A function of doubles compiles, with a warning, and then refuses
# doubles when it is called. Where a program looks at the bits of a double, as
# jax.random.normal does with 64 bits, the cast has no longer equal widths, and it does
# not compile; the message says nothing of narrowing. The remedy is the option
# --iree-input-demote-f64-to-f32=false.
#
# Expected: a program of doubles is one of doubles, or both widths are narrowed.
# Seen:
#   call: INVALID_ARGUMENT; input0 element type mismatch; expected f32 (21000020) but have
#     f64 (21000040)
#   normal: 'arith.bitcast' op operand type 'i64' and result type 'f32' are cast
#     incompatible
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
source "$(dirname "$0")/frame.bash"
packages jax==0.12.0.1 jaxlib==0.12.0.1 numpy==2.3.5 \
  iree-base-compiler==3.13.0 iree-base-runtime==3.13.0
program 2>"$folder/warnings" <<'PYTHON'
import re
import sys

import iree.compiler
import iree.runtime
import jax
import numpy as np

jax.config.update("jax_enable_x64", True)


def compile(function, *args):
    return iree.compiler.compile_str(
        jax.jit(function).lower(*args).as_text(),
        target_backends=["llvm-cpu"],
        input_type="stablehlo",
        extra_args=["--iree-llvmcpu-target-cpu=generic"],
    )


values = np.array([1.0, 2.0])
binary = compile(lambda x: x / 3, values)
module = iree.runtime.load_vm_flatbuffer(binary, driver="local-sync")
seen = 0
try:
    print("call:", module.main(values).to_host())
except ValueError as error:
    print("call:", found := re.search("INVALID_ARGUMENT.*?[)] but.*?[)]", str(error))[0])
    seen += "expected f32" in found
try:
    compile(lambda seed: jax.random.normal(jax.random.key(seed), (3,)), np.int32(0))
    print("normal: compiled")
except iree.compiler.CompilerToolError as error:
    print("normal:", found := re.search("error: (.*)", str(error))[1])
    seen += "bitcast" in found
sys.exit(0 if seen == 2 else 1)
PYTHON
