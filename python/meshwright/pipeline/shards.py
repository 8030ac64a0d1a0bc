# SPDX-License-Identifier: Apache-2.0
"""Cuts a function along the leading axis of its weights, with one barrier.

The problem: of a softmax over a large vocabulary each mesh has some logits. It needs
the maximum and the sum of all, and must not wait for them twice.

Example, the logarithm of a softmax y at a label t, of logits in parts y_i:

  part i     m_i = max(y_i)    s_i = sum(exp(y_i - m_i))    g_i = (y_i - m_i)[t], or 0
  combined   m = max(m_i)      s = sum(s_i exp(m_i - m))    sum(g_i + (m_i - m)) - log s

Invariant: a value with the vocabulary as an axis is a sum of products, each of a local
array and of a late one. A local array is cut along that axis and known to its part, a
late one does not have the axis, and is known when the parts are combined. Where a
maximum is subtracted, the part takes its own, and what that is off is late. So sums
over the vocabulary are those of local arrays, times what is late.

Cost: linear in the operations of the function. What has no axis of the vocabulary is
computed by each part that reads it. In the literature, this softmax is called online.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from ..jaxapi import frontend as compat
from ..tracing.scopes import body_of, source
from .products import (
    ELEMENTWISE,
    LINEAR,
    Context,
    Cut,
    Early,
    Get,
    Late,
    Product,
    UnsplittableError,
    apply,
    bind,
    combined,
    each,
    exponential,
    first_of,
    inverse,
    negative,
    once,
    once_for_all,
    resized,
    times,
)

_REDUCTIONS = {"reduce_max": jnp.max, "reduce_min": jnp.min, "reduce_sum": jnp.sum}


class Shards:
    """A function in parts, each with its rows of the weights.

    Args:
      what: what to name in errors.
      closed: the function, a closed jaxpr, of weights first.
      num_weights: how many of its arguments are cut along their leading axis.
      parts: into how many parts.

    Raises:
      ValueError: the function cannot be cut. The text begins with the user's line.
    """

    def __init__(self, what: str, closed: Any, num_weights: int, parts: int):
        self._what, self._parts = what, parts
        self._num_weights = num_weights
        self._closed = closed
        self._size = closed.jaxpr.invars[0].aval.shape[0]
        self._rows = self._size // parts
        self._stats: list[Get] = []
        self._env: dict[Any, Any] = {}
        jaxpr = closed.jaxpr
        for var, const in zip(jaxpr.constvars, closed.consts, strict=True):
            self._env[var] = self._constant(const)
        for index, var in enumerate(jaxpr.invars):
            get = functools.partial(lambda var, context: context.values[var], var)
            if index < num_weights:
                self._env[var] = Cut(0, (Product(get, None),))
            else:
                self._env[var] = Early(get, self._slice(get))
        self._walk(jaxpr)
        outs = [self._read(atom) for atom in jaxpr.outvars]
        for atom, out in zip(jaxpr.outvars, outs, strict=True):
            if isinstance(out, Cut):
                raise ValueError(
                    f"{self._what}: a result is {atom.aval.str_short()}, with the "
                    f"vocabulary as its axis {out.axis}; return what is reduced over "
                    "the vocabulary, such as a loss, alone"
                )
        self._results = [out.get for out in outs]

    def part(self, number: int, weights: Sequence[Any], others: Sequence[Any]) -> Any:
        """The statistics of a part, from its rows of the weights."""
        context = Context(self._values([*weights, *others]), number)
        return [get(context) for get in self._stats]

    def combine(self, stats: Sequence[Sequence[Any]], others: Sequence[Any]) -> Any:
        """The results, from the statistics of all parts."""
        given = [None] * self._num_weights + list(others)
        context = Context(self._values(given), stats=stats).of(0)
        return [get(context) for get in self._results]

    def _values(self, args: Sequence[Any]) -> dict[Any, Any]:
        return dict(zip(self._closed.jaxpr.invars, args, strict=True))

    # Values.

    def _constant(self, value: Any) -> Early:
        get = lambda _: value  # noqa: E731
        return Early(get, self._slice(get))

    def _read(self, atom: Any) -> Any:
        if isinstance(atom, compat.Literal):
            return self._constant(atom.val)
        return self._env[atom]

    def _slice(self, get: Get) -> Callable[[Context, int], Any]:
        """The rows of a part, of what is known as a whole."""

        def cut(context: Context, axis: int) -> Any:
            value = get(context)
            if not jnp.ndim(value):
                return value
            start = context.part * self._rows
            return jax.lax.slice_in_dim(value, start, start + self._rows, axis=axis)

        return cut

    def _local(self, value: Any, axis: int) -> Get | None:
        """A value as a local array along an axis; None if something of it is late."""
        if isinstance(value, Cut):
            return value.local
        if isinstance(value, Early):
            return lambda context: value.cut(context, axis)
        return None

    def _products(self, value: Any, axis: int) -> tuple[Product, ...]:
        """Any value as a sum of products along an axis."""
        if isinstance(value, Cut):
            return value.products
        if isinstance(value, Early):
            return (Product(self._local(value, axis), None),)
        return (Product(None, _unless_late(value.flat(axis))),)

    def _add_stat(self, get: Get) -> int:
        self._stats.append(once(get))
        return len(self._stats) - 1

    # Operations.

    def _walk(self, jaxpr: Any) -> None:
        for eqn in jaxpr.eqns:
            values = [self._read(atom) for atom in eqn.invars]
            body = body_of(eqn)
            if body is not None and not all(isinstance(v, Early) for v in values):
                inner = body.jaxpr
                self._env.update(zip(inner.invars, values, strict=True))
                for var, const in zip(inner.constvars, body.consts, strict=True):
                    self._env[var] = self._constant(const)
                self._walk(inner)
                results = [self._read(atom) for atom in inner.outvars]
            else:
                try:
                    results = self._operation(eqn, values)
                except UnsplittableError as error:
                    raise ValueError(self._refusal(eqn, str(error))) from None
            self._env.update(zip(eqn.outvars, results, strict=True))

    def _refusal(self, eqn: Any, why: str) -> str:
        shown = ", ".join(var.aval.str_short() for var in eqn.outvars)
        return (
            f"{source(eqn)}: {self._what}: {eqn.primitive.name}, which gives {shown}, "
            f"{why}, so it cannot be computed in parts of the vocabulary; a loss may "
            "take maxima, sums, a softmax and entries at labels over it"
        )

    def _operation(self, eqn: Any, values: Sequence[Any]) -> list[Any]:
        name = eqn.primitive.name
        axes = {value.axis for value in values if isinstance(value, Cut)}
        if not axes:
            if any(isinstance(value, Late) for value in values):
                return self._late(eqn, values)
            return self._early(eqn, values)
        if len(axes) > 1 and name != "dot_general":
            raise UnsplittableError("reads the vocabulary along two axes")
        axis = next(iter(axes))
        rule = getattr(self, "_cut_" + name, None)
        if name in ELEMENTWISE:
            return [self._elementwise(eqn, values, axis)]
        if name in _REDUCTIONS:
            return [self._reduced(eqn, values[0], axis, _REDUCTIONS[name])]
        if rule is None:
            raise UnsplittableError("reads all entries of the vocabulary")
        return [rule(eqn, values, axis)]

    def _early(self, eqn: Any, values: Sequence[Early]) -> list[Early]:
        """What no weight leads to; of that a part computes no more than its share."""

        every = once_for_all(lambda c: bind(eqn, [value.get(c) for value in values]))
        found = []
        for index in range(len(eqn.outvars)):
            get = functools.partial(lambda index, c: every(c)[index], index)
            found.append(Early(get, self._early_share(eqn, values, get)))
        return found

    def _early_share(
        self, eqn: Any, values: Sequence[Early], get: Get
    ) -> Callable[[Context, int], Any]:
        name, shape = eqn.primitive.name, eqn.outvars[0].aval.shape
        whole = self._slice(get)

        def cut(context: Context, axis: int) -> Any:
            if not shape:
                return get(context)
            local = resized(shape, axis, self._rows)
            if name == "iota":
                made = bind(eqn, [], shape=local)[0]
                if eqn.params["dimension"] != axis:
                    return made
                return made + jnp.asarray(context.part * self._rows, made.dtype)
            if name == "broadcast_in_dim" and len(values) == 1:
                dims = eqn.params["broadcast_dimensions"]
                value = values[0].get(context)
                if axis in dims and value.shape[dims.index(axis)] != 1:
                    value = values[0].cut(context, dims.index(axis))
                return bind(eqn, [value], shape=local)[0]
            if name in ELEMENTWISE:
                return bind(eqn, [value.cut(context, axis) for value in values])[0]
            return whole(context, axis)

        return lambda context, axis: context.once(
            (cut, axis), lambda: cut(context, axis)
        )

    def _late(self, eqn: Any, values: Sequence[Any]) -> list[Late]:
        owns = [v.own if isinstance(v, Late) else v.get for v in values]
        every = once(lambda c: bind(eqn, [value.get(c) for value in values]))
        own = None
        if None not in owns:
            own = once(lambda c: bind(eqn, [get(c) for get in owns]))
        found = []
        for index in range(len(eqn.outvars)):
            get = functools.partial(lambda index, c: every(c)[index], index)
            mine = own and functools.partial(lambda index, c: own(c)[index], index)
            found.append(Late(get, self._late_flat(eqn, values, get), mine))
        return found

    def _late_flat(
        self, eqn: Any, values: Sequence[Any], get: Get
    ) -> Callable[[int], Get | None]:
        """With one entry along an axis, where all entries along that are the same."""
        name, shape = eqn.primitive.name, eqn.outvars[0].aval.shape

        def flat(axis: int) -> Get | None:
            if not shape or shape[axis] == 1:
                return get
            if name == "broadcast_in_dim" and len(values) == 1:
                dims = eqn.params["broadcast_dimensions"]
                operand = eqn.invars[0].aval.shape
                if axis in dims and operand[dims.index(axis)] != 1:
                    return None
                one, inner = resized(shape, axis, 1), values[0].get
                return lambda c: bind(eqn, [inner(c)], shape=one)[0]
            if name in ELEMENTWISE:
                getters = []
                for value, atom in zip(values, eqn.invars, strict=True):
                    if isinstance(value, Late):
                        getter = value.flat(axis)
                    else:
                        getter = None if atom.aval.shape else value.get
                    if getter is None:
                        return None
                    getters.append(getter)
                return lambda c: bind(eqn, [get(c) for get in getters])[0]
            return None

        return flat

    def _elementwise(self, eqn: Any, values: Sequence[Any], axis: int) -> Cut:
        locals_ = [self._local(value, axis) for value in values]
        if all(local is not None for local in locals_):
            return Cut(axis, (Product(apply(eqn, locals_), None),))
        name = eqn.primitive.name
        sums = [self._products(value, axis) for value in values]
        if name in ("add", "add_any", "sub"):
            return Cut(axis, self._sum(eqn, values, sums, axis))
        if name in LINEAR:
            return Cut(axis, tuple(each(eqn, product) for product in sums[0]))
        if name == "mul":
            return Cut(axis, tuple(times(a, b) for a in sums[0] for b in sums[1]))
        if name == "div":
            divisor = inverse(sums[1])
            return Cut(axis, tuple(times(a, divisor) for a in sums[0]))
        if name == "exp":
            return Cut(axis, (functools.reduce(times, map(exponential, sums[0])),))
        if name == "log" and len(sums[0]) == 1:
            (product,) = sums[0]
            logs = [Product(None, apply(eqn, [product.late]))]
            if product.local is not None:
                logs.append(Product(apply(eqn, [product.local]), None))
            return Cut(axis, tuple(logs))
        if name == "select_n" and locals_[0] is not None:
            found = []
            for number, products in enumerate(sums[1:]):
                choose = functools.partial(_only, eqn, locals_[0], number)
                found += [
                    Product(choose(p.local, self, axis), p.late) for p in products
                ]
            return Cut(axis, tuple(found))
        raise UnsplittableError("reads what is reduced over the vocabulary")

    def _sum(
        self, eqn: Any, values: Sequence[Any], sums: Sequence[Any], axis: int
    ) -> tuple[Product, ...]:
        """A sum or difference; a part subtracts its own maximum from its own logits."""
        first, second = values
        own = second.own if isinstance(second, Late) else None
        local = self._local(first, axis)
        if own is not None and local is not None and eqn.primitive.name == "sub":
            flat = _unless_late(second.flat(axis))
            mine = self._add_stat(own)

            def shifted(context: Context) -> Any:
                return local(context) - first_of(own(context), axis)

            def off(context: Context) -> Any:
                return first_of(context.own_stats[mine], axis) - flat(context)

            return Product(once(shifted), None), Product(None, once(off))
        if eqn.primitive.name == "sub":
            minus = tuple(negative(product) for product in sums[1])
            return (*sums[0], *minus)
        return (*sums[0], *sums[1])

    # Operations that move or reduce the axis.

    def _cut_broadcast_in_dim(self, eqn: Any, values: Any, axis: int) -> Cut:
        return self._moved(
            eqn, values[0], eqn.params["broadcast_dimensions"][axis], "shape"
        )

    def _cut_transpose(self, eqn: Any, values: Any, axis: int) -> Cut:
        return self._moved(eqn, values[0], eqn.params["permutation"].index(axis))

    def _cut_squeeze(self, eqn: Any, values: Any, axis: int) -> Cut:
        dims = [dim % len(eqn.invars[0].aval.shape) for dim in eqn.params["dimensions"]]
        return self._moved(eqn, values[0], axis - sum(dim < axis for dim in dims))

    def _cut_reshape(self, eqn: Any, values: Any, axis: int) -> Cut:
        before, after = eqn.invars[0].aval.shape, eqn.params["new_sizes"]
        rows = math.prod(before[:axis])
        ends = [math.prod(after[:at]) for at in range(len(after))]
        found = [
            at
            for at, end in enumerate(ends)
            if end == rows and after[at] == before[axis]
        ]
        if not found or eqn.params["dimensions"] is not None:
            raise UnsplittableError("mixes the vocabulary with another axis")
        return self._moved(eqn, values[0], found[-1], "new_sizes")

    def _cut_slice(self, eqn: Any, values: Any, axis: int) -> Cut:
        params = eqn.params
        starts, limits = params["start_indices"], params["limit_indices"]
        strides = params["strides"]
        if (
            starts[axis]
            or limits[axis] != self._size
            or (strides or [1] * 99)[axis] != 1
        ):
            raise UnsplittableError("takes some entries of the vocabulary")
        return self._moved(eqn, values[0], axis, "limit_indices")

    def _moved(self, eqn: Any, value: Cut, to: int, sizes: str | None = None) -> Cut:
        """What moves the axis; `sizes` is the parameter that has its size."""

        def params(size: int) -> dict[str, Any]:
            return {sizes: resized(eqn.params[sizes], to, size)} if sizes else {}

        def move(product: Product) -> Product:
            local, late = product.local, product.late
            return Product(
                local and apply(eqn, [local], **params(self._rows)),
                late and apply(eqn, [late], **params(1)),
            )

        return Cut(to, tuple(map(move, value.products)))

    def _reduced(self, eqn: Any, value: Cut, axis: int, reduce: Any) -> Any:
        axes = eqn.params["axes"]
        if axis not in axes:
            local = value.local
            if local is None:
                raise UnsplittableError(
                    "reduces another axis of what is made with a reduction over the "
                    "vocabulary, before the vocabulary itself"
                )
            to = axis - sum(other < axis for other in axes)
            return Cut(to, (Product(apply(eqn, [local]), None),))
        whole, shape = eqn.invars[0].aval.shape, eqn.outvars[0].aval.shape
        rest = tuple(other for other in axes if other != axis)
        if reduce is not jnp.sum:
            local = _unless_late(value.local)
            own = once(lambda context: apply(eqn, [local])(context))
            stat = self._add_stat(own)

            def extreme(context: Context) -> Any:
                return reduce(jnp.stack([row[stat] for row in context.stats]), axis=0)

            return combined(extreme, shape, own)

        def of_part(product: Product) -> Get:
            # Without a late factor, other axes are reduced by the part as well.
            inside = axes if product.late is None else (axis,)
            local = product.local or (
                lambda _: jnp.full(self._rows, 1, eqn.outvars[0].aval.dtype).reshape(
                    resized([1] * len(whole), axis, -1)
                )
            )
            stat = self._add_stat(
                lambda c: jnp.sum(local(c), axis=inside, keepdims=True)
            )

            def term(context: Context) -> Any:
                found = context.own_stats[stat]
                if product.late is not None:
                    found = found * product.late(context)
                    ones = [size if at in rest else 1 for at, size in enumerate(whole)]
                    wide = jnp.broadcast_shapes(found.shape, tuple(ones))
                    found = jnp.sum(
                        jnp.broadcast_to(found, wide), axis=rest, keepdims=True
                    )
                return jnp.broadcast_to(
                    found, [1 if at in axes else size for at, size in enumerate(whole)]
                ).reshape(shape)

            return term

        terms = [of_part(product) for product in value.products]
        return self._total(terms, shape, eqn.outvars[0].aval.dtype)

    def _total(self, terms: Sequence[Get], shape: Any, dtype: Any) -> Late:
        """The sum over all parts."""

        def total(context: Context) -> Any:
            parts = map(context.of, range(self._parts))
            found = [term(part) for part in parts for term in terms]
            return functools.reduce(jnp.add, found).astype(dtype)

        return combined(total, shape)

    def _cut_dot_general(self, eqn: Any, values: Any, axis: int) -> Any:
        (contracted, batch), out = eqn.params["dimension_numbers"], eqn.outvars[0].aval
        ranks = [len(atom.aval.shape) for atom in eqn.invars]
        sides = [value.axis if isinstance(value, Cut) else None for value in values]
        at = next(index for index, side in enumerate(sides) if side is not None)
        side, other = sides[at], None
        for pairs in (contracted, batch):
            if side in pairs[at]:
                other = pairs[1 - at][list(pairs[at]).index(side)]
        if sides[1 - at] not in (None, other):
            raise UnsplittableError("reads the vocabulary along two axes")
        locals_, axes = [], (side, other) if at == 0 else (other, side)
        for value, axis in zip(values, axes, strict=True):
            if axis is not None:
                local = self._local(value, axis)
            else:
                local = value.get if isinstance(value, Early) else None
            locals_.append(_unless_late(local))
        result = apply(eqn, locals_)
        if side in contracted[at]:
            stat = self._add_stat(result)
            return self._total([lambda c: c.own_stats[stat]], out.shape, out.dtype)
        if side in batch[at]:
            to = list(batch[at]).index(side)
        else:
            free = [
                [
                    dim
                    for dim in range(ranks[index])
                    if dim not in contracted[index] and dim not in batch[index]
                ]
                for index in (0, 1)
            ]
            to = len(batch[0]) + free[at].index(side) + (len(free[0]) if at else 0)
        return Cut(to, (Product(result, None),))

    def _cut_gather(self, eqn: Any, values: Any, axis: int) -> Late:
        """Entries of the vocabulary at labels: those of other parts count as 0."""
        operand, indices = values
        column = _column_of_labels(eqn, operand, indices, axis)
        numbers, sizes = eqn.params["dimension_numbers"], eqn.params["slice_sizes"]
        out = eqn.outvars[0].aval
        mode, GatherScatterMode = eqn.params["mode"], jax.lax.GatherScatterMode
        batch = [dim for dim in range(len(out.shape)) if dim not in numbers.offset_dims]
        is_filled = mode == GatherScatterMode.FILL_OR_DROP

        def labels(context: Context) -> Any:
            return indices.get(context)[..., column]

        def wide(mask: Any) -> Any:
            shape = [
                out.shape[dim] if dim in batch else 1 for dim in range(len(out.shape))
            ]
            return jnp.broadcast_to(mask.reshape(shape), out.shape)

        def taken(value: Any, context: Context, entry: Any) -> Any:
            where = indices.get(context).at[..., column].set(entry)
            one, mode = resized(sizes, axis, 1), GatherScatterMode.CLIP
            return jax.lax.gather(value, where, numbers, one, mode=mode)

        def is_known(context: Context) -> Any:
            label = labels(context)
            return (label >= 0) & (label < self._size)

        def of_product(product: Product) -> Get:
            def share(context: Context) -> Any:
                label = labels(context)
                if not is_filled:
                    label = jnp.clip(label, 0, self._size - 1)
                entry = label - context.part * self._rows
                mask = wide((entry >= 0) & (entry < self._rows))
                entry = jnp.clip(entry, 0, self._rows - 1)
                if product.local is None:
                    return mask.astype(out.dtype)
                found = taken(product.local(context), context, entry)
                return jnp.where(mask, found, jnp.zeros((), found.dtype))

            stat = self._add_stat(share)

            def term(context: Context) -> Any:
                found = context.own_stats[stat]
                if product.late is None:
                    return found
                one = resized(eqn.invars[0].aval.shape, axis, 1)
                late = jnp.broadcast_to(product.late(context), one)
                return found * taken(late, context, jnp.zeros_like(labels(context)))

            return term

        total = self._total(
            [of_product(product) for product in operand.products], out.shape, out.dtype
        )
        if not is_filled or not jnp.issubdtype(out.dtype, jnp.inexact):
            return total

        def filled(context: Context) -> Any:
            value = total.get(context)
            fill = eqn.params["fill_value"]
            fill = jnp.asarray(jnp.nan if fill is None else fill, out.dtype)
            return jnp.where(wide(is_known(context)), value, fill)

        return combined(filled, out.shape)


def _column_of_labels(eqn: Any, operand: Any, indices: Any, axis: int) -> int:
    """Which of the numbers of an index says the entry of the vocabulary."""
    numbers = eqn.params["dimension_numbers"]
    places = list(numbers.start_index_map)
    is_entry = axis in numbers.collapsed_slice_dims and axis in places
    if not isinstance(operand, Cut) or not isinstance(indices, Early) or not is_entry:
        raise UnsplittableError("reads entries of the vocabulary by more than labels")
    return places.index(axis)


def _unless_late(get: Get | None) -> Get:
    if get is None:
        raise UnsplittableError("reads what is reduced over the vocabulary")
    return get


def _only(
    eqn: Any, which: Get, number: int, local: Get | None, shards: Shards, axis: int
) -> Get:
    """A local array where it is chosen, else 0."""
    shape = resized(eqn.outvars[0].aval.shape, axis, shards._rows)

    def chosen(context: Context) -> Any:
        value = (
            jnp.ones((), eqn.outvars[0].aval.dtype) if local is None else local(context)
        )
        value = jnp.broadcast_to(value, shape)
        is_it = which(context).astype(jnp.int32) == number
        return jnp.where(is_it, value, jnp.zeros_like(value))

    return once(chosen)
