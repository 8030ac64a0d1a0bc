# SPDX-License-Identifier: Apache-2.0
"""What the processes print, with the number of the process before each line."""

from __future__ import annotations

import codecs
import contextlib
import os
import re
import selectors
import sys
import threading
import time
from typing import Any

from ..core import ending

_CHUNK = 1 << 16
_PATIENCE = 0.1  # Seconds that a line without an end waits for the rest of it.
_LINES = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)")
_OPEN, _RETURNED = "open", "returned"


class Printer:
    """Passes on what processes write, a line at a time, each as soon as it is there.

    A line ends with a line feed or, as one that shows progress does, with a carriage
    return. One that has no end yet, such as a question, is shown after a moment.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._threads: dict[int, list[threading.Thread]] = {}
        self._unread: set[Any] = set()  # Targets whose reader has gone.
        # The source that wrote last to a target, if its line has no line feed yet.
        self._last: dict[Any, tuple[Any, str]] = {}
        self._cut: set[Any] = set()  # Sources whose line another one has ended.

    def follow(self, number: int, source: Any, target: Any) -> None:
        """Prints from now on what a process writes.

        Args:
          source: the end of a pipe, as a binary file.
          target: a text file; None if there is none, where all is dropped.
        """
        thread = threading.Thread(
            target=self._pass_on, args=(number, source, target), daemon=True
        )
        thread.start()
        self._threads.setdefault(number, []).append(thread)

    def join(self, number: int, seconds: float) -> None:
        """Waits until all is printed that a process has written.

        Args:
          seconds: to wait at most, for a reader that is stopped or a process that has
            passed on its output to another one.
        """
        limit = time.monotonic() + seconds
        for thread in self._threads.get(number, ()):
            thread.join(max(0.0, limit - time.monotonic()))

    def close(self, seconds: float) -> None:
        """Waits for all; spares Python the failure to write what no reader took."""
        for number in self._threads:
            self.join(number, seconds)
        for target in self._unread:
            with contextlib.suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), target.fileno())

    def say(self, line: str) -> None:
        """Writes a line of the launcher's own to standard error."""
        held = self._lock.acquire(timeout=ending.SECONDS)  # Not if a reader is stopped.
        try:
            ending.say(self._mark(self, line, "", sys.stderr))
            self._last.pop(sys.stderr, None)
        finally:
            if held:
                self._lock.release()

    def _pass_on(self, number: int, source: Any, target: Any) -> None:
        decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        descriptor, rest, data = source.fileno(), "", b"?"
        with source, selectors.DefaultSelector() as ready:
            ready.register(descriptor, selectors.EVENT_READ)
            while data:
                if rest and not ready.select(_PATIENCE):
                    lines, rest = [rest], ""
                else:
                    data = os.read(descriptor, _CHUNK)
                    text = rest + decoder.decode(data, final=not data)
                    if not data and (text or self._is_open(source, target)):
                        text += "\n"
                    end = max(text.rfind("\n"), text.rfind("\r")) + 1
                    lines, rest = _LINES.findall(text[:end]), text[end:]
                if not self._write(number, source, target, lines):
                    return

    def _is_open(self, source: Any, target: Any) -> bool:
        return self._last.get(target) == (source, _OPEN)

    def _write(self, number: int, source: Any, target: Any, lines: list[str]) -> bool:
        """Whether the target took them.

        As of `head` it may not: the process hears of it when it prints more, and
        would wait forever for a reader.
        """
        if target is None or not lines:
            return True
        encoding, prefix = target.encoding or "utf-8", f"[{number}] "
        try:
            with self._lock:
                text = "".join(self._mark(source, n, prefix, target) for n in lines)
                target.write(text.encode(encoding, "replace").decode(encoding))
                target.flush()
        except (OSError, ValueError):
            self._unread.add(target)
            return False
        return True

    def _mark(self, source: Any, line: str, prefix: str, target: Any) -> str:
        """A line with the prefix, unless it continues one of the same source."""
        last, state = self._last.get(target, (None, ""))
        only_end = not line.rstrip("\r\n")
        if last is not source and source in self._cut and only_end:
            self._cut.discard(source)
            return ""
        self._cut.discard(source)
        before = ""
        if last is not source and state:
            before, state = "\n", ""
            self._cut.add(last)
        if line.endswith("\n"):
            self._last.pop(target, None)
        else:
            self._last[target] = source, _RETURNED if line.endswith("\r") else _OPEN
        if state == _OPEN or line == "\r" or (state == _RETURNED and only_end):
            prefix = ""
        return before + prefix + line
