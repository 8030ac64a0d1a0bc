# SPDX-License-Identifier: Apache-2.0
"""Lowers a function whose stacked layers go, part by part, where their stages are.

`pipeline.scan` reads plain arrays [L, ...]. The program that is lowered has a `Parts`
in the place of each, of its gradient and of its moments; the caller still gives and
gets arrays, each one over the meshes of all stages (`programs.stacked`).
"""

from __future__ import annotations

import functools
import itertools
import logging
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.experimental.layout import Format
from jax.sharding import NamedSharding, PartitionSpec

from ..core.config import Config
from ..jaxapi import frontend as compat
from ..lowering.partitioning import (
    RequestedShardings,
    assigned_meshes,
    input_paths,
    lower_traced,
)
from ..lowering.per_mesh import known_before
from ..pipeline.parts import Parts
from ..programs.stacked import Stacking
from ..programs.stages import Lowered
from ..shardings.signature import ProgramSignature
from ..staging import cut as stage_cut
from ..staging.emit import stage_name
from ..tracing.scopes import has_marks
from ..tracing.several_meshes import flat_prefix
from .plan import Plan, plan_layers
from .split import split_layers

_logger = logging.getLogger(__name__)


class _Sides(NamedTuple):
    """For each flat input and output, where it is cut; None for what stays whole."""

    inputs: tuple[Any, ...]
    outputs: tuple[Any, ...]

    def counts(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The numbers of pieces."""
        inputs, outputs = (
            tuple(1 if cuts is None else len(cuts) - 1 for cuts in side)
            for side in (self.inputs, self.outputs)
        )
        return inputs, outputs

    def __bool__(self) -> bool:
        return any(cuts is not None for cuts in (*self.inputs, *self.outputs))


def lower(
    traced: jax.stages.Traced,
    types: tuple[Sequence[Any], Mapping[str, Any]],
    options: Mapping[str, Any],
    name: str,
    config: Config,
    requested: RequestedShardings,
    external: Mapping[int, Any],
    reported: set[str],
) -> Lowered:
    """`lower_traced` for a function, with its stacked layers in parts if it has any.

    Args:
      types: its arguments that are not static, as they were given to JAX.
      options: options of `jax.jit` that are about shardings, and `keep_unused`.
    """
    rest = name, config, requested
    given = {
        index: sharding
        for index, leaf in enumerate(jax.tree.leaves(types))
        if (sharding := getattr(leaf, "sharding", None)) is not None
    }
    if not has_marks(traced.jaxpr.jaxpr) or not _are_apart(config):
        lowered = lower_traced(traced, *rest, external, given)
        _report_undivided(lowered, reported)
        return lowered
    plan = plan_layers(traced.jaxpr.jaxpr)
    cut = [i for i, v in enumerate(traced.jaxpr.jaxpr.invars) if plan.cuts(v)]
    _keep_whole(plan, traced, config, requested, given)
    again = not _in_turns(traced, config)
    while again:
        sides = _sides(traced, plan, config, requested, external)
        if not sides:
            break
        apart = _retraced(traced, types, options, name, plan, sides)
        inputs, outputs = sides.counts()
        first = list(itertools.accumulate(inputs, initial=0))
        moved = {first[index]: sharding for index, sharding in external.items()}
        pieces = {first[index]: sharding for index, sharding in given.items()}
        lowered = lower_traced(apart, *rest, moved, pieces)
        signature = _shown(traced, lowered, inputs, name)
        stacking = Stacking(signature, inputs, outputs)
        if lowered.show_stacked(stacking, traced):
            return lowered
        again = _merge_neighbours(plan, traced.jaxpr.jaxpr, sides, lowered)
    lowered = lower_traced(traced, *rest, external, given)
    _report_whole(lowered, cut, reported)
    return lowered


def _are_apart(config: Config) -> bool:
    """Whether arrays may span the meshes: these have devices of their own."""
    meshes = config.topology.values()
    if not all(isinstance(mesh, jax.sharding.Mesh) for mesh in meshes):
        return False
    devices = [device for mesh in meshes for device in mesh.devices.flat]
    return len(set(devices)) == len(devices)


def _keep_whole(
    plan: Plan,
    traced: Any,
    config: Config,
    requested: RequestedShardings,
    given: Mapping[int, Any],
) -> None:
    """Leaves arrays whole whose pieces have too few rows for the user's sharding."""
    args_tree, _ = jax.tree.structure(traced.args_info).children()

    def known(wished: Any, what: str, tree: Any) -> dict[int, Any]:
        return flat_prefix(known_before(wished, config.topology, what), tree)

    jaxpr = traced.jaxpr.jaxpr
    inputs = {**given, **known(requested.in_shardings, "in_shardings", args_tree)}
    outputs = known(requested.out_shardings, "out_shardings", traced.out_tree)
    for atoms, shardings in ((jaxpr.invars, inputs), (jaxpr.outvars, outputs)):
        for index, sharding in shardings.items():
            cuts = plan.cuts(atoms[index]) or ()
            if not all(_divides(sharding, b - a) for a, b in itertools.pairwise(cuts)):
                plan.groups[atoms[index]].keep()


def _divides(sharding: Any, rows: int) -> bool:
    """Whether an array of this many rows can have a sharding."""
    named = sharding.sharding if isinstance(sharding, Format) else sharding
    axes = named.spec[0] if isinstance(named, NamedSharding) and named.spec else None
    if axes in (None, PartitionSpec.UNCONSTRAINED):
        return True
    sizes = (named.mesh.shape[axis] for axis in np.atleast_1d(axes))
    return rows % math.prod(sizes) == 0


def _in_turns(traced: Any, config: Config) -> bool:
    """Whether a mesh has stages again after another one had some."""
    _, config = stage_cut.cut(traced.jaxpr, config)
    places = [config.name_to_mesh_assignment.get(stage_name(0))]
    while places[-1] is not None:
        name = stage_name(len(places))
        places.append(config.name_to_mesh_assignment.get(name))
    runs = [mesh for mesh, _ in itertools.groupby(places)]
    return len(set(runs)) != len(runs)


def _sides(
    traced: Any,
    plan: Plan,
    config: Config,
    requested: RequestedShardings,
    external: Mapping[int, Any],
) -> _Sides:
    """What comes and goes in pieces: all that is cut evenly and has no place yet."""
    jaxpr = traced.jaxpr.jaxpr
    call_tree = jax.tree.structure(traced.args_info)
    inputs, outputs = assigned_meshes(
        requested, call_tree, traced.out_tree, config.placement
    )

    def cuts_of(atom: Any, mesh: str | None) -> Any:
        cuts = plan.cuts(atom)
        is_key = jax.numpy.issubdtype(atom.aval.dtype, jax.dtypes.extended)
        if cuts is None or mesh is not None or is_key:
            return None
        sizes = {b - a for a, b in itertools.pairwise(cuts)}
        return tuple(cuts) if len(sizes) == 1 else None

    return _Sides(
        tuple(
            None if index in external else cuts_of(var, mesh)
            for index, (var, mesh) in enumerate(zip(jaxpr.invars, inputs, strict=True))
        ),
        tuple(map(cuts_of, jaxpr.outvars, outputs)),
    )


def _retraced(
    traced: Any,
    types: tuple[Sequence[Any], Mapping[str, Any]],
    options: Mapping[str, Any],
    name: str,
    plan: Plan,
    sides: _Sides,
) -> jax.stages.Traced:
    """The function of parts, as JAX traces it."""
    flags = [
        [cuts is not None for cuts in side] for side in (sides.inputs, sides.outputs)
    ]
    closed = split_layers(traced.jaxpr, plan, *flags)
    out_tree = traced.out_tree

    def apart(*args, **kwargs):
        leaves = jax.tree.leaves((args, kwargs))
        outs = iter(compat.eval_jaxpr(closed.jaxpr, closed.consts, *leaves))
        return jax.tree.unflatten(
            out_tree,
            [
                next(outs) if cuts is None else Parts([next(outs) for _ in cuts[1:]])
                for cuts in sides.outputs
            ],
        )

    apart.__name__ = apart.__qualname__ = name

    def in_pieces(leaf: Any, cuts: Sequence[int] | None) -> Any:
        if cuts is None:
            return leaf
        sizes = (stop - start for start, stop in itertools.pairwise(cuts))
        shapes = ((rows, *leaf.shape[1:]) for rows in sizes)
        type_of = functools.partial(jax.ShapeDtypeStruct, dtype=leaf.dtype)
        sharding = getattr(leaf, "sharding", None)
        return Parts([type_of(shape, sharding=sharding) for shape in shapes])

    leaves, tree = jax.tree.flatten(types)
    args, kwargs = tree.unflatten(map(in_pieces, leaves, sides.inputs))
    args_info, kwargs_info = traced.args_info
    donated = {
        "donate_argnums": [i for i, info in enumerate(args_info) if _is_donated(info)],
        "donate_argnames": [k for k, info in kwargs_info.items() if _is_donated(info)],
    }
    return jax.jit(apart, **options, **donated).trace(*args, **kwargs)


def _is_donated(info: Any) -> bool:
    return any(leaf.donated for leaf in jax.tree.leaves(info))


def _shown(
    traced: Any, lowered: Lowered, inputs: Sequence[int], name: str
) -> ProgramSignature:
    """What the caller gives and gets."""
    infos, call_tree = jax.tree.flatten(traced.args_info)
    owner = [index for index, count in enumerate(inputs) for _ in range(count)]
    kept = sorted({owner[index] for index in lowered.kept_inputs_indices})
    program = lowered.program_signature
    first = list(itertools.accumulate(inputs, initial=0))[:-1]
    return ProgramSignature(
        name=name,
        call_tree=call_tree,
        output_tree=traced.out_tree,
        input_avals=tuple(compat.aval_of(info) for info in infos),
        output_avals=tuple(
            aval.update(sharding=None) for aval in traced.jaxpr.out_avals
        ),
        input_paths=input_paths(traced.args_info),
        kept=tuple(kept),
        donated=frozenset(i for i, info in enumerate(infos) if info.donated),
        const_args=program.const_args,
        input_meshes=tuple(program.input_meshes[index] for index in first),
        output_meshes=(),
    )


def _merge_neighbours(plan: Plan, jaxpr: Any, sides: _Sides, lowered: Lowered) -> bool:
    """Makes one piece of those that came to be on one mesh, side by side.

    Returns:
      Whether there were any.
    """
    changed = False
    meshes = lowered.flat_meshes
    for atoms, side, flat in zip(
        (jaxpr.invars, jaxpr.outvars),
        (sides.inputs, sides.outputs),
        meshes,
        strict=True,
    ):
        found = iter(flat)
        for atom, cuts in zip(atoms, side, strict=True):
            names = [next(found) for _ in (cuts or (0, 1))[1:]]
            if cuts is None:
                continue
            for row, pair in zip(cuts[1:], itertools.pairwise(names), strict=False):
                if pair[0] == pair[1]:
                    plan.groups[atom].uncut(row)
                    changed = True
    return changed


def _report_undivided(lowered: Lowered, reported: set[str]) -> None:
    """Warns of layers in a loop that was not divided into stages."""
    for division in lowered.divisions:
        text = division.undivided_scan
        if text is not None and text not in reported:
            reported.add(text)
            _logger.warning("%s", text)


def _report_whole(lowered: Lowered, cut: Sequence[int], reported: set[str]) -> None:
    """Says that stacked layers stay on one mesh."""
    signature = lowered.program_signature
    free = [i for i in cut if signature.input_meshes[i] is None]
    if not free:
        return
    text = (
        f"{signature.where(free[0])} and {len(free) - 1} other arrays of stacked "
        "layers are on one mesh as a whole, and sent from there: the layers of a mesh "
        "are not next to each other, not as many or not split as on the others, or "
        "something is done across layers; mw.pipeline.parts keeps them where their "
        "stages are"
    )
    if text not in reported:
        reported.add(text)
        _logger.info("%s", text)
