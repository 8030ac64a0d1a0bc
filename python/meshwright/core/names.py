# SPDX-License-Identifier: Apache-2.0
"""Names of functions and meshes, and shardings as the compiler writes them."""

from __future__ import annotations

import difflib
import functools
import numbers
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

CPU_MESH_SUFFIX = "/cpu"
MEMORY_KIND_SEPARATOR = "#"
MEMORY_KINDS = ("pinned_host", "device")
# In place of a schedule's name: `file:` and the path of a CSV or JSON file
# (docs/schedules.md).
SCHEDULE_FILE_PREFIX = "file:"
UNNAMED = "fn"
# Begins the names of functions that calls and loops of ours have in a module.
CALLEE_PREFIX = "shardy_mpmd"
# Begin the names of the parts of a vocabulary, followed by the number of their mesh. In
# this order they are the stages after those between marks.
VOCABULARY_PARTS = ("vocabulary_head", "vocabulary_embedding")
# What messages show of a value, in characters.
_LONGEST = 200
# Of more names than that, messages begin with the one that was probably meant.
_MANY = 30


def function_name(fn: Callable[..., Any]) -> str:
    """The Python name of a callable.

    Returns:
      Its `__name__`, for a partial application that of the inner function, and
      `fn` for callables without a name.
    """
    while isinstance(fn, functools.partial):
        fn = fn.func
    return getattr(fn, "__name__", UNNAMED)


def callee_name(fn: Callable[..., Any]) -> str:
    """The name in a module of a function that calls of ours apply."""
    return CALLEE_PREFIX + function_name(fn)


def user_name(callee: str) -> str:
    """The name in the user's source of a function that calls and loops apply."""
    return callee.removeprefix(CALLEE_PREFIX).removeprefix("_")


def is_cpu_mesh(mesh_name: str) -> bool:
    """Whether a mesh name denotes a CPU mesh, which schedules leave out."""
    return mesh_name.endswith(CPU_MESH_SUFFIX)


def mesh_without_memory_kind(mesh_name: str) -> str:
    """Cuts a mesh assignment such as `tpu0#pinned_host` down to the mesh."""
    return mesh_name.split(MEMORY_KIND_SEPARATOR, 1)[0]


def unknown_name(what: str, name: object, known: Iterable[str]) -> str:
    """Text of an error about a name that is not among the known ones."""
    names = list(known)
    listed = f"known are {', '.join(names) or 'none'}"
    is_name = isinstance(name, str)
    close = difflib.get_close_matches(name, names, n=1) if is_name else []
    if close and len(names) > _MANY:
        listed = f"did you mean {close[0]!r}? ({listed})"
    elif close:
        listed = f"{listed}; did you mean {close[0]!r}?"
    return f"{what}: unknown {name!r}, {listed}"


def check_type(text: str, value: Any, kind: type, advice: str = "") -> None:
    """Raises TypeError for a value of another type.

    Args:
      text: what is asked for, such as `plan: expected numbers`.
      kind: its type; `bool` is no number.
      advice: ends the message.
    """
    is_flag = kind is numbers.Integral and isinstance(value, bool)
    if is_flag or not isinstance(value, kind):
        name = type(value).__name__
        given = repr(value)
        if len(given) > _LONGEST:
            given = f"{given[:_LONGEST]} ..."
        raise TypeError(f"{text}, got {given} of type {name}{advice}")


def named_sharding(
    mesh: Mesh,
    dims: Iterable[Sequence[str]],
    unreduced: Collection[str] = (),
    memory_kind: str | None = None,
) -> NamedSharding:
    """A sharding from the axes of each dimension, as users write it.

    Args:
      dims: names of axes per dimension, major to minor.
      unreduced: axes over which the value has yet to be summed; on the mesh of the
        result they are explicit, as JAX demands.
      memory_kind: None for the default one.

    Returns:
      The `NamedSharding`, without trailing replicated dimensions.
    """
    entries: list[Any] = []
    for axes in dims:
        entries.append(tuple(axes) if len(axes) > 1 else axes[0] if axes else None)
    while entries and entries[-1] is None:
        entries.pop()
    if unreduced:
        types = [
            AxisType.Explicit if name in unreduced else kind
            for name, kind in zip(mesh.axis_names, mesh.axis_types, strict=True)
        ]
        mesh = Mesh(mesh.devices, mesh.axis_names, axis_types=tuple(types))
    spec = PartitionSpec(*entries, unreduced=frozenset(unreduced))
    return NamedSharding(mesh, spec, memory_kind=memory_kind)


def meshes_and_sdy_specs_to_named_shardings(
    topology: Mapping[str, Mesh], specs: Iterable[Any]
) -> list[NamedSharding]:
    """Shardings as a partitioner of dialect mpmd reports them, on real meshes.

    Args:
      topology: mesh name to mesh. The two arguments may come in either order.
      specs: objects with the attributes `mesh_name`, `tensor_spec` (a list of axis
        names per dimension), `unreduced_axes` and `memory_kind`.

    Returns:
      One `NamedSharding` per spec, without trailing replicated dimensions; memory
      kind `device` is the default one.

    Raises:
      ValueError: a mesh that is not in the topology, or an axis that it lacks.
    """
    if isinstance(specs, Mapping):
        topology, specs = specs, topology
    shardings = []
    for spec in specs:
        if spec.mesh_name not in topology:
            raise ValueError(unknown_name("mesh of a spec", spec.mesh_name, topology))
        kind = spec.memory_kind
        shardings.append(
            named_sharding(
                topology[spec.mesh_name],
                spec.tensor_spec,
                spec.unreduced_axes,
                None if kind == "device" else kind,
            )
        )
    return shardings


def stage_name(stage: int) -> str:
    """What a stage that was found by marks, or by `mw.auto`, is called."""
    return f"stage{stage}"
