# SPDX-License-Identifier: Apache-2.0
"""Values of a function that is cut along an axis: early, late, or sums of products.

An early value does not have the axis and is known to each part, a late one is known
where the parts are combined. One with the axis is a sum of products, each of an array
that is local to a part and a late one. Arrays are closures, which are called where a
part or what combines them is traced, and there once (for each part, if they are late).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from ..jaxapi import frontend as compat

# Array by array, element by element.
_NAMES = """
abs add add_any and atan2 cbrt ceil clamp convert_element_type copy copy_p cos cosh div
eq erf erf_inv erfc exp exp2 expm1 floor ge gt integer_pow is_finite le log log1p
logistic lt max min mul ne neg not or pow rem round rsqrt select_n sign sin sinh sqrt
square stop_gradient sub tan tanh xor
"""
ELEMENTWISE = frozenset(_NAMES.split())
# What a sum of products can go through product by product, if the others are local.
LINEAR = frozenset(["convert_element_type", "copy", "copy_p", "neg", "stop_gradient"])


class UnsplittableError(Exception):
    """What cannot be cut, and why."""


class Context:
    """Where a function is evaluated: what it is given, and what was computed so far.

    Attributes:
      values: arrays by variable.
      part: the number of the part, if it is one.
      stats: where the parts are combined, the statistics of each.
      whole: the place that this is a part of.
    """

    def __init__(
        self,
        values: dict[Any, Any],
        part: int | None = None,
        stats: Sequence[Sequence[Any]] = (),
        whole: Context | None = None,
    ):
        self.values, self.part, self.stats = values, part, stats
        self.whole = self if whole is None else whole
        self._done: dict[Any, Any] = {}

    def of(self, part: int) -> Context:
        """Where the parts are combined, what is late for one of them."""
        return self.once(part, lambda: Context(self.values, part, self.stats, self))

    @property
    def own_stats(self) -> Sequence[Any]:
        """The statistics of the part."""
        return self.stats[self.part]

    def once(self, key: Any, compute: Callable[[], Any]) -> Any:
        """What a computation gives, the second time from memory."""
        if key not in self._done:
            self._done[key] = compute()
        return self._done[key]


# An array, from where it is evaluated.
Get = Callable[[Context], Any]


def once(get: Get) -> Get:
    return lambda context: context.once(get, lambda: get(context))


def once_for_all(get: Get) -> Get:
    """What is the same for all parts, where these are combined."""
    return lambda context: once(get)(context.whole)


class Early(NamedTuple):
    """A value without the vocabulary: known to each part, and where they are combined.

    Attributes:
      get: the array.
      cut: the share of a part along an axis, which has the length of the vocabulary.
    """

    get: Get
    cut: Callable[[Context, int], Any]


class Late(NamedTuple):
    """A value that is known where the parts are combined.

    Attributes:
      get: the array.
      flat: the array with one entry along an axis, if it is the same along that.
      own: what a part takes in its place until then, of itself alone.
    """

    get: Get
    flat: Callable[[int], Get | None]
    own: Get | None = None


class Product(NamedTuple):
    """A local array times a late one; None is 1."""

    local: Get | None
    late: Get | None


class Cut(NamedTuple):
    """A sum of products, cut along an axis."""

    axis: int
    products: tuple[Product, ...]

    @property
    def local(self) -> Get | None:
        """The array, if nothing of it is late."""
        (first, *more) = self.products
        return first.local if not more and first.late is None else None


def bind(eqn: Any, operands: Sequence[Any], **changed: Any) -> list[Any]:
    """Applies an operation to other operands, with some of its parameters changed."""
    inputs = [compat.Var(atom.aval) for atom in eqn.invars]
    outs = [compat.Var(var.aval) for var in eqn.outvars]
    eqn = eqn.replace(invars=inputs, outvars=outs, params={**eqn.params, **changed})
    jaxpr = _no_operations().replace(
        invars=inputs, outvars=outs, eqns=[eqn], effects=eqn.effects
    )
    return compat.eval_jaxpr(jaxpr, [], *_of_one_type(eqn, operands))


@functools.cache
def _no_operations() -> Any:
    """A jaxpr to put an operation into; to trace one takes longer than to apply it."""
    return jax.make_jaxpr(lambda: ())().jaxpr


def _of_one_type(eqn: Any, operands: Sequence[Any]) -> list[Any]:
    """Operands of an elementwise operation in one shape, as it wants them."""
    if eqn.primitive.name not in ELEMENTWISE or len(operands) < 2:
        return list(operands)
    shape = jnp.broadcast_shapes(*map(jnp.shape, operands))
    return [
        jnp.broadcast_to(operand, shape).astype(atom.aval.dtype)
        for operand, atom in zip(operands, eqn.invars, strict=True)
    ]


def apply(eqn: Any, operands: Sequence[Get], **changed: Any) -> Get:
    return once(lambda c: bind(eqn, [get(c) for get in operands], **changed)[0])


def resized(sizes: Sequence[int], axis: int, size: int) -> tuple[int, ...]:
    """The sizes of dimensions with another one along an axis."""
    return (*sizes[:axis], size, *sizes[axis + 1 :])


def flat_of(get: Get, shape: Sequence[int]) -> Callable[[int], Get | None]:
    return lambda axis: get if not shape or shape[axis] == 1 else None


def combined(get: Get, shape: Sequence[int], own: Get | None = None) -> Late:
    """A value that is the same for all parts, computed once where they meet."""
    late = once_for_all(get)
    return Late(late, flat_of(late, shape), own)


def first_of(value: Any, axis: int) -> Any:
    """Of what is the same along an axis, one entry."""
    if not jnp.ndim(value):
        return value
    return jax.lax.slice_in_dim(value, 0, 1, axis=axis)


def each(eqn: Any, product: Product) -> Product:
    """A linear operation on a product: of the signs, one is enough."""
    local, late = product.local, product.late
    if eqn.primitive.name == "neg":
        return negative(product)
    return Product(local and apply(eqn, [local]), late and apply(eqn, [late]))


def negative(product: Product) -> Product:
    local, late = product.local, product.late
    if local is not None:
        return Product(once(lambda c: -local(c)), late)
    return Product(None, once(lambda c: -late(c)))


def times(a: Product, b: Product) -> Product:
    def product(x: Get | None, y: Get | None) -> Get | None:
        return once(lambda c: x(c) * y(c)) if x and y else x or y

    return Product(product(a.local, b.local), product(a.late, b.late))


def exponential(product: Product) -> Product:
    """Of one summand of an exponent."""
    local, late = product.local, product.late
    if local is not None and late is not None:
        raise UnsplittableError("takes the exponential of a product with a reduction")
    if late is None:
        return Product(once(lambda c: jnp.exp(local(c))), None)
    return Product(None, once(lambda c: jnp.exp(late(c))))


def inverse(products: Sequence[Product]) -> Product:
    if len(products) > 1:
        raise UnsplittableError("divides by a sum with a reduction over the vocabulary")
    local, late = products[0].local, products[0].late
    return Product(
        local and once(lambda c: 1 / local(c)),
        late and once(lambda c: 1 / late(c)),
    )
