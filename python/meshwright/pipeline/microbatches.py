# SPDX-License-Identifier: Apache-2.0
"""Splits arguments into those of the microbatches."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from ..tracing import static_leaves
from ..tracing.microbatch_rows import cutting_microbatches


def positions(
    what: str, name: str, numbers: int | Sequence[int], count: int
) -> list[int]:
    """Positions among `count` arguments; negative ones count from the end."""
    found = []
    for number in (numbers,) if isinstance(numbers, int) else numbers:
        index = operator.index(number)
        if not -count <= index < count:
            raise ValueError(
                f"{what}: {name} has {index}, but the call has {count} positional "
                "arguments; what is split must be given by position"
            )
        found.append(index % count)
    return found


def _is_list(node: Any) -> bool:
    return isinstance(node, list)


def split(what: str, args: Mapping[int, Any], count: int) -> list[dict[int, Any]]:
    """Splits arguments into equal parts.

    Args:
      what: what to name in errors.
      args: arguments by position: pytrees of arrays, in which a list represents
        what has one entry per part.

    Returns:
      The arguments of each part, by position.
    """
    paths, leaves = [], []
    for index, arg in sorted(args.items()):  # As the leaves of a dict are.
        for path, leaf in jax.tree.leaves_with_path(arg, is_leaf=_is_list):
            paths.append(f"args[{index}]" + jax.tree_util.keystr(path))
            leaves.append(leaf)
    lengths: dict[str, int] = {}
    columns = []
    for path, leaf in zip(paths, leaves, strict=True):
        if _is_list(leaf):
            columns.append(_entries(what, path, leaf, count))
            continue
        lengths[path] = _length(what, path, leaf, count)
        first = next(iter(lengths))
        if lengths[path] != lengths[first]:
            raise ValueError(
                f"{what}: {first} has {lengths[first]} rows and {path} has "
                f"{lengths[path]}; all arrays that are split need one leading axis"
            )
        columns.append(_slices(leaf, lengths[path] // count, count))
    tree = jax.tree.structure(dict(args), is_leaf=_is_list)
    return [
        jax.tree.unflatten(tree, [column[number] for column in columns])
        for number in range(count)
    ]


def _length(what: str, path: str, leaf: Any, count: int) -> int:
    if not static_leaves.is_array(leaf):
        raise TypeError(
            f"{what}: {path} is {leaf!r} of type {type(leaf).__name__}, which cannot "
            "be split; only arrays and lists can, give it as an argument that is not "
            "in batch_argnums"
        )
    shape = jnp.shape(leaf)
    if not shape:
        raise ValueError(
            f"{what}: {path} has no leading axis to split into {count} microbatches; "
            "give it as an argument that is not in batch_argnums"
        )
    if shape[0] % count:
        raise ValueError(
            f"{what}: {path} has {shape[0]} rows, which cannot be split evenly into "
            f"{count} microbatches; pad or cut the batch to a multiple of {count}, or "
            f"choose a number of microbatches that divides {shape[0]}"
        )
    return shape[0]


def _slices(leaf: Any, rows: int, count: int) -> list[Any]:
    array = jnp.asarray(leaf)
    if count == 1:
        return [array]
    with cutting_microbatches():
        return list(jax.lax.split(array, [rows] * count))


def _entries(what: str, path: str, entries: list[Any], count: int) -> list[Any]:
    if len(entries) != count:
        raise ValueError(
            f"{what}: {path} is a list of {len(entries)}, and a list has one entry for "
            f"each of the {count} microbatches; give a tuple where a tree is meant"
        )
    entries = [jax.tree.map(jnp.asarray, entry) for entry in entries]
    tree = jax.tree.structure(entries[0])
    kinds = list(map(_kind, jax.tree.leaves(entries[0])))
    for number, entry in enumerate(entries):
        others = list(map(_kind, jax.tree.leaves(entry)))
        if jax.tree.structure(entry) != tree or others != kinds:
            raise ValueError(
                f"{what}: {path}[{number}] is {_shown(entry)}, but {path}[0] is "
                f"{_shown(entries[0])}; microbatches may differ in their shapes alone"
            )
    return entries


def _kind(leaf: Any) -> Any:
    return jnp.ndim(leaf), leaf.dtype


def shapes_of(part: Mapping[int, Any]) -> tuple[Any, ...]:
    """The shapes of the arrays of a microbatch."""
    return tuple(getattr(leaf, "shape", None) for leaf in jax.tree.leaves(part))


def _shown(entry: Any) -> str:
    shown = jax.tree.map(lambda leaf: jax.typeof(leaf).str_short(), entry)
    return str(shown)
