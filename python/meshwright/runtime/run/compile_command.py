# SPDX-License-Identifier: Apache-2.0
"""Compiles a program for devices that are not here: `meshwright compile`."""

from __future__ import annotations

import json
import os

# Devices of this machine are not asked for, and some take long to look for.
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax

from meshwright.aot.names import Target, parse_target
from meshwright.runtime.run.command import fail, plain, read_program, run
from meshwright.runtime.run.executor import load
from meshwright.runtime.run.places import place_meshes
from meshwright.runtime.watch.fit import Fit


def main(folder: str, shown: str, *options: str) -> int:
    names = [o.removeprefix("--target=") for o in options if o.startswith("--target=")]
    jax.config.update("jax_enable_x64", True)
    found: list[tuple[Target, Fit]] = []
    try:
        targets = [parse_target(name) for name in names]
        program, fragments = read_program(folder)
        for target in targets:
            meshes = place_meshes(target, program["meshes"])
            loaded = load(
                program, fragments, meshes, host_callbacks=None, keep_oversized=True
            )
            found.append((target, loaded.fit()))
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
