# SPDX-License-Identifier: Apache-2.0
"""A table of trainers and schedules: what `check.py` of each trainer prints."""

import sys
import time
import traceback

TOLERANCE = 1e-5
_failed = []
print("| trainer | schedule | meshes | stages | largest difference of losses | CPU s |")
print("| --- | --- | --- | --- | --- | --- |")


def row(trainer, schedule, meshes, stages, own, train):
    """Trains, compares the losses with those of the trainer itself, prints a row.

    Args:
      own: the losses of the trainer itself.
      train: gives those of the pipeline.
    """
    start = time.process_time()
    try:
        losses = train()
        difference = max(abs(a - b) for a, b in zip(own, losses, strict=True))
        is_right = difference <= TOLERANCE
        found = f"{difference:.1e}"
    except Exception:
        traceback.print_exc()
        is_right, found = False, "failed"
    seconds = time.process_time() - start
    cells = trainer, schedule, meshes, stages, found, f"{seconds:.1f}"
    print("|", " | ".join(map(str, cells)), "|", flush=True)
    if not is_right:
        _failed.append(cells)


def finish():
    """Ends with exit code 1 if losses differed."""
    if _failed:
        sys.exit(f"error: {len(_failed)} rows differ by more than {TOLERANCE}")
