# SPDX-License-Identifier: Apache-2.0
"""Results that go where an argument of the same tree came from.

state, batch -> (state, loss)      the new state is where the old one was
params, batch -> (loss, grads)     the gradients are where the parameters are
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import jax

from ..core.names import MEMORY_KIND_SEPARATOR
from ..shardings.signature import IOSpecs, ProgramSignature

Key = tuple[Any, ...]


def _subtrees(tree: Any, start: int = 0) -> Iterator[tuple[Any, range]]:
    """A tree and all trees in it, large ones first, with their flat positions."""
    level = [(tree, start)]
    while level:
        below = []
        for node, first in level:
            yield node, range(first, first + node.num_leaves)
            for child in node.children():
                below.append((child, first))
                first += child.num_leaves
        level = below


def _key(node: Any, types: Sequence[Any]) -> Key:
    """What must be equal of two trees: paths, shapes and dtypes."""
    full = jax.tree.unflatten(node, range(node.num_leaves))
    paths = [jax.tree_util.keystr(path) for path, _ in jax.tree.leaves_with_path(full)]
    return tuple(
        (path, type_.shape, type_.dtype)
        for path, type_ in zip(paths, types, strict=True)
    )


def find_ties(
    input_tree: Any,
    input_types: Sequence[Any],
    output_tree: Any,
    output_types: Sequence[Any],
) -> dict[int, int]:
    """Which flat input each flat output takes the place of.

    The largest trees count first. A single array is tied only if it is an argument
    of its own, and no scalar.

    Returns:
      Flat outputs with the flat inputs that they are tied to.
    """
    arguments = set(input_tree.children())
    candidates: dict[Key, list[range]] = {}
    for node, place in _subtrees(input_tree):
        if node is input_tree or not node.num_leaves:
            continue
        is_leaf = node.num_nodes == 1
        if is_leaf and (node not in arguments or not input_types[place[0]].shape):
            continue
        key = _key(node, [input_types[index] for index in place])
        candidates.setdefault(key, []).append(place)
    ties: dict[int, int] = {}
    taken: set[range] = set()
    for node, place in _subtrees(output_tree):
        if not node.num_leaves or place[0] in ties:
            continue
        found = candidates.get(_key(node, [output_types[index] for index in place]))
        if not found:
            continue
        chosen = next((other for other in found if other not in taken), found[0])
        taken.add(chosen)
        ties.update(zip(place, chosen, strict=True))
    return ties


def tie(
    found: IOSpecs, signature: ProgramSignature, given: Collection[int]
) -> tuple[ProgramSignature, dict[int, Any]]:
    """What to ask for so that results go where their arguments came from.

    Args:
      found: where inputs and outputs are when nothing is asked for.
      signature: the program. Where a mesh is assigned, that counts.
      given: flat outputs whose sharding the user gave.

    Returns:
      The signature with meshes for what is tied, and shardings of flat outputs; none
      of these if all is in its place.
    """
    ties = find_ties(
        signature.input_tree,
        signature.input_avals,
        signature.output_tree,
        signature.output_avals,
    )
    inputs, outputs = list(signature.input_meshes), list(signature.output_meshes)
    shardings: dict[int, Any] = {}
    for output, source in ties.items():
        wanted = found.input_shardings[source]
        place = found.input_meshes[source]
        if wanted.memory_kind not in (None, "device"):
            place += MEMORY_KIND_SEPARATOR + wanted.memory_kind
        if outputs[output] not in (None, place) or output in given:
            continue
        if wanted != found.output_shardings[output]:
            inputs[source] = outputs[output] = place
            shardings[output] = wanted
    return signature._replace(
        input_meshes=tuple(inputs), output_meshes=tuple(outputs)
    ), shardings
