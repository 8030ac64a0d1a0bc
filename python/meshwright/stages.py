# SPDX-License-Identifier: Apache-2.0
"""Lowered, compiled and executable programs."""

from __future__ import annotations

import dataclasses
import functools
import json
import logging
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

from . import _jax_compat as compat
from . import _shardings
from . import _static_leaves as static_leaves
from .distributed.values import place_value
from .runtime.errors import FragmentError
from .types import (
    Config,
    FunctionIOMeshAssignment,
    FunctionNamedShardings,
    MpmdJitShardingInfo,
    PyTree,
    Topology,
    unknown_name,
)
from .utils import mesh_without_memory_kind

__all__ = [
    "Compiled",
    "Executable",
    "Lowered",
    "PartitioningResult",
    "ProgramSignature",
]

_logger = logging.getLogger(__name__)

DIALECTS = ("mpmd", "stablehlo")
# What is worth a warning when it moves between meshes at each call.
_LARGE_BYTES = 1 << 20


def _check_dialect(dialect: str | None) -> str:
    dialect = "mpmd" if dialect is None else dialect
    if dialect not in DIALECTS:
        raise ValueError(
            f"unknown dialect {dialect!r}, known are {', '.join(map(repr, DIALECTS))}"
        )
    return dialect


@dataclasses.dataclass(frozen=True)
class ProgramSignature:
    """What a program takes and gives, before it is partitioned.

    Attributes:
      name: the function's name.
      input_tree: tree of the tuple of arguments.
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
    input_tree: Any
    output_tree: Any
    input_avals: tuple[Any, ...]
    output_avals: tuple[Any, ...]
    input_paths: tuple[str, ...]
    kept: tuple[int, ...]
    donated: frozenset[int]
    const_args: tuple[Any, ...]
    input_meshes: tuple[str | None, ...]
    output_meshes: tuple[str | None, ...]


@dataclasses.dataclass(frozen=True)
class IOSpecs:
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


def _io_specs(
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
            shardings.append(_shardings.from_spec(specs[index], topology, ndim))
        else:
            name = mesh_without_memory_kind(assigned) if assigned else first
            meshes.append(name)
            shardings.append(NamedSharding(topology[name], PartitionSpec()))
    return IOSpecs(
        topology=topology,
        const_shardings=tuple(
            _shardings.from_spec(spec, topology, len(spec["dims"])) for spec in consts
        ),
        input_meshes=tuple(meshes),
        input_shardings=tuple(shardings),
        output_meshes=tuple(spec["mesh"] for spec in io["outputs"]),
        output_shardings=tuple(
            _shardings.from_spec(spec, topology, aval.ndim) for spec, aval in outputs
        ),
    )


@dataclasses.dataclass(frozen=True)
class PartitioningResult:
    """What the partitioner made of a module.

    Attributes:
      module_text: the partitioned module with locations.
      program: meshes, values, fragments and their order.
      fragments: function name to the StableHLO module that runs it.
      function_named_shardings: shardings of inputs and outputs.
      function_mesh_assignment: meshes of inputs and outputs.
      ifrt_ir_module: always None; fragments are compiled one by one.
    """

    module_text: str
    program: Mapping[str, Any]
    fragments: Mapping[str, str]
    function_named_shardings: FunctionNamedShardings
    function_mesh_assignment: FunctionIOMeshAssignment
    ifrt_ir_module: None = None

    @functools.cached_property
    def mpmd_module(self) -> Any:
        """The partitioned module as an object of JAX's MLIR bindings."""
        return compat.parse_module(self.module_text)


