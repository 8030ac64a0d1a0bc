# SPDX-License-Identifier: Apache-2.0
"""Programs as `meshwright partition -o FOLDER` writes them."""

from __future__ import annotations

import json
import os
import re

from ...compiler.native import extension
from .errors import ProgramError
from .schedule_form import check_names
from .schedule_ranges import write_out

# So often a program is read again that was replaced while it was read.
_ATTEMPTS = 20


def read_folder(folder: str | os.PathLike) -> tuple[dict, dict[str, str]]:
    """Reads a partitioned program for :func:`load`.

    Args:
      folder: what `meshwright partition -o` wrote, without `--portable`.

    Returns:
      The schedule, and the text of each fragment's module by the fragment's name.

    Raises:
      ProgramError: the folder holds no whole program.
    """
    for _ in range(_ATTEMPTS):
        # The folder may get another's place; what is open remains one program.
        try:
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        except OSError as error:
            raise _no_program(folder, error) from error
        try:
            return _read_all(folder, descriptor)
        except ProgramError:
            if _is_open(folder, descriptor):
                raise
        finally:
            os.close(descriptor)
    raise ProgramError(
        f"{os.fspath(folder)} was replaced each of {_ATTEMPTS} times that it was read; "
        "wait until it is no longer written"
    )


def _no_program(folder: str | os.PathLike, error: Exception) -> ProgramError:
    return ProgramError(
        f"{os.fspath(folder)} holds no partitioned program: {error}; write one "
        "with `meshwright partition -o`"
    )


def _read_all(
    folder: str | os.PathLike, descriptor: int
) -> tuple[dict, dict[str, str]]:
    def read(path: str) -> str:
        return read_bytes(path).decode()

    def read_bytes(path: str) -> bytes:
        with open(os.open(path, os.O_RDONLY, dir_fd=descriptor), "rb") as file:
            return file.read()

    def read_module(path: str) -> str:
        try:
            return read(f"{path}.mlir")
        except FileNotFoundError as error:
            try:
                code = read_bytes(f"{path}.mlirbc")
            except FileNotFoundError:
                raise error from None
            return _print_bytecode(code)

    try:
        program = json.loads(read("schedule.json"))
        if isinstance(program, dict) and program.get("version") == 2:
            program = write_out(program)
        check_names(program)
    except (OSError, ValueError, RecursionError) as error:
        raise _no_program(folder, error) from error
    modules = {}
    for fragment in program["fragments"]:
        name = fragment["name"]
        try:
            modules[name] = read_module(f"fragments/{file_stem(name)}")
        except (OSError, ValueError) as error:
            raise ProgramError(
                f"the module of fragment {name!r} cannot be read: {error}; "
                "partition again, without --portable"
            ) from error
    return program, modules


def _print_bytecode(code: bytes) -> str:
    """The text of a module. Raises ValueError if this is no bytecode of ours."""
    compiler = extension()
    try:
        return compiler.print_bytecode(code)
    except compiler.PartitionError as error:
        raise ValueError(str(error)) from error


def _is_open(folder: str | os.PathLike, descriptor: int) -> bool:
    """Whether a path still leads to the folder that is open."""
    try:
        return os.path.samestat(os.stat(folder), os.fstat(descriptor))
    except OSError:
        return False


def file_stem(name: str) -> str:
    """The file of a fragment: its name, as far as file systems take it."""
    encoded = name.encode(errors="replace")[:200]
    return re.sub(rb"[^A-Za-z0-9._-]", b"_", encoded).decode()
