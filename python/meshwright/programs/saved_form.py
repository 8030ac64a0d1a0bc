# SPDX-License-Identifier: Apache-2.0
"""How a program in a folder is written: its signature and constants as JSON."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..core.contents import Contents
from ..runtime import ProgramError
from ..shardings.signature import ProgramSignature
from .structure import (
    StructureError,
    aval_from_json,
    aval_to_json,
    dtype_from_text,
    dtype_to_text,
    tree_from_json,
    tree_to_json,
)


def open_folder(folder: str | os.PathLike) -> Contents:
    """The folder of a saved program, which need not be there yet."""
    return Contents(
        os.path.expanduser(folder), "compiled.json", "meshwright-compiled-1", "program"
    )


def signature_to_json(signature: ProgramSignature) -> dict[str, Any]:
    """A signature without its constants. Raises ProgramError if that cannot be."""
    try:
        return {
            "name": signature.name,
            "call_tree": tree_to_json(signature.call_tree),
            "output_tree": tree_to_json(signature.output_tree),
            "input_avals": list(map(aval_to_json, signature.input_avals)),
            "output_avals": list(map(aval_to_json, signature.output_avals)),
            "input_paths": list(signature.input_paths),
            "kept": list(signature.kept),
            "donated": sorted(signature.donated),
            "input_meshes": list(signature.input_meshes),
            "output_meshes": list(signature.output_meshes),
        }
    except StructureError as error:
        raise ProgramError(f"{signature.name} cannot be saved: {error}") from None


def signature_from_json(
    found: Mapping[str, Any], const_args: tuple[Any, ...] = ()
) -> ProgramSignature:
    """What `signature_to_json` wrote. Raises StructureError if it is unknown here."""
    return ProgramSignature(
        name=found["name"],
        call_tree=tree_from_json(found["call_tree"]),
        output_tree=tree_from_json(found["output_tree"]),
        input_avals=tuple(map(aval_from_json, found["input_avals"])),
        output_avals=tuple(map(aval_from_json, found["output_avals"])),
        input_paths=tuple(found["input_paths"]),
        kept=tuple(found["kept"]),
        donated=frozenset(found["donated"]),
        const_args=const_args,
        input_meshes=tuple(found["input_meshes"]),
        output_meshes=tuple(found["output_meshes"]),
    )


def constant_to_json(value: Any, contents: Contents) -> dict[str, Any]:
    """Writes a constant into a file of the folder."""
    array = np.ascontiguousarray(value)
    return {
        "shape": list(np.shape(value)),
        "dtype": dtype_to_text(array.dtype),
        "file": contents.add(zlib.compress(array.tobytes(), 1)),
    }


def constant_from_json(
    entry: Mapping[str, Any],
    read: Callable[[str], bytes],
    known: dict[str, np.ndarray],
) -> np.ndarray:
    """What `constant_to_json` wrote; `known` are those read before."""
    key = json.dumps(entry)
    if key not in known:  # Equal ones share their memory, on devices, too.
        dtype = dtype_from_text(entry["dtype"])
        known[key] = np.frombuffer(read(entry["file"]), dtype).reshape(entry["shape"])
    return known[key]