class Lowered(jax.stages.Lowered):
    """A function lowered and partitioned for its topology.

    Attributes:
      topology: mesh name to mesh.
      name: the function's name.
      const_args: constants that the program takes before its inputs.
      const_shardings: their shardings.
      kept_inputs_indices: flat inputs that the program uses.
      input_tree: tree of the tuple of arguments.
      output_tree: tree of the result.
      global_flat_input_abstract_values: types of all flat inputs.
      global_flat_output_abstract_values: types of all flat outputs.
      function_named_shardings: shardings of inputs and outputs, as trees.
      function_mesh_assignment: mesh names of inputs and outputs, as trees.
      partitioning_result: what the partitioner made of the module.
      host_callbacks: Python callbacks that the program refers to.
    """

    def __init__(
        self,
        lowered: jax.stages.Lowered,
        config: Config,
        signature: ProgramSignature,
        result: Any,
        fragments: Mapping[str, str],
    ):
        super().__init__(
            lowered._lowering, lowered.args_info, lowered.out_tree, no_kwargs=True
        )
        self._stablehlo = lowered
        self._signature = signature
        self._io = json.loads(result.io)
        self._specs = specs = _io_specs(self._io, signature, config.topology)
        self._config = config
        self.topology = config.topology
        self.name = signature.name
        self.const_args = list(signature.const_args)
        self.const_shardings = list(specs.const_shardings)
        self.kept_inputs_indices = set(signature.kept)
        self.input_tree = signature.input_tree
        self.output_tree = signature.output_tree
        self.global_flat_input_abstract_values = list(signature.input_avals)
        self.global_flat_output_abstract_values = list(signature.output_avals)
        self.host_callbacks = compat.host_callbacks(lowered)
        unflatten = jax.tree.unflatten
        self.function_named_shardings = FunctionNamedShardings(
            unflatten(self.input_tree, specs.input_shardings),
            unflatten(self.output_tree, specs.output_shardings),
        )
        self.function_mesh_assignment = FunctionIOMeshAssignment(
            unflatten(self.input_tree, specs.input_meshes),
            unflatten(self.output_tree, specs.output_meshes),
        )
        self.partitioning_result = PartitioningResult(
            module_text=result.module,
            program=json.loads(result.program),
            fragments=fragments,
            function_named_shardings=self.function_named_shardings,
            function_mesh_assignment=self.function_mesh_assignment,
        )

    @property
    def sharding_info(self) -> MpmdJitShardingInfo:
        """Meshes and shardings of names, inputs and outputs in one object."""
        return MpmdJitShardingInfo(
            topology=self.topology,
            name_to_mesh_map=self._config.name_to_mesh_assignment,
            named_shardings=self.function_named_shardings,
            io_mesh_assignment=self.function_mesh_assignment,
        )

    @property
    def mpmd_module(self) -> Any:
        """The partitioned module as an object of JAX's MLIR bindings."""
        return self.partitioning_result.mpmd_module

    @property
    def in_avals(self) -> PyTree:
        """Types of the arguments: a pair of positional and keyword arguments."""
        return jax.tree.unflatten(
            self.input_tree, self.global_flat_input_abstract_values
        ), {}

    @property
    def out_info(self) -> PyTree:
        """Shapes, dtypes and shardings of the result."""
        return jax.tree.unflatten(
            self.output_tree,
            [
                jax.ShapeDtypeStruct(aval.shape, aval.dtype, sharding=sharding)
                for aval, sharding in zip(
                    self._signature.output_avals,
                    self._specs.output_shardings,
                    strict=True,
                )
            ],
        )

    def as_text(self, dialect: str | None = None, *, debug_info: bool = False) -> str:
        """The program as text.

        Args:
          dialect: `mpmd` (the default), the partitioned program, or `stablehlo`,
            what the partitioner was given.
          debug_info: print locations.

        Returns:
          The module's text.

        Raises:
          ValueError: an unknown dialect.
        """
        if _check_dialect(dialect) == "stablehlo":
            return self._stablehlo.as_text("stablehlo", debug_info=debug_info)
        return self.mpmd_module.operation.get_asm(enable_debug_info=debug_info)

    def compiler_ir(self, dialect: str | None = None) -> Any:
        """The program as an MLIR module; the dialects are those of `as_text`."""
        if _check_dialect(dialect) == "stablehlo":
            return self._stablehlo.compiler_ir("stablehlo")
        return self.mpmd_module

    def cost_analysis(self) -> dict[str, dict[str, float]]:
        """Work that the partitioner counts, before any optimization.

        Returns:
          Per mesh: `flops` over all calls, number of `fragments` called, and of
          `transfers` and `bytes_transferred` into the mesh.
        """
        program = self.partitioning_result.program
        costs = {
            mesh["name"]: dict.fromkeys(
                ("flops", "fragments", "transfers", "bytes_transferred"), 0
            )
            for mesh in program["meshes"]
        }
        for item in program["items"]:
            if item["kind"] == "call":
                cost = costs[item["mesh"]]
                cost["flops"] += program["fragments"][item["fragment"]]["flops"]
                cost["fragments"] += 1
            else:
                cost = costs[item["to"]]
                cost["transfers"] += 1
                cost["bytes_transferred"] += item["bytes"]
        return costs

    def compile(
        self,
        compiler_options: Mapping[str, Any] | None = None,
        *,
        ifrt_ir_compile_options: Mapping[str, Any] | None = None,
        device_assignment: Sequence[jax.Device] | None = None,
    ) -> Compiled:
        """Compiles every distinct fragment for its mesh.

        Args:
          compiler_options: XLA options: one dict for all meshes, or a dict of mesh
            names to such dicts.
          ifrt_ir_compile_options: accepted for programs written for IFRT; nothing
            here has such options.
          device_assignment: devices to use instead of those of the topology, mesh
            by mesh in topology order.

        Returns:
          The compiled program.

        Raises:
          ValueError: options for an unknown mesh, options of both forms at once,
            or too few devices.
        """
        from .runtime import load

        if ifrt_ir_compile_options:
            _logger.warning("ifrt_ir_compile_options have no effect here")
        specs = self._specs
        if device_assignment is not None:
            devices = list(np.asarray(device_assignment, dtype=object).flat)
            topology = _shardings.retarget(self.topology, devices)
            specs = _io_specs(self._io, self._signature, topology)
        program = load(
            self.partitioning_result.program,
            dict(self.partitioning_result.fragments),
            dict(specs.topology),
            compile_options=options_by_mesh(compiler_options, specs.topology),
            host_callbacks=self.host_callbacks,
        )
        executable = Executable(
            program, self._signature, specs, self.partitioning_result.module_text
        )
        return Compiled(executable, self.args_info, self.out_tree)


