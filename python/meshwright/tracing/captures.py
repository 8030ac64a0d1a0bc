# SPDX-License-Identifier: Apache-2.0
"""Finds objects of some classes that a function can reach without its arguments."""

from __future__ import annotations

import collections
import contextlib
import functools
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import jax
import numpy as np

from .identity import is_library, named_in, names_in

# Looking further would take longer than tracing the function.
_LIMIT = 20_000
_PLAIN = (bool, int, float, complex, str, bytes, type(None), np.ndarray, np.generic)
_SEQUENCES = (tuple, list, set, frozenset, collections.deque)


def _is_user_code(module: Any) -> bool:
    return not is_library(module) and str(module).partition(".")[0] != "flax"


def _of_function(function: types.FunctionType) -> Iterator[Any]:
    cells = []
    for cell in function.__closure__ or ():
        with contextlib.suppress(ValueError):  # Not assigned yet.
            cells.append(cell.cell_contents)
    yield from cells
    yield function.__defaults__
    yield function.__kwdefaults__
    yield from vars(function).values()
    if not _is_user_code(function.__globals__.get("__name__")):
        return
    names, modules = names_in(function.__code__), set()

    def read(value: Any) -> Iterator[Any]:
        """A value, or what is read of it if it is a module."""
        if not isinstance(value, types.ModuleType):
            yield value
        elif _is_user_code(value.__name__) and value not in modules:
            modules.add(value)
            for _, inner in named_in(vars(value), names):
                yield from read(inner)

    for _, value in named_in(function.__globals__, names):
        yield from read(value)
    for value in cells:
        yield from read(value)


def _parts(value: Any) -> Iterable[Any]:
    """What an object consists of, as far as code that has it can read it."""
    kind = type(value)
    if kind is types.FunctionType:
        return _of_function(value)
    if kind is types.MethodType:
        return value.__func__, value.__self__
    if isinstance(value, functools.partial):
        return value.func, value.args, value.keywords
    if isinstance(value, _SEQUENCES):
        return value
    if isinstance(value, collections.abc.Mapping):
        return list(value.values())
    if isinstance(value, type):
        return vars(value).values() if _is_user_code(value.__module__) else ()
    if isinstance(value, types.ModuleType):
        return ()
    parts = list(getattr(value, "__dict__", {}).values())
    return [*parts, kind] if _is_user_code(kind.__module__) else parts


def captured(roots: Iterable[Any], is_wanted: Callable[[Any], bool]) -> list[Any]:
    """Finds what functions close over: cells, defaults, globals, attributes.

    Args:
      roots: functions, or anything else to look into.
      is_wanted: tells whether an object is one of those to find; these are not
        looked into.

    Returns:
      The objects found, each once, in the order of the search.
    """
    found: list[Any] = []
    seen: dict[int, Any] = {}
    stack = list(roots)[::-1]
    while stack and len(seen) < _LIMIT:
        value = stack.pop()
        if isinstance(value, _PLAIN) or id(value) in seen:
            continue
        seen[id(value)] = value
        if is_wanted(value):
            found.append(value)
        elif not isinstance(value, jax.Array):
            stack.extend(reversed(list(_parts(value))))
    return found
