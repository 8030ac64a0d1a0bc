#!/usr/bin/env bash
# JAX 0.12.0.1 (0.10.2 too): jax.device_put moves any array to any device, but not if it
# gets the layout there. With a Format in place of its sharding it is a jitted identity,
# which takes an uncommitted array and one of NumPy, and refuses a committed array of
# another device, also where the layout is the one that the array has. So a move that
# keeps the layout a step was compiled for takes a second device_put, on the target. The
# error is that of jax.jit, about a function that the user does not call.
#
# Expected: the array moves, as it does with the sharding alone.
# Seen:
#   from NumPy: moved, layout (1, 0)
#   uncommitted: moved, layout (1, 0)
#   committed, by the sharding alone: moved, layout (0, 1)
#   committed: ValueError: Received incompatible devices for jitted computation. ...
#   committed, twice: moved, layout (1, 0)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
source "$(dirname "$0")/frame.bash"
packages jax==0.12.0.1 jaxlib==0.12.0.1 numpy==2.3.5
program <<'PYTHON'
import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental.layout import Format, Layout

jax.config.update("jax_num_cpu_devices", 2)
here, there = (jax.sharding.SingleDeviceSharding(d) for d in jax.devices())
wanted = Format(Layout((1, 0)), there)
numbers = np.arange(6.0, dtype=np.float32).reshape(2, 3)
committed = jax.device_put(numbers, here)
ways = {
    "from NumPy": lambda: jax.device_put(numbers, wanted),
    "uncommitted": lambda: jax.device_put(jnp.asarray(numbers), wanted),
    "committed, by the sharding alone": lambda: jax.device_put(committed, there),
    "committed": lambda: jax.device_put(committed, wanted),
    "committed, twice": lambda: jax.device_put(
        jax.device_put(committed, there), wanted
    ),
}
layouts = []
for name, way in ways.items():
    try:
        array = way()
        assert array.sharding == there and (np.asarray(array) == numbers).all()
        layouts.append(array.format.layout.major_to_minor)
        print(f"{name}: moved, layout {layouts[-1]}")
    except ValueError as error:
        assert "incompatible devices" in str(error), error
        layouts.append(None)
        print(f"{name}: ValueError: {str(error).splitlines()[0][:100]}")
sys.exit(0 if layouts == [(1, 0), (1, 0), (0, 1), None, (1, 0)] else 1)
PYTHON
