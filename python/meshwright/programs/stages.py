# SPDX-License-Identifier: Apache-2.0
"""Lowered, compiled and executable programs."""

from __future__ import annotations

import copy
import dataclasses
import functools
import json
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TextIO

import jax
import numpy as np

from ..compiler.diagnostics import Remark, explained_messages, remarks_of, report
from ..core.config import (
    Config,
    FunctionIOMeshAssignment,
    FunctionIOShardingSpecsAndMeshes,
    FunctionNamedShardings,
    MpmdJitShardingInfo,
    NamedSpmdShardingSpec,
    PyTree,
)
from ..core.tracebacks import at_users_line
from ..jaxapi import frontend as compat
from ..runtime import Recording, load
from ..runtime.program.schedule import Schedule
from ..runtime.program.schedule_ranges import read_text
from ..shardings import named as named_shardings
from ..shardings.signature import IOSpecs, ProgramSignature, io_specs
from .compiled import Compiled
from .executable import Executable, results_info
from .explanations import (
    Ask,
    ShardingExplanation,
    explain,
)
from .report import Report
from .simulation import Simulation, device_of, draw, simulate
from .stacked import StackedExecutable, Stacking

_logger = logging.getLogger(__name__)

DIALECTS = ("mpmd", "stablehlo")


_SIDES = ("inputs", "outputs")


def _spec(entry: Mapping[str, Any]) -> NamedSpmdShardingSpec:
    return NamedSpmdShardingSpec(
        entry["mesh"], entry["dims"], entry["unreduced"], entry["memory_kind"]
    )


def _check_dialect(dialect: str | None) -> str:
    # Programs that asked for IFRT wanted what is executed, and that is this here.
    dialect = "mpmd" if dialect in (None, "ifrt") else dialect
    if dialect not in DIALECTS:
        raise ValueError(
            f"unknown dialect {dialect!r}, known are {', '.join(map(repr, DIALECTS))}"
        )
    return dialect


def schedule_of(made: Any) -> Schedule:
    """The schedule of what the compiler made of a module."""
    return read_text(made.program)


