# SPDX-License-Identifier: Apache-2.0
"""Stacked parameters that are kept part by part, each where its stage is."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..tracing.scopes import layers_of_stages


def _both_ways(operation: Callable[[Any, Any], Any]) -> tuple[Any, Any]:
    """Methods for an operator with `Parts` on its left and on its right."""

    def forward(self: Parts, other: Any) -> Any:
        return self._with(other, operation)

    def backward(self: Parts, other: Any) -> Any:
        return self._with(other, lambda a, b: operation(b, a))

    return forward, backward


# What NumPy calls where `Parts` are on the right of one of its arrays.
_OPERATORS = {
    np.add: operator.add,
    np.subtract: operator.sub,
    np.multiply: operator.mul,
    np.divide: operator.truediv,
    np.power: operator.pow,
}


@jax.tree_util.register_pytree_with_keys_class
class Parts:
    """An array [L, ...] of L layers in several pieces along its leading axis.

    A pytree node whose leaves are the pieces, so what works on trees (gradients, Optax,
    checkpoints) works on each piece where it is, and so does arithmetic. NumPy, and
    functions of `jax.numpy`, see the whole array.

    Attributes:
      pieces: the arrays, [l, ...] each, in order.
    """

    def __init__(self, pieces: Sequence[Any]):
        self.pieces = tuple(pieces)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the whole, [L, ...]."""
        first = self.pieces[0].shape
        return (sum(piece.shape[0] for piece in self.pieces), *first[1:])

    @property
    def dtype(self) -> Any:
        """The type of the elements."""
        return self.pieces[0].dtype

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements of all pieces."""
        return math.prod(self.shape)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        pieces = [np.asarray(jax.device_get(piece)) for piece in self.pieces]
        return np.concatenate(pieces).astype(dtype or self.dtype)

    def __array_ufunc__(
        self, function: np.ufunc, method: str, *inputs: Any, **options: Any
    ) -> Any:
        """Arithmetic piece by piece; else what the whole array gives."""
        operation = _OPERATORS.get(function)
        if operation is None or method != "__call__" or options:
            arrays = [np.asarray(x) if isinstance(x, Parts) else x for x in inputs]
            return getattr(function, method)(*arrays, **options)
        left, right = inputs
        if isinstance(left, Parts):
            return left._with(right, operation)
        return self._with(left, lambda a, b: operation(b, a))

    def __jax_array__(self) -> jax.Array:
        return jnp.asarray(whole(self))

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, layer: Any) -> Any:
        """A layer by its number, from its piece; else what the whole array gives."""
        if isinstance(layer, (int, np.integer)) and not isinstance(layer, bool):
            index = range(len(self))[layer]
            for piece in self.pieces:
                if index < piece.shape[0]:
                    return piece[index]
                index -= piece.shape[0]
        return jnp.asarray(self)[layer]

    def _with(self, other: Any, operation: Callable[[Any, Any], Any]) -> Any:
        """Applies an operation piece by piece, if `other` can be taken apart."""
        sizes = (piece.shape[0] for piece in self.pieces)
        limits = list(itertools.pairwise(itertools.accumulate(sizes, initial=0)))
        if isinstance(other, Parts):
            if [len(piece) for piece in other.pieces] != [b - a for a, b in limits]:
                return operation(jnp.asarray(self), jnp.asarray(other))
            others = list(other.pieces)
        elif jnp.ndim(other) < self.ndim or (
            jnp.ndim(other) == self.ndim and jnp.shape(other)[0] == 1
        ):
            others = [other] * len(limits)
        elif jnp.shape(other)[0] == len(self) and jnp.ndim(other) == self.ndim:
            others = [other[start:stop] for start, stop in limits]
        else:
            return operation(jnp.asarray(self), other)
        pairs = zip(self.pieces, others, strict=True)
        return Parts([operation(piece, part) for piece, part in pairs])

    __add__, __radd__ = _both_ways(operator.add)
    __sub__, __rsub__ = _both_ways(operator.sub)
    __mul__, __rmul__ = _both_ways(operator.mul)
    __truediv__, __rtruediv__ = _both_ways(operator.truediv)
    __pow__, __rpow__ = _both_ways(operator.pow)

    def __neg__(self) -> Parts:
        return Parts([-piece for piece in self.pieces])

    def astype(self, dtype: Any) -> Parts:
        """Each piece in another type."""
        return Parts([piece.astype(dtype) for piece in self.pieces])

    def __repr__(self) -> str:
        return f"Parts({', '.join(map(repr, self.pieces))})"

    def tree_flatten_with_keys(self) -> tuple[Any, None]:
        """Pieces with their positions, for JAX."""
        keyed = [
            (jax.tree_util.SequenceKey(index), piece)
            for index, piece in enumerate(self.pieces)
        ]
        return keyed, None

    @classmethod
    def tree_unflatten(cls, _: None, pieces: Sequence[Any]) -> Parts:
        """The same around other pieces, for JAX."""
        return cls(pieces)


def is_parts(leaf: Any) -> bool:
    """Whether this is an array in parts."""
    return isinstance(leaf, Parts)


def bounds(layers: int, stages: int) -> list[tuple[int, int]]:
    """First layer and end of each stage; the first stages have one more layer."""
    size, more = divmod(layers, stages)
    sizes = [size + (stage < more) for stage in range(stages)]
    return list(itertools.pairwise(itertools.accumulate(sizes, initial=0)))


def count_layers(
    what: str, stacked: Any, name: str = "stacked_params", unit: str = "layer"
) -> int:
    """The number of layers in a tree of arrays, or parts, that are stacked in front.

    Args:
      what: what to name in errors.
      stacked: the tree.
      name: what it is called there.
      unit: and what its leading axis counts.
    """
    sizes: dict[int, str] = {}
    for path, leaf in jax.tree.leaves_with_path(stacked, is_leaf=is_parts):
        where = f"{name}{jax.tree_util.keystr(path)}"
        if not jnp.shape(leaf):
            raise ValueError(
                f"{what}: {where} is a scalar; each array holds a {unit} for each "
                "index of its leading axis"
            )
        sizes.setdefault(jnp.shape(leaf)[0], where)
    if not sizes:
        raise ValueError(f"{what}: {name} holds no array, so no {unit}")
    if len(sizes) > 1:
        listed = ", ".join(f"{where}: {size}" for size, where in sizes.items())
        raise ValueError(
            f"{what}: all arrays of {name} must have the same number of entries in "
            f"their leading axis, one for each {unit}, got {listed}"
        )
    return next(iter(sizes))


def check_stages(what: str, num_stages: Any, layers: int) -> int:
    """The number of stages, if that many layers can have it."""
    stages = operator.index(num_stages)
    if not 1 <= stages <= layers:
        raise ValueError(
            f"{what}: num_stages must be from 1 to the number of layers, {layers}, got "
            f"{stages}"
        )
    return stages


def parts(stacked_params: Any, num_stages: int) -> Any:
    """Takes stacked parameters apart, so that each stage keeps its own.

    Arrays span the meshes of their stages by themselves where these have as many
    layers each, side by side. Others are on one mesh as a whole, and a stage that reads
    some layers is sent them in each step. Parts are where `pipeline.scan` reads them
    in any case, and so is what is made of them: gradients, and an optimizer's state.

    Args:
      stacked_params: a pytree of arrays [L, ...], or of `Parts` for other stages.
      num_stages: as for `scan`.

    Returns:
      The tree with `Parts` in the places of its arrays. `whole` is the way back.

    Raises:
      ValueError: as for `scan`.

    Example:

      >>> split = parts({"w": jnp.zeros((6, 3))}, num_stages=2)
      >>> [piece.shape for piece in split["w"].pieces], split["w"].shape
      ([(3, 3), (3, 3)], (6, 3))
    """
    layers = count_layers("pipeline.parts", stacked_params)
    stages = check_stages("pipeline.parts", num_stages, layers)

    def split(leaf: Any) -> Parts:
        return Parts([leaf[start:stop] for start, stop in bounds(layers, stages)])

    return jax.tree.map(split, stacked_params, is_leaf=is_parts)


def whole(tree: Any) -> Any:
    """Puts all `Parts` of a tree together again.

    Args:
      tree: any pytree; what is no `Parts` stays as it is.

    Returns:
      The tree with arrays [L, ...]. Outside of traced functions these are on the
      host, as NumPy arrays, except for random keys, which NumPy does not have.
    """

    def join(leaf: Any) -> Any:
        if not is_parts(leaf):
            return leaf
        if any(isinstance(piece, jax.core.Tracer) for piece in leaf.pieces):
            return jnp.concatenate(leaf.pieces)
        if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            data = whole(Parts(map(jax.random.key_data, leaf.pieces)))
            return jax.random.wrap_key_data(
                data, impl=jax.random.key_impl(leaf.pieces[0])
            )
        return np.asarray(leaf)

    return jax.tree.map(join, tree, is_leaf=is_parts)


def pieces_of(what: str, stacked: Any, limits: Sequence[tuple[int, int]]) -> list[Any]:
    """The parameters of each stage, from arrays and parts."""

    def pieces(leaf: Any) -> list[Any]:
        if not is_parts(leaf):
            with layers_of_stages():
                return [jax.lax.slice_in_dim(leaf, *limit) for limit in limits]
        found = [piece.shape[0] for piece in leaf.pieces]
        wanted = [stop - start for start, stop in limits]
        if found != wanted:
            raise ValueError(
                f"{what}: parts of {found} layers, but the stages have {wanted}; split "
                "them with mw.pipeline.parts(..., num_stages=) for that many stages"
            )
        return list(leaf.pieces)

    leaves, tree = jax.tree.flatten(stacked, is_leaf=is_parts)
    columns = list(map(pieces, leaves))
    return [
        jax.tree.unflatten(tree, [column[stage] for column in columns])
        for stage in range(len(limits))
    ]
