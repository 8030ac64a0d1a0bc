"""Loads programs that differ between processes; prints the error that each gets."""

import json
import os

second = os.environ.get("MESHWRIGHT_PROCESS") == "1"
FLAG = "--xla_cpu_enable_fast_math=false"
os.environ["XLA_FLAGS"] = FLAG if second else ""

import jax  # noqa: E402

import meshwright as mw  # noqa: E402

jax.config.update("jax_num_cpu_devices", 2 if second else 1)
mw.distributed.initialize()

import contextlib  # noqa: E402
from unittest import mock  # noqa: E402

import jax.numpy as jnp  # noqa: E402
import jaxlib  # noqa: E402
import numpy as np  # noqa: E402
from meshwright.runtime.processes import agreement  # noqa: E402

errors = {}


def load(case, meshes, last=jnp.cos):
    """Every process has to get the error, and to go on after it."""
    meshes = {name: jax.sharding.Mesh(part, "x") for name, part in meshes.items()}
    config = mw.make_config(
        meshes,
        {"first": "m0", "last": "m1"},
        partitioning_options={"mpmd_infer_transfers": True},
    )

    def both(x):
        return mw.named_computation(last, name="last")(
            mw.named_computation(jnp.sin, name="first")(x)
        )

    try:
        mw.jit(both, config).lower(np.ones(4, np.float32)).compile()
    except mw.distributed.ProcessError as error:
        errors[case] = str(error)


devices = jax.devices()
pair = {"m0": devices[:1], "m1": devices[1:2]}
for module, name in ((jax, "jax"), (jaxlib, "jaxlib"), (agreement, "meshwright")):
    # One process of two has another release.
    with contextlib.ExitStack() as stack:
        if second:
            stack.enter_context(mock.patch.object(module, "__version__", "0.0.1"))
        load(f"version of {name}", pair)
load("XLA_FLAGS", pair)
os.environ["XLA_FLAGS"] = ""
# A script that takes its own count of devices for everybody's.
load(
    "device counts",
    {"m0": devices[:1], "m1": devices[1 : 1 + len(jax.local_devices())]},
)
# Another idea of which mesh is where.
load("topology", pair if second else {"m0": pair["m1"], "m1": pair["m0"]})
# Each read a file of its own; what is large is no part of the code.
table = np.arange(1 << 16, dtype=np.float32) + jax.process_index()
load("large constants", pair, lambda x: x * jnp.sum(table))
print(json.dumps({"process": jax.process_index(), "errors": errors}), flush=True)
