# SPDX-License-Identifier: Apache-2.0
"""Tables and sizes for terminals."""

from __future__ import annotations

from collections.abc import Sequence


def aligned(rows: Sequence[Sequence[str]], sides: str) -> str:
    """Rows of equal length with columns under one another.

    Args:
      rows: texts; the first are headings.
      sides: for each column `<`, left, or `>`, right.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            f"{cell:{side}{width}}"
            for cell, side, width in zip(row, sides, widths, strict=True)
        ).rstrip()
        for row in rows
    )


def size_text(count: int) -> str:
    """Bytes as a person reads them."""
    size, unit = float(count), "B"
    for bigger in ("KiB", "MiB", "GiB", "TiB"):
        if abs(size) < 1024:
            break
        size, unit = size / 1024, bigger
    return f"{size:.4g} {unit}"


def seconds_text(seconds: float) -> str:
    """A time as a person reads it."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3f} {unit}"
    return f"{seconds * 1e6:.3f} us"
