# SPDX-License-Identifier: Apache-2.0
"""How many bytes of a device arrays take, as the compiler's account has it."""

from __future__ import annotations

import functools
from typing import Any

import jax
from jax.typing import DTypeLike

from ..compiler import native
from .names import device_names


def array_bytes(
    device: Any,
    dtype: DTypeLike,
    shape: tuple[int, ...],
    order: tuple[int, ...] = (),
) -> int:
    """How many bytes of memory an array takes there.

    Args:
      device: of any platform, here or only described.
      dtype: the type of its elements. Those smaller than a byte are packed.
      shape: what the device has of the array.
      order: of its dimensions from major to minor; without, as the device has it.
    """
    bits = jax.dtypes.itemsize_bits(jax.numpy.dtype(dtype))
    return _count(device.device_kind, device.platform, bits, tuple(shape), order)


@functools.lru_cache(maxsize=4096)
def _count(
    kind: str,
    platform: str,
    bits: int,
    shape: tuple[int, ...],
    order: tuple[int, ...],
) -> int:
    names = device_names()
    # Of other kinds TPUs pad arrays as all that are known, and the rest do not.
    name = names.get(kind) or (names["TPU v4"] if platform == "tpu" else "cpu")
    return native.extension().array_bytes(name, bits, shape, order)
