# SPDX-License-Identifier: Apache-2.0
"""Counts what a step of a partitioned program sends: `meshwright traffic`."""

from __future__ import annotations

import itertools
import json
import math

import jax
import numpy as np
from jax.sharding import Mesh

from meshwright.runtime.program.errors import ProgramError
from meshwright.runtime.run.command import fail, plain, read_program, run
from meshwright.runtime.run.executor import load
from meshwright.runtime.watch.traffic import Traffic


def count(folder: str) -> Traffic:
    """Compiles the fragments of a folder and counts.

    Raises:
      ProgramError: the folder holds no program, or there are too few devices.
      FragmentError: a fragment does not compile.
    """
    program, fragments = read_program(folder)
    sizes = [[int(size) for _, size in mesh["axes"]] for mesh in program["meshes"]]
    counts = [math.prod(size) for size in sizes]
    # CPU devices are what one asks for, before the first is used.
    jax.config.update("jax_num_cpu_devices", max(sum(counts), 1))
    jax.config.update("jax_enable_x64", True)
    devices = np.array(jax.devices())
    if len(devices) < max(counts, default=0):
        raise ProgramError(
            f"a mesh has {max(counts)} devices, and there are {len(devices)} of "
            f"platform {devices[0].platform!r}; with JAX_PLATFORMS=cpu there are as "
            "many as it takes"
        )
    # Nothing runs, so meshes may share devices where there are too few.
    apart = len(devices) >= sum(counts)
    starts = itertools.accumulate(counts, initial=0) if apart else itertools.repeat(0)
    meshes = {
        mesh["name"]: Mesh(
            devices[start : start + count].reshape(size),
            tuple(axis for axis, _ in mesh["axes"]),
        )
        for mesh, start, count, size in zip(
            program["meshes"], starts, counts, sizes, strict=False
        )
    }
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