def options_by_mesh(
    options: Mapping[str, Any] | None, topology: Topology
) -> dict[str, dict[str, Any]] | None:
    """Compiler options per mesh, from either form that `compile` takes.

    Raises:
      ValueError: an unknown mesh, or a mixture of both forms.
    """
    if not options:
        return None
    nested = [key for key, value in options.items() if isinstance(value, Mapping)]
    if not nested:
        return {mesh: dict(options) for mesh in topology}
    if len(nested) != len(options):
        flat = [key for key in options if key not in nested]
        raise ValueError(
            "compiler_options: give either options for all meshes or a dict per mesh, "
            f"got options ({', '.join(flat)}) beside meshes ({', '.join(nested)})"
        )
    for mesh in nested:
        if mesh not in topology:
            raise ValueError(unknown_name("compiler_options: mesh", mesh, topology))
    return {mesh: dict(value) for mesh, value in options.items()}


class Compiled(jax.stages.Compiled):
    """A program whose fragments are compiled; call it with arrays."""

    def __init__(self, executable: Executable, args_info: PyTree, out_tree: Any):
        super().__init__(executable, [], args_info, out_tree, no_kwargs=True)
        self._has_static = static_leaves.occur_in(executable.signature.output_tree)

    @property
    def mpmd_executable(self) -> Executable:
        """The executable, which takes and gives flat lists of arrays."""
        return self._executable

    @property
    def ifrt_ir_program_memory_stats(self) -> Any:
        """Memory of the whole program; the same as `memory_analysis()`."""
        return self._executable.memory_analysis()

    @property
    def ifrt_ir_program_memory_xprof(self) -> None:
        """Always None: there is no xprof page of the program."""
        return None

    @property
    def peak_memory_bytes(self) -> int:
        """Most bytes that any device holds at one time."""
        return self._executable.peak_memory_bytes

    @property
    def in_avals(self) -> PyTree:
        """Types of the arguments: a pair of positional and keyword arguments."""
        signature = self._executable.signature
        return jax.tree.unflatten(signature.input_tree, signature.input_avals), {}

    @property
    def out_info(self) -> PyTree:
        """Shapes, dtypes and shardings of the result."""
        executable = self._executable
        return jax.tree.unflatten(
            executable.signature.output_tree,
            [
                jax.ShapeDtypeStruct(aval.shape, aval.dtype, sharding=sharding)
                for aval, sharding in zip(
                    executable.out_avals, executable.output_shardings(), strict=True
                )
            ],
        )

    @property
    def input_shardings(self) -> PyTree:
        """Shardings of the arguments: a pair of positional and keyword ones."""
        return self._executable.input_shardings_tree, {}

    @property
    def output_shardings(self) -> PyTree:
        """Shardings of the result."""
        return self._executable.output_shardings_tree

    @property
    def input_formats(self) -> PyTree:
        """Formats of the arguments: a pair of positional and keyword ones."""
        tree = self._executable.signature.input_tree
        return jax.tree.unflatten(tree, self._executable.input_formats()), {}

    @property
    def output_formats(self) -> PyTree:
        """Formats of the result."""
        tree = self._executable.signature.output_tree
        return jax.tree.unflatten(tree, self._executable.output_formats())

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the program.

        Args:
          *args: `jax.Array`s in the pytrees that the function was lowered for,
            with the shardings of `input_shardings`. Donated arrays are gone after
            the call.
          **kwargs: not supported.

        Returns:
          The result, a pytree of arrays on the meshes of the topology. They may
          still be being computed.

        Raises:
          TypeError: other pytrees, shapes or dtypes than the program was lowered
            for, or keyword arguments.
          ValueError: an argument is no `jax.Array` or has another sharding.
          RuntimeError: an argument was deleted.
        """
        executable = self._executable
        if kwargs:
            raise TypeError(
                f"{executable.signature.name} takes positional arguments only, got "
                f"{', '.join(kwargs)}"
            )
        leaves, tree = jax.tree.flatten(args)
        if tree != executable.signature.input_tree:
            # Functions, strings and the like are part of the structure.
            args = static_leaves.wrap(args, static_leaves.is_equinox_module)
            leaves, tree = jax.tree.flatten(args)
        if tree != executable.signature.input_tree:
            raise TypeError(_tree_error(executable.signature, tree))
        outs = executable.call(*leaves)
        result = jax.tree.unflatten(executable.signature.output_tree, outs)
        return static_leaves.unwrap(result) if self._has_static else result

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the program; see `call`."""
        return self.call(*args, **kwargs)


