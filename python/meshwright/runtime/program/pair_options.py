# SPDX-License-Identifier: Apache-2.0
"""What compilers need to hide collectives of overlapped pairs (docs/hardware.md)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .placement import ProgramMesh

# By default XLA orders the operations of a GPU such that they need little memory, and
# starts a collective right before it is waited for.
_GPU: Mapping[str, Any] = {"xla_gpu_enable_latency_hiding_scheduler": True}


def pair_options(mesh: ProgramMesh, given: Mapping[str, Any]) -> dict[str, Any]:
    """Options of XLA for a pair on a mesh; those that the user gave go first."""
    return {**(_GPU if mesh.is_gpu else {}), **given}
