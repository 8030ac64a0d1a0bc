# SPDX-License-Identifier: Apache-2.0
"""What a program takes and gives, and where."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import jax
from jax.sharding import NamedSharding, PartitionSpec

from ..core.config import Topology
from ..core.names import mesh_without_memory_kind
from . import named as named_shardings


class ProgramSignature(NamedTuple):
    """What a program takes and gives, before it is partitioned.

    Attributes:
      name: the function's name.
      call_tree: tree of the pair of positional and keyword arguments.
      output_tree: tree of the result.
      input_avals: abstract values of all flat inputs.
      output_avals: abstract values of all flat outputs.
      input_paths: where each flat input is in the arguments, for messages.
      kept: flat inputs that the program uses, ascending.
      donated: flat inputs that are donated, used or not.
      const_args: values of inputs that come before those of the user.
      input_meshes: assigned mesh per flat input, possibly with a memory kind.
      output_meshes: the same for the outputs.
    """

    name: str
    call_tree: Any
    output_tree: Any
    input_avals: tuple[Any, ...]
    output_avals: tuple[Any, ...]
    input_paths: tuple[str, ...]
    kept: tuple[int, ...]
    donated: frozenset[int]
    const_args: tuple[Any, ...]
    input_meshes: tuple[str | None, ...]
    output_meshes: tuple[str | None, ...]

    def where(self, index: int) -> str:
        """What messages call a flat input."""
        return f"{self.name}: {self.input_paths[index]}"

    @property
    def input_tree(self) -> Any:
        """Tree of the tuple of arguments; with keyword arguments, of the pair."""
        args, kwargs = self.call_tree.children()
        return args if kwargs == jax.tree.structure({}) else self.call_tree


class IOSpecs(NamedTuple):
    """Mesh and sharding of every flat input and output, on given meshes.

    Attributes:
      topology: mesh name to mesh.
      const_shardings: shardings of the hoisted constants.
      input_meshes: mesh name per flat input, unused ones included.
      input_shardings: sharding per flat input, unused ones included.
      output_meshes: mesh name per flat output.
      output_shardings: sharding per flat output.
    """

    topology: Topology
    const_shardings: tuple[NamedSharding, ...]
    input_meshes: tuple[str, ...]
    input_shardings: tuple[NamedSharding, ...]
    output_meshes: tuple[str, ...]
    output_shardings: tuple[NamedSharding, ...]


def io_specs(
    io: Mapping[str, Any], signature: ProgramSignature, topology: Topology
) -> IOSpecs:
    """Puts the compiler's specs on the meshes of `topology`.

    Inputs that were removed because nothing uses them are replicated on the mesh
    that the user assigned, else on the first one.
    """
    num_consts = len(signature.const_args)
    consts, kept = io["inputs"][:num_consts], io["inputs"][num_consts:]
    outputs = zip(io["outputs"], signature.output_avals, strict=True)
    first = next(iter(topology))
    meshes, shardings = [], []
    specs = dict(zip(signature.kept, kept, strict=True))
    for index, assigned in enumerate(signature.input_meshes):
        if index in specs:
            meshes.append(specs[index]["mesh"])
            ndim = signature.input_avals[index].ndim
            shardings.append(named_shardings.from_spec(specs[index], topology, ndim))
        else:
            name = mesh_without_memory_kind(assigned) if assigned else first
            meshes.append(name)
            shardings.append(NamedSharding(topology[name], PartitionSpec()))
    return IOSpecs(
        topology=topology,
        const_shardings=tuple(
            named_shardings.from_spec(spec, topology, len(spec["dims"]))
            for spec in consts
        ),
        input_meshes=tuple(meshes),
        input_shardings=tuple(shardings),
        output_meshes=tuple(spec["mesh"] for spec in io["outputs"]),
        output_shardings=tuple(
            named_shardings.from_spec(spec, topology, aval.ndim)
            for spec, aval in outputs
        ),
    )
