# SPDX-License-Identifier: Apache-2.0
"""Calls of Python functions in the modules of fragments."""

from __future__ import annotations

import re
from collections.abc import Callable

from .errors import FragmentError

# On TPUs they are pairs of transfers with the host.
_CALL = re.compile(
    r"custom_call @xla_(ffi_)?(partitioned_)?python_\w*callback"
    r"|\"stablehlo\.(send|recv)\"[^\n]*\bis_host_transfer = true"
)
_NUMBER = re.compile(
    r"custom_call @xla_(?:ffi_)?(?:partitioned_)?python_\w*callback\([^\n]*?"
    r"\bindex = (\d+)"
)


def calls_python(text: str) -> bool:
    """Whether a module calls Python functions; its executable is for one fragment."""
    return _CALL.search(text) is not None


def count_functions(text: str) -> int:
    """How many functions there have to be for those that a module calls by number."""
    return max(map(int, _NUMBER.findall(text)), default=-1) + 1


def calls_by_number(text: str) -> bool:
    """Whether all Python functions that a module calls are given when it is loaded.

    Others are addresses, or objects of a backend, of one process.
    """
    return len(_CALL.findall(text)) == len(_NUMBER.findall(text))


def name_errors(callback: Callable, where: str) -> Callable:
    """The callback, whose exceptions say where in the program they happened."""

    def named(*args):
        try:
            return callback(*args)
        except Exception as error:
            text = f"{where} failed: {type(error).__name__}: {error}"
            raise FragmentError(text) from error

    return named
