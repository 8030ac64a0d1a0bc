#!/usr/bin/env python3
"""Compiles programs of the tree for TPUs and GPUs that are not here, as a table.

    scripts/hardware_table.py [--bin build/bin] [--programs STEM,...] [TARGET...]

A row for each program, schedule and target: what it took to compile, by how much our
account of arguments and results differs from that of the compiler, the bytes of
arguments that results take over, and what collectives of a step send, both beside those
of the same program on CPU devices. It is an error if a program does not compile, if
arguments or results differ by more than 1 %, or if less is taken over or more is sent
than on CPU devices. docs/hardware.md has the table of a run.
"""

import argparse
import math
import os
import pathlib
import subprocess
import sys
import tempfile

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import numpy as np
from jax.sharding import Mesh
from meshwright.aot.names import parse_target
from meshwright.core.tables import aligned
from meshwright.runtime import load, read_folder
from meshwright.runtime.program.steps import Launch
from meshwright.runtime.run.compile_command import place_meshes

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGETS = ("v5e:2x4", "v5p:2x2x2", "v6e:2x4", "tpu7x:2x2x1", "h100:8")
PROGRAMS = {
    "first": "docs/first",
    "traffic": "docs/traffic",
    "gpt_4_4_4": "test/programs/mpmd/gpt_4_4_4",
    "gpt_8_4_8": "test/programs/mpmd/gpt_8_4_8",
}
# Of the first program with stages, each schedule that has a place for as many.
SCHEDULED = "gpt_4_4_4"
# A table of the addresses of several results, on a TPU.
TABLE_BYTES = 512
ALLOWED = 0.01


def aliased_bytes(program) -> int:
    return sum(figures.alias_bytes for figures in program.fit().fragments.values())


def sent_bytes(program) -> int:
    found = program.traffic().collectives.values()
    return sum(collective.bytes for all_of in found for collective in all_of)


class Row:
    """A program on a target: cells of the table, and what is wrong.

    Args:
      program: for the target.
      here: the same for CPU devices.
    """

    def __init__(self, program, here):
        self.errors: list[str] = []
        found = program.fit().fragments
        largest = 0.0
        launches = {
            program.source_of(step).name: step
            for step in program.steps
            if isinstance(step, Launch) and step.fragment
        }
        for name, launch in launches.items():
            figures = found[name]
            for what, slots, theirs in (
                ("arguments", launch.reads, figures.argument_bytes),
                ("results", launch.writes, figures.output_bytes),
            ):
                ours = sum(program.bytes_of(slot) for slot in slots)
                off = max(0, abs(ours - theirs) - TABLE_BYTES) / max(theirs, 1)
                largest = max(largest, off)
                if off > ALLOWED:
                    self.errors.append(f"{name}: {what} {ours} by us, {theirs} there")
        aliased, planned = aliased_bytes(program), aliased_bytes(here)
        if aliased < planned:
            self.errors.append(f"{aliased} bytes are taken over, {planned} on CPUs")
        sent, sent_here = sent_bytes(program), sent_bytes(here)
        if sent > sent_here:
            self.errors.append(f"collectives send {sent} bytes, {sent_here} on CPUs")
        self.cells = (
            str(len(found)),
            f"{sum(figures.compile_s for figures in found.values()):.0f} s",
            f"{largest:.2%}",
            f"{aliased:,} of {planned:,}",
            f"{sent:,} of {sent_here:,}",
        )


def partition(tools: pathlib.Path, stem: str, out: pathlib.Path, schedule: str) -> str:
    """Writes a program's folder; gives what was said if that cannot be."""
    command = [tools / "meshwright", "partition", ROOT / f"{stem}.mlir"]
    command += ["--config", ROOT / f"{stem}.json", "-o", out]
    command += [f"--schedule={schedule}"] if schedule else []
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    return done.stderr.strip() if done.returncode else ""


def schedules(tools: pathlib.Path) -> list[str]:
    done = subprocess.run(
        [tools / "meshwright", "schedule"], capture_output=True, text=True, check=True
    )
    return [line.split()[0] for line in done.stdout.splitlines() if line.strip()]


def load_here(folder: pathlib.Path):
    """The program on CPU devices, with what XLA needs there."""
    program, fragments = read_folder(folder)
    devices, meshes = jax.devices("cpu"), {}
    for mesh in program["meshes"]:
        sizes = [int(size) for _, size in mesh["axes"]]
        count = math.prod(sizes)
        part, devices = devices[:count], devices[count:]
        axes = tuple(axis for axis, _ in mesh["axes"])
        meshes[mesh["name"]] = Mesh(np.array(part).reshape(sizes), axes)
    return load(program, fragments, meshes)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", default=ROOT / "build/bin", type=pathlib.Path)
    parser.add_argument("--programs", default=",".join(PROGRAMS))
    parser.add_argument("targets", nargs="*", default=TARGETS)
    options = parser.parse_args()
    jax.config.update("jax_num_cpu_devices", 64)
    jax.config.update("jax_enable_x64", True)
    wanted = [(name, "") for name in options.programs.split(",")]
    if SCHEDULED in dict(wanted):
        wanted += [(SCHEDULED, schedule) for schedule in schedules(options.bin)]
    rows = [("program", "schedule", "target", "fragments", "compiled in")]
    rows[0] += ("sizes differ", "taken over", "sent")
    errors = []
    for name, schedule in wanted:
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "out"
            refused = partition(options.bin, PROGRAMS[name], out, schedule)
            if refused:
                print(f"{name} {schedule}: {refused.splitlines()[0]}", flush=True)
                continue
            here = load_here(out)
            program, fragments = read_folder(out)
            for text in options.targets:
                where = f"{name} {schedule or '-'} {text}"
                try:
                    meshes = place_meshes(parse_target(text), program["meshes"])
                    row = Row(load(program, fragments, meshes), here)
                except (RuntimeError, ValueError) as error:
                    errors.append(f"{where}: {error}")
                    continue
                rows.append((name, schedule or "-", text, *row.cells))
                errors += [f"{where}: {error}" for error in row.errors]
                print("  ".join(rows[-1]), flush=True)
    print(aligned(rows, "<<<>>>>>"))
    for error in errors:
        print(f"error: {error}", file=sys.stderr)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
