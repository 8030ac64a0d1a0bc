# SPDX-License-Identifier: Apache-2.0
"""What compilers need to hide collectives of overlapped pairs (docs/hardware.md)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .placement import ProgramMesh

# By default XLA orders the operations of a GPU such that they need little memory, and
# starts a collective right before it is waited for.
_GPU: Mapping[str, Any] = {"xla_gpu_enable_latency_hiding_scheduler": True}

# On a TPU an exchange is one operation, which nothing runs beside, unless it is made
# asynchronous; and the scheduler as it comes gives it nothing to run beside.
_TPU: Mapping[str, Any] = {
    "xla_tpu_enable_async_all_to_all": True,
    "xla_tpu_enable_all_experimental_scheduler_features": True,
}
_OF_PLATFORM = {"gpu": _GPU, "tpu": _TPU}


def pair_options(mesh: ProgramMesh, given: Mapping[str, Any]) -> dict[str, Any]:
    """Options of XLA for a pair on a mesh; those that the user gave go first."""
    return {**_OF_PLATFORM.get(mesh.platform, {}), **given}
