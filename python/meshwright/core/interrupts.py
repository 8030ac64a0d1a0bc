# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C while something runs that must not be left half done.

A step that donates its arguments replaces a state by the next one. An exception
between the two leaves neither: arguments are gone, and results never reach a
variable. So SIGINT is noted meanwhile, and its handler is called once the caller has
the results; at the latest, before the next such step gives anything away.
"""

from __future__ import annotations

import _signal  # `signal.signal` takes 18 µs to make enums of its arguments.
import dis
import signal
import sys
import threading
import time
import types
from typing import Any

from .tracebacks import is_hidden

# A step whose devices have a full queue takes longer to issue. Someone who presses the
# keys again after this many seconds does not want to wait for it.
_PATIENCE = 5.0
# The caller has its results when it goes on. It may be a function that returns them.
_POLL_SECONDS, _RETURN_SECONDS = 0.001, 0.01

_SIGINT = int(signal.SIGINT)


class _Scope:
    """Until the end of the outermost one, `hold` is in effect.

    Only the main thread gets signals, so only what it does counts.
    """

    def __init__(self) -> None:
        self.depth = 0
        self.owner: types.FrameType | None = None
        self.previous: Any = None
        self.noted: float | None = None
        self.late: _Late | None = None

    def __enter__(self) -> None:
        if not _is_main():
            return
        frame = sys._getframe(1)
        if self.previous is None and not (self.depth and _is_within(self.owner, frame)):
            # The first, or an exception came before the end of the last was noted.
            self.depth, self.owner = 0, frame
        self.depth += 1

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if not _is_main():
            return
        self.depth -= 1
        if self.depth:
            return
        self.owner = None
        if self.previous is None:
            return
        if _signal.getsignal(_SIGINT) == self._note:
            _signal.signal(_SIGINT, self.previous)
        self.previous = None
        if self.noted is None:
            return
        self.noted = None
        caller = _find_caller()
        if error is not None or caller is None or _drops_result(caller):
            signal.raise_signal(signal.SIGINT)  # No results to lose.
        else:
            self.late = _Late(caller)

    def hold(self) -> None:
        """Notes SIGINT from here to the end of the scope.

        Raises:
          KeyboardInterrupt: an earlier one has not been delivered yet; or whatever
            the user's handler raises.
        """
        if not _is_main() or self.previous is not None or not self.depth:
            return
        late, self.late = self.late, None
        if late is not None and late.take():
            signal.raise_signal(signal.SIGINT)
        previous = _signal.getsignal(_SIGINT)
        if callable(previous):  # Else Python calls nothing that could raise.
            _signal.signal(_SIGINT, self._note)
            self.previous = previous

    def _note(self, number: int, frame: Any) -> None:
        now = time.monotonic()
        if self.noted is None:
            self.noted = now
        elif now - self.noted > _PATIENCE:
            self.noted = None
            self.previous(number, frame)


class _Late:
    """Sends SIGINT again once a caller has taken the results of a call."""

    def __init__(self, caller: types.FrameType):
        self._taken = threading.Lock()
        self._main = threading.get_ident()
        arguments = caller, caller.f_lasti
        name = "meshwright-interrupt"
        threading.Thread(
            target=self._wait, args=arguments, name=name, daemon=True
        ).start()

    def take(self) -> bool:
        """Whether the thread that asks is the one to deliver it."""
        return self._taken.acquire(blocking=False)

    def _wait(self, caller: types.FrameType, place: int) -> None:
        while caller.f_lasti == place and not self._taken.locked():
            time.sleep(_POLL_SECONDS)
        del caller
        time.sleep(_RETURN_SECONDS)
        if self.take():
            signal.pthread_kill(self._main, signal.SIGINT)


def _is_main() -> bool:
    return threading.get_ident() == threading.main_thread().ident


def _is_within(outer: Any, frame: types.FrameType | None) -> bool:
    """Whether a frame was called, directly or not, by another one that still runs."""
    while frame is not None and frame is not outer:
        frame = frame.f_back
    return frame is not None


def _find_caller() -> types.FrameType | None:
    """The frame of the user's code that waits for this call."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None and is_hidden(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def _drops_result(caller: types.FrameType) -> bool:
    """Whether what the current call gives is not used."""
    for instruction in dis.get_instructions(caller.f_code):
        if instruction.offset > caller.f_lasti:
            return instruction.opname == "POP_TOP"
    return False


_scope = _Scope()
hold = _scope.hold


def scope() -> _Scope:
    """A context at whose end what `hold` noted is delivered; the outermost counts."""
    return _scope
