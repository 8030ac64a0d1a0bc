# SPDX-License-Identifier: Apache-2.0
"""Counts what a step of a partitioned program sends: `meshwright traffic`."""

from __future__ import annotations

import json
import math

import jax

from meshwright.runtime.program.errors import ProgramError
from meshwright.runtime.run.command import fail, plain, read_program, run
from meshwright.runtime.run.executor import load
from meshwright.runtime.run.places import cut_meshes, shape_of
from meshwright.runtime.watch.traffic import Traffic


def count(folder: str) -> Traffic:
    """Compiles the fragments of a folder and counts."""
    program, fragments = read_program(folder)
    described = program["meshes"]
    counts = [math.prod(shape_of(mesh)) for mesh in described]
    # CPU devices are what one asks for, before the first is used.
    jax.config.update("jax_num_cpu_devices", max(sum(counts), 1))
    jax.config.update("jax_enable_x64", True)
    devices = jax.devices()
    if len(devices) < max(counts, default=0):
        raise ProgramError(
            f"a mesh has {max(counts)} devices, and there are {len(devices)} of "
            f"platform {devices[0].platform!r}; with JAX_PLATFORMS=cpu there are as "
            "many as it takes"
        )
    # Nothing runs, so meshes may share devices where there are too few.
    apart = len(devices) >= sum(counts)
    meshes = {}
    for some in [described] if apart else [[mesh] for mesh in described]:
        meshes |= cut_meshes(devices, some)
    return load(program, fragments, meshes, host_callbacks=None).traffic()


def main(folder: str, shown: str, *options: str) -> int:
    try:
        traffic = count(folder)
    except (ProgramError, RuntimeError) as error:  # Of JAX, or a FragmentError.
        return fail(str(error).replace(folder, shown))
    if "--json" in options:
        print(json.dumps(traffic.as_json(), indent=1))
    else:
        print(plain(str(traffic)))
    return 0


if __name__ == "__main__":
    run(main)
