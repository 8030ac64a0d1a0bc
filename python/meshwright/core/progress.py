# SPDX-License-Identifier: Apache-2.0
"""What a person at a terminal sees of work that takes longer than a second.

Nothing is written to a pipe or a file, nor once the work is done: the line is
taken back. Standard error, so that results can be piped.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

# Seconds before anything is drawn, and between two drawings.
DELAY, INTERVAL = 1.0, 0.2


def is_terminal(stream: Any) -> bool:
    """Whether a user sees what is written to a stream at once.

    Not if there is none, as where a process has no standard error, if it is closed, or
    if it is an object of the user's with nothing but `write`.
    """
    try:
        return stream.isatty()
    except (AttributeError, ValueError):
        return False


class ProgressBar:
    """A line on a terminal, from the second second on; nothing in a pipe.

    Args:
      total: how much there is to do; 0 where that is unknown.
      what: what is done, as `compiling fragments`.
      stream: where to draw, standard error by default.
      delay: seconds before the first drawing.
    """

    def __init__(
        self,
        total: int,
        what: str = "compiling fragments",
        stream: Any = None,
        delay: float = DELAY,
    ):
        self.total, self.what = total, what
        self.stream = stream or sys.stderr
        self.start, self.delay, self.drawn = time.monotonic(), delay, False

    def show(self, done: int = 0) -> None:
        """Draws that `done` of the total are done."""
        elapsed = time.monotonic() - self.start
        if elapsed < self.delay or not is_terminal(self.stream):
            return
        bar = "..."
        if self.total:
            full = 30 * done // self.total
            bar = f"[{'#' * full}{'.' * (30 - full)}] {done}/{self.total}"
        self.stream.write(f"\r{self.what} {bar} {elapsed:.0f} s")
        self.stream.flush()
        self.drawn = True

    def close(self) -> None:
        """Takes the line back."""
        if self.drawn:
            self.stream.write("\r\x1b[K")
            self.stream.flush()


@contextlib.contextmanager
def waiting(what: str, stream: Any = None, delay: float = DELAY) -> Iterator[None]:
    """Says what one waits for, and for how long already, while a block runs.

    Args:
      what: as `partitioning`.
    """
    bar = ProgressBar(0, what, stream, delay)
    if not is_terminal(bar.stream):
        yield
        return
    done = threading.Event()

    def draw() -> None:
        pause = delay
        while not done.wait(pause):
            bar.show()
            pause = INTERVAL

    thread = threading.Thread(target=draw, name="meshwright-progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
        bar.close()
