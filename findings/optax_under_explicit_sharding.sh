#!/usr/bin/env bash
# Optax 0.2.8 with weights on an explicit mesh of JAX 0.12.0.1: which transformations run
# cannot be guessed from what they compute. Adam, LAMB and Adafactor, which takes means
# along sharded dimensions, run, and so does a clip by the global norm. What compares a
# norm along such a dimension with the weight (adaptive_grad_clip), multiplies weights
# (muon), or takes their inner product as a vector (lbfgs, prodigy) raises
# ShardingTypeError inside of Optax, where no `out_sharding` can be given.
#
# Expected: all run, or none that reduces over a sharded dimension.
# Seen:
#   run: adam lamb adafactor clip_by_global_norm
#   raise ShardingTypeError: adaptive_grad_clip muon lbfgs prodigy
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
source "$(dirname "$0")/frame.bash"
packages jax==0.12.0.1 jaxlib==0.12.0.1 numpy==2.3.5 optax==0.2.8
program <<'PYTHON'
import sys

import jax
import jax.numpy as jnp
import optax
from jax.sharding import AxisType
from jax.sharding import PartitionSpec as P

jax.config.update("jax_num_cpu_devices", 4)
mesh = jax.make_mesh((2, 2), ("x", "y"), axis_types=(AxisType.Explicit,) * 2)
transformations = {
    "adam": optax.adam(1e-3),
    "lamb": optax.lamb(1e-3),
    "adafactor": optax.adafactor(1e-3, min_dim_size_to_factor=2),
    "clip_by_global_norm": optax.clip_by_global_norm(1.0),
    "adaptive_grad_clip": optax.adaptive_grad_clip(0.1),
    "muon": optax.contrib.muon(1e-3),
    "lbfgs": optax.scale_by_lbfgs(),
    "prodigy": optax.contrib.prodigy(1e-3),
}
runs, raises = [], []
with jax.set_mesh(mesh):
    weight = jax.device_put(jnp.ones((4, 8)), jax.NamedSharding(mesh, P("x", "y")))
    weights = {"w": weight}
    for name, transformation in transformations.items():
        try:
            state = transformation.init(weights)
            jax.jit(transformation.update)(weights, state, weights)
            runs.append(name)
        except Exception as error:  # The class is not public.
            assert type(error).__name__ == "ShardingTypeError", error
            raises.append(name)
print("run:", *runs)
print("raise ShardingTypeError:", *raises)
sys.exit(0 if runs == list(transformations)[:4] else 1)
PYTHON
