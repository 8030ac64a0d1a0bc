# SPDX-License-Identifier: Apache-2.0
"""Which operation of the user's file a compiler has refused."""

from __future__ import annotations

import contextlib
import re

from ...jaxapi import runtime as jax_runtime
from ...jaxapi.modules import first_file_location

ir = jax_runtime.ir

# As XLA prints the operations of its own that it complains about.
_METADATA = re.compile(r'source_file="([^"]+)"[^}]*?source_line=(\d+)')


def find_refused(text: str, error: str) -> str | None:
    """`FILE:LINE` of the operation that an error is about; None if it does not tell.

    Args:
      text: the module, with locations; to be parsed in the current MLIR context.
      error: what its compiler said.
    """
    said = _METADATA.search(error)
    if said:
        return f"{said[1]}:{said[2]}"
    found: list[str] = []

    def visit(op):
        if op.name == "stablehlo.custom_call" and "call_target_name" in op.attributes:
            target = ir.StringAttr(op.attributes["call_target_name"]).value
            place = first_file_location(op.location)
            is_about = re.search(rf"\b{re.escape(target)}\b", error) is not None
            # Modules without locations get those of their own text, `-`.
            if is_about and place is not None and place.filename != "-":
                found.append(f"{place.filename}:{place.start_line}")
        return ir.WalkResult.ADVANCE

    with contextlib.suppress(ir.MLIRError):
        ir.Module.parse(text).operation.walk(visit)
    return found[0] if found else None
