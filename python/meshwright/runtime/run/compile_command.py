# SPDX-License-Identifier: Apache-2.0
"""Compiles a program for devices that are not here: `meshwright compile`."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

# Devices of this machine are not asked for, and some take long to look for.
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import numpy as np
from jax.experimental import mesh_utils
from jax.sharding import Mesh

from meshwright.aot.names import Target, parse_target
from meshwright.aot.plugins import find_devices
from meshwright.runtime.program.errors import ProgramError
from meshwright.runtime.run.command import fail, plain, read_program, run
from meshwright.runtime.run.executor import load
from meshwright.runtime.watch.fit import Fit


def compile_for(
    target: Target,
    program: Mapping[str, Any],
    fragments: Mapping[str, str],
    calls: Sequence[Callable],
) -> Fit:
    """Compiles all fragments, and says whether they fit.

    Raises:
      ProgramError: the target has too few devices.
      RuntimeError: its compiler is not installed, or refuses a fragment.
    """
    meshes = place_meshes(target, program["meshes"])
    return load(
        program, fragments, meshes, host_callbacks=calls, keep_oversized=True
    ).fit()


def place_meshes(
    target: Target, described: Sequence[Mapping[str, Any]]
) -> dict[str, Mesh]:
    """The meshes of a program on parts of a target, one after the other."""
    sizes = {
        mesh["name"]: tuple(int(size) for _, size in mesh["axes"]) for mesh in described
    }
    needed = sum(map(math.prod, sizes.values()))
    if needed > target.count:
        listed = ", ".join(f"{name} {math.prod(s)}" for name, s in sizes.items())
        raise ProgramError(
            f"the program needs {needed} devices ({listed}), and {target.name} has "
            f"{target.count}; take a larger target"
        )
    devices, start, meshes = find_devices(target), 0, {}
    for mesh in described:
        shape = sizes[mesh["name"]]
        part = devices[start : start + math.prod(shape)]
        start += len(part)
        meshes[mesh["name"]] = Mesh(
            arrange(part, shape), tuple(axis for axis, _ in mesh["axes"])
        )
    return meshes


def arrange(devices: Sequence[Any], shape: tuple[int, ...]) -> np.ndarray:
    """Devices such that neighbours along an axis are neighbours of the torus."""
    if devices[0].platform == "tpu" and len(devices) > 1:
        try:
            return mesh_utils.create_device_mesh(shape, devices)
        except (NotImplementedError, ValueError, AssertionError):
            pass  # It knows no way for this part: then in the order of the list.
    return np.array(devices, dtype=object).reshape(shape)


def main(folder: str, shown: str, *options: str) -> int:
    names = [o.removeprefix("--target=") for o in options if o.startswith("--target=")]
    jax.config.update("jax_enable_x64", True)
    found: list[tuple[Target, Fit]] = []
    try:
        targets = [parse_target(name) for name in names]
        read = read_program(folder)
        for target in targets:
            found.append((target, compile_for(target, *read)))
    except (ValueError, RuntimeError) as error:
        return fail(str(error).replace(folder, shown))
    if "--json" in options:
        written = [{"target": t.name, **fit.as_json()} for t, fit in found]
        print(json.dumps(written if len(written) > 1 else written[0], indent=1))
    else:
        texts = [f"{t.name}, {t.count} devices\n\n{fit}" for t, fit in found]
        print(plain("\n\n".join(texts)))
    return 0 if all(fit.fits for _, fit in found) else 1


if __name__ == "__main__":
    run(main)
