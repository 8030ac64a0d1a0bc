# SPDX-License-Identifier: Apache-2.0
"""Embedding and head of a model, cut over all meshes along the vocabulary.

The problem: with a large vocabulary the last stage takes much longer than the others,
and the first one holds more. Cut along the vocabulary, each mesh has a part of both.
The parts of a head meet once, for the maxima and sums of the softmax:

    forward    x ──► S_i  statistics of part i    ─┐
    backward   ◄──── T_i  gradients of part i    ◄─┴─ statistics of all parts, loss

Invariant: what a part gives in S has no axis of the vocabulary, and T needs that of all
parts. Each part computes what the loss says of them by itself.

Cost: logits are computed once. Between S and T a part keeps what its gradient needs,
such as its part of the softmax.
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from ..core.names import VOCABULARY_PARTS, check_type, function_name
from ..jaxapi import frontend as compat
from ..tracing import primitives, trace_cache
from ..tracing.ops import named_computation
from ..tracing.program import count_meshes
from .parts import count_layers, pieces_of, whole
from .shards import Shards

_WHAT = "pipeline.vocabulary"
_HEAD, _EMBEDDING = VOCABULARY_PARTS


def vocabulary(
    embed: Callable[..., Any], head: Callable[..., Any]
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Cuts the embedding and the head of a model over all meshes.

    Schedule `VocabParallel1F1B` orders their parts beside the stages, of which it has
    one on each mesh. Eager execution and plain `jax.jit` run the functions as they are.

    Args:
      embed: from weights and further arguments, such as tokens, to a pytree of arrays.
        Each array of the weights, a pytree of arrays [V, ...] or `Parts`, has the
        vocabulary as its leading axis.
      head: from such weights and further arguments, such as the last activations and
        labels, to a loss, or a pytree of what is reduced over the vocabulary. A
        softmax, maxima and sums over the vocabulary can be cut, and entries at labels.

    Returns:
      Two functions with the signatures of these, for the first stage of a model and
      the end of the last one. What follows the head is not on any stage: return what
      the loss is made of, or compute the loss in `head`.

    Raises:
      TypeError: something is no function, or weights are no arrays.
      ValueError: arrays of different vocabularies, or one that the number of meshes
        does not divide; a function that cannot be cut. Raised where they are applied.

    Example:

      >>> import jax, jax.numpy as jnp
      >>> def loss(w, x, y):
      ...     return -jax.nn.log_softmax(x @ w.T)[jnp.arange(len(y)), y].mean()
      >>> embed, head = vocabulary(lambda table, tokens: table[tokens], loss)
      >>> table, tokens = jnp.eye(4), jnp.arange(4)
      >>> round(float(head(table, embed(table, tokens), tokens)), 3)
      0.744
    """
    for name, fn in (("embed", embed), ("head", head)):
        wanted = "must be a function of weights and further arguments"
        check_type(f"{_WHAT}: {name} {wanted}", fn, Callable)

    @functools.wraps(embed)
    def embedded(weights: Any, *args: Any) -> Any:
        if not count_meshes():
            return embed(whole(weights), *args)
        return _Cut("the embedding", embed, weights, args).embed()

    @functools.wraps(head)
    def headed(weights: Any, *args: Any) -> Any:
        if not count_meshes():
            return head(whole(weights), *args)
        return _Cut("the head", head, weights, args).lose()

    return embedded, headed


