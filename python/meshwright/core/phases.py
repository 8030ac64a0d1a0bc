# SPDX-License-Identifier: Apache-2.0
"""How long each phase of a start takes, for listeners of `jax.monitoring`.

docs/runtime.md says which phases there are ("Where a start spends its time").
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator

import jax

#: Before the name of a phase in that of its event.
PREFIX = "/meshwright/"


@contextlib.contextmanager
def phase(name: str) -> Iterator[None]:
    """Tells listeners how many seconds a block took by the clock, unless it raises.

    A phase may come in several blocks: its listener adds them up.
    """
    start = time.perf_counter()
    yield
    seconds = time.perf_counter() - start
    jax.monitoring.record_event_duration_secs(PREFIX + name, seconds)
