#!/usr/bin/env python3
"""Measures `meshwright simulate` on long pipelines without a program.

    .venv/bin/python bench/growth/simulations.py [--bin build/bin] [--most 256x2048]

A line of JSON for 1F1B and one for ZeroBubbleH1: seconds of processor time and MB of
peak memory of the process, the best of several, and how much more it takes than with a
quarter of the microbatches.
"""

import argparse
import json
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def run(binary: pathlib.Path, schedule: str, meshes: int, microbatches: int):
    """Seconds of processor time, and MB of memory."""
    command = [
        str(binary / "meshwright"),
        "simulate",
        f"--schedule={schedule}",
        f"--meshes={meshes}",
        f"--microbatches={microbatches}",
    ]
    with open(os.devnull, "w") as nowhere:
        pid = os.posix_spawn(
            command[0],
            command,
            os.environ,
            file_actions=[(os.POSIX_SPAWN_DUP2, nowhere.fileno(), 1)],
        )
        _, status, usage = os.wait4(pid, 0)
    if code := os.waitstatus_to_exitcode(status):
        sys.exit(f"{' '.join(command)}: exit code {code}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build" / "bin")
    parser.add_argument("--most", default="256x2048", help="meshes x microbatches")
    parser.add_argument("--repeat", type=int, default=5)
    args = parser.parse_args()
    meshes, most = map(int, args.most.split("x"))
    for schedule in ("1F1B", "ZeroBubbleH1"):
        small, large = (
            min(run(args.bin, schedule, meshes, count) for _ in range(args.repeat))
            for count in (most // 4, most)
        )
        seconds, memory = large
        print(
            json.dumps(
                {
                    "schedule": f"{schedule} {args.most}",
                    "cpu_s": round(seconds, 2),
                    "memory_mb": round(memory),
                    "time_ratio": round(seconds / small[0], 2),
                    "memory_ratio": round(memory / small[1], 2),
                }
            ),
            flush=True,
        )


if __name__ == "__main__":
    main()
