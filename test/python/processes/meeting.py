"""Lets the processes of a run begin, or go on, together.

A busy machine starts one of them long after another, by more than the short timeouts of
tests about what hangs.
"""

import os
import pathlib
import time


def meet(processes: int) -> None:
    """Waits until this many have come here; each process comes once."""
    folder = pathlib.Path(os.environ["MEETING"])
    (folder / os.environ["MESHWRIGHT_PROCESS"]).touch()
    while len(list(folder.iterdir())) < processes:
        time.sleep(0.02)
