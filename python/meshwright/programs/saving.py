# SPDX-License-Identifier: Apache-2.0
"""Writes compiled programs into folders (docs/saved.md)."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Mapping
from typing import Any

from ..aot.names import device_name
from ..core.contents import Contents, ContentsError
from ..runtime import ProgramError, ProgramExecutor
from ..runtime.load import saved as saved_code
from ..runtime.processes.together import prepare_and_finish
from .executable import Executable
from .saved_form import constant_to_json, open_folder, signature_to_json
from .stacked import StackedExecutable

_OPTION_TYPES = (bool, int, float, str)


def save(executable: Executable, folder: str | os.PathLike) -> None:
    """Writes a compiled program; see `Compiled.save`."""
    contents = open_folder(folder)

    def write_part() -> dict[str, Any]:
        program = executable.runtime_executable()
        # What cannot be saved is said before anything is written.
        _signatures(executable)
        saved_code.check_all(program.executables)
        contents.prepare()
        entries = saved_code.save_all(program.executables, contents.add)
        return {"executables": entries, "figures": fit_as_json(program)}

    def write_whole(parts: list[dict[str, Any]]) -> None:
        entries = {json.dumps(e): e for part in parts for e in part["executables"]}
        found = _describe(executable, contents)
        found["executables"] = list(entries.values())
        found["figures"] = _join_figures([part["figures"] for part in parts])
        names = {entry["file"] for entry in entries.values()} | _files_of(found)
        missing = [name for name in names if not contents.has(name)]
        if missing:
            raise ContentsError(
                f"{contents.folder}: what other processes have compiled is not here; "
                "all processes save into one folder, on a file system that they share"
            )
        contents.finish(found, names)

    prepare_and_finish("save this program", write_part, write_whole)


def fit_as_json(program: ProgramExecutor) -> dict[str, Any]:
    """What compilers say of a program's fragments, and whether its meshes fit."""
    found = program.fit().as_json()
    names = {device_name(mesh.devices[0]) for mesh in program.meshes.values()}
    target = names.pop() if len(names) == 1 else None
    return {
        "target": target or "",
        "fragments": found["fragments"],
        "meshes": found["meshes"],
    }


def _describe(executable: Executable, contents: Contents) -> dict[str, Any]:
    """All of a program but its executables."""

    def add_text(text: str) -> str:
        return contents.add(zlib.compress(text.encode(), 1))

    program = executable.runtime_executable()
    signature, stacking = _signatures(executable)
    constants = executable.program_signature.const_args
    return {
        "surroundings": saved_code.surroundings(program.meshes),
        "meshes": {
            name: saved_code.describe_mesh(mesh)
            for name, mesh in program.meshes.items()
        },
        "options": _options_to_json(program.options),
        "io": executable.partitioned.io,
        "signature": signature,
        "constants": [constant_to_json(value, contents) for value in constants],
        "stacking": stacking,
        "schedule": add_text(json.dumps(program.schedule.form)),
        "fragments": {
            name: add_text(text)
            for name, text in executable.partitioned.fragments.items()
        },
        "module": add_text(executable.as_text()),
    }


def _signatures(executable: Executable) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """What the program takes and gives, and how arrays of the caller are in pieces."""
    whole = signature_to_json(executable.signature)
    if not isinstance(executable, StackedExecutable):
        return whole, None
    pieces = executable.stacking
    return signature_to_json(executable.program_signature), {
        "signature": whole,
        "inputs": list(pieces.inputs),
        "outputs": list(pieces.outputs),
    }


def _files_of(found: Mapping[str, Any]) -> set[str]:
    constants = {entry["file"] for entry in found["constants"]}
    texts = {found["schedule"], found["module"], *found["fragments"].values()}
    return constants | texts


def _join_figures(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """Figures of all processes, each of which knows what is on its own devices."""
    whole = parts[0]
    for part in parts[1:]:
        whole["fragments"] = part["fragments"] | whole["fragments"]
        for name, mesh in part["meshes"].items():
            known = whole["meshes"].get(name, mesh)
            whole["meshes"][name] = max(known, mesh, key=lambda m: m["peak_bytes"])
    return whole


def _options_to_json(options: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    for mesh, given in options.items():
        for name, value in given.items():
            if type(value) not in _OPTION_TYPES:
                raise ProgramError(
                    f"compiler option {name!r} of mesh {mesh!r} is {value!r:.60}, "
                    "which cannot be saved; give a number, a string, or True or False"
                )
    return {mesh: dict(given) for mesh, given in options.items()}
