# SPDX-License-Identifier: Apache-2.0
"""Names of functions and meshes."""

from __future__ import annotations

import difflib
import functools
from collections.abc import Callable, Iterable
from typing import Any

CPU_MESH_SUFFIX = "/cpu"
MEMORY_KIND_SEPARATOR = "#"
MEMORY_KINDS = ("pinned_host", "device")
UNNAMED = "fn"

__all__ = [
    "CPU_MESH_SUFFIX",
    "MEMORY_KINDS",
    "function_name",
    "is_cpu_mesh",
    "mesh_without_memory_kind",
    "unknown_name",
]


def function_name(fn: Callable[..., Any]) -> str:
    """The Python name of a callable.

    Args:
      fn: any callable.

    Returns:
      Its `__name__`, for a partial application that of the inner function, and
      `fn` for callables without a name.
    """
    while isinstance(fn, functools.partial):
        fn = fn.func
    return getattr(fn, "__name__", UNNAMED)


def is_cpu_mesh(mesh_name: str) -> bool:
    """Whether a mesh name denotes a CPU mesh, which schedules leave out."""
    return mesh_name.endswith(CPU_MESH_SUFFIX)


def mesh_without_memory_kind(mesh_name: str) -> str:
    """Cuts a mesh assignment such as `tpu0#pinned_host` down to the mesh."""
    return mesh_name.split(MEMORY_KIND_SEPARATOR, 1)[0]


def unknown_name(what: str, name: object, known: Iterable[str]) -> str:
    """Text of an error about a name that is not among the known ones."""
    names = list(known)
    text = f"{what}: unknown {name!r}, known are {', '.join(names) or 'none'}"
    close = difflib.get_close_matches(str(name), names, n=1)
    return f"{text}; did you mean {close[0]!r}?" if close else text
