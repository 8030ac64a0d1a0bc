# SPDX-License-Identifier: Apache-2.0
"""Where sequences are cut into chunks."""

from __future__ import annotations

import dataclasses
import math
import operator
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from ..tracing import static_leaves


@dataclasses.dataclass(frozen=True)
class Cuts:
    """The lengths of the chunks of each sequence, in order."""

    lengths: tuple[int, ...]


def chunk_lengths(
    length: int, chunks: int, linear: float, quadratic: float, multiple: int = 1
) -> list[int]:
    """Cuts a sequence into chunks that take as long, under causal attention.

    A position attends to those before it, so that the chunk from a to b takes
    linear * (b - a) + quadratic * (b² - a²) / 2: later chunks are shorter.

    Args:
      length: of the sequence, in positions.
      chunks: into how many chunks.
      linear: the time of a position on its own, in any unit: projections, MLPs.
      quadratic: the time of a position that attends to one other, in the same unit.
      multiple: lengths are multiples of this, except for what is left over in the last
        chunk.

    Returns:
      The lengths of the chunks, for `accumulate(..., sequence_chunks=)`.

    Raises:
      ValueError: times or numbers that leave a chunk empty, or no time at all.

    Example: a position takes as long as attending to 128 others.

      >>> chunk_lengths(1024, 4, linear=128, quadratic=1, multiple=16)
      [464, 224, 176, 160]
    """
    if not (linear >= 0 and quadratic >= 0 and linear + quadratic > 0):
        raise ValueError(
            f"pipeline.chunk_lengths: times must not be negative, and one must be "
            f"positive, got linear={linear!r} and quadratic={quadratic!r}"
        )
    if not 1 <= chunks * multiple <= length + multiple - 1:
        raise ValueError(
            f"pipeline.chunk_lengths: {chunks} chunks of at least {multiple} positions "
            f"do not fit into a sequence of {length}; take fewer, or a smaller multiple"
        )
    whole = linear * length + quadratic * length**2 / 2

    def end_of(chunk: int) -> float:
        time = whole * chunk / chunks
        if quadratic == 0:
            return time / linear
        # The positive root of quadratic / 2 * b² + linear * b - time.
        root = math.sqrt(linear**2 + 2 * quadratic * time)
        return 2 * time / (linear + root)

    ends = [0]
    for chunk in range(1, chunks):
        end = round(end_of(chunk) / multiple) * multiple
        last = length - (chunks - chunk - 1) * multiple - 1
        ends.append(max(ends[-1] + multiple, min(end, last // multiple * multiple)))
    ends.append(length)
    return [b - a for a, b in zip(ends, ends[1:], strict=False)]


def _axes_of(what: str, args: Mapping[int, Any], axes: Any) -> dict[int, Any]:
    """The axis of each array of the arguments, or None, as trees like theirs."""
    ordered = sorted(args)
    if axes is None or isinstance(axes, int) or len(ordered) == 1:
        given = dict.fromkeys(ordered, axes)
    elif isinstance(axes, (tuple, list)) and len(axes) == len(ordered):
        given = dict(zip(ordered, axes, strict=True))
    else:
        raise ValueError(
            f"{what}: sequence_axes must be an axis, or a tuple with an entry for each "
            f"of the {len(ordered)} arguments that are split, got {axes!r}"
        )
    try:
        return {
            index: jax.tree.broadcast(
                given[index], args[index], is_leaf=lambda axis: axis is None
            )
            for index in ordered
        }
    except ValueError as error:
        raise ValueError(
            f"{what}: sequence_axes, {axes!r}, is no prefix of the arguments that are "
            f"split: {error}"
        ) from None


def find_cuts(
    what: str, args: Mapping[int, Any], axes: Any, chunks: int | Sequence[int]
) -> Cuts:
    """How sequences are cut.

    Args:
      what: what to name in errors.
      args: the arguments of a microbatch by position, those that are split.
      axes: the axis of the sequence: of all arrays, or a prefix of the arguments.
      chunks: the number of chunks, or the length of each.
    """
    if isinstance(chunks, int) and not isinstance(chunks, bool):
        wanted = [chunks]
    elif isinstance(chunks, Sequence) and not isinstance(chunks, str) and chunks:
        wanted = [operator.index(length) for length in chunks]
    else:
        raise TypeError(
            f"{what}: sequence_chunks must be the number of chunks, or the length of "
            f"each, got {chunks!r}"
        )
    if min(wanted) < 1:
        raise ValueError(f"{what}: sequence_chunks must be 1 or more, got {chunks!r}")
    lengths: dict[str, int] = {}
    for index, tree in _axes_of(what, args, axes).items():
        flat = jax.tree.leaves(tree, is_leaf=lambda axis: axis is None)
        leaves = jax.tree.leaves_with_path(args[index])
        for axis, (path, leaf) in zip(flat, leaves, strict=True):
            if axis is None or not static_leaves.is_array(leaf):
                continue
            where = f"args[{index}]" + jax.tree_util.keystr(path)
            rank = jnp.ndim(leaf)
            if not -rank <= axis < rank:
                raise ValueError(
                    f"{what}: {where} of a microbatch is "
                    f"{jax.typeof(leaf).str_short()}, which has no axis {axis}; give "
                    "the axis of its sequence in sequence_axes, or None if it has none"
                )
            lengths[f"{where} along axis {axis}"] = jnp.shape(leaf)[axis]
    if not lengths:
        raise ValueError(
            f"{what}: sequence_axes, {axes!r}, leaves no array with a sequence to cut"
        )
    where, length = next(iter(lengths.items()))
    for other, another in lengths.items():
        if another != length:
            raise ValueError(
                f"{what}: {where} has {length} positions, but {other} has {another}; "
                "all sequences of a microbatch must be of one length"
            )
    if isinstance(chunks, int):
        if length % chunks:
            raise ValueError(
                f"{what}: {where} has {length} positions, which cannot be cut evenly "
                f"into {chunks} chunks; pad or cut the sequences to a multiple of "
                f"{chunks}, or give the length of each chunk"
            )
        wanted = [length // chunks] * chunks
    elif sum(wanted) != length:
        raise ValueError(
            f"{what}: sequence_chunks has {sum(wanted)} positions together, but "
            f"{where} has {length}; the lengths of the chunks must add up to that"
        )
    return Cuts(tuple(wanted))


def cut(what: str, args: Mapping[int, Any], axes: Any, cuts: Cuts) -> list[Any]:
    """The arguments of each chunk of a microbatch, by position."""
    trees = _axes_of(what, args, axes)
    parts, start = [], 0
    for length in cuts.lengths:
        limits = start, start + length

        def slice_of(axis: Any, leaf: Any, limits: tuple[int, int] = limits) -> Any:
            if axis is None or not static_leaves.is_array(leaf):
                return leaf
            return jax.lax.slice_in_dim(leaf, *limits, axis=axis)

        parts.append(
            {
                index: jax.tree.map(
                    slice_of, trees[index], args[index], is_leaf=lambda x: x is None
                )
                for index in trees
            }
        )
        start += length
    return parts
