# SPDX-License-Identifier: Apache-2.0
"""Stages of layers that are stacked and run by `jax.lax.scan`."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp

from .. import _jax_compat as compat
from .._stage_marks import stage_boundary

T = TypeVar("T")


def _layers(stacked: Any) -> int:
    """The number of layers in a tree of arrays that are stacked in front."""
    sizes: dict[int, str] = {}
    for path, leaf in jax.tree.leaves_with_path(stacked):
        where = f"stacked_params{jax.tree_util.keystr(path)}"
        if not jnp.shape(leaf):
            raise ValueError(
                f"pipeline.scan: {where} is a scalar; each array holds a layer for "
                "each index of its leading axis"
            )
        sizes.setdefault(jnp.shape(leaf)[0], where)
    if not sizes:
        raise ValueError(
            "pipeline.scan: stacked_params holds no array, so there are no layers"
        )
    if len(sizes) > 1:
        listed = ", ".join(f"{where}: {size}" for size, where in sizes.items())
        raise ValueError(
            "pipeline.scan: all arrays of stacked_params must have as many layers in "
            f"their leading axis, got {listed}"
        )
    return next(iter(sizes))


def _bounds(layers: int, stages: int) -> list[tuple[int, int]]:
    """First layer and end of each stage; the first stages have one more layer."""
    size, more = divmod(layers, stages)
    sizes = [size + (stage < more) for stage in range(stages)]
    ends = list(itertools.accumulate(sizes))
    return list(zip([0, *ends], ends, strict=False))


def scan(
    block: Callable[[T, Any], Any],
    x: T,
    stacked_params: Any,
    *,
    num_stages: int,
    unroll: int | bool = 1,
) -> Any:
    """Runs stacked layers, as `jax.lax.scan` does, in stages of a pipeline.

    Each stage is a scan over its part of the layers, with a `stage_boundary` between
    two of them. What the model does before belongs to the first stage, what it does
    behind to the last one. Eager execution runs one scan.

    Args:
      block: a layer, from (x, parameters of the layer) to the next x, as one has it
        for a loop, or to a pair of the next x and an output, as `jax.lax.scan` wants
        it.
      x: what goes from layer to layer, a pytree of arrays.
      stacked_params: a pytree of arrays [L, ...], for L layers.
      num_stages: into how many stages the layers are divided. If L is no multiple,
        the first stages have one layer more.
      unroll: as for `jax.lax.scan`.

    Returns:
      The last x; if `block` gives pairs, a pair of it and the outputs, stacked
      [L, ...].

    Raises:
      TypeError: `num_stages` is no int.
      ValueError: arrays with different numbers of layers, or fewer layers than
        stages.

    Example: four layers in two stages.

      >>> weights = jnp.arange(4.0)
      >>> float(scan(lambda x, w: x + w, 0.0, weights, num_stages=2))
      6.0
    """
    stages, layers = operator.index(num_stages), _layers(stacked_params)
    if not 1 <= stages <= layers:
        raise ValueError(
            f"pipeline.scan: num_stages must be from 1 to the number of layers, "
            f"{layers}, got {stages}"
        )
    structure = jax.tree.structure(x)
    kinds: set[bool] = set()

    def body(carry: Any, layer: Any) -> tuple[Any, Any]:
        result = block(carry, layer)
        is_pair = jax.tree.structure(result) != structure
        kinds.add(is_pair)
        if not is_pair:
            return result, None
        if not isinstance(result, tuple) or len(result) != 2:
            raise TypeError(
                "pipeline.scan: the block must give the next x, a tree of structure "
                f"{structure}, or a pair of it and an output, got a tree of structure "
                f"{jax.tree.structure(result)}"
            )
        return result

    parts = _bounds(layers, stages if compat.is_staged() else 1)
    outputs = []
    for number, (start, stop) in enumerate(parts):
        if number:
            x = stage_boundary(x)
        part = stacked_params
        if len(parts) > 1:
            part = jax.tree.map(
                lambda leaf, a=start, b=stop: jax.lax.slice_in_dim(leaf, a, b),
                stacked_params,
            )
        x, output = jax.lax.scan(body, x, part, unroll=unroll)
        outputs.append(output)
    if True not in kinds:
        return x
    return x, jax.tree.map(lambda *leaves: jnp.concatenate(leaves), *outputs)
