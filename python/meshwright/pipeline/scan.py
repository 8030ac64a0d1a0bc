# SPDX-License-Identifier: Apache-2.0
"""Stages of layers that are stacked and run by `jax.lax.scan`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp

from ..jaxapi import frontend as compat
from ..staging.marks import stage_boundary
from ..tracing.scopes import layers_of_stages
from .parts import bounds, check_stages, count_layers, is_parts, pieces_of, whole

T = TypeVar("T")


_WHAT = "pipeline.scan"


def _number_of_parts(stacked: Any) -> int:
    leaves = jax.tree.leaves(stacked, is_leaf=is_parts)
    counts = [len(leaf.pieces) for leaf in leaves if is_parts(leaf)]
    if not counts:
        raise TypeError(f"{_WHAT}: num_stages is missing; give the number of stages")
    return counts[0]


def scan(
    block: Callable[[T, Any], Any],
    x: T,
    stacked_params: Any,
    *,
    num_stages: int | None = None,
    unroll: int | bool = 1,
) -> Any:
    """Runs stacked layers, as `jax.lax.scan` does, in stages of a pipeline.

    Each stage is a scan over its part of the layers, with a `stage_boundary` between
    two of them. What the model does before belongs to the first stage, what it does
    after to the last one. Eager execution runs one scan.

    Args:
      block: a layer, from (x, parameters of the layer) to the next x, as one has it
        for a loop, or to a pair of the next x and an output, as `jax.lax.scan` wants
        it.
      x: what goes from layer to layer, a pytree of arrays.
      stacked_params: a pytree of arrays [L, ...], for L layers, or of `Parts`. Under
        `meshwright.jit` each stage keeps its own layers of an array, if these are
        as many in each and meshes have their stages side by side; of `Parts` always.
      num_stages: into how many stages the layers are divided. If L is no multiple,
        the first stages have one layer more. Not needed for parts.
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
    layers = count_layers(_WHAT, stacked_params)
    if num_stages is None:
        num_stages = _number_of_parts(stacked_params)
    limits = bounds(layers, check_stages(_WHAT, num_stages, layers))
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

    stages = [whole(stacked_params)]
    if compat.is_staged():
        stages = pieces_of(_WHAT, stacked_params, limits)
    outputs = []
    for number, part in enumerate(stages):
        if number:
            x = stage_boundary(x)
        x, output = jax.lax.scan(body, x, part, unroll=unroll)
        outputs.append(output)
    if True not in kinds:
        return x
    with layers_of_stages():  # Each stage keeps the outputs of its layers, too.
        return x, jax.tree.map(lambda *leaves: jnp.concatenate(leaves), *outputs)
