# SPDX-License-Identifier: Apache-2.0
"""Loads programs that were compiled elsewhere or before (docs/saved.md)."""

from __future__ import annotations

import dataclasses
import os
import zlib
from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from ..core.config import Topology
from ..core.contents import Contents, ContentsError
from ..core.tracebacks import at_users_line
from ..jaxapi import frontend as compat
from ..runtime import ProgramError
from ..runtime import load as load_program
from ..runtime.load import saved as saved_code
from ..runtime.program.schedule_ranges import read_text
from ..shardings.signature import ProgramSignature, io_specs
from .compiled import Compiled
from .executable import Executable
from .saved_form import constant_from_json, open_folder, signature_from_json
from .stacked import StackedExecutable, Stacking
from .structure import StructureError


@dataclasses.dataclass(frozen=True)
class _SavedText:
    """Takes the place of what the partitioner made of a module.

    Attributes:
      fragments: text of the module of each.
      io: meshes and shardings of inputs and outputs.
    """

    fragments: Mapping[str, str]
    io: Mapping[str, Any]
    _module: bytes

    @property
    def module_text(self) -> str:
        """The partitioned module with locations."""
        return zlib.decompress(self._module).decode()


@at_users_line
def load(folder: str | os.PathLike, meshes: Topology) -> Compiled:
    """Loads a program that `Compiled.save` wrote, onto devices that are here.

    Nothing is traced, partitioned or compiled. The folder's code runs in this process:
    load what you or those whom you trust have saved.

    Args:
      folder: where it was saved.
      meshes: a mesh for each of the program's, by its name, with its axes and as many
        devices of the same kind; other devices than those it was compiled for will do.

    Returns:
      The compiled program, to be called as the one that was saved.

    Raises:
      ValueError: there is no program in the folder, or it is damaged; or it was saved
        with other versions, flags or options, or for other devices.
      TypeError: `meshes` are no meshes.
    """
    contents = open_folder(folder)
    found = contents.read_index()
    try:
        saved_code.check_versions(found["surroundings"])
        return _load(contents, found, meshes)
    except StructureError as error:
        raise ProgramError(f"{contents.folder}: {error}") from None
    except (KeyError, IndexError, AttributeError, zlib.error) as error:
        raise ContentsError(
            f"{contents.folder} holds no whole program: {type(error).__name__} "
            f"{error}; save it again"
        ) from error


def _load(contents: Contents, found: Mapping[str, Any], meshes: Topology) -> Compiled:
    def read(name: str) -> bytes:
        return zlib.decompress(contents.read(name))

    known: dict[str, np.ndarray] = {}
    constants = tuple(constant_from_json(e, read, known) for e in found["constants"])
    signature = signature_from_json(found["signature"], constants)
    _check_widths(signature)
    text = _SavedText(
        {name: read(file).decode() for name, file in found["fragments"].items()},
        found["io"],
        contents.read(found["module"]),
    )
    code = saved_code.Saved(
        found["executables"], contents.read, found["surroundings"], found["meshes"]
    )
    schedule = read_text(read(found["schedule"]).decode())
    if constants and jax.process_count() > 1:
        # For all processes to agree on: each may read a folder of its own.
        schedule.constants = list(map(compat.digest_of, constants))
    program = load_program(
        schedule,
        text.fragments,
        meshes,
        compile_options=found["options"],
        saved=code,
    )
    topology = {name: meshes[name] for name in found["meshes"]}
    specs = io_specs(text.io, signature, topology)
    executable = Executable(program, signature, specs, text)
    if found["stacking"] is not None:
        executable = _stacked(executable, found["stacking"], specs)
    shown = executable.signature
    infos = [
        jax.stages.ArgInfo(aval, index in shown.donated)
        for index, aval in enumerate(shown.input_avals)
    ]
    args_info = jax.tree.unflatten(shown.call_tree, infos)
    return Compiled(executable, args_info, shown.output_tree)


def _check_widths(signature: ProgramSignature) -> None:
    """Raises ProgramError for numbers of 64 bits where JAX has them cut off."""
    for aval in (*signature.input_avals, *signature.output_avals):
        is_plain = not jax.numpy.issubdtype(aval.dtype, jax.dtypes.extended)
        if (
            is_plain
            and aval.dtype != jax.dtypes.float0
            and jax.dtypes.canonicalize_dtype(aval.dtype) != aval.dtype
        ):
            raise ProgramError(
                f"{signature.name} was saved with jax_enable_x64 for "
                f"{aval.str_short()}, which is off here; "
                'jax.config.update("jax_enable_x64", True) first'
            )


def _stacked(
    inner: Executable, found: Mapping[str, Any], specs: Any
) -> StackedExecutable:
    stacking = Stacking(
        signature_from_json(found["signature"]),
        tuple(found["inputs"]),
        tuple(found["outputs"]),
    )
    joined = stacking.specs(specs)
    if joined is None:
        raise ProgramError(
            "an array of stacked layers is over several meshes, and the given meshes "
            "share other devices than those that the program was compiled for; give "
            "meshes that share devices as those did"
        )
    return StackedExecutable(inner, stacking, joined)
