#!/usr/bin/env bash
# libtpu 0.0.50.1 with JAX 0.12.0.1: to describe a slice of TPUs, as one does to compile for
# them without having any, is no check that there is such a slice. `v5e:2x2x2` gives eight
# chips of TPU v5e in a torus of three dimensions, which that generation does not have, and
# `v5e:64x64` gives 4096, sixteen times its largest slice. A program compiles for them,
# with collectives. Refused are only shapes that hosts of 2 by 2 chips do not divide, and
# so an answer such as memory_analysis() may be about something that one cannot rent.
# (libtpu 0.0.42.1 with JAX 0.10.2 does the same.)
#
# Expected: an error for shapes that the generation does not have.
# Seen:
#   v5e:2x2x2: 8 x TPU v5 lite, last at [1, 1, 1]
#   v5e:64x64: 4096 x TPU v5 lite, last at [63, 63, 0]
#   compiled for v5e:2x2x2: True
#   v5e:3x3: INVALID_ARGUMENT: Topology layout "v5e:3x3" is not divisible by ...
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
source "$(dirname "$0")/frame.bash"
packages jax==0.12.0.1 jaxlib==0.12.0.1 libtpu==0.0.50.1 numpy==2.3.5
describe_tpus
program <<'PYTHON'
import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import topologies
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


def describe(name):
    devices = topologies.get_topology_desc(name, "tpu").devices
    last = devices[-1].coords
    print(f"{name}: {len(devices)} x {devices[0].device_kind}, last at {last}")
    return devices


cube, large = describe("v5e:2x2x2"), describe("v5e:64x64")
mesh = Mesh(np.array(cube), ("x",))
x = jax.ShapeDtypeStruct((64, 64), jnp.float32, sharding=NamedSharding(mesh, P("x")))
total = jax.jit(lambda x: x.sum(), out_shardings=NamedSharding(mesh, P()))
compiled = "all-reduce" in total.lower(x).compile().as_text()
print("compiled for v5e:2x2x2:", compiled)
try:
    describe("v5e:3x3")
    refused = False
except RuntimeError as error:
    refused = "not divisible" in str(error)
    print("v5e:3x3:", str(error).splitlines()[0])
sys.exit(not (len(cube) == 8 and len(large) == 4096 and compiled and refused))
PYTHON
