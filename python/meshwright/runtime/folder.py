# SPDX-License-Identifier: Apache-2.0
"""Programs as `meshwright partition -o FOLDER` writes them."""

from __future__ import annotations

import json
import os
import pathlib
import re

from .errors import ProgramError


def read_folder(folder: str | os.PathLike) -> tuple[dict, dict[str, str]]:
    """Reads a partitioned program for :func:`load`.

    Args:
      folder: what `meshwright partition -o` wrote, as text.

    Returns:
      The schedule, and the text of each fragment's module by the fragment's name.

    Raises:
      ProgramError: the folder holds no whole program.
    """
    folder = pathlib.Path(folder)
    try:
        program = json.loads((folder / "schedule.json").read_text())
    except (OSError, ValueError) as error:
        raise ProgramError(
            f"{folder} holds no partitioned program: {error}; write one with "
            "`meshwright partition -o`"
        ) from error
    modules = {}
    for fragment in program["fragments"]:
        path = folder / "fragments" / f"{file_stem(fragment['name'])}.mlir"
        try:
            modules[fragment["name"]] = path.read_text()
        except OSError as error:
            raise ProgramError(
                f"the module of fragment {fragment['name']!r} cannot be read: {error}; "
                "partition again, without --emit-bytecode"
            ) from error
    return program, modules


def file_stem(name: str) -> str:
    """The file of a fragment: its name, as far as file systems take it."""
    return re.sub(r"[^A-Za-z0-9._-]", "_", name[:200])
