#!/usr/bin/env python3
"""Compiles programs of the tree for TPUs and GPUs that are not here, as tables.

    scripts/hardware_table.py [--bin build/bin] [--programs NAME,...] [TARGET...]

A row for each program, schedule and target: what it took to compile, by how much our
account of arguments and results differs from that of the compiler, the bytes of
arguments that results take over, and what collectives of a step send, both beside those
of the same program on CPU devices. Then a row for each target: how far the temporaries
of the cost model are from those of its compiler. It is an error if a program does not
compile, if arguments or results differ by more than 1 %, or if less is taken over or
more is sent than on CPU devices. docs/hardware.md has the tables of a run.

All programs take hours, most of them for v6e and v7x; MESHWRIGHT_CACHE_DIR keeps what
was compiled.
"""

import argparse
import collections
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import traceback
from collections.abc import Iterator

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
from hardware_programs import Program, names, programs
from jax.sharding import Mesh
from meshwright.aot.names import Target, parse_target
from meshwright.core.tables import aligned
from meshwright.runtime import load
from meshwright.runtime.program.steps import Launch
from meshwright.runtime.run.places import cut_meshes, place_meshes, shape_of

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Each with a larger one for programs that need more devices.
TARGETS = {
    "v5e:2x4": "v5e:4x4",
    "v5p:2x2x2": "v5p:2x2x4",
    "v6e:2x4": "v6e:4x4",
    "tpu7x:2x2x1": "tpu7x:2x2x2",
    "h100:8": "h100:16",
}
# These end the process of their compiler (docs/hardware.md).
LEFT_OUT = {("resnet_train_step", "v6e"), ("resnet_train_step", "tpu7x")}
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


def each_program(
    tools: pathlib.Path, wanted: list[str], errors: list[str]
) -> Iterator[Program]:
    """Programs of these names; of one that fails here its error instead."""
    for name in wanted:
        try:
            yield from programs(tools, [name])
        except Exception as error:
            traceback.print_exc()
            errors.append(f"{name}: {type(error).__name__}: {error}")


def load_here(found: Program):
    """The program on CPU devices, with what XLA needs there."""
    meshes = cut_meshes(jax.devices("cpu"), found.program["meshes"])
    return load(found.program, found.fragments, meshes)


def large_enough(text: str, found: Program) -> Target:
    """A target, or the larger one in its place."""
    target = parse_target(text)
    if sum(math.prod(shape_of(m)) for m in found.program["meshes"]) > target.count:
        return parse_target(TARGETS.get(text, text))
    return target


def compile_there(where: str, found: Program, meshes: dict[str, Mesh]):
    """The program on devices of a target.

    The compiler of GPUs finds no tiles for a few products, and says so; all products
    are left to cuBLAS then, which docs/hardware.md tells users, too.
    """
    try:
        return load(found.program, found.fragments, meshes)
    except RuntimeError as error:
        if "Couldn't find output tile sizes" not in str(error):
            raise
        print(f"{where}: with products of cuBLAS", flush=True)
        options = {"xla_gpu_enable_triton_gemm": False}
        return load(found.program, found.fragments, meshes, compile_options=options)


def estimates(tools: pathlib.Path, found: Program, device: str) -> dict[str, int]:
    """Temporaries of fragments by the cost model; empty without a folder."""
    if found.folder is None:
        return {}
    command = [tools / "meshwright", "simulate", found.folder, "--device", device]
    command += ["--json", "--items"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    items = json.loads(done.stdout)["items"]
    return {item["name"]: item["temporary_bytes"] for item in items}


def error_of(estimate: int, found: int) -> float:
    """Relative; what is not there at all can only be met."""
    if estimate == found:
        return 0.0
    return abs(estimate - found) / found if found else math.inf


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", default=ROOT / "build/bin", type=pathlib.Path)
    parser.add_argument("--programs", default=",".join(names()))
    parser.add_argument("targets", nargs="*", default=list(TARGETS))
    options = parser.parse_args()
    jax.config.update("jax_num_cpu_devices", 64)
    jax.config.update("jax_enable_x64", True)
    rows = [("program", "schedule", "target", "fragments", "compiled in")]
    rows[0] += ("sizes differ", "taken over", "sent")
    errors, temporaries = [], collections.defaultdict(dict)
    for found in each_program(options.bin, options.programs.split(","), errors):
        here = load_here(found)
        for text in options.targets:
            where = f"{found.name} {found.schedule or '-'} {text}"
            if (found.name, text.partition(":")[0]) in LEFT_OUT:
                print(f"{where}: left out, the compiler ends", flush=True)
                continue
            try:
                target = large_enough(text, found)
                meshes = place_meshes(target, found.program["meshes"])
                program = compile_there(where, found, meshes)
                row = Row(program, here)
            except (RuntimeError, ValueError) as error:
                errors.append(f"{where}: {error}")
                continue
            by_model = estimates(options.bin, found, target.entry)
            for name, figures in program.fit().fragments.items():
                if name in by_model:
                    # Equal fragments of several schedules count once.
                    sizes = figures.argument_bytes, figures.output_bytes
                    key = (*sizes, figures.temporary_bytes, figures.code_bytes)
                    error = error_of(by_model[name], figures.temporary_bytes)
                    temporaries[text][key] = error
            rows.append((found.name, found.schedule or "-", text, *row.cells))
            errors += [f"{where}: {error}" for error in row.errors]
            print("  ".join(rows[-1]), flush=True)
    print(aligned(rows, "<<<>>>>>"))
    print(aligned(temporary_rows(temporaries), "<>>>"))
    for error in errors:
        print(f"error: {error}", file=sys.stderr)
    return 1 if errors else 0


def temporary_rows(errors: dict[str, dict]) -> list[tuple[str, ...]]:
    rows = [("target", "fragments", "median error of temporaries", "within 25 %")]
    for target, by_fragment in errors.items():
        found = list(by_fragment.values())
        close = sum(error <= 0.25 for error in found)
        middle = f"{statistics.median(found):.0%}" if found else "-"
        rows.append((target, str(len(found)), middle, str(close)))
    return rows


if __name__ == "__main__":
    sys.exit(main())
