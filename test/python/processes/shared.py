"""Two meshes on one device, in a run of several processes."""

import jax
import jax.numpy as jnp
from jax.sharding import Mesh

import meshwright as mw

mw.distributed.initialize()
meshes = {name: Mesh(jax.devices()[:2], "x") for name in ("a", "b")}
config = mw.make_config(meshes, {"f": "a", "g": "b"})
f = mw.named_computation(jnp.sin, name="f")
g = mw.named_computation(jnp.cos, name="g")
mw.jit(lambda x: g(f(x)), config).lower(jnp.ones(2)).compile()
