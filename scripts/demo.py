#!/usr/bin/env python3
"""The demo: a GPT training step cut into programs on four meshes, then trained.

1. Partitions `test/programs/mpmd/gpt_8_4_8.mlir`, prints what runs where, erases
   the partitioning again, and runs the original and the erased program with JAX
   on the same random inputs.
2. Draws the schedule, and trains `examples/gpt.py` with it for 20 steps on CPU
   devices beside plain `jax.jit`.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile

from support import numerics

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "test" / "programs" / "mpmd" / "gpt_8_4_8.mlir"
TOLERANCE = 1e-5


def show(title: str, *command: object) -> None:
    print(f"\n== {title}\n", flush=True)
    subprocess.run([str(part) for part in command], check=True)


def compare(meshwright: pathlib.Path, folder: pathlib.Path) -> float:
    """Largest relative difference of the original and the erased program."""
    imported = folder / "imported"
    erased = folder / "erased.mlir"
    config = PROGRAM.with_suffix(".json")
    subprocess.run(
        [meshwright, "partition", PROGRAM, "--config", config]
        + ["--until", "shard", "-o", imported],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    subprocess.run(
        [meshwright, "erase", imported / "partitioned.mlir", "-o", erased], check=True
    )
    original = numerics.strip_names(PROGRAM.read_text())
    arguments = numerics.random_arguments(original)
    return numerics.largest_difference(
        numerics.run(original, arguments), numerics.run(erased.read_text(), arguments)
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build" / "bin")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build" / "demo")
    args = parser.parse_args()
    meshwright = args.bin / "meshwright"

    show(
        f"A GPT training step, 4 stages, 8 microbatches ({PROGRAM.name}), partitioned",
        meshwright,
        "partition",
        PROGRAM,
        f"--config={PROGRAM.with_suffix('.json')}",
        "--schedule=1F1B",
        f"-o={args.out}",
        "--time",
    )
    # Not in the export, which a second run replaces only if nothing else is in it.
    with tempfile.TemporaryDirectory() as folder:
        difference = compare(meshwright, pathlib.Path(folder))
    print(
        "\nOriginal and partitioned-then-erased program, run by JAX on random "
        f"inputs:\nlargest relative difference {difference:.1e}"
    )
    show(
        "1F1B on 4 meshes with 4 microbatches",
        meshwright,
        "schedule",
        "1F1B",
        "--meshes=4",
        "--microbatches=4",
    )
    show(
        "examples/gpt.py: 20 training steps on 4 meshes of 2 CPU devices",
        sys.executable,
        ROOT / "examples" / "gpt.py",
        "--steps=20",
    )
    return 0 if difference <= TOLERANCE else 1


if __name__ == "__main__":
    sys.exit(main())
