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
# asynchronous; and the scheduler as it comes gives it nothing to run beside. So asked,
# the compiler also hides exchanges of a whole backward beside its weight gradients.
_TPU: Mapping[str, Any] = {
    "xla_tpu_enable_async_all_to_all": True,
    "xla_tpu_enable_all_experimental_scheduler_features": True,
}
_OF_PAIRS = {"gpu": _GPU, "tpu": _TPU}
_OF_OTHERS = {"tpu": _TPU}


def pair_options(
    mesh: ProgramMesh, given: Mapping[str, Any], *, is_pair: bool
) -> dict[str, Any]:
    """Options of XLA for a fragment of a program with pairs on a mesh.

    Those that the user gave go first.
    """
    ours = (_OF_PAIRS if is_pair else _OF_OTHERS).get(mesh.platform, {})
    return {**ours, **given}
