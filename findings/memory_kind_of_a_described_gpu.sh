#!/usr/bin/env bash
# JAX 0.12.0.1 with its CUDA 13 plugin: for a GPU that is only described, as one does to
# compile for it without having any, NamedSharding silently drops its memory kind.
# What was to rest in host memory is lowered and compiled as an argument in the GPU's own
# memory. On CPU devices the same line keeps `pinned_host`. The description says why, if
# asked: it has no memories. (JAX 0.10.2 does the same.)
#
# Expected: the kind of memory that was asked for, or an error that there is none.
# Seen:
#   cpu: pinned_host
#   described gpu: None
#   memories: []
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
source "$(dirname "$0")/frame.bash"
packages jax==0.12.0.1 jaxlib==0.12.0.1 jax-cuda13-plugin==0.12.0.1 \
  jax-cuda13-pjrt==0.12.0.1 numpy==2.3.5
program <<'PYTHON'
import sys

import jax
import numpy as np
from jax.experimental import topologies
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

GPU = """
gpu_device_info {
  threads_per_block_limit: 1024 threads_per_warp: 32 shared_memory_per_block: 49152
  shared_memory_per_core: 233472 threads_per_core_limit: 2048 core_count: 132
  fpus_per_core: 128 block_dim_limit_x: 2147483647 block_dim_limit_y: 65535
  block_dim_limit_z: 65535 memory_bandwidth: 3352320000000 l2_cache_size: 52428800
  clock_rate_ghz: 1.98 device_memory_size: 84942979072
  shared_memory_per_block_optin: 232448 registers_per_core_limit: 65536
  registers_per_block_limit: 65536 cuda_compute_capability { major: 9 minor: 0 }
}
platform_name: "CUDA"
dnn_version_info { major: 9 minor: 10 patch: 0 }
device_description_str: "NVIDIA H100 80GB HBM3"
"""
gpus = topologies.get_topology_desc(
    topology_name="h100", platform="cuda", target_config=GPU, topology="1x1x1"
).devices


def kind(devices):
    mesh = Mesh(np.array(devices), ("x",))
    return NamedSharding(mesh, P(), memory_kind="pinned_host").memory_kind


found = [kind(jax.devices("cpu")[:1]), kind(gpus)]
memories = gpus[0].addressable_memories()
print("cpu:", found[0])
print("described gpu:", found[1])
print("memories:", memories)
sys.exit(found != ["pinned_host", None] or bool(memories))
PYTHON
