# SPDX-License-Identifier: Apache-2.0
"""Pauses Python's garbage collector while a program is made or planned.

A trace is a million objects that stay. Each time their number grows by a quarter, the
collector looks at all objects of the process for cycles, and finds next to none. That
would be a fifth of the time until the compiler has the program, and an eighth of the
time to plan it. Afterwards it looks at what is new once, which is then old; by itself
it would do so twice. So it is while the package is imported.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def _paused(end: Callable[[], object]) -> Iterator[None]:
    """Calls `end` afterwards, with the collector as it was before."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
        end()


def paused() -> contextlib.AbstractContextManager[None]:
    """While active, the collector does not run by itself, in no thread."""
    return _paused(_count_new)


def paused_for_imports() -> contextlib.AbstractContextManager[None]:
    """While active, the collector does not run by itself; then objects are old."""
    return _paused(_make_old)


def _count_new() -> None:
    # By this, cycles in old objects are found in time.
    if gc.isenabled():
        gc.collect(1)


def _make_old() -> None:
    # The second call would also thaw what a user has frozen.
    if not gc.get_freeze_count():
        gc.freeze()
        gc.unfreeze()
