# SPDX-License-Identifier: Apache-2.0
"""Leaves that are no arrays: Python values that stay what they are.

JAX refuses a function or a string among the leaves of an argument. Here such a leaf
becomes a node without children around its value, which JAX takes as a part of the
tree's structure:

  Module(weight=array, activation=relu)   Module(weight=array, activation=Static(relu))
"""

from __future__ import annotations

import sys
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import jax
import numpy as np

from .identity import is_namedtuple
from .nnx_state import is_stateful

# Each holds those before it.
NUMBERS = (bool, int, float, complex)
_CONTAINERS = (tuple, list, dict, OrderedDict, defaultdict, type(None))


class Static:
    """A Python value in the place of an array; equal if its value is."""

    def __init__(self, value: Any):
        if isinstance(value, np.ndarray):  # Of strings, say, which their owner changes.
            value = value.copy()
            value.setflags(write=False)
        self.value = value
        key = value
        if isinstance(value, float):
            key = value.hex()  # Zeros have signs, and NaN equals itself.
        elif isinstance(value, complex):
            key = value.real.hex(), value.imag.hex()
        elif isinstance(value, np.ndarray):
            key = value.dtype, value.shape, tuple(value.ravel().tolist())
        elif isinstance(value, slice):
            key = value.start, value.stop, value.step
        self.is_hashable = True
        try:
            self._hash = hash(key)
        except TypeError:
            self.is_hashable = False
            key, self._hash = id(value), id(value)
        self._key = type(value), key

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Static) and self._key == other._key

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"Static({self.value!r})"


jax.tree_util.register_pytree_node(
    Static, lambda static: ((), static), lambda static, _: static
)


def is_static(leaf: Any) -> bool:
    """Whether a leaf is wrapped."""
    return isinstance(leaf, Static)


def check_hashable(tree: Any, where: str) -> None:
    """Refuses wrapped values whose changes a later call would not see."""
    for path, leaf in jax.tree.leaves_with_path(tree, is_leaf=is_static):
        if is_static(leaf) and not leaf.is_hashable:
            raise TypeError(
                f"{where}{jax.tree_util.keystr(path)} is no array, but {leaf.value!r} "
                f"of type {type(leaf.value).__name__}, of which a later call could not "
                "tell whether it has changed; pass what is hashable, such as a tuple "
                "or a frozen dataclass"
            )


def unwrap(tree: Any) -> Any:
    """A pytree with the values themselves, which JAX would refuse."""
    return jax.tree.map(
        lambda leaf: leaf.value if is_static(leaf) else leaf, tree, is_leaf=is_static
    )


def occur_in(tree: Any) -> bool:
    """Whether a pytree's structure contains wrapped values."""
    data = tree.node_data()
    if data is None:
        return False
    return data[0] is Static or any(map(occur_in, tree.children()))


def is_module(kind: type) -> bool:
    """Whether a class of pytree nodes is more than a container."""
    return kind not in _CONTAINERS and not is_namedtuple(kind)


def is_equinox_module(kind: type) -> bool:
    """Whether a class is an `equinox.Module`, whose numbers `filter_jit` keeps."""
    equinox = sys.modules.get("equinox")
    return equinox is not None and issubclass(kind, equinox.Module)


def _below(
    tree: Any, keeps_numbers: Callable[[type], bool], inside: bool = False
) -> list[bool]:
    """For every leaf whether a node above it keeps its numbers."""
    data = tree.node_data()
    if data is None:
        return [inside] * tree.num_leaves
    inside = inside or keeps_numbers(data[0])
    return [
        flag
        for child in tree.children()
        for flag in _below(child, keeps_numbers, inside)
    ]


def is_array(leaf: Any) -> bool:
    """Whether JAX takes a leaf as an array."""
    if isinstance(leaf, (jax.Array, jax.ShapeDtypeStruct)):
        return True
    try:
        jax.typeof(leaf)
    except TypeError:
        return False
    return True


def is_plainly_array(leaf: Any) -> bool:
    """Whether a leaf is an array wherever it is; quick, and may say no too often."""
    if isinstance(leaf, np.ndarray):
        return leaf.dtype.kind in "biufc"
    if isinstance(leaf, NUMBERS):
        return "equinox" not in sys.modules
    return isinstance(leaf, (jax.Array, np.number, np.bool_))


def flatten(x: Any, what: str, advice: str) -> tuple[list[Any], Any]:
    """The leaves of what `what` was given, no arrays wrapped, and their tree."""
    leaves, tree = jax.tree.flatten(x, is_leaf=is_stateful)
    for leaf in filter(is_stateful, leaves):
        raise TypeError(
            f"{what}: {type(leaf).__name__} is an NNX object, which has a state of "
            f"its own; {advice}"
        )
    return wrap_leaves(leaves, tree), tree


def unflatten(tree: Any, wrapped: Sequence[Any], arrays: Iterable[Any]) -> Any:
    """The tree of some leaves, with arrays in the places of those not wrapped."""
    left = iter(arrays)
    leaves = [leaf.value if is_static(leaf) else next(left) for leaf in wrapped]
    return jax.tree.unflatten(tree, leaves)


def wrap_leaves(
    leaves: Sequence[Any], tree: Any, keeps_numbers: Callable[[type], bool] = is_module
) -> list[Any]:
    """Wraps the leaves that are no arrays.

    Args:
      keeps_numbers: tells for the class of a node whether numbers below it are a
        part of the program, such as the number of layers of a module. In tuples,
        lists and dicts they are arrays to JAX.

    Returns:
      The leaves, some of them in a `Static`.
    """
    below = None
    wrapped = []
    for index, leaf in enumerate(leaves):
        static = is_stateful(leaf) or not is_array(leaf)
        if not static and isinstance(leaf, NUMBERS):
            below = _below(tree, keeps_numbers) if below is None else below
            static = below[index]
        wrapped.append(Static(leaf) if static else leaf)
    return wrapped


def wrap(tree: Any, keeps_numbers: Callable[[type], bool] = is_module) -> Any:
    """Wraps the leaves of a pytree that are no arrays; see `wrap_leaves`."""
    leaves, structure = jax.tree.flatten(tree)
    return jax.tree.unflatten(structure, wrap_leaves(leaves, structure, keeps_numbers))
