# SPDX-License-Identifier: Apache-2.0
"""How much the package says, and where to."""

from __future__ import annotations

import logging
import os
import sys

VERBOSITY_VARIABLE = "MESHWRIGHT_VERBOSITY"

_LEVELS = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
    "critical": logging.CRITICAL,
}

_package = logging.getLogger("meshwright")


class _StderrHandler(logging.StreamHandler):
    """Writes to what is stderr at that time, unless logging is configured."""

    def __init__(self):
        logging.Handler.__init__(self)
        self.setFormatter(logging.Formatter("%(levelname)s: %(message)s"))

    @property
    def stream(self):
        return sys.stderr

    def emit(self, record: logging.LogRecord) -> None:
        if not logging.getLogger().handlers:
            super().emit(record)


_handler = _StderrHandler()


def _number(level: int | str) -> int:
    if isinstance(level, str) and level.lower() in _LEVELS:
        return _LEVELS[level.lower()]
    if isinstance(level, int) and not isinstance(level, bool) and level >= 0:
        return level
    raise ValueError(
        f"verbosity: expected one of {', '.join(_LEVELS)}, or a level of Python's "
        f"logging, got {level!r}"
    )


def set_verbosity(level: int | str) -> None:
    """Sets from which level on the package's messages are shown.

    They go to the logger `meshwright` and to those below it. Where the program
    has not configured Python's logging, they are written to stderr. The variable
    MESHWRIGHT_VERBOSITY in the environment does the same at import.

    Args:
      level: `"debug"`, `"info"` (choices made for you, fragments that could not be
        merged), `"warning"` (the default: what probably is not what you want),
        `"error"`, or a level of Python's `logging`.

    Raises:
      ValueError: another level.

    Example:

      >>> set_verbosity("info")
      >>> set_verbosity("warning")
    """
    _package.setLevel(_number(level))
    if _handler not in _package.handlers:
        _package.addHandler(_handler)


def _read_environment() -> None:
    level = os.environ.get(VERBOSITY_VARIABLE)
    if not level:
        return
    try:
        set_verbosity(int(level) if level.isdigit() else level)
    except ValueError as error:
        _package.warning("environment variable %s: %s", VERBOSITY_VARIABLE, error)


_read_environment()
