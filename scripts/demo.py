#!/usr/bin/env python3
"""The demo: partitions a GPT training step and checks what comes out.

Partitions `test/programs/mpmd/gpt_4_4_4.mlir` onto four meshes, prints what
runs where, erases the partitioning again, and runs the original and the erased
program with JAX on the same random inputs.
"""

import argparse
import pathlib
import subprocess
import sys

import numerics

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "test" / "programs" / "mpmd" / "gpt_4_4_4.mlir"
TOLERANCE = 1e-5


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build" / "bin")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "out")
    args = parser.parse_args()
    meshwright = args.bin / "meshwright"
    partitioned = args.out / "partitioned.mlir"
    erased = args.out / "erased.mlir"

    print(f"A GPT training step: 4 stages, 4 microbatches ({PROGRAM.name})\n")
    sys.stdout.flush()
    config = PROGRAM.with_suffix(".json")
    subprocess.run(
        [meshwright, "partition", PROGRAM, "--config", config, "-o", args.out],
        check=True,
    )
    subprocess.run([meshwright, "erase", partitioned, "-o", erased], check=True)

    original = numerics.strip_names(PROGRAM.read_text())
    arguments = numerics.random_arguments(original)
    difference = numerics.largest_difference(
        numerics.run(original, arguments), numerics.run(erased.read_text(), arguments)
    )
    print(f"written: {erased}")
    print(
        "\nOriginal and partitioned-then-erased program, run by JAX on random "
        f"inputs:\nlargest relative difference {difference:.1e}"
    )
    return 0 if difference <= TOLERANCE else 1


if __name__ == "__main__":
    sys.exit(main())
