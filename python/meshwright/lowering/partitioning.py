# SPDX-License-Identifier: Apache-2.0
"""From a traced function to a partitioned program."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import json
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from ..compiler import diagnostics, native
from ..core.by_path import ByPath, path_text
from ..core.config import (
    LATE_MERGING_OPTION,
    PASSES_OPTION,
    SCHEDULE_OPTION,
    Config,
    PyTree,
    Topology,
)
from ..core.names import (
    MEMORY_KIND_SEPARATOR,
    SCHEDULE_FILE_PREFIX,
    mesh_without_memory_kind,
)
from ..jaxapi import frontend as compat
from ..pipeline.results import groups_in, is_in, sequence_chunks_in
from ..programs.stages import Lowered
from ..schedules.rules import (
    RelationBuilder,
    build_merge_rules,
    build_rules,
    pipeline_context,
    rule_text,
)
from ..shardings import named as named_shardings
from ..shardings.signature import IOSpecs, ProgramSignature, io_specs
from ..staging import cut as stage_cut
from ..tracing import several_meshes
from ..tracing.known_constraints import drop_known
from ..tracing.microbatch_rows import keep_rows_split
from ..tracing.primitives import ANNOTATIONS
from . import constants, hand_over, per_mesh, several_platforms
from .host_memory import with_available_offload
from .rules import RULES
from .ties import tie

# Integers that JAX has, and modules cannot tell from booleans.
_BITS = tuple(
    jnp.dtype(getattr(jnp, name)) for name in ("int1", "uint1") if hasattr(jnp, name)
)


def _is_mesh_leaf(leaf: Any) -> bool:
    return leaf is None or isinstance(leaf, str)


def _flat_meshes(what: str, prefix: PyTree, tree: Any) -> list[str | None]:
    """One mesh (or None) per leaf of `tree`, from a prefix of the tree."""
    count = tree.num_leaves
    if isinstance(prefix, tuple) and not prefix:
        return [None] * count
    full = jax.tree.unflatten(tree, range(count))
    meshes: list[str | None] = []

    def assign(mesh: str | None, subtree: Any) -> None:
        # None is a leaf of the prefix, but nothing at all in the tree.
        meshes.extend([mesh] * len(jax.tree.leaves(subtree)))

    try:
        jax.tree.map(assign, prefix, full, is_leaf=_is_mesh_leaf)
    except ValueError as error:
        raise ValueError(
            f"{what}: {prefix!r} is no prefix of the tree {tree}: {error}"
        ) from None
    return meshes


def _input_meshes(prefix: PyTree, call_tree: Any) -> list[str | None]:
    """One mesh per flat input; a prefix is one of the positional arguments."""
    args, kwargs = call_tree.children()
    if _is_mesh_leaf(prefix):
        return [prefix] * call_tree.num_leaves
    named = [None] * kwargs.num_leaves
    return [*_flat_meshes("input_mesh_assignment", prefix, args), *named]


def refuse_references(name: str, traced: jax.stages.Traced) -> None:
    """Refuses at the border of the program what is no array."""
    avals = [*traced.jaxpr.in_avals, *map(jax.typeof, traced.jaxpr.consts)]
    if any(isinstance(aval, compat.AbstractRef) for aval in avals):
        raise NotImplementedError(
            f"{name}: closes over a jax.Ref, which programs on several meshes cannot "
            "write to; pass its value, ref[...], and return the new one"
        )
    for what, avals in (
        ("an argument", traced.jaxpr.in_avals),
        ("a result", traced.jaxpr.out_avals),
    ):
        for aval in avals:
            refuse_high(name, what, aval)
            if getattr(aval, "dtype", None) in _BITS:
                raise NotImplementedError(
                    f"{name}: {what} is {aval.str_short()}, and StableHLO has no "
                    "integers of one bit; use int2, or bool"
                )


def refuse_high(name: str, what: str, aval: Any) -> None:
    """Refuses a type that represents several arrays, or a box."""
    if aval.is_high:
        raise NotImplementedError(
            f"{name}: {what} is of the hijax type {aval.str_short()}, and programs on "
            "several meshes take and give arrays; pass and return the arrays that it "
            "represents, and make the value of that type inside of the function"
        )


def refuse_ordered_effects(name: str, jaxpr: Any) -> None:
    """Refuses them outside of annotations, which are looked at when lowered."""
    for eqn in jaxpr.eqns:
        ordered = list(compat.ordered_effects.filter_in(eqn.effects))
        if ordered and eqn.primitive not in ANNOTATIONS:
            raise NotImplementedError(
                f"{name}: {compat.summarize_source(eqn.source_info)}: ordered side "
                f"effects ({', '.join(map(str, ordered))}); meshes have no common "
                "order, use unordered effects, e.g. jax.debug.print(..., "
                "ordered=False)"
            )


class RequestedShardings(NamedTuple):
    """What the user asked of a function's inputs and outputs, beside its config.

    Attributes:
      in_shardings: as given; what is said about an argument here counts more than
        the sharding that it has.
      out_shardings: as given.
      external_inputs: those on meshes that are not shaped like the first one.
      external_outputs: the same of `out_shardings`.
      input_meshes: prefix of the arguments with names of meshes.
      output_meshes: the same for the result.
      tie_state: results go where arguments of the same tree came from.
    """

    in_shardings: PyTree
    out_shardings: PyTree
    external_inputs: PyTree
    external_outputs: PyTree
    input_meshes: PyTree
    output_meshes: PyTree
    tie_state: bool = False


def lower_traced(
    traced: jax.stages.Traced,
    name: str,
    config: Config,
    requested: RequestedShardings,
    external: Mapping[int, Any],
    given: Mapping[int, Any],
    hoists_outside: bool = True,
) -> Lowered:
    """Lowers a traced function to StableHLO with dialect mpmd, and partitions that.

    Args:
      external: shardings of flat inputs that were not given to JAX.
      given: those that it got with the types of the arguments.
      hoists_outside: whether large constants that are read outside of all names are
        arguments, too.
    """
    wanted = per_mesh.known_before(
        requested.in_shardings, config.topology, "in_shardings"
    )
    call_tree = jax.tree.structure(traced.args_info)
    split = {**given, **external, **_known_inputs(wanted, call_tree)}
    program = keep_rows_split(drop_known(traced.jaxpr, split), split)
    config = with_available_offload(_with_sequence_chunks(traced, config))
    uncut = config
    config = _with_microbatch_passes(traced, config)
    program, config = stage_cut.cut(program, _with_late_merging(traced, config))
    platforms = several_platforms.platforms_of(config.topology)
    reference = next(iter(config.topology.values()))
    program = several_meshes.without_devices(program, reference)
    hoisted = constants.hoist(program, hoists_outside)
    hoists = hoisted.jaxpr is not program
    lowered = {
        platform: _lower_for(traced, hoisted.jaxpr, platform, hoists)
        for platform in dict.fromkeys(platforms.values())
    }
    first = next(iter(lowered))
    signature = _signature(lowered[first], name, requested, config.placement)
    modules = _Modules(lowered, requested, external, config)
    try:
        results, on_host = modules.partition(signature, {})
    except RuntimeError:
        if not hoisted.outside:
            raise
        # Each mesh has what is text; an argument is on one.
        return lower_traced(
            traced, name, uncut, requested, external, given, hoists_outside=False
        )
    signature, shardings = modules.assign_more(signature, results[first].io, on_host)
    if on_host or shardings:
        results, _ = modules.partition(signature, shardings)
    fragments = several_platforms.pick_fragments(results, platforms)
    return Lowered(
        lowered[first],
        config,
        signature,
        results[first],
        fragments,
        [m for result in results.values() for m in result.messages],
        functools.partial(modules.explain, first, signature, shardings),
        functools.partial(_lower_for, traced, program, first, hoists=False),
    )


class _Modules(NamedTuple):
    """One program as modules by platform, and what the user asked of it.

    Attributes:
      lowered: the modules.
      requested, external: as `lower_traced` takes them.
      config: the config of the cut program.
    """

    lowered: Mapping[str, jax.stages.Lowered]
    requested: RequestedShardings
    external: Mapping[int, Any]
    config: Config

    def annotated(
        self, platform: str, signature: ProgramSignature, tied: Mapping[int, Any]
    ) -> tuple[Any, list[int]]:
        """A module with the shardings that were not given to JAX.

        Returns:
          Its operation, and the flat inputs that are in host memory.
        """
        requested, topology = self.requested, self.config.topology
        in_tree, out_tree = signature.input_tree, signature.output_tree
        wanted = several_meshes.flat_prefix(
            per_mesh.known_before(requested.in_shardings, topology, "in_shardings"),
            in_tree,
        )
        inputs = {i: leaf for i, leaf in self.external.items() if i not in wanted}
        inputs |= several_meshes.flat_prefix(requested.external_inputs, in_tree)
        inputs |= per_mesh.by_mesh(
            requested.in_shardings, in_tree, signature.input_meshes, topology
        )
        outputs = {
            **tied,
            **several_meshes.flat_prefix(requested.external_outputs, out_tree),
            **per_mesh.by_mesh(
                requested.out_shardings, out_tree, signature.output_meshes, topology
            ),
        }
        for index, sharding in inputs.items():
            where = f"in_shardings: {signature.input_paths[index]}"
            aval = signature.input_avals[index]
            named_shardings.check_divisible(sharding, aval, where)
        for index, sharding in outputs.items():
            where = f"out_shardings: result {index}"
            aval = signature.output_avals[index]
            named_shardings.check_divisible(sharding, aval, where)
        first = len(signature.const_args)
        arguments = {
            position: inputs[index]
            for position, index in enumerate(signature.kept, first)
            if index in inputs
        }
        module, on_host = several_meshes.annotated_module(
            self.lowered[platform], arguments, outputs
        )
        return module, [signature.kept[at - first] for at in on_host if at >= first]

    def partition(
        self, signature: ProgramSignature, tied: Mapping[int, Any]
    ) -> tuple[dict[str, Any], list[int]]:
        """The partitioned programs, and the flat inputs that are in host memory."""
        found, on_host = {}, []
        for platform in self.lowered:
            module, on_host = self.annotated(platform, signature, tied)
            found[platform] = _partition(module, signature, self.config)
        return found, on_host

    def explain(
        self,
        platform: str,
        signature: ProgramSignature,
        tied: Mapping[int, Any],
        value: str,
    ) -> tuple[str, str]:
        """Where shardings come from, of a value or of all, as JSON and as text."""
        module, _ = self.annotated(platform, signature, tied)
        text = compat.module_text(module)  # Bytecode has no names of values.
        session = native.Session(text, self.config)
        request = _request(session, signature, self.config)
        session.import_program(request)
        rules = _rules(self.config, session)
        return native.explain_sharding(text, request, value, *rules)

    def assign_more(
        self, signature: ProgramSignature, io: str, on_host: Sequence[int]
    ) -> tuple[ProgramSignature, Mapping[int, Any]]:
        """What else to ask for once it is known where arguments are, all at once.

        Args:
          io: where the compiler puts inputs and outputs, as JSON.
          on_host: flat inputs in host memory.

        Returns:
          The program with these inputs, and with state tied if that was requested;
          and the shardings of the outputs that are tied.
        """
        if not on_host and not self.requested.tie_state:
            return signature, {}
        found = io_specs(json.loads(io), signature, self.config.topology)
        signature, found = _with_host_inputs(signature, on_host, found)
        if not self.requested.tie_state:
            return signature, {}
        given = _given_outputs(self.requested, signature, self.config)
        return tie(found, signature, given)


def _known_inputs(in_shardings: PyTree, call_tree: Any) -> dict[int, Any]:
    """Shardings of flat inputs that a user gave for arguments by position."""
    args_tree, _ = call_tree.children()
    return several_meshes.flat_prefix(in_shardings, args_tree)


def _given_outputs(
    requested: RequestedShardings, signature: ProgramSignature, config: Config
) -> set[int]:
    """Flat outputs whose sharding the user gave."""
    outs = per_mesh.known_before(
        requested.out_shardings, config.topology, "out_shardings"
    )
    return set(several_meshes.flat_prefix(outs, signature.output_tree))


def _with_sequence_chunks(traced: jax.stages.Traced, config: Config) -> Config:
    """A config whose schedule knows into how many chunks sequences are cut."""
    chunks = sequence_chunks_in(traced.jaxpr.jaxpr)
    name, _, given = config.schedule.partition(":")
    if chunks == 1 or name + ":" == SCHEDULE_FILE_PREFIX:
        return config
    wanted = f"{name}:{chunks}"
    if given:
        if config.schedule != wanted:
            raise ValueError(
                f"schedule {config.schedule} has sequences in {given} chunks, but "
                f"accumulate cuts them into {chunks}; name it {name}, which takes "
                "what the program has"
            )
        return config
    try:
        native.extension().splits_backward(wanted)
    except ValueError:  # It knows no chunks, and takes each for a microbatch.
        return config
    return dataclasses.replace(config, schedule_name=wanted)


def _with_microbatch_passes(traced: jax.stages.Traced, config: Config) -> Config:
    """A config that names the passes over microbatches, which wait for each other."""
    groups = sorted((group[0], group[-1]) for group in groups_in(traced.jaxpr.jaxpr))
    passes = ",".join(f"{first}-{last}" for first, last in groups)
    if not passes:
        return config
    options = {PASSES_OPTION: passes, **(config.partitioning_options or {})}
    return dataclasses.replace(config, partitioning_options=options)


def _with_late_merging(traced: jax.stages.Traced, config: Config) -> Config:
    """A config that merges nothing into the last backward before it is split.

    What an optimizer needs of all gradients, such as their norm, would go to other
    meshes from there, and with it the weight gradients that can wait.
    """
    options = config.partitioning_options or {}
    if (
        config.schedule == "None"
        or LATE_MERGING_OPTION in options
        or not is_in(traced.jaxpr.jaxpr)
        or not native.extension().splits_backward(config.schedule)
    ):
        return config
    return dataclasses.replace(
        config, partitioning_options={**options, LATE_MERGING_OPTION: True}
    )


def _lower_for(
    traced: jax.stages.Traced, program: Any, platform: str, hoists: bool
) -> jax.stages.Lowered:
    with warnings.catch_warnings():
        # Which donations are usable is decided by the partitioner.
        warnings.filterwarnings("ignore", "Some donated buffers were not usable")
        try:
            limit = constants.LIMIT_BYTES if hoists else None
            return compat.plain_lower(traced, RULES, platform, program, limit)
        except (RuntimeError, ValueError) as error:
            refusal = diagnostics.explain_refusal(str(error))
            if refusal is not None:
                raise ValueError(refusal) from None
            refusal = several_platforms.explain_calls(program.jaxpr, str(error))
            if refusal is not None:
                raise NotImplementedError(refusal) from None
            raise


def _with_host_inputs(
    signature: ProgramSignature, on_host: Sequence[int], found: IOSpecs
) -> tuple[ProgramSignature, IOSpecs]:
    """A program whose inputs in host memory are assigned to that of their meshes.

    Args:
      on_host: flat inputs that the user gave in host memory.
      found: where the compiler puts inputs and outputs if nothing is assigned.

    Returns:
      The program, and where inputs and outputs are then.
    """
    meshes, shardings = list(signature.input_meshes), list(found.input_shardings)
    for index in on_host:
        mesh = mesh_without_memory_kind(meshes[index] or found.input_meshes[index])
        meshes[index] = f"{mesh}{MEMORY_KIND_SEPARATOR}pinned_host"
        shardings[index] = shardings[index].with_memory_kind("pinned_host")
    return (
        signature._replace(input_meshes=tuple(meshes)),
        found._replace(input_shardings=tuple(shardings)),
    )


def _by_path(
    meshes: Sequence[str | None], tree: Any, placement: ByPath | None
) -> tuple[str | None, ...]:
    """Flat meshes, with those by path where none was assigned."""
    if placement is None:
        return tuple(meshes)
    full = jax.tree.unflatten(tree, range(tree.num_leaves))
    paths = [path_text(path) for path, _ in jax.tree.leaves_with_path(full)]
    return tuple(
        mesh or placement.mesh(path) for mesh, path in zip(meshes, paths, strict=True)
    )


def assigned_meshes(
    requested: RequestedShardings,
    call_tree: Any,
    output_tree: Any,
    placement: ByPath | None,
) -> tuple[tuple[str | None, ...], tuple[str | None, ...]]:
    """Meshes of flat inputs and outputs, as far as the user assigned them."""
    args_tree, kwargs_tree = call_tree.children()
    meshes = _input_meshes(requested.input_meshes, call_tree)
    return (
        *_by_path(meshes[: args_tree.num_leaves], args_tree, placement),
        *_by_path(meshes[args_tree.num_leaves :], kwargs_tree, placement),
    ), _by_path(
        _flat_meshes("output_mesh_assignment", requested.output_meshes, output_tree),
        output_tree,
        placement,
    )


def input_paths(infos: tuple[Any, Any]) -> tuple[str, ...]:
    """What messages call the flat inputs, from positional and keyword arguments."""
    return tuple(
        what + jax.tree_util.keystr(path)
        for what, tree in zip(("args", "kwargs"), infos, strict=True)
        for path, _ in jax.tree.leaves_with_path(tree)
    )


def _signature(
    lowered: jax.stages.Lowered,
    name: str,
    requested: RequestedShardings,
    placement: ByPath | None,
) -> ProgramSignature:
    infos, call_tree = jax.tree.flatten(lowered.args_info)
    input_meshes, output_meshes = assigned_meshes(
        requested, call_tree, lowered.out_tree, placement
    )
    return ProgramSignature(
        name=name,
        call_tree=call_tree,
        output_tree=lowered.out_tree,
        input_avals=tuple(compat.aval_of(info) for info in infos),
        output_avals=tuple(compat.flat_types(lowered)[1]),
        input_paths=input_paths(lowered.args_info),
        kept=tuple(compat.kept_arguments(lowered)),
        donated=frozenset(i for i, info in enumerate(infos) if info.donated),
        const_args=tuple(map(compat.view_of_copy, compat.constant_arguments(lowered))),
        input_meshes=input_meshes,
        output_meshes=output_meshes,
    )


def _shared_devices(topology: Topology) -> list[tuple[str, str]]:
    """Pairs of meshes that have a device in common."""
    devices = {
        name: set(mesh.devices.flat)
        for name, mesh in topology.items()
        if isinstance(mesh, jax.sharding.Mesh)
    }
    return [
        (first, second)
        for first, second in itertools.combinations(devices, 2)
        if not devices[first].isdisjoint(devices[second])
    ]


def _request(
    session: native.Session, signature: ProgramSignature, config: Config
) -> dict[str, Any]:
    """The configuration of the partitioner for a program that was read."""
    num_consts = len(signature.const_args)
    inputs = [signature.input_meshes[index] for index in signature.kept]
    return {
        "function": "main",
        "topology": {name: dict(mesh.shape) for name, mesh in config.topology.items()},
        # A config may serve several functions; what goes by path needs the names.
        "assignment": {
            **(config.assignment_of(session.names) if config.placement else {}),
            **config.mesh_and_stage_assignment,
        },
        "allow_unknown_names": True,
        "input_meshes": [None] * num_consts + inputs if any(inputs) else [],
        "output_meshes": (
            list(signature.output_meshes) if any(signature.output_meshes) else []
        ),
        "donate": [
            num_consts + position
            for position, index in enumerate(signature.kept)
            if index in signature.donated
        ],
        "shared_devices": _shared_devices(config.topology),
        "options": config.compiler_options,
    }


def _partition(module: Any, signature: ProgramSignature, config: Config) -> Any:
    session = hand_over.read(module, config)
    request = _request(session, signature, config)
    session.import_program(request, repeats=not _makes_rules(config))
    return session.finish(*_rules(config, session))


def _makes_rules(config: Config) -> bool:
    """Whether rules may come from the fragments of all microbatches."""
    schedule = config.pipeline_schedule
    return schedule is not None and not (
        SCHEDULE_OPTION in (schedule.required_mpmd_options or {})
        and all(
            isinstance(build, RelationBuilder)
            for build in schedule.schedule_merge_rule_builders or ()
        )
    )


def _rules(config: Config, session: native.Session) -> tuple[list[str], list[str]]:
    """The merge rules and the schedule rules of a program that was imported."""
    schedule = config.pipeline_schedule
    if schedule is None:
        return [], []
    infos, context = session.fragment_infos(), pipeline_context(config.topology)
    if SCHEDULE_OPTION in (schedule.required_mpmd_options or {}):
        # The compiler knows the order.
        rules = build_merge_rules(schedule, infos, context), []
    else:
        schedule_rules, merge_rules = build_rules(schedule, infos, context)
        rules = merge_rules, schedule_rules
    merges, schedules = (list(map(rule_text, found)) for found in rules)
    return merges, schedules
