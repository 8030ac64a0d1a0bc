# SPDX-License-Identifier: Apache-2.0
"""What modules of MLIR say: of their functions, and of places in files."""

from __future__ import annotations

from typing import Any

from .frontend import ir


def first_file_location(location: Any) -> Any | None:
    """The first place in a file that a location names, the innermost call's.

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


def find_main(module: Any) -> Any:
    """The function `main` of a module, given as its operation. Raises KeyError."""
    return ir.SymbolTable(module)["main"].operation


def attributes_of(function: Any, key: str) -> list[dict[str, Any]]:
    """By name, for each argument (`arg_attrs`) or result (`res_attrs`) of a function;
    nothing if no attributes are given."""
    if key not in function.attributes:
        return []
    entries = map(ir.DictAttr, ir.ArrayAttr(function.attributes[key]))
    return [{named.name: named.attr for named in entry} for entry in entries]
