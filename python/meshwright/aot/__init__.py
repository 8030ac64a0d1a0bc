# SPDX-License-Identifier: Apache-2.0
"""Devices to compile for on a machine that has none (docs/hardware.md).

They have names such as `v5p:2x2x4` and `h100:16`.
"""

from __future__ import annotations

from typing import Any

from ..core.tracebacks import at_users_line
from .names import parse_target
from .plugins import find_devices

__all__ = ["devices"]


@at_users_line
def devices(target: str, count: int | None = None) -> list[Any]:
    """Devices of a kind, whether or not there are any here.

    Programs can be lowered and compiled for meshes of them, and asked what they take;
    to call them raises. `JAX_PLATFORMS=cpu` keeps JAX from looking for real ones.

    Args:
      target: a slice of TPUs, `v4:2x2x1`, `v5e:4x4`, `v5p:2x2x4`, `v6e:2x4`,
        `tpu7x:2x2x1`; or GPUs, `a100`, `h100`, `h200`, `b200`, also as `h100:16`.
      count: how many; of a slice, or of a number of GPUs in its name, the first ones,
        by default all.

    Returns:
      Devices in an order in which neighbours are neighbours: those of a host follow one
      another, and equal parts of the list are equal boxes of a slice, cut off along its
      longest dimension. The same objects each time.

    Raises:
      TypeError: the target is no text.
      ValueError: an unknown target, a shape that there is not, or too large a count.
      RuntimeError: the compiler for it is not installed, or belongs to another release
        of JAX; the text has the line of pip that brings it.
    """
    found = parse_target(target, count)
    if count is not None and not 0 < count <= found.count:
        remedy = "name a larger one" if count > 0 else "give a number from 1 on"
        raise ValueError(
            f"target {found.name} has {found.count} devices, and {count} are wanted; "
            f"{remedy}"
        )
    return find_devices(found)[:count]
