#!/usr/bin/env bash
# libtpu 0.0.50.1 with JAX 0.12.0.1: by the `estimated_cycles` of the compiled code, which
# need no device, elementwise work on bf16 takes about as long as on f32, though half the
# bytes are read and written, and though v6e has vector units for bf16. A time predicted
# from bytes is too short by up to two for what is between the products of a model in bf16.
#
# Expected: `2 * x + 1` of 8 MB in bf16 takes half the cycles that 16 MB in f32 take.
# Seen:
#   v5p:2x2x1: bf16 takes 0.9 of the cycles of f32
#   v6e:2x2: bf16 takes 1.0 of the cycles of f32
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
source "$(dirname "$0")/frame.bash"
packages jax==0.12.0.1 jaxlib==0.12.0.1 libtpu==0.0.50.1 numpy==2.3.5
describe_tpus
program <<'PYTHON'
import re
import sys

import jax
import jax.numpy as jnp
from jax.experimental import topologies
from jax.sharding import SingleDeviceSharding


def cycles(device, dtype):
    x = jax.ShapeDtypeStruct((1024, 4096), dtype, sharding=SingleDeviceSharding(device))
    text = jax.jit(lambda x: 2 * x + 1).lower(x).compile().as_text()
    return sum(map(int, re.findall(r'"estimated_cycles":"?(\d+)', text)))


shares = []
for name in ("v5p:2x2x1", "v6e:2x2"):
    device = topologies.get_topology_desc(name, "tpu").devices[0]
    narrow, wide = cycles(device, jnp.bfloat16), cycles(device, jnp.float32)
    shares.append(narrow / wide)
    print(f"{name}: bf16 takes {shares[-1]:.1f} of the cycles of f32")
sys.exit(not all(0.85 < share < 1.05 for share in shares))
PYTHON
