#!/usr/bin/env python3
"""Measures Meshwright next to what jaxlib does with the same files.

    .venv/bin/python bench/run.py [--bin build/bin] [--repeat 5]

Two comparisons, best of several runs in one process each:

- parse + verify + print of `gpt_32_8_32.mlir`: `mpmd-opt` as a whole process,
  against `ir.Module.parse` and `str()` in jaxlib's Python, imports excluded;
- the import phase: the time `meshwright partition` reports for it, against the
  partitioner that is compiled into jaxlib (`bench/peer.py`), parsing excluded.

Prints a row per program with both times and their ratio; above 1 is faster.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAMS = ROOT / "test" / "programs" / "mpmd"
sys.path[:0] = [str(ROOT / "scripts")]


def best(seconds: list[float]) -> float:
    return min(seconds)


def time_process(*command: object) -> float:
    start = time.perf_counter()
    subprocess.run(
        [str(part) for part in command], check=True, stdout=subprocess.DEVNULL
    )
    return time.perf_counter() - start


def parse_and_print(args: argparse.Namespace) -> None:
    import numerics
    from jaxlib.mlir import ir

    path = PROGRAMS / "gpt_32_8_32.mlir"
    text = path.read_text()
    theirs = []
    for _ in range(args.repeat):
        with numerics.make_context():
            start = time.perf_counter()
            str(ir.Module.parse(text))
            theirs.append(time.perf_counter() - start)
    ours = [time_process(args.bin / "mpmd-opt", path) for _ in range(args.repeat)]
    report("parse + print", path.stem, best(ours), best(theirs))


def import_phase(args: argparse.Namespace) -> None:
    for path in sorted(PROGRAMS.glob("*.mlir"), key=lambda p: p.stat().st_size):
        config = path.with_suffix(".json")
        ours = []
        for _ in range(args.repeat):
            done = subprocess.run(
                [
                    args.bin / "meshwright",
                    "partition",
                    path,
                    f"--config={config}",
                    "-o=-",
                    "--until=import",
                    "--time",
                ],
                check=True,
                capture_output=True,
                text=True,
            )
            for line in done.stderr.splitlines():
                if line.startswith("import "):
                    ours.append(float(line.split()[-2]))
        peer = subprocess.run(
            [
                sys.executable,
                ROOT / "bench" / "peer.py",
                path,
                config,
                "--until=import",
                f"--repeat={args.repeat}",
            ],
            check=True,
            capture_output=True,
            text=True,
        )
        theirs = json.loads(peer.stdout)["seconds"]["import"]
        report("import", path.stem, best(ours), theirs)


def report(what: str, program: str, ours: float, theirs: float) -> None:
    print(
        f"{what:<14} {program:<12} {ours:8.4f} s {theirs:8.4f} s {theirs / ours:6.2f}x",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build" / "bin")
    parser.add_argument("--repeat", type=int, default=5)
    args = parser.parse_args()
    print(f"{'':<14} {'program':<12} {'ours':>10} {'jaxlib':>10} {'ratio':>7}")
    parse_and_print(args)
    import_phase(args)


if __name__ == "__main__":
    main()
