# SPDX-License-Identifier: Apache-2.0
"""The end of a process that must not depend on who reads what it says."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from typing import NoReturn

#: What asks a process to end: the terminal and schedulers.
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
#: Seconds that a line may take; a reader that is stopped takes it never.
SECONDS = 1.0


def say(line: str = "", seconds: float = SECONDS) -> None:
    """Writes a line to standard error, and flushes standard output.

    Never raises, and never waits for longer: both may be full, closed, missing, held
    by another thread, or replaced by something that fails.
    """

    def write() -> None:
        for name, text in (("stderr", f"{line}\n" if line else ""), ("stdout", "")):
            with contextlib.suppress(BaseException):
                stream = getattr(sys, name)
                stream.write(text)
                stream.flush()

    writer = threading.Thread(target=write, daemon=True, name="meshwright-say")
    with contextlib.suppress(RuntimeError):  # No thread can be started any more.
        writer.start()
        writer.join(seconds)


def end_process(code: int, line: str = "") -> NoReturn:
    """Ends this process from any thread, whatever happens to its last line."""
    try:
        say(line)
    finally:
        os._exit(code)
