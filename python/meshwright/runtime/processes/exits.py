# SPDX-License-Identifier: Apache-2.0
"""Whether this process is ending as it should."""

from __future__ import annotations

import sys
import threading
from typing import Any

#: Exit code of a process that was asked to end and has saved what it had, so that it
#: can be started again: EX_TEMPFAIL of sysexits.h.
PREEMPTED = 75

_code: Any = None
_noting = False


def note_exit_codes() -> None:
    """Lets `failed` know of `sys.exit(3)`: Python tells exit handlers no code."""
    global _noting
    if _noting:
        return
    _noting, leave = True, sys.exit

    def exit(status: Any = None, /) -> None:
        global _code
        if threading.current_thread() is threading.main_thread():
            _code = status
        leave(status)

    exit.__doc__ = leave.__doc__
    sys.exit = exit


def forget() -> None:
    """A process that goes on has caught the exception of `sys.exit`."""
    global _code
    _code = None


def exit_code() -> int:
    """What the script gave `sys.exit`, as the system will see it."""
    if _code is None or isinstance(_code, int):
        return int(_code or 0) & 0xFF
    return 1  # A message.


def failed() -> bool:
    """Whether, at exit, an exception or an exit code says that something went wrong."""
    return (
        exit_code() not in (0, PREEMPTED)
        or getattr(sys, "last_value", None) is not None
    )
