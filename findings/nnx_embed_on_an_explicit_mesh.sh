#!/usr/bin/env bash
# Flax 0.12.12, NNX, on an explicit mesh of JAX 0.12.0.1: with a batch that is sharded and
# weights that are not, layers run as they are: Linear, LayerNorm, Conv, attention, also
# BatchNorm, which averages over the batch. Embed does not: its lookup raises
# ShardingTypeError, although the table is replicated, and nothing is ambiguous; the
# module takes no sharding for its output. `table.at[indices].get(out_sharding=...)` does.
#
# Expected: Embed gives float32[4@x,3,8], as the lookup with a sharding does.
# Seen:
#   Linear float32[4@x,3,8]
#   BatchNorm float32[4@x,3,8]
#   MultiHeadAttention float32[4@x,3,8]
#   Embed ShardingTypeError
#   lookup float32[4@x,3,8]
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
source "$(dirname "$0")/frame.bash"
packages jax==0.12.0.1 jaxlib==0.12.0.1 numpy==2.3.5 flax==0.12.12
program <<'PYTHON'
import sys

import jax
import jax.numpy as jnp
from flax import nnx
from jax.sharding import AxisType
from jax.sharding import PartitionSpec as P

jax.config.update("jax_num_cpu_devices", 2)
mesh = jax.make_mesh((2,), ("x",), axis_types=(AxisType.Explicit,))
seen = {}


def show(name, function, *args):
    try:
        seen[name] = str(jax.typeof(function(*args)))
    except Exception as error:  # The class is not public.
        seen[name] = type(error).__name__
    print(name, seen[name])


with jax.set_mesh(mesh):
    rows = jax.NamedSharding(mesh, P("x"))
    x = jax.device_put(jnp.ones((4, 3, 8)), rows)
    indices = jax.device_put(jnp.zeros((4, 3), jnp.int32), rows)
    show("Linear", nnx.Linear(8, 8, rngs=nnx.Rngs(0)), x)
    show("BatchNorm", nnx.BatchNorm(8, rngs=nnx.Rngs(0)), x)
    attention = nnx.MultiHeadAttention(2, 8, decode=False, rngs=nnx.Rngs(0))
    show("MultiHeadAttention", attention, x)
    embed = nnx.Embed(16, 8, rngs=nnx.Rngs(0))
    show("Embed", embed, indices)
    table = embed.embedding[...]
    show("lookup", lambda i: table.at[i].get(out_sharding=P("x")), indices)
kinds = list(seen.values())
sharded = "float32[4@x,3,8]"
sys.exit(0 if kinds == [sharded] * 3 + ["ShardingTypeError", sharded] else 1)
PYTHON
