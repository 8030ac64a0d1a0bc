#!/usr/bin/env bash
# JAX 0.12.0.1, the persistent compilation cache: a program for one device is found again
# only for the same device of as many. The same function of an array on device 1, or on
# device 0 of a process that has two devices and not four, is compiled again; so is the
# function of an array that jax.device_put put where it is by default. Equal stages of a
# pipeline on equal devices fill the cache once for each stage.
#
# Expected: one entry, as the code does not depend on the number of the device.
# Seen:
#   device 0 of 4: miss
#   device 0 of 4, again: hit
#   device 1 of 4: miss
#   device 0 of 2: miss
#   device 0 of 4, without device_put: miss
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
source "$(dirname "$0")/frame.bash"
packages jax==0.12.0.1 jaxlib==0.12.0.1 numpy==2.3.5
program <<'PYTHON'
import subprocess
import sys

RUN = """
import sys

import jax
import jax.numpy as jnp

device, count, cache = sys.argv[1:]
jax.config.update("jax_num_cpu_devices", int(count))
jax.config.update("jax_compilation_cache_dir", cache)
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
x = jnp.ones(4)
if device != "none":
    x = jax.device_put(x, jax.devices()[int(device)])
events = []
jax.monitoring.register_event_listener(lambda name, **_: events.append(name))
jax.jit(lambda x: jnp.sin(x) * 2)(x)
found = [name.rpartition("/")[2] for name in events if "/cache_" in name]
assert len(found) == 1, events
print({"cache_hits": "hit", "cache_misses": "miss"}[found[0]])
"""
seen = []
for name, device, count in (
    ("device 0 of 4", 0, 4),
    ("device 0 of 4, again", 0, 4),
    ("device 1 of 4", 1, 4),
    ("device 0 of 2", 0, 2),
    ("device 0 of 4, without device_put", "none", 4),
):
    command = [sys.executable, "-c", RUN, str(device), str(count), "cache"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    seen.append(done.stdout.strip())
    print(f"{name}: {seen[-1]}")
sys.exit(0 if seen == ["miss", "hit", "miss", "miss", "miss"] else 1)
PYTHON
