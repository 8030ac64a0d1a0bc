# SPDX-License-Identifier: Apache-2.0
"""Which start of the script this is."""

from __future__ import annotations

from ..runtime.processes.world import environment


def attempt() -> int:
    """How many times the launcher has started the processes again; 0 at first, and
    without the launcher."""
    return int(environment("ATTEMPT") or 0)
