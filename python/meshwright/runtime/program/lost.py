# SPDX-License-Identifier: Apache-2.0
"""Arrays that were donated to a call which then failed."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Mapping
from typing import Any

from .errors import FragmentError

_SHOWN = 8

# Why an array is gone, by its identity, as long as it is referenced.
_reasons: dict[int, tuple[weakref.ref, str]] = {}


def reason_of(array: Any) -> str | None:
    """The failure that took a deleted array, if it was one."""
    found = _reasons.get(id(array))
    return found[1] if found is not None and found[0]() is array else None


def explain(error: BaseException, lost: Mapping[str, Any]) -> BaseException:
    """Says in an error which donated arguments went with it, and remembers it of them.

    Args:
      error: what ended the call.
      lost: the arrays that are gone, by what messages call the arguments.

    Returns:
      The error to raise instead.
    """
    if not lost:
        return error
    reason = str(error) or type(error).__name__
    for array in lost.values():
        forget = functools.partial(
            _reasons.pop, id(array)
        )  # By default, the reference.
        _reasons[id(array)] = weakref.ref(array, forget), reason
    text = f"{reason}\n{_describe(list(lost))}"
    if isinstance(error, FragmentError):
        return FragmentError(text)  # JAX keeps the text of one in C++.
    if isinstance(error, Exception):
        error.args = (text,)
    return error


def _describe(names: list[str]) -> str:
    listed = ", ".join(names[:_SHOWN])
    if len(names) > _SHOWN:
        listed += f" and {len(names) - _SHOWN} more"
    verb = "is" if len(names) == 1 else "are"
    return (
        f"Donated to this call, and overwritten before it failed, {verb} {listed}; "
        "restore from a checkpoint or a copy what is gone, all other arguments are as "
        "they were"
    )
