# SPDX-License-Identifier: Apache-2.0
"""Tracebacks that end in the user's source.

What happens between the user's call and the user's line is of no use to the user:
frames of this package and of JAX are removed, as JAX removes its own, unless
`JAX_TRACEBACK_FILTERING=off` is set. An error of the compiler knows the operation
that it is about; the line which made that becomes the last one of the traceback.
"""

from __future__ import annotations

import ast
import functools
import linecache
import os
import types
from collections.abc import Callable
from typing import Any, TypeVar

import jax

F = TypeVar("F", bound=Callable[..., Any])

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_HIDDEN = (_PACKAGE + os.sep, os.path.dirname(os.path.abspath(jax.__file__)) + os.sep)


def is_hidden(file: str) -> bool:
    """Whether a file is of this package or of JAX, not the user's."""
    return file.startswith(_HIDDEN)


def _frame_at(file: str, line: int, name: str) -> types.TracebackType | None:
    """A traceback of one line of a file that is not being executed."""
    text = linecache.getline(file, line)
    if not text.strip():
        return None
    # Marks of a column are left out where they would mark the whole line.
    place = {"lineno": line, "end_lineno": line}
    place |= {"col_offset": len(text) - len(text.lstrip())}
    place |= {"end_col_offset": len(text.rstrip())}
    reach = ast.Raise(ast.Name("error", ast.Load(), **place), None, **place)
    code = compile(ast.Module([reach], []), file, "exec").replace(co_name=name)
    try:
        exec(code, {"error": RuntimeError()})
    except RuntimeError as error:
        found = error.__traceback__
        return found.tb_next if found else None
    return None


def _frames_of_user(error: Any) -> types.TracebackType | None:
    """The traceback of an error without the frames that do not help."""
    last = None
    place = getattr(error, "meshwright_place", None)
    if place is not None:
        error.meshwright_place = None  # One decorated function calls another.
        if not is_hidden(place[0]):
            last = _frame_at(*place)
    kept, entry = [], error.__traceback__
    while entry is not None:
        if not is_hidden(entry.tb_frame.f_code.co_filename):
            kept.append(entry)
        entry = entry.tb_next
    for entry in reversed(kept):
        last = types.TracebackType(
            last, entry.tb_frame, entry.tb_lasti, entry.tb_lineno
        )
    return last


def at_users_line(function: F) -> F:
    """Decorates what users call: errors in it show the users' own frames."""

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            if jax.config.jax_traceback_filtering != "off":
                error.__traceback__ = _frames_of_user(error)
            raise

    return called  # type: ignore[return-value]
