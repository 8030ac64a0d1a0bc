#!/usr/bin/env bash
# jaxlib 0.12.0.1: `xla_cpu_use_fusion_emitters`, a compile option of XLA for CPUs that
# works in 0.10.2, is unknown. The jitted function fails when it is called, although the
# option only chooses how code is made. As a flag in XLA_FLAGS it ends the process. No
# deprecation preceded, and nothing is named that takes its place.
#
# Expected: the option is ignored, or deprecated first.
# Seen:
#   JaxRuntimeError: INVALID_ARGUMENT: No such compile option: 'xla_cpu_use_fusion_emitters'
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
source "$(dirname "$0")/frame.bash"
packages jax==0.12.0.1 jaxlib==0.12.0.1 numpy==2.3.5
program <<'PYTHON'
import sys

import jax

options = {"xla_cpu_use_fusion_emitters": False}
try:
    print(jax.jit(lambda x: x + 1, compiler_options=options)(1.0))
except RuntimeError as error:
    print(f"{type(error).__name__}: {str(error).splitlines()[0]}")
    sys.exit(0 if "No such compile option" in str(error) else 1)
sys.exit(1)
PYTHON
