# SPDX-License-Identifier: Apache-2.0
"""Plans whose candidates are compiled: `meshwright plan --compile`."""

from __future__ import annotations

import argparse
import json
import os
import sys

# Devices of this machine are not asked for, and some take long to look for.
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax

from meshwright.programs.planning import PlannedText, plan
from meshwright.runtime.run.command import fail, plain, run


def main(*words: str) -> int:
    parser = argparse.ArgumentParser(prog="meshwright plan")
    parser.add_argument("input")
    parser.add_argument("--compile", type=int)
    parser.add_argument("--target")
    parser.add_argument("--device")
    parser.add_argument("--devices", type=int)
    parser.add_argument("--memory")
    parser.add_argument("--schedule", action="append", default=[])
    parser.add_argument("--microbatches", action="append", default=[], type=int)
    parser.add_argument("--meshes", action="append", default=[], type=int)
    parser.add_argument("--cost", action="append", default=[])
    parser.add_argument("--output")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(words)
    jax.config.update("jax_enable_x64", True)
    if options.device == "cpu" and options.devices and options.devices > 0:
        jax.config.update("jax_num_cpu_devices", options.devices)
    try:
        found = plan(
            PlannedText(_read(options.input), not options.input.endswith(".json")),
            device=options.device,
            devices=options.devices,
            memory=options.memory,
            schedules=options.schedule,
            microbatches=options.microbatches,
            meshes=options.meshes,
            costs=options.cost,
            compile=options.compile,
            target=options.target,
        )
        if options.output:
            found.save(options.output)
    except (ValueError, RuntimeError, OSError) as error:
        return fail(str(error))
    print(json.dumps(found.to_json(), indent=1) if options.json else plain(str(found)))
    return 0


def _read(path: str) -> bytes:
    if path == "-":
        return sys.stdin.buffer.read()
    with open(path, "rb") as file:
        return file.read()


if __name__ == "__main__":
    run(main)
