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
from collections.abc import Iterator


@contextlib.contextmanager
def paused() -> Iterator[None]:
    """While active, the collector does not run by itself, in no thread."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
            gc.collect(1)  # Counts it, so that cycles in old objects are found in time.


@contextlib.contextmanager
def paused_for_imports() -> Iterator[None]:
    """While active, the collector does not run by itself; then objects are old."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
        # This makes all objects old, but would also thaw what a user has frozen.
        if not gc.get_freeze_count():
            gc.freeze()
            gc.unfreeze()
