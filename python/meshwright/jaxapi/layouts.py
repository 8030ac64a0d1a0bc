# SPDX-License-Identifier: Apache-2.0
"""Layouts of arrays in a device's memory: order of dimensions, and tiles.

bf16[100,100]{1,0:T(8,128)(2,1)}
"""

from __future__ import annotations

import functools
import re
from typing import Any

import jax
import numpy as np
from jax.experimental.layout import Layout

_TEXT = re.compile(r"\{([\d,]*)(?::(.*))?\}")
_TILES = re.compile(r"T((?:\([\d,*]+\))+)")
_ELEMENT = re.compile(r"E\((\d+)\)")


def parse_layout(text: str) -> Layout:
    """A layout as XLA writes it, such as `{1,0:T(8,128)(2,1)}`."""
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


@functools.cache
def default_layout(device: Any, dtype: Any, shape: tuple[int, ...]) -> Layout | None:
    """How a backend keeps arrays without a given layout; None if it does not say."""
    try:
        found = device.client.get_default_layout(np.dtype(dtype), shape, device)
    except jax.errors.JaxRuntimeError:
        return None
    return as_layout(found)