def _is_key(aval: Any) -> bool:
    return jax.numpy.issubdtype(aval.dtype, jax.dtypes.prng_key)


def _tree_error(signature: ProgramSignature, tree: Any) -> str:
    return (
        f"{signature.name} was compiled for arguments of the structure "
        f"{signature.input_tree}, but was called with {tree}"
    )


class Executable:
    """A loaded program that takes and gives flat lists of arrays.

    Attributes:
      signature: what the program takes and gives.
      out_avals: types of the outputs.
    """

    def __init__(
        self,
        program: Any,
        signature: ProgramSignature,
        specs: IOSpecs,
        module_text: str,
    ):
        self.signature = signature
        self.out_avals = list(signature.output_avals)
        self._program = program
        self._specs = specs
        self._module_text = module_text
        self._consts = [
            place_value(value, sharding)
            for value, sharding in zip(
                signature.const_args, specs.const_shardings, strict=True
            )
        ]
        self._input_formats, self._output_formats = self._formats()
        avals, used = signature.input_avals, set(signature.kept)
        self._keys = {i for i in used if _is_key(avals[i])}
        self._key_outputs = [
            i for i, aval in enumerate(self.out_avals) if _is_key(aval)
        ]
        self._weak_outputs = [
            i
            for i, aval in enumerate(self.out_avals)
            if getattr(aval, "weak_type", False)
        ]
        self._unused = [i for i in range(len(avals)) if i not in used]
        self._moved: set[int] = set()
        self._device_sets = {
            frozenset(mesh.devices.flat) for mesh in specs.topology.values()
        }
        self._direct = not (self._consts or self._keys or self._unused)

    def _formats(self) -> tuple[list[Any], list[Any]]:
        """Formats of the user's inputs and outputs, keys and unused inputs included."""
        layouts: dict[int, Any] = {}
        inputs = self._program.input_formats[len(self._consts) :]
        for index, found in zip(self.signature.kept, inputs, strict=True):
            if not _is_key(self.signature.input_avals[index]):
                layouts[index] = found.layout
        specs = self._specs
        return (
            [
                compat.Format(layouts.get(index), sharding)
                for index, sharding in enumerate(specs.input_shardings)
            ],
            [
                compat.Format(None if _is_key(aval) else found.layout, sharding)
                for aval, found, sharding in zip(
                    self.out_avals,
                    self._program.output_formats,
                    specs.output_shardings,
                    strict=True,
                )
            ],
        )

    def call(self, *args: Any) -> list[jax.Array]:
        """Runs the program.

        Args:
          *args: one `jax.Array` per flat input, unused ones included.

        Returns:
          One array per flat output.

        Raises:
          ValueError: an input is no `jax.Array`, has another sharding than the
            program expects, or is donated twice.
          TypeError: the wrong number of inputs, or another shape or dtype.
          RuntimeError: an input was deleted.
        """
        values = args if self._direct else self._values(args)
        try:
            outs = self._program(*values)
        except FragmentError:
            raise  # Something ran, so arguments may be gone by now.
        except (TypeError, ValueError, RuntimeError):
            # The program's own checks know positions and buffers; the user knows
            # arguments. What is not about the arguments is raised as it is.
            self._check(args)
            raise
        for index in self._unused:
            if index in self.signature.donated and not args[index].is_deleted():
                args[index].delete()
        for index in self._weak_outputs:
            compat.make_weak(outs[index])
        for index in self._key_outputs:
            outs[index] = compat.wrap_key(outs[index], self.out_avals[index].dtype)
        return outs

    def _values(self, args: Sequence[Any]) -> list[Any]:
        """What the program takes: constants, then the inputs that are used."""
        if len(args) != len(self.signature.input_avals):
            self._check(args)
        for index in (*self._unused, *self._keys):
            if not isinstance(args[index], jax.Array):
                self._check(args)
        return [
            *self._consts,
            *(
                self._key_data(args, index) if index in self._keys else args[index]
                for index in self.signature.kept
            ),
        ]

    def _key_data(self, args: Sequence[Any], index: int) -> Any:
        if args[index].dtype != self.signature.input_avals[index].dtype:
            self._check(args)
        return jax.random.key_data(args[index])

    def _check(self, args: Sequence[Any]) -> None:
        """Raises an error that names the first unfit arguments, if there are any."""
        avals = self.signature.input_avals
        if len(args) != len(avals):
            raise TypeError(
                f"{self.signature.name} takes {len(avals)} flat inputs, got {len(args)}"
            )
        for index, arg in enumerate(args):
            if not isinstance(arg, jax.Array) or isinstance(arg, jax.core.Tracer):
                raise ValueError(
                    f"{self._where(index)} must be a jax.Array, got "
                    f"{type(arg).__name__}; place it with jax.device_put(x, sharding), "
                    "the sharding is in input_shardings"
                )
        misplaced = []
        for position, index in enumerate(self.signature.kept):
            arg, aval = args[index], avals[index]
            if arg.shape != aval.shape or arg.dtype != aval.dtype:
                raise TypeError(
                    f"{self._where(index)} must be {aval.str_short()}, got "
                    f"{jax.typeof(arg).str_short()}; lower the function again for "
                    "other types"
                )
            if arg.is_deleted():
                raise RuntimeError(
                    f"{self._where(index)} has been deleted: it was donated to an "
                    "earlier call or deleted by hand; use that call's result instead"
                )
            wanted = self._specs.input_shardings[index]
            if not arg.sharding.is_equivalent_to(wanted, arg.ndim):
                misplaced.append((position, index))
        if misplaced:
            raise ValueError(self._misplaced(args, misplaced))
        self._check_donations(args)

    def _check_donations(self, args: Sequence[Any]) -> None:
        owners: dict[int, int] = {}
        for index in self.signature.kept:
            other = owners.setdefault(id(args[index]), index)
            if other != index and not self.signature.donated.isdisjoint((other, index)):
                raise ValueError(
                    f"{self._where(other)} and {self._where(index)} are the same "
                    "array, and it is donated; pass a copy for one of them"
                )

    def _where(self, index: int) -> str:
        return f"{self.signature.name}: {self.signature.input_paths[index]}"

    def _misplaced(
        self, args: Sequence[Any], indices: Sequence[tuple[int, int]]
    ) -> str:
        topology = self._specs.topology
        lines = [
            f"{self.signature.name}: {len(indices)} inputs do not have the sharding "
            "that the program expects; place them with jax.device_put(x, sharding), "
            "or lower the function for them"
        ]
        for position, index in indices:
            received = _shardings.describe(args[index].sharding, topology)
            wanted = _shardings.describe(self._specs.input_shardings[index], topology)
            lines.append(
                f"  input {position} (originally {index}, "
                f"{self.signature.input_paths[index]}): received {received}, "
                f"expected {wanted}"
            )
        return "\n".join(lines)

    def accepts(self, leaves: Sequence[Any]) -> bool:
        """Whether all that is committed to devices is where the program expects it.

        Args:
          leaves: flat inputs, `jax.Array`s or what `place` can make into some.

        Returns:
          True if the program can be called with them after `place`.
        """
        for index in self.signature.kept:
            leaf, wanted = leaves[index], self._specs.input_shardings[index]
            if not isinstance(leaf, jax.Array) or not leaf.committed:
                continue
            found = leaf.sharding
            if self._is_elsewhere(leaf, wanted):
                found = _shardings.on_mesh(found, wanted.mesh)
            if found != wanted and not found.is_equivalent_to(wanted, leaf.ndim):
                return False
        return True

    def _is_elsewhere(self, leaf: jax.Array, wanted: NamedSharding) -> bool:
        """Whether an array is on another mesh of the topology than is wanted.

        A result often is: the next call reads it where the first one did.
        """
        return (
            leaf.sharding.device_set != wanted.device_set
            and frozenset(leaf.sharding.device_set) in self._device_sets
            and wanted.is_fully_addressable
        )

    def place(self, args: Sequence[Any]) -> tuple[Any, ...]:
        """Puts what is on no particular device where the program expects it.

        Args:
          args: the dynamic arguments, pytrees of arrays, numpy arrays and scalars.

        Returns:
          The same pytrees of `jax.Array`s. Committed arrays are left alone, unless
          they are on another mesh of the topology.

        Raises:
          TypeError: another structure than the program was lowered for.
          ValueError: a value that is no `jax.Array` is for devices of other
            processes.
          JaxRuntimeError: `jax.transfer_guard` forbids to place a value.
        """
        leaves, tree = jax.tree.flatten(tuple(args))
        if tree != self.signature.input_tree:
            raise TypeError(_tree_error(self.signature, tree))
        placed = []
        for index, leaf in enumerate(leaves):
            if isinstance(leaf, jax.Array) and leaf.committed:
                wanted = self._specs.input_shardings[index]
                if not self._is_elsewhere(leaf, wanted):
                    placed.append(leaf)
                    continue
                self._say_moved(index, leaf)
            placed.append(self._placed(index, leaf))
        return jax.tree.unflatten(tree, placed)

    def release(self, args: Sequence[Any], placed: Sequence[Any]) -> None:
        """Deletes donated arrays of which the program was given a placed copy.

        Args:
          args: what `place` was given.
          placed: what it returned.
        """
        leaves = zip(jax.tree.leaves(args), jax.tree.leaves(placed), strict=True)
        for index, (leaf, copy) in enumerate(leaves):
            if (
                index in self.signature.donated
                and leaf is not copy
                and isinstance(leaf, jax.Array)
                and not leaf.is_deleted()
            ):
                leaf.delete()

    def _say_moved(self, index: int, leaf: jax.Array) -> None:
        """Says once that an argument has to be moved at each call."""
        if index in self._moved:
            return
        self._moved.add(index)
        _logger.log(
            logging.WARNING if leaf.nbytes >= _LARGE_BYTES else logging.INFO,
            "%s (%s bytes) is %s and is moved to mesh %r at each call; assign it with "
            "input_mesh_assignment, or the result that it was with "
            "output_mesh_assignment",
            self._where(index),
            leaf.nbytes,
            _shardings.describe(leaf.sharding, self._specs.topology),
            self._specs.input_meshes[index],
        )

    def _guard(self, index: int, leaf: Any, sharding: NamedSharding) -> None:
        """Asks `jax.transfer_guard`, as `jax.jit` does for what it has to place."""
        direction = "host_to_device"
        if isinstance(leaf, jax.Array):
            direction = "device_to_device"
            if leaf.sharding.is_equivalent_to(sharding, leaf.ndim):
                return
        level = compat.transfer_guard(direction)
        if level == "allow":
            return
        text = (
            f"{direction.replace('_', '-')} transfer of {self._where(index)} to "
            f"{_shardings.describe(sharding, self._specs.topology)}"
        )
        if level == "disallow":
            raise jax.errors.JaxRuntimeError(
                f"Disallowed {text}; place it with jax.device_put, which is explicit"
            )
        _logger.warning("%s", text)

    def _placed(self, index: int, leaf: Any) -> jax.Array:
        form = self._input_formats[index]
        self._guard(index, leaf, form.sharding)
        if not isinstance(leaf, jax.Array):
            # CPU devices may share the memory of a NumPy array, which its owner is
            # free to change while the program runs.
            leaf = np.array(leaf, self.signature.input_avals[index].dtype)
        if form.sharding.is_fully_addressable:
            return jax.device_put(leaf, form if form.layout else form.sharding)
        if leaf.ndim and not form.sharding.addressable_devices:
            raise ValueError(
                f"{self._where(index)} is a value of this process, but its mesh "
                f"{self._specs.input_meshes[index]!r} is on devices of other "
                "processes; make an array of it on every process with "
                "mw.distributed.place(value, sharding), the sharding is in "
                "compiled.input_shardings"
            )
        return place_value(leaf, form.sharding)

    def input_shardings(self) -> list[NamedSharding]:
        """Shardings of all flat inputs, unused ones included."""
        return list(self._specs.input_shardings)

    def output_shardings(self) -> list[NamedSharding]:
        """Shardings of all flat outputs."""
        return list(self._specs.output_shardings)

    @property
    def input_shardings_tree(self) -> PyTree:
        """Shardings of the arguments, in their tree."""
        return jax.tree.unflatten(
            self.signature.input_tree, self._specs.input_shardings
        )

    @property
    def output_shardings_tree(self) -> PyTree:
        """Shardings of the result, in its tree."""
        return jax.tree.unflatten(
            self.signature.output_tree, self._specs.output_shardings
        )

    def input_formats(self) -> list[Any]:
        """Formats of all flat inputs; None is a device's default layout."""
        return list(self._input_formats)

    def output_formats(self) -> list[Any]:
        """Formats of all flat outputs; None is a device's default layout."""
        return list(self._output_formats)

    def cost_analysis(self) -> Any:
        """Costs of the compiled fragments, per mesh."""
        return self._program.cost_analysis()

    def memory_analysis(self) -> Any:
        """Memory of the program, per device."""
        return self._program.memory_analysis()

    @property
    def peak_memory_bytes(self) -> int:
        """Most bytes that any device holds at one time."""
        return self._program.peak_memory_bytes

    def as_text(self) -> str:
        """The partitioned module that the program executes."""
        return self._module_text

    def runtime_executable(self) -> Any:
        """The loaded program of `meshwright.runtime`."""
        return self._program
