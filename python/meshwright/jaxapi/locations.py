# SPDX-License-Identifier: Apache-2.0
"""Places in files that MLIR's locations name."""

from __future__ import annotations

from typing import Any

from .frontend import ir


def first_file_location(location: Any) -> Any | None:
    """The first place in a file that a location names, the innermost call's.

    Args:
      location: an `ir.Location` of any kind.

    Returns:
      An `ir.FileLineColLoc`; None if there is none.
    """
    if isinstance(location, ir.FileLineColLoc):
        return location
    if isinstance(location, ir.NameLoc):
        return first_file_location(location.child_loc)
    if isinstance(location, ir.CallSiteLoc):
        parts = [location.callee, location.caller]
    elif isinstance(location, ir.FusedLoc):
        parts = location.locations
    else:
        return None
    return next(filter(None, map(first_file_location, parts)), None)
