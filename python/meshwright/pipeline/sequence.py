# SPDX-License-Identifier: Apache-2.0
"""One function over chunks of sequences, forward and backward a call for each.

The problem: what a stage keeps of a microbatch grows with its sequence, and the
pipeline fills and drains in steps of a microbatch. Cut along the sequence, a chunk
reads what the chunks before it leave in the carry, such as keys and values. So its
backward needs that of the chunk after it, and cannot be in one call with its forward.

Example, one microbatch of three chunks. The carry goes from F to F, its gradient from B
to B, and the sum of the gradients with it:

    c0, r0 = F0(w, x0)       c1, r1 = F1(w, x1, c0)       r2 = F2(w, x2, c1)
    s0, d1 = B2(r2, 0)       s1, d0 = B1(r1, d1, s0)      s2 = B0(r0, d0, s1)

Invariant: chunk c of microbatch m is call m * K + c of K chunks, in both directions.

Cost: each chunk is traced once, and its trace applied to all microbatches; residuals
live from a forward to its backward.
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from ..core.names import callee_name, function_name
from ..jaxapi import frontend as compat
from ..staging.flatten import flatten
from ..staging.graph import by_marks
from ..tracing import primitives, static_leaves, trace_cache
from ..tracing.nnx_state import is_stateful
from ..tracing.program import (
    backward_order,
    count_microbatches,
    is_scheduled,
    unrolls_loops,
)
from .cuts import Cuts
from .mean import join_rows, mean
from .sums import with_sums, zeros_like

# Arguments of one chunk, by position.
Part = Mapping[int, Any]


class Chunked:
    """The loss and the gradients of a function over chunks of all microbatches.

    Args:
      what: what to name in errors.
      fn: from the arguments and the carry, `None` at first, to a loss and the next
        carry.
      is_mean: whether losses are averaged, over positions and microbatches, or summed.
      dtype: of the sums of gradients; by default that of the gradients.

    Attributes:
      numbers: the counters of the calls, once there are some.
    """

    def __init__(
        self, what: str, fn: Callable[..., Any], is_mean: bool, dtype: Any = None
    ):
        self._what, self._fn, self._is_mean, self._dtype = what, fn, is_mean, dtype
        self.numbers: range | None = None
        self._name = callee_name(fn)

    def eagerly(self, args: Any, kwargs: Any, parts: list[list[Part]], cuts: Cuts):
        """What `calls` gives, without calls."""

        def loss_of(differentiable: Any, chunks: list[Part]) -> Any:
            total, carry = 0.0, None
            for part, share in zip(chunks, self._shares(cuts), strict=True):
                _, *own = (part.get(index, arg) for index, arg in enumerate(args))
                first = _filled(args[0], differentiable, keeps=True)
                value, carry = self._pair(self._fn(first, *own, carry, **kwargs))
                total = total + share * value
            return total

        differentiable = self._differentiable(args[0])
        found = [jax.value_and_grad(loss_of)(differentiable, part) for part in parts]
        value, grads = functools.reduce(
            lambda a, b: jax.tree.map(operator.add, a, b), found
        )
        return self._mean(value, len(parts)), jax.tree.map(
            lambda leaf: self._mean(leaf, len(parts)), _filled(args[0], grads)
        )

    def calls(self, args: Any, kwargs: Any, parts: list[list[Part]], cuts: Cuts):
        """The loss and the gradients by the first argument.

        Args:
          parts: for each microbatch and each of its chunks, arguments that it has in
            the place of those.
        """
        if is_scheduled() and not unrolls_loops():
            raise ValueError(
                f"{self._what}: sequence_chunks under mw.auto, which divides calls of "
                "microbatches that hold their gradient; put stage_boundary into the "
                "model, and use mw.jit"
            )
        count = len(cuts.lengths)
        first = count_microbatches(len(parts) * count, count)
        self.numbers = range(first, first + len(parts) * count)
        units = _Units(self, args, kwargs, parts, self._shares(cuts), first)
        return units.run()

    def _shares(self, cuts: Cuts) -> list[float]:
        """The weight of the loss of each chunk in that of its microbatch."""
        if not self._is_mean:
            return [1.0] * len(cuts.lengths)
        return [length / sum(cuts.lengths) for length in cuts.lengths]

    def _mean(self, total: Any, count: int) -> Any:
        return mean(total, count) if self._is_mean else total

    def _differentiable(self, params: Any) -> list[Any]:
        """The arrays that are differentiated."""
        found = []
        for path, leaf in jax.tree.leaves_with_path(params, is_leaf=is_stateful):
            where = "args[0]" + jax.tree_util.keystr(path)
            if is_stateful(leaf):
                raise TypeError(
                    f"{self._what}: {where} is a {type(leaf).__name__}, whose state "
                    "would go from one chunk to the next; with sequence_chunks give "
                    "its arrays, as nnx.split does, and make it again in the function"
                )
            if not static_leaves.is_array(leaf):
                continue
            if not jnp.issubdtype(jnp.result_type(leaf), jnp.floating):
                raise TypeError(
                    f"{self._what}: {where} is {jax.typeof(leaf).str_short()}, for "
                    "which there is no gradient; give it in another argument"
                )
            found.append(leaf)
        return found

    def _pair(self, result: Any) -> tuple[Any, Any]:
        if not (type(result) is tuple and len(result) == 2):
            raise TypeError(
                f"{self._what}: with sequence_chunks {function_name(self._fn)} must "
                "return a loss and the next carry, not its gradient, got "
                f"{jax.tree.structure(result)}"
            )
        value = result[0]
        if not static_leaves.is_array(value) or jnp.shape(value) != ():
            raise TypeError(
                f"{self._what}: the loss of {function_name(self._fn)} must be a "
                f"number, got {jax.tree.structure(value)} of shape {jnp.shape(value)}"
            )
        return result


def _filled(params: Any, arrays: Sequence[Any], keeps: bool = False) -> Any:
    """The tree of the first argument with others in the places of its arrays.

    Where it has none, there is None, or what was there.
    """
    left = iter(arrays)
    return jax.tree.map(
        lambda leaf: (
            next(left) if static_leaves.is_array(leaf) else leaf if keeps else None
        ),
        params,
    )


def _is_inexact(leaf: Any) -> bool:
    return static_leaves.is_array(leaf) and jnp.issubdtype(
        jnp.result_type(leaf), jnp.inexact
    )


class _Units:
    """The calls of one program, forward and backward, and the sums so far."""

    def __init__(
        self,
        chunked: Chunked,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        parts: list[list[Part]],
        shares: Sequence[float],
        first: int,
    ):
        self._chunked, self._args, self._kwargs = chunked, args, kwargs
        self._parts, self._shares, self._first = parts, shares, first
        self._count = len(shares)
        self._params = chunked._differentiable(args[0])
        # By chunk: the traces of its forward and its backward, the latter with sums.
        self._forward: dict[int, trace_cache.Traced] = {}
        self._backward: dict[int, trace_cache.Traced] = {}
        self._summing: dict[int, tuple[Any, list[tuple[int, list[list[int]]]]]] = {}
        # By array that is differentiated: sums in rows, and what is not in them.
        self._sums: dict[int, list[list[Any]]] = {}
        self._rest: list[list[Any]] = [[] for _ in self._params]
        # The order of the units is that of their microbatches.
        order = backward_order(len(parts), first // self._count)
        self._is_summed = order == sorted(order)

    def run(self) -> tuple[Any, Any]:
        values = []
        for number, chunks in enumerate(self._parts):
            carry, pullbacks = None, []
            for chunk, part in enumerate(chunks):
                value, carry, pullback = self._go(number, chunk, part, carry)
                values.append(value)
                pullbacks.append(pullback)
            derivatives: list[Any] = []
            for chunk in reversed(range(self._count)):
                derivatives = self._return(
                    number, chunk, pullbacks[chunk], derivatives, values[0]
                )
        mean, count = self._chunked._mean, len(self._parts)
        grads = [mean(self._total(at), count) for at in range(len(self._params))]
        value = mean(functools.reduce(operator.add, values), count)
        return value, _filled(self._args[0], grads)

    def _trace(
        self,
        traces: dict[int, trace_cache.Traced],
        chunk: int,
        function: Callable[..., Any],
        args: Sequence[Any],
    ) -> trace_cache.Traced:
        """Applies the trace of the chunk, which is made for the first microbatch."""
        known = traces.get(chunk)
        again = known and known.again(args, {})
        traces[chunk] = again or trace_cache.trace(function, args, {})
        return traces[chunk]

    def _bind(
        self, traced: trace_cache.Traced, jaxpr: Any, sums: Any, number: int, chunk: int
    ) -> list[Any]:
        return primitives.call_p.bind(
            *traced.operands,
            *sums,
            jaxpr=jaxpr,
            name=self._chunked._name,
            call_counter=self._first + number * self._count + chunk,
        )

    def _go(self, number: int, chunk: int, part: Part, carry: Any) -> Any:
        """The forward of a chunk: its loss, the next carry, and its derivative."""
        chunked, share, is_last = (
            self._chunked,
            self._shares[chunk],
            chunk == self._count - 1,
        )

        def forward(params: Any, args: Any, kwargs: Any, carry: Any) -> Any:
            leaves, tree = jax.tree.flatten(carry)
            flags = list(map(_is_inexact, leaves))

            def loss_of(params: Any, given: Sequence[Any]) -> Any:
                own = compat.merge(flags, given, leaves)
                own_args = (_filled(args[0], params, keeps=True), *args[1:])
                result = chunked._fn(*own_args, tree.unflatten(own), **kwargs)
                value, new = chunked._pair(result)
                value = value * jnp.asarray(share, jnp.result_type(value))
                new = None if is_last else new
                return (value, list(filter(_is_inexact, jax.tree.leaves(new)))), new

            given = list(itertools.compress(leaves, flags))
            (value, _), pullback, new = jax.vjp(loss_of, params, given, has_aux=True)
            return value, new, pullback

        args = [part.get(index, arg) for index, arg in enumerate(self._args)]
        given = (self._params, args, self._kwargs, carry)
        traced = self._trace(self._forward, chunk, forward, given)
        return traced.result(self._bind(traced, traced.jaxpr, [], number, chunk))

    def _return(
        self,
        number: int,
        chunk: int,
        pullback: Any,
        derivatives: list[Any],
        value: Any,
    ) -> list[Any]:
        """The backward of a chunk, which gives the derivatives by its carry."""
        dtype = jnp.result_type(value)

        def backward(pullback: Any, derivatives: list[Any]) -> Any:
            return pullback((jnp.ones((), dtype), derivatives))

        traced = self._trace(
            self._backward, chunk, backward, (pullback, list(derivatives))
        )
        marks, stages = self._tokens(chunk, traced, len(derivatives))
        jaxpr, summed = self._with_sums(traced.jaxpr, marks, stages)
        sums = []
        for leaf, places in summed:
            if list(map(len, self._sums.get(leaf, []))) != list(map(len, places)):
                self._finish(leaf)
                self._sums[leaf] = [
                    [zeros_like(jaxpr.out_avals[place]) for place in row]
                    for row in places
                ]
            sums += itertools.chain.from_iterable(self._sums[leaf])
        outs = self._bind(traced, jaxpr, sums, number, chunk)
        for leaf, places in summed:
            self._sums[leaf] = [[outs[place] for place in row] for row in places]
        found, derivatives = traced.result(outs[: len(traced.jaxpr.out_avals)])
        added = {leaf for leaf, _ in summed}
        for leaf, gradient in enumerate(found):
            if leaf not in added:
                self._rest[leaf].append(gradient)
        return derivatives

    def _tokens(
        self, chunk: int, backward: trace_cache.Traced, others: int
    ) -> tuple[dict[int, int], int]:
        """The marks whose tokens a backward gets from its forward, and the stages.

        The last results of the forward are the first operands of the backward.
        """
        flat = flatten(self._forward[chunk].jaxpr)
        tokens = by_marks(flat, {}, 0).tokens
        first = backward.num_captured
        count = len(backward.operands) - first - others
        given = flat.outs[len(flat.outs) - count :]
        found = {
            first + at: tokens[out]
            for at, out in enumerate(given)
            if compat.is_variable(out) and out in tokens
        }
        return found, 1 + max(tokens.values(), default=0)

    def _with_sums(
        self, jaxpr: Any, marks: Mapping[int, int], stages: int
    ) -> tuple[Any, list[tuple[int, list[list[int]]]]]:
        """A backward that takes sums as further operands, and where these are."""
        if not self._is_summed:
            return jaxpr, []
        key = id(jaxpr)  # The traces keep it.
        if key not in self._summing:
            wanted = list(range(len(self._params)))
            dtype = self._chunked._dtype
            self._summing[key] = with_sums(jaxpr, wanted, dtype, marks, stages)
        return self._summing[key]

    def _finish(self, leaf: int) -> None:
        """Ends a sum whose rows another chunk has differently."""
        if leaf in self._sums:
            self._rest[leaf].append(join_rows(self._sums.pop(leaf)))

    def _total(self, leaf: int) -> Any:
        self._finish(leaf)
        dtype = self._chunked._dtype or jnp.result_type(self._params[leaf])
        terms = [jnp.asarray(term, dtype) for term in self._rest[leaf]]
        return functools.reduce(operator.add, terms)