class _Cut:
    """One application of a function, in parts."""

    def __init__(
        self, name: str, fn: Callable[..., Any], weights: Any, args: Sequence[Any]
    ):
        what = f"{_WHAT}: {name}, {function_name(fn)}"
        size = count_layers(what, weights, "weights", "token of the vocabulary")
        self._count = count_meshes()
        if size % self._count:
            more = self._count - size % self._count
            raise ValueError(
                f"{what}: a vocabulary of {size} cannot be cut evenly over "
                f"{self._count} meshes; fill it up to {size + more}"
            )
        rows = size // self._count
        limits = [(at * rows, (at + 1) * rows) for at in range(self._count)]
        self._pieces = list(map(jax.tree.leaves, pieces_of(what, weights, limits)))
        others, tree = jax.tree.flatten(args)
        first, weight_tree = jax.tree.flatten(pieces_of(what, weights, limits)[0])
        shown = [jax.ShapeDtypeStruct((size, *x.shape[1:]), x.dtype) for x in first]

        def flat(*arrays: Any) -> Any:
            given = weight_tree.unflatten(arrays[: len(shown)])
            return fn(given, *tree.unflatten(arrays[len(shown) :]))

        closed, result = jax.make_jaxpr(flat, return_shape=True)(*shown, *others)
        self._tree = jax.tree.structure(result)
        # What the function captures is an argument like others.
        invars, count = closed.jaxpr.invars, len(shown)
        invars = [*invars[:count], *closed.jaxpr.constvars, *invars[count:]]
        without_consts = compat.remade(closed, (), constvars=[], invars=invars)
        self._others = [*map(jnp.asarray, closed.consts), *map(jnp.asarray, others)]
        self._shards = Shards(what, without_consts, count, self._count)

    def embed(self) -> Any:
        """The results, whose parts are combined where they are read."""
        stats = [
            named_computation(
                functools.partial(self._shards.part, number),
                name=f"{_EMBEDDING}{number}",
            )(piece, self._others)
            for number, piece in enumerate(self._pieces)
        ]
        return self._tree.unflatten(self._shards.combine(stats, self._others))

    def lose(self) -> Any:
        """The results, with the derivative of each part after the barrier."""
        run = jax.custom_vjp(self._run)
        run.defvjp(self._forward, self._backward)
        return self._tree.unflatten(run(self._pieces, self._others))

    def _combine(self, stats: Any, others: Any) -> Any:
        """The results, by the last mesh: in T, also where nothing is differentiated."""
        name = f"{_HEAD}{self._count - 1}"
        return _apply(self._shards.combine, (stats, others), name, 1)

    def _run(self, pieces: Any, others: Any) -> Any:
        stats = [
            _apply(
                functools.partial(self._shards.part, number),
                (piece, others),
                f"{_HEAD}{number}",
            )
            for number, piece in enumerate(pieces)
        ]
        return self._combine(stats, others)

    def _forward(self, pieces: Any, others: Any) -> Any:
        flags = [jnp.issubdtype(jnp.result_type(x), jnp.inexact) for x in others]

        def part(number: int, piece: Any, others: Any) -> Any:
            def of_inexact(piece: Any, given: Any) -> Any:
                return self._shards.part(
                    number, piece, compat.merge(flags, given, others)
                )

            given = list(itertools.compress(others, flags))
            return jax.vjp(of_inexact, piece, given)

        pairs = [
            _apply(functools.partial(part, number), (piece, others), f"{_HEAD}{number}")
            for number, piece in enumerate(pieces)
        ]
        stats = [pair[0] for pair in pairs]
        pullbacks = [pair[1] for pair in pairs]
        return self._combine(stats, others), (pullbacks, stats, others)

    def _backward(self, kept: Any, cotangents: Any) -> Any:
        pullbacks, stats, others = kept
        flags = [jnp.issubdtype(jnp.result_type(x), jnp.inexact) for x in others]
        barrier = _Barrier(self._shards.combine, flags, (stats, others, cotangents))

        def part(number: int, pullback: Any, *given: Any) -> Any:
            is_last = number == self._count - 1
            own, direct = barrier.derive(number, is_last, given)
            of_weights, of_others = pullback(own)
            if is_last:  # What does not go through the parts.
                of_others = list(map(operator.add, of_others, direct))
            return of_weights, of_others

        found = [
            _apply(
                functools.partial(part, number),
                (pullback, stats, others, cotangents),
                f"{_HEAD}{number}",
                1,
            )
            for number, pullback in enumerate(pullbacks)
        ]
        columns = zip(*(of_others for _, of_others in found), strict=True)
        sums = [functools.reduce(operator.add, column) for column in columns]
        of_weights = [of_weights for of_weights, _ in found]
        return of_weights, compat.merge(flags, sums, [None] * len(flags))


class _Barrier:
    """The derivative of what combines the parts, traced once for all of them."""

    def __init__(
        self, combine: Callable[..., Any], flags: Sequence[bool], args: Sequence[Any]
    ):
        def derive(stats: Any, others: Any, cotangents: Any) -> Any:
            def of_inexact(stats: Any, given: Any) -> Any:
                return combine(stats, compat.merge(flags, given, others))

            given = list(itertools.compress(others, flags))
            return jax.vjp(of_inexact, stats, given)[1](cotangents)

        self._closed, self._shape = jax.make_jaxpr(derive, return_shape=True)(*args)

    def derive(self, number: int, is_last: bool, args: Sequence[Any]) -> Any:
        """The cotangents of a part's statistics, and for the last one of the others.

        Args:
          args: what it was traced for, in the part.
        """
        stats, others = self._shape
        flags = [[at == number] * len(part) for at, part in enumerate(stats)]
        used = jax.tree.leaves((flags, [is_last] * len(others)))
        live = [True] * len(self._closed.jaxpr.invars)
        closed, read = compat.remove_dead(self._closed, used, live)
        given = itertools.compress(jax.tree.leaves(args), read)
        outs = compat.eval_jaxpr(closed.jaxpr, closed.consts, *given)
        own = len(stats[number])
        return outs[:own], outs[own:]


def _apply(
    fn: Callable[..., Any], args: Sequence[Any], name: str, transposes: int = 0
) -> Any:
    """Binds a named computation; what it would give as it got it is no result of it."""
    traced = trace_cache.trace(fn, args, {}, scope=name)
    jaxpr = traced.jaxpr.jaxpr
    given = dict(zip(jaxpr.invars, traced.operands, strict=True))
    passed = [compat.look_up(given, out) for out in jaxpr.outvars]
    is_made = [value is None for value in passed]
    made = list(itertools.compress(jaxpr.outvars, is_made))
    outs = primitives.named_computation_p.bind(
        *traced.operands,
        jaxpr=compat.remade(traced.jaxpr, outvars=made),
        name=name,
        transpose_count=transposes,
    )
    return traced.result(compat.merge(is_made, outs, passed))