@dataclasses.dataclass(frozen=True)
class PartitioningResult:
    """What the partitioner made of a module.

    Attributes:
      fragments: function name to the StableHLO module that runs it.
      function_named_shardings: shardings of inputs and outputs.
      function_mesh_assignment: meshes of inputs and outputs.
      module_io_sharding_specs_and_meshes: both as the partitioner says it, flat.
      ifrt_ir_module: always None; fragments are compiled one by one.
    """

    fragments: Mapping[str, str]
    function_named_shardings: FunctionNamedShardings
    function_mesh_assignment: FunctionIOMeshAssignment
    module_io_sharding_specs_and_meshes: FunctionIOShardingSpecsAndMeshes
    # What the compiler gave, whose texts are large and rarely read.
    _made: Any = dataclasses.field(repr=False, compare=False)
    ifrt_ir_module: None = None

    @functools.cached_property
    def module_text(self) -> str:
        """The partitioned module with locations."""
        return self._made.module

    @property
    def module_bytecode(self) -> bytes:
        """The partitioned module with locations, as MLIR bytecode."""
        return self._made.bytecode

    @functools.cached_property
    def io(self) -> Mapping[str, Any]:
        """Meshes and shardings of inputs and outputs, flat."""
        return json.loads(self._made.io)

    @property
    def program_text(self) -> str:
        """`schedule` as JSON; of version 2 if it is large."""
        return self._made.program

    @functools.cached_property
    def schedule(self) -> Schedule:
        """The same as `program`, with nothing written out that is not asked for."""
        return schedule_of(self._made)

    @functools.cached_property
    def program(self) -> Mapping[str, Any]:
        """Meshes, values, fragments and their order: version 1 of schedule.json
        (docs/schedule-json.md), with each item written out."""
        return self.schedule.written_out()

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
      program_signature: inputs and outputs of the program that was partitioned, in
        which arrays of stacked layers may be in pieces.
    """

    def __init__(
        self,
        lowered: jax.stages.Lowered,
        config: Config,
        signature: ProgramSignature,
        result: Any,
        fragments: Mapping[str, str],
        messages: Sequence[Any],
        ask: Ask,
        lower_whole: Callable[[], jax.stages.Lowered],
    ):
        super().__init__(
            lowered._lowering, lowered.args_info, lowered.out_tree, no_kwargs=True
        )
        self._lower_whole = lower_whole
        self._ask = ask
        self.program_signature = self._signature = signature
        self._stacking: Stacking | None = None
        self._io = json.loads(result.io)
        self._specs = specs = io_specs(self._io, signature, config.topology)
        self._config = config
        self._messages = messages
        self.topology = config.topology
        self.name = signature.name
        self.const_args = list(signature.const_args)
        self.const_shardings = list(specs.const_shardings)
        self.host_callbacks = compat.host_callbacks(lowered)
        self._show(signature, specs)
        self.function_mesh_assignment = FunctionIOMeshAssignment(
            jax.tree.unflatten(self.input_tree, specs.input_meshes),
            jax.tree.unflatten(self.output_tree, specs.output_meshes),
        )
        self.partitioning_result = PartitioningResult(
            fragments=fragments,
            function_named_shardings=self.function_named_shardings,
            function_mesh_assignment=self.function_mesh_assignment,
            module_io_sharding_specs_and_meshes=FunctionIOShardingSpecsAndMeshes(
                *([_spec(entry) for entry in self._io[side]] for side in _SIDES)
            ),
            _made=result,
        )

    @functools.cached_property
    def _stablehlo(self) -> jax.stages.Lowered:
        """What was lowered, with all of its constants in it."""
        if self.const_args:
            return self._lower_whole()
        return jax.stages.Lowered(
            self._lowering, self.args_info, self.out_tree, no_kwargs=True
        )

    def _show(self, signature: ProgramSignature, specs: IOSpecs) -> None:
        """Sets what the caller of the program sees."""
        self._shown, self._shown_specs = signature, specs
        self.kept_inputs_indices = set(signature.kept)
        self.input_tree = signature.input_tree
        self.output_tree = signature.output_tree
        self.global_flat_input_abstract_values = list(signature.input_avals)
        self.global_flat_output_abstract_values = list(signature.output_avals)
        self.function_named_shardings = FunctionNamedShardings(
            jax.tree.unflatten(self.input_tree, specs.input_shardings),
            jax.tree.unflatten(self.output_tree, specs.output_shardings),
        )

    def show_stacked(self, stacking: Stacking, traced: jax.stages.Traced) -> bool:
        """Lets the caller give and get arrays in the place of their pieces.

        Args:
          stacking: which inputs and outputs are pieces of what.
          traced: the function before its layers were taken apart.

        Returns:
          Whether there are shardings for these arrays.
        """
        specs = stacking.specs(self._specs)
        if specs is None:
            return False
        self._stacking = stacking
        self.args_info, self.out_tree = traced.args_info, traced.out_tree
        self._show(stacking.signature, specs)
        return True

    @property
    def flat_meshes(self) -> tuple[Sequence[str], Sequence[str]]:
        """Meshes of the inputs and of the outputs of the program."""
        return self._specs.input_meshes, self._specs.output_meshes

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
    def divisions(self) -> tuple[Any, ...]:
        """How `meshwright.auto` divided the function; nothing for others."""
        return self._config.divisions

    @property
    def remarks(self) -> tuple[Remark, ...]:
        """What was merged, absorbed, moved or recomputed, and what was not and why.

        Each is of the moment at which a pass decided: what one left alone, a later
        one may have merged. All kinds, unless the option `mpmd_remarks` names some.
        """
        return tuple(remarks_of(list(self.partitioning_result._made.remarks)))

    def log_messages(self, logged: set[str]) -> None:
        """Logs what the compiler reported of the program.

        Args:
          logged: what was logged of the function before; grows. It is logged once.
        """
        report(self._messages, self._config, logged)

    @property
    def mpmd_module(self) -> Any:
        """The partitioned module as an object of JAX's MLIR bindings."""
        return self.partitioning_result.mpmd_module

    @property
    def in_avals(self) -> PyTree:
        """Types of the arguments: a pair of positional and keyword arguments."""
        return jax.tree.unflatten(
            self._shown.call_tree, self.global_flat_input_abstract_values
        )

    @property
    def out_info(self) -> PyTree:
        """Shapes, dtypes and shardings of the result."""
        return results_info(self._shown, self._shown_specs.output_shardings)

    def as_text(self, dialect: str | None = None, *, debug_info: bool = False) -> str:
        """The program as text.

        Args:
          dialect: `mpmd` (the default), the partitioned program, which is what the
            runtime executes, also by the name `ifrt`; or `stablehlo`, what the
            partitioner was given. Large constants are arguments of the former, and are
            in the latter as they are in that of `jax.jit`.
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
        schedule = self.partitioning_result.schedule
        costs = {
            mesh["name"]: dict.fromkeys(
                ("flops", "fragments", "transfers", "bytes_transferred"), 0
            )
            for mesh in schedule.meshes
        }
        for item, count in schedule.kinds():
            if item["kind"] == "call":
                cost = costs[item["mesh"]]
                cost["flops"] += count * schedule.fragments[item["fragment"]]["flops"]
                cost["fragments"] += count
            else:
                cost = costs[item["to"]]
                cost["transfers"] += count
                cost["bytes_transferred"] += count * item["bytes"]
        return costs

    @at_users_line
    def simulate(
        self,
        device: str | os.PathLike | Compiled,
        *,
        profile: str | os.PathLike | Recording | None = None,
        compiled: Compiled | str | os.PathLike | None = None,
        costs: Sequence[str] = (),
        processes: int | None = None,
        overlap: str = "pairs",
    ) -> Simulation:
        """Says how long a step would take, and what memory, before it runs.

        Nothing is compiled, and the device need not be there.

        Args:
          device: the device type of the meshes: `h100`, `tpu-v5p`, `cpu` and so on, or
            a file of figures (docs/cost-model.md); or this program, compiled, whose
            devices they are then.
          profile: times that `mw.profile` recorded, of this program or of one with
            another number of microbatches: a file, or the recording. Where it has
            some, they take precedence over those of the device.
          compiled: this program, compiled, or where it was saved: temporaries and code
            are as its compiler says, and times where it has some and there is no
            profile.
          costs: what custom calls do, such as
            `"flash_attention=flops:4*b*h*t*t*d"`.
          processes: how many issue the program, each as many meshes; by default those
            that have devices of the topology.
          overlap: `"none"` runs the parts of overlapped pairs one after the other, to
            show what they gain.

        Returns:
          Times, memory, transfers and the critical path. What had to be guessed is
          logged, and in its `notes`.

        Raises:
          TypeError: `costs` is a text, not several.
          ValueError: an unknown device or overlap, or a profile or cost that cannot be
            read.
          OSError: the profile, or what was compiled, cannot be opened.
        """

        if isinstance(device, Compiled):
            if compiled is not None:
                raise ValueError("simulate: a compiled program was given twice")
            device, compiled = device_of(device), device
        if processes is None:
            indices = {
                found.process_index
                for mesh in self.topology.values()
                if isinstance(mesh, jax.sharding.Mesh)
                for found in mesh.devices.flat
            }
            processes = max(1, min(len(indices), len(self.topology)))
        made = self.partitioning_result._made
        return simulate(made, device, profile, costs, processes, compiled, overlap)

    @at_users_line
    def draw(
        self,
        path: str | os.PathLike,
        device: str | os.PathLike | None = None,
        *,
        format: str | None = None,
        profile: str | os.PathLike | Recording | None = None,
        costs: Sequence[str] = (),
        processes: int | None = None,
        recorded: str | os.PathLike | Recording | None = None,
        title: str | None = None,
    ) -> None:
        """Draws when what would run where, as `meshwright draw` does (docs/draw.md).

        Args:
          path: the file to write; what was there stays until it is whole.
          device: the device type of the meshes, as for `simulate`. None: each fragment
            takes a unit of time and transfers none, which shows the order.
          format: `html` (a page to look into), `svg`, `pdf`, `perfetto`, `dot` or
            `text`. None: what the ending of `path` says.
          profile, costs, processes: as for `simulate`; they need a device.
          recorded: a run that `mw.profile` recorded, to be drawn beside: a file, or
            the recording.
          title: the title, by default the name of the file.

        Raises:
          TypeError: `costs` is a text, not several.
          ValueError: an unknown format, device, profile, cost or recording.
          OSError: a file cannot be opened or written.
        """

        if device is not None:
            found = self.simulate(
                device, profile=profile, costs=costs, processes=processes
            )
            text = found.as_text()
        elif profile is not None or costs or processes is not None:
            raise ValueError(
                "draw: profile, costs and processes are for a simulation; give `device`"
            )
        else:
            text = self.partitioning_result.program_text
        draw(text, path, format, title, recorded)

    @at_users_line
    def explain_sharding(self, value: str | None = None) -> ShardingExplanation:
        """Says which annotation each axis of a value comes from, and by which path.

        The program is imported and its shardings are propagated once more, which takes
        as long as lowering it did; nothing is compiled.

        Args:
          value: `arg 0` or `result 0` of the program; a name that JAX gives to
            arguments, such as `params['w']`; `file:line` in the user's source; or
            `%0`, `%0#1`, `%arg0` as in `as_text("stablehlo")`. None: all values that
            are sharded.

        Returns:
          The values with their axes; `str` of it is what `meshwright
          explain-sharding` prints (docs/sharding.md).

        Raises:
          TypeError: the value is not a text.
          ValueError: there is no such value, or none is sharded.
        """
        return explain(value, self._ask)

    def report(self, file: TextIO | None = None) -> None:
        """Prints a page on what became of the function.

        Which name went where, what was inferred and why, transfers with bytes, what
        is copied because of donation, shardings that change between fragments or inside
        of one, which fragments stay alone and why, and what the partitioner had to say.

        Args:
          file: where to print, the terminal by default.
        """
        messages = explained_messages(self._messages, self._config)
        program = self.partitioning_result.program
        fragments = self.partitioning_result.fragments
        about = self._config, self._signature, program, fragments
        remarks = remarks_of(list(self.partitioning_result._made.few_remarks))
        print(Report(*about, messages, remarks), file=file)

    @at_users_line
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

        if ifrt_ir_compile_options:
            _logger.warning("ifrt_ir_compile_options have no effect here")
        specs = self._specs
        if device_assignment is not None:
            devices = list(np.asarray(device_assignment, dtype=object).flat)
            topology = named_shardings.retarget(self.topology, devices)
            specs = io_specs(self._io, self._signature, topology)
        stacked = None if self._stacking is None else self._stacking.specs(specs)
        if self._stacking is not None and stacked is None:
            raise ValueError(
                "device_assignment: meshes share devices, but arrays of stacked layers "
                "are one array over several meshes; give devices to each mesh, or "
                "lower the function for a topology of meshes that share theirs"
            )
        schedule = self.partitioning_result.schedule
        if self.const_args and jax.process_count() > 1:
            # For all processes to agree on.
            schedule = copy.copy(schedule)
            schedule.constants = list(map(compat.digest_of, self.const_args))
        program = load(
            schedule,
            dict(self.partitioning_result.fragments),
            dict(specs.topology),
            compile_options=compiler_options,
            host_callbacks=self.host_callbacks,
        )
        executable = Executable(
            program, self._signature, specs, self.partitioning_result
        )
        if stacked is not None:
            executable = StackedExecutable(executable, self._stacking, stacked)
        return Compiled(executable, self.args_info, self.out_tree)


# The names of these stages in programs written for the dialect's first front end.
MpmdLowered = Lowered
MpmdCompiled = Compiled
MpmdExecutable = Executable
