# SPDX-License-Identifier: Apache-2.0
"""Layouts of arrays in a device's memory: order of dimensions, tiles, bytes.

A TPU keeps the two minor dimensions of an array in tiles, which are padded: an array of
3 by 5 elements takes as much memory there as one of 4 by 128. CPUs and GPUs do not.

    f32[3,5]{1,0:T(4,128)}           4 * 128 * 4 bytes
    bf16[100,100]{1,0:T(8,128)(2,1)} 104 * 128 * 2 bytes, two rows in each word
    s4[8,8]{1,0:T(8,128)(8,1)E(4)}   8 * 128 / 2 bytes
"""

from __future__ import annotations

import functools
import math
import re
from typing import Any

import jax
import numpy as np
from jax.experimental.layout import Layout

_TEXT = re.compile(r"\{([\d,]*)(?::(.*))?\}")
_TILES = re.compile(r"T((?:\([\d,*]+\))+)")
_ELEMENT = re.compile(r"E\((\d+)\)")
# What allocators of TPUs hand out.
_TPU_ALIGNMENT = 512


def parse_layout(text: str) -> Layout:
    """A layout as XLA writes it, such as `{1,0:T(8,128)(2,1)}`.

    Raises:
      ValueError: it is none.
    """
    found = _TEXT.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is no layout of XLA")
    order = tuple(int(number) for number in reversed(found[1].split(",")) if number)
    more = found[2] or ""
    tiles, element = _TILES.search(more), _ELEMENT.search(more)
    tiling = tuple(
        tuple(map(int, tile.split(",")))
        for tile in (re.findall(r"\(([\d,]+)\)", tiles[1]) if tiles else ())
    )
    return Layout(order, tiling or None, int(element[1]) if element else 0)


def as_layout(layout: Any) -> Layout | None:
    """A layout of the backend's as JAX shows it; None is the default one."""
    if layout is None or isinstance(layout, Layout):
        return layout
    return Layout.from_pjrt_layout(layout)


def layout_bytes(layout: Layout, shape: tuple[int, ...], dtype: Any) -> int:
    """How many bytes of a device an array takes in a layout.

    Args:
      layout: order of dimensions and tiles.
      shape: what one device has of the array.
      dtype: the type of its elements. Those smaller than a byte are packed.
    """
    bits = layout.sub_byte_element_size_in_bits or jax.dtypes.itemsize_bits(dtype)
    sizes = [shape[dimension] for dimension in layout.major_to_minor]
    for tile in layout.tiling or ():
        # Each tile divides the minor dimensions of what the one before left.
        sizes = [1] * (len(tile) - len(sizes)) + sizes
        outer = sizes[: -len(tile)]
        for size, part in zip(sizes[-len(tile) :], tile, strict=True):
            outer.append(-(-size // part))
        sizes = [*outer, *tile]
    return -(-math.prod(sizes) * bits // 8)


def dense_bytes(shape: tuple[int, ...], dtype: Any) -> int:
    """How many bytes an array takes without tiles; small elements are packed."""
    return -(-math.prod(shape) * jax.dtypes.itemsize_bits(dtype) // 8)


@functools.cache
def default_layout(device: Any, dtype: Any, shape: tuple[int, ...]) -> Layout | None:
    """How a backend keeps arrays without a given layout; None if it does not say."""
    try:
        found = device.client.get_default_layout(np.dtype(dtype), shape, device)
    except jax.errors.JaxRuntimeError:
        return None
    return as_layout(found)


def array_bytes(device: Any, dtype: Any, shape: tuple[int, ...]) -> int:
    """How many bytes of a device's own memory an array takes there.

    Args:
      device: of any platform, here or only described.
      dtype: the type of its elements.
      shape: what the device has of the array.
    """
    layout = default_layout(device, dtype, shape)
    if layout is None or not layout.tiling:
        return dense_bytes(shape, dtype)
    size = layout_bytes(layout, shape, dtype)
    return -(-size // _TPU_ALIGNMENT) * _TPU_ALIGNMENT
