#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What overlapped pairs take to partition, and how that grows.

    .venv/bin/python bench/growth/pairs.py [--microbatches 16] [--layers 2]

The model of experts of `bench/overlapped_pairs.py` on four meshes of four CPU devices,
which are not used. For each of its schedules, the processor time of partitioning (all
phases, tracing excluded, the best of several) with `mpmd_fuse_overlapped_pairs` by that
without, and that of four times the microbatches by that of one time. By work alone, and
with the times of `mpmd_schedule_device`.

Exit code 1 if a bound is missed: 1.3 times that without, 4.5 times that of a quarter.
"""

import argparse
import sys
import time

import jax
from meshwright.lowering import partitioning

from bench import overlapped_pairs

MOST_MORE, MOST_GROWTH = 1.3, 4.5


def measure(schedule, device, args, microbatches, fuse) -> float:
    """Processor seconds of the partitioner."""
    found = []
    original = partitioning._partition

    def timed(*request):
        times = []
        for _ in range(args.repeat):
            begin = time.process_time()
            result = original(*request)
            times.append(time.process_time() - begin)
        found.append(min(times))
        return result

    partitioning._partition = timed
    try:
        shape = argparse.Namespace(**vars(args) | {"microbatches": microbatches})
        overlapped_pairs.lower(schedule, jax.devices("cpu"), device, shape, fuse)
    finally:
        partitioning._partition = original
    return sum(found)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--microbatches", type=int, default=16)
    parser.add_argument("--layers", type=int, default=2, help="of a stage")
    parser.add_argument("--rows", type=int, default=512)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--expert", type=float, default=4)
    parser.add_argument("--repeat", type=int, default=3)
    args = parser.parse_args()
    jax.config.update("jax_platforms", "cpu")
    jax.config.update("jax_num_cpu_devices", 16)
    missed = False
    for device in ("", "h100"):
        for schedule in overlapped_pairs.STAGES:
            many = 4 * args.microbatches
            apart = measure(schedule, device, args, many, False)
            paired = measure(schedule, device, args, many, True)
            few = measure(schedule, device, args, args.microbatches, True)
            label = f"{schedule} {device}".strip()
            print(
                f"{label}, pairs by none  {apart:.3f} s {paired:.3f} s "
                f"{paired / apart:.2f}x"
            )
            print(
                f"{label}, {many} microbatches by {args.microbatches}  {few:.3f} s "
                f"{paired:.3f} s {paired / few:.2f}x",
                flush=True,
            )
            missed |= paired > MOST_MORE * apart or paired > MOST_GROWTH * few
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
