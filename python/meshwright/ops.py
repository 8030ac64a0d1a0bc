# SPDX-License-Identifier: Apache-2.0
"""Annotations that tell the compiler what may run where."""

from .tracing.ops import (
    broadcast,
    call,
    enumerated_for,
    fori_loop,
    named_computation,
    named_tensor,
    reduce,
)

__all__ = [
    "broadcast",
    "call",
    "enumerated_for",
    "fori_loop",
    "named_computation",
    "named_tensor",
    "reduce",
]
