"""CPU devices that are only described, with a compiler.

Plugins for TPUs and GPUs describe devices and compile for them; JAX's own CPU backend
describes devices, too, and has no compiler for them. Here it gets one: that of the CPU
devices which are there.
"""

import jax
from jax._src.lib import xla_client
from meshwright.jaxapi import described
from meshwright.jaxapi import runtime as jax_runtime


def describe(count: int) -> list:
    topology = xla_client.get_topology_for_devices(jax.devices("cpu"))
    return topology._make_compile_only_devices()[:count]


class Compiler:
    """Compiles for descriptions; counts how often."""

    def __init__(self, monkeypatch):
        self.count = 0
        monkeypatch.setattr(described, "compile_described", self)

    def __call__(self, module, devices, overrides, callbacks):
        self.count += 1
        here = tuple(jax.devices("cpu")[: len(devices)])
        return jax_runtime.compile_module(
            module, here, overrides, callbacks, jax_cache=False
        )
