# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C while something runs that must not be left half done.

A step that donates its arguments replaces a state by the next one. An exception
between the two leaves neither: arguments are gone, and results never reach a
variable. So SIGINT is noted meanwhile, and its handler is called once the caller has
the results; at the latest, before the next such step gives anything away. The same
holds for other signals for which the user has a handler, which may raise as well.
"""

from __future__ import annotations

import _signal  # `signal.signal` takes 18 µs to make enums of its arguments.
import contextlib
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

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGALRM", "SIGUSR1", "SIGUSR2")
_SIGNALS = tuple(int(getattr(signal, name)) for name in _NAMES)


class _Scope:
    """Until the end of the outermost one, `hold` is in effect.

    Only the main thread gets signals, so only what it does counts.
    """

    def __init__(self) -> None:
        self.depth = 0
        self.owner: types.FrameType | None = None
        self.holding = False
        self.handlers: dict[int, Any] = {}
        self.noted: dict[int, float] = {}
        self.late: _Late | None = None

    def __enter__(self) -> None:
        if not _is_main():
            return
        frame = sys._getframe(1)
        if not self.holding and not (self.depth and _is_within(self.owner, frame)):
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
        if not self.holding:
            return
        try:
            for number, handler in self.handlers.items():
                if _signal.getsignal(number) == self._note:
                    _signal.signal(number, handler)
        finally:
            self.holding = False
        if not self.noted:
            return
        numbers = list(self.noted)
        self.noted.clear()
        caller = _find_caller()
        if error is not None or caller is None or _drops_result(caller):
            _deliver(numbers)  # No results to lose.
        else:
            self.late = _Late(caller, numbers)

    def hold(self) -> None:
        """Notes signals from here to the end of the scope.

        Raises:
          KeyboardInterrupt: an earlier one has not been delivered yet; or whatever
            the user's handlers raise.
        """
        if not _is_main() or self.holding or not self.depth:
            return
        late, self.late = self.late, None
        if late is not None:
            if late.take():
                _deliver(late.numbers)
            else:
                late.join()
        for number in _SIGNALS:
            handler = _signal.getsignal(number)
            # Python calls no others, and that of asyncio only wakes its loop.
            if callable(handler) and handler != self._note and not _only_wakes(handler):
                self.handlers[number] = handler
                _signal.signal(number, self._note)
        self.holding = True

    def _note(self, number: int, frame: Any) -> None:
        now = time.monotonic()
        if not self.holding or now - self.noted.get(number, now) > _PATIENCE:
            self.noted.pop(number, None)
            self.handlers[number](number, frame)
        else:
            self.noted.setdefault(number, now)


class _Late:
    """Sends signals again once a caller has taken the results of a call."""

    def __init__(self, caller: types.FrameType, numbers: list[int]):
        self.numbers = numbers
        self._taken = threading.Lock()
        self._main = threading.get_ident()
        arguments = caller, caller.f_lasti
        name = "meshwright-interrupt"
        self._thread = threading.Thread(
            target=self._wait, args=arguments, name=name, daemon=True
        )
        self._thread.start()

    def take(self) -> bool:
        """Whether the thread that asks is the one to deliver it."""
        return self._taken.acquire(blocking=False)

    def join(self) -> None:
        """Waits until the thread has delivered it, which has taken that on."""
        self._thread.join()

    def _wait(self, caller: types.FrameType, place: int) -> None:
        while caller.f_lasti == place and not self._taken.locked():
            time.sleep(_POLL_SECONDS)
        del caller
        time.sleep(_RETURN_SECONDS)
        if self.take():
            for number in self.numbers:
                signal.pthread_kill(self._main, number)


def _deliver(numbers: list[int]) -> None:
    """Calls the handlers of all, also if one of them raises."""
    with contextlib.ExitStack() as stack:
        for number in reversed(numbers):
            stack.callback(signal.raise_signal, number)


def _only_wakes(handler: Any) -> bool:
    return getattr(handler, "__module__", None) == "asyncio.unix_events"


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
