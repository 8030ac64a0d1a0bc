# SPDX-License-Identifier: Apache-2.0
"""One function over many microbatches, one call for each.

The problem: a training step adds up gradients of microbatches, and a pipeline schedule
decides in which order these become available. A sum in another order keeps gradients
alive until it gets to them.

Example, two stages with three microbatches, gradients of stage 0. LoopedBFS has its
backward passes in the reverse order, and so has the sum:

    1F1B         F0 F1 B0 F2 B1 B2       ((g0 + g1) + g2)
    LoopedBFS    F0 F1 F2 B2 B1 B0       ((g2 + g1) + g0)

Invariant: each gradient is added in the call that makes it, to the sum of those whose
backward passes come before; one buffer for each array lives from call to call.

Cost: the function is traced once, and its calls are a loop where they can be; else the
program grows with the number of microbatches. Additions are one for each array and
microbatch. The name in the literature: gradient accumulation.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from ..core.names import callee_name, check_type, function_name
from ..jaxapi import frontend as compat
from ..tracing import primitives, static_leaves, trace_cache
from ..tracing.arguments import BY_POSITION
from ..tracing.nnx_state import is_stateful
from ..tracing.ops import broadcast
from ..tracing.program import backward_order, count_microbatches, unrolls_loops
from .cuts import cut, find_cuts
from .loop import call_in_loop, can_loop
from .losses import can_divide, with_losses
from .mean import join_rows, mean
from .microbatches import positions, shapes_of, split
from .results import guarded
from .sequence import Chunked
from .sums import with_sums, zeros_like

Combine = Callable[[jax.Array, jax.Array], jax.Array]

_WHAT = "accumulate"
_MEAN, _SUM, _STACK = "mean", "sum", "stack"
_KINDS = (_MEAN, _SUM, _STACK)
# What Flax calls variables whose gradient is their next value.
_OVERWRITTEN = "_overwrite_with_gradient"


def accumulate(
    fn: Callable[..., Any],
    microbatches: int,
    batch_argnums: int | Sequence[int] = 1,
    reduce: str | Combine | Any = _MEAN,
    *,
    has_aux: bool | None = None,
    rng_argnums: int | Sequence[int] = (),
    accumulate_dtype: Any = None,
    sequence_chunks: int | Sequence[int] | None = None,
    sequence_axes: Any = 1,
) -> Callable[..., Any]:
    """Runs a function once per microbatch, as one `call` each, and sums up.

    A transformation like `jax.value_and_grad`, which `fn` usually is: the gradient
    is taken inside of the calls, where a schedule can order it. The result cannot
    be differentiated from outside. `fn` is traced once, whatever the number of
    microbatches; without `meshwright.jit` the result is the same.

    Args:
      fn: a function of pytrees of arrays, and of NNX modules, whose state goes
        from one microbatch to the next.
      microbatches: their number, 1 or more.
      batch_argnums: positions of the arguments that are split: every array of them
        along its leading axis, of one length, into parts of equal length, the
        first rows first. A list in the place of an array has one entry per
        microbatch, and these may be of a few shapes, as sequences of some lengths are:
        there are programs for each shape. A tuple is a tree.
      reduce: how the results become one: `"mean"`, of microbatches whatever their
        shapes, `"sum"`, `"stack"` (a new
        leading axis, in the order of the microbatches), a function of two arrays
        such as `jnp.maximum`, or a function of one array, which gets the stack; or
        a pytree prefix of the result of such. Where that says mean or sum, what is
        below a key `"_overwrite_with_gradient"`, Flax's statistics of layers in
        eight bits, takes the maximum.
      has_aux: whether `fn` returns auxiliary data, which is stacked: `((value,
        aux), grads)`, as from `jax.value_and_grad(..., has_aux=True)`, else
        `(result, aux)`. By default it does if it returns the former.
      rng_argnums: positions of arguments that are random keys. Microbatch i gets
        `jax.random.split(key, microbatches)[i]`.
      accumulate_dtype: the type of sums and means of real floating-point results,
        such as `"float32"` for gradients in bfloat16; by default that of the result.
      sequence_chunks: into how many chunks each microbatch is cut along its sequence,
        or their lengths (`chunk_lengths`). `fn` is then not a gradient, but the loss
        of a chunk: it gets the carry as a further positional argument, None for the
        first chunk, and returns the loss and the next carry, such as a cache of keys
        and values. The result is the loss and its gradient by the first argument;
        means are over positions as well. For schedules Seq1F1B and SlimPipe.
      sequence_axes: the axis of the sequence in what is split: one for all arrays, or
        a prefix of the argument, or a tuple of such for several arguments. Arrays with
        None go to all chunks.

    Returns:
      A callable with the signature of `fn`, without the carry. Keyword arguments go to
      every microbatch as they are.

    Raises:
      TypeError: a result that is no array, a key that is none, or a derivative that
        is taken from outside.
      ValueError: arguments that cannot be split evenly, microbatches of different
        types, or sequences that cannot be cut into those chunks.

    Example: the gradient of a mean over four rows, two at a time.

      >>> import jax, jax.numpy as jnp
      >>> loss = lambda w, x: ((w * x) ** 2).mean()
      >>> step = accumulate(jax.value_and_grad(loss), microbatches=2)
      >>> value, grad = step(1.0, jnp.arange(4.0))
      >>> float(value), float(grad)
      (3.5, 7.0)
    """
    advice = "; call it as accumulate(fn, microbatches=N)(params, batch)"
    check_type(f"{_WHAT}: fn must be a function", fn, Callable, advice)
    if isinstance(microbatches, bool):
        raise TypeError(f"{_WHAT}: microbatches must be an int, got {microbatches!r}")
    count = operator.index(microbatches)
    if count < 1:
        raise ValueError(f"{_WHAT}: microbatches must be 1 or more, got {count}")
    _check_reduce(reduce)
    wanted_dtype = _sum_dtype(accumulate_dtype)
    if sequence_chunks is not None:
        _check_chunked(reduce, has_aux)

    accumulation = _Accumulation(
        fn,
        count,
        reduce,
        has_aux,
        batch_argnums,
        rng_argnums,
        wanted_dtype,
        sequence_chunks,
        sequence_axes,
    )

    @functools.wraps(fn)
    def accumulated(*args, **kwargs):
        return accumulation.run(args, kwargs)

    return accumulated


class _Accumulation(NamedTuple):
    """What `accumulate` was given, checked as far as that needs no arguments."""

    fn: Callable[..., Any]
    count: int
    reduce: Any
    has_aux: bool | None
    batch_argnums: int | Sequence[int]
    rng_argnums: int | Sequence[int]
    wanted_dtype: Any
    sequence_chunks: int | Sequence[int] | None
    sequence_axes: Any

    def run(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """The reduced result of all microbatches."""
        # Whether there are 64 bits may have been set since.
        dtype = self.wanted_dtype and jax.dtypes.canonicalize_dtype(self.wanted_dtype)
        batch = positions(_WHAT, "batch_argnums", self.batch_argnums, len(args))
        keys = positions(_WHAT, "rng_argnums", self.rng_argnums, len(args))
        if both := sorted(set(batch) & set(keys)):
            raise ValueError(
                f"{_WHAT}: argument {both[0]} is both in batch_argnums and in "
                "rng_argnums; keys are split by rng_argnums alone"
            )
        parts = split(_WHAT, {index: args[index] for index in batch}, self.count)
        if self.sequence_chunks is not None:
            return self._run_chunks(args, kwargs, parts, keys, dtype)
        _add_keys(parts, args, keys)
        if compat.is_staged():
            calls = _Calls(self.fn, self.reduce, self.has_aux, self.count, dtype)
            return guarded(calls.run(args, kwargs, parts), calls.numbers)
        return self._run_eagerly(args, kwargs, parts, dtype)

    def _run_chunks(
        self,
        args: Sequence[Any],
        kwargs: dict[str, Any],
        parts: Sequence[dict[int, Any]],
        keys: Sequence[int],
        dtype: Any,
    ) -> Any:
        """The same with each microbatch cut along its sequence."""
        if any(shapes_of(part) != shapes_of(parts[0]) for part in parts):
            raise ValueError(
                f"{_WHAT}: microbatches of different shapes with sequence_chunks; "
                "give all sequences one length, or leave sequence_chunks out"
            )
        cuts = find_cuts(_WHAT, parts[0], self.sequence_axes, self.sequence_chunks)
        chunks = [cut(_WHAT, part, self.sequence_axes, cuts) for part in parts]
        _add_keys(list(itertools.chain.from_iterable(chunks)), args, keys)
        chunked = Chunked(_WHAT, self.fn, self.reduce == _MEAN, dtype)
        run = chunked.calls if compat.is_staged() else chunked.eagerly
        result = run(args, kwargs, chunks, cuts)
        return guarded(result, chunked.numbers, len(cuts.lengths))

    def _run_eagerly(
        self,
        args: Sequence[Any],
        kwargs: dict[str, Any],
        parts: Sequence[dict[int, Any]],
        dtype: Any,
    ) -> Any:
        """The same outside of any trace: one microbatch after the other."""
        every = [_of_part(args, part) for part in parts]
        # Copies: NNX variables in a result are the same objects every time.
        results = [
            jax.tree.map(lambda leaf: leaf, self.fn(*own, **kwargs)) for own in every
        ]
        kinds = _kinds(self.fn, self.reduce, self.has_aux, results[0])
        columns = zip(*map(jax.tree.leaves, results), strict=True)
        leaves = [
            _reduced(kind, column, range(self.count), dtype)
            for kind, column in zip(kinds, columns, strict=True)
        ]
        return guarded(jax.tree.unflatten(jax.tree.structure(results[0]), leaves))


def _add_keys(
    parts: Sequence[dict[int, Any]], args: Sequence[Any], indices: Sequence[int]
) -> None:
    """Gives each part a key of its own for each argument that is one."""
    for index in indices:
        keys = _keys(index, args[index], len(parts))
        for part, key in zip(parts, keys, strict=True):
            part[index] = key


def _of_part(args: Sequence[Any], part: Mapping[int, Any]) -> tuple[Any, ...]:
    """The arguments of one microbatch."""
    return tuple(part.get(index, arg) for index, arg in enumerate(args))


def _sum_dtype(dtype: Any) -> Any:
    """The type that a user wants sums in, if any."""
    if dtype is None:
        return None
    try:
        found = jnp.dtype(dtype)
    except TypeError:
        found = None
    if found is None or not jnp.issubdtype(found, jnp.floating):
        raise TypeError(
            f"{_WHAT}: accumulate_dtype must be a floating-point type, such as "
            f'"float32", got {dtype!r}'
        )
    return found


def _check_reduce(reduce: Any) -> None:
    for kind in jax.tree.leaves(reduce):
        if kind not in _KINDS and not callable(kind):
            raise ValueError(
                f"{_WHAT}: reduce must be {', '.join(map(repr, _KINDS))} or a function "
                f"of one array or of two, got {kind!r}"
            )


def _check_chunked(reduce: Any, has_aux: bool | None) -> None:
    """Refuses what makes no sense for chunks of sequences."""
    if reduce not in (_MEAN, _SUM):
        raise ValueError(
            f'{_WHAT}: with sequence_chunks, reduce must be "mean" or "sum", as the '
            f"loss of a sequence is made of those of its chunks, got {reduce!r}"
        )
    if has_aux:
        raise ValueError(
            f"{_WHAT}: has_aux cannot be given with sequence_chunks, whose function "
            "returns a loss and a carry; leave it out"
        )


def _keys(index: int, key: Any, count: int) -> list[Any]:
    """The keys of the microbatches; each may be read on several meshes."""
    if is_stateful(key):
        raise TypeError(
            f"{_WHAT}: argument {index}, in rng_argnums, is a {type(key).__name__}, "
            "whose state goes from one microbatch to the next by itself; leave it out "
            "of rng_argnums"
        )
    try:
        keys = jax.random.split(key, count)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"{_WHAT}: argument {index}, in rng_argnums, must be one random key, such "
            f"as jax.random.key(0): {error}"
        ) from None
    return [broadcast(keys[number]) for number in range(count)]


class _Calls:
    """The calls of one program, and what they have in common.

    Attributes:
      numbers: their call counters.
    """

    def __init__(
        self,
        fn: Callable[..., Any],
        reduce: Any,
        has_aux: bool | None,
        count: int,
        dtype: Any,
    ):
        self._dtype = dtype
        self._fn, self._reduce, self._has_aux = fn, reduce, has_aux
        self._name = callee_name(fn)
        self._first = count_microbatches(count)
        self.numbers = range(self._first, self._first + count)
        self._order = backward_order(count, self._first)
        # By leaf of the result: those of all microbatches, or their sums so far, as
        # `with_sums` has them.
        self._columns: list[list[Any]] = []
        self._sums: dict[int, list[list[Any]]] = {}
        self._kinds: list[Any] = []
        self._tree: Any = None
        # Whether the first microbatch is the only one of its shape, so that zeros would
        # be a part of its own program, and another one could not come first.
        self._opens_alone = False
        # By leaf, which result of the call it is; None if it is none.
        self._positions: list[int | None] = []
        # The leaves whose summands are divided before they are added.
        self._divided: set[int] = set()

    def run(
        self,
        args: Sequence[Any],
        kwargs: dict[str, Any],
        parts: Sequence[Mapping[int, Any]],
    ) -> Any:
        """What the function gives for all microbatches, reduced.

        Args:
          args: its arguments.
          kwargs: its keyword arguments.
          parts: for each microbatch, arguments that it has in their place.
        """
        first = _of_part(args, parts[0])
        shapes = list(map(shapes_of, parts))
        self._opens_alone = len(parts) > 1 and shapes.count(shapes[0]) == 1
        traced = trace_cache.trace(self._fn, first, kwargs)
        jaxpr, summed = self._prepare(traced)
        columns = self._columns_in_loop(traced, jaxpr, first, kwargs, parts)
        if columns is not None:
            self._loop(traced, jaxpr, summed, columns)
        else:
            self._call(0, traced, jaxpr, summed)
            # A trace reads the state of those objects that it was made with.
            split_leaves = jax.tree.leaves(list(parts[0].values()), is_leaf=is_stateful)
            has_state = any(map(is_stateful, split_leaves))
            # Of each shape of microbatches.
            known = {shapes_of(parts[0]): (traced, jaxpr, summed)}
            for number, part in enumerate(parts[1:], 1):
                own, kind = _of_part(args, part), shapes_of(part)
                again = None
                if kind in known and not has_state:
                    traced, jaxpr, summed = known[kind]
                    again = traced.again(own, kwargs)
                if again is None:
                    again = trace_cache.trace(self._fn, own, kwargs)
                    jaxpr, summed = self._prepare(again)
                known[kind] = again, jaxpr, summed
                self._call(number, again, jaxpr, summed)
        leaves = [
            self._total(leaf, kind)
            if leaf in self._sums
            else _reduced(kind, column, self._order, self._dtype)
            for leaf, (kind, column) in enumerate(
                zip(self._kinds, self._columns, strict=True)
            )
        ]
        return jax.tree.unflatten(self._tree, leaves)

    def _prepare(
        self, traced: trace_cache.Traced
    ) -> tuple[Any, list[tuple[int, list[list[int]]]]]:
        """What the calls compute, and which leaves of the result they add to.

        Returns:
          A jaxpr that takes sums as further operands, and for each leaf that it adds
          to its number and the positions of its sums among the results.
        """
        types = [
            jax.ShapeDtypeStruct(aval.shape, aval.dtype)
            for aval in traced.jaxpr.out_avals
        ]
        # Which results are the leaves, wherever NNX variables hold them.
        shown = traced.result(types)
        position = {id(type_): index for index, type_ in enumerate(types)}
        # State goes from one microbatch to the next: it is no sum.
        held = [] if traced.lifted is None else traced.lifted.held()
        state = set(map(id, jax.tree.leaves(held)))
        self._tree = jax.tree.structure(shown)
        self._positions = [position.get(id(leaf)) for leaf in jax.tree.leaves(shown)]
        self._kinds = _kinds(self._fn, self._reduce, self._has_aux, shown)
        leaf_of = {
            position[id(leaf)]: number
            for number, (kind, leaf) in enumerate(
                zip(self._kinds, jax.tree.leaves(shown), strict=True)
            )
            if kind in (_MEAN, _SUM)
            and id(leaf) in position
            and id(leaf) not in state
            and jnp.issubdtype(leaf.dtype, jnp.floating if self._dtype else jnp.inexact)
        }
        if self._order != sorted(self._order):
            return traced.jaxpr, []  # The sum of a later call is not there yet.
        jaxpr, added = with_sums(traced.jaxpr, list(leaf_of), self._dtype)
        jaxpr, losses = self._with_losses(jaxpr, leaf_of, added)
        self._divided = {leaf_of[index] for index in losses}
        added += [(index, [[index]]) for index in losses]
        return jaxpr, [(leaf_of[index], places) for index, places in added]

    def _with_losses(
        self,
        jaxpr: Any,
        leaf_of: Mapping[int, int],
        added: Sequence[tuple[int, Sequence[Sequence[int]]]],
    ) -> tuple[Any, list[int]]:
        count, avals = len(self._order), jaxpr.out_avals
        others = set(leaf_of).difference(index for index, _ in added)
        wanted = {
            index: count if self._kinds[leaf_of[index]] == _MEAN else 1
            for index in sorted(others)
            if avals[index].shape == ()
            and jnp.issubdtype(avals[index].dtype, jnp.floating)
        }
        wanted = {
            index: number
            for index, number in wanted.items()
            if can_divide(avals[index].dtype, number)
        }
        if count == 1 or not unrolls_loops():
            return jaxpr, []
        sums = [place for _, rows in added for row in rows for place in row]
        return with_losses(jaxpr, wanted, sums, self._dtype)

    def _columns_in_loop(
        self,
        traced: trace_cache.Traced,
        jaxpr: Any,
        first: Sequence[Any],
        kwargs: dict[str, Any],
        parts: Sequence[Mapping[int, Any]],
    ) -> dict[int, list[Any]] | None:
        """The operands that differ between microbatches, by their positions.

        None where the calls are written out: state goes from one to the next, sums
        do not, a microbatch is of another type, or there were others before: a loop
        counts from 0.
        """
        if (
            len(parts) == 1
            or self._first != 0
            or traced.lifted is not None
            or None in self._positions
            or self._order != sorted(self._order)
            or not can_loop(jaxpr)
        ):
            return None
        leaves, tree = jax.tree.flatten((first, kwargs))
        flags = [
            index in parts[0]
            for index, arg in enumerate(first)
            for _ in jax.tree.leaves(arg)
        ]
        flags += [False] * (len(leaves) - len(flags))
        arrays = [
            flag
            for flag, leaf in zip(
                flags, static_leaves.wrap_leaves(leaves, tree), strict=True
            )
            if not static_leaves.is_static(leaf)
        ]
        places = [traced.num_captured + at for at, flag in enumerate(arrays) if flag]
        own = sorted(parts[0])
        rows = [
            list(map(compat.snapshot, jax.tree.leaves([part[at] for at in own])))
            for part in parts
        ]
        types = [jax.typeof(traced.operands[place]) for place in places]
        if any(list(map(jax.typeof, row)) != types for row in rows):
            return None
        return dict(zip(places, map(list, zip(*rows, strict=True)), strict=True))

    def _loop(
        self,
        traced: trace_cache.Traced,
        jaxpr: Any,
        summed: Sequence[tuple[int, Sequence[Sequence[int]]]],
        columns: Mapping[int, Sequence[Any]],
    ) -> None:
        firsts = {
            place: zeros_like(jaxpr.out_avals[place])
            for _, places in summed
            for place in itertools.chain.from_iterable(places)
        }
        leaves = {leaf for leaf, _ in summed}
        wanted = [
            place for leaf, place in enumerate(self._positions) if leaf not in leaves
        ]
        count = len(self._order)
        results, sums = call_in_loop(
            self._name, jaxpr, traced.operands, columns, firsts, count, wanted
        )
        self._columns = [
            [] if leaf in leaves else results[place]
            for leaf, place in enumerate(self._positions)
        ]
        for leaf, places in summed:
            self._sums[leaf] = [[sums[place] for place in row] for row in places]

    def _call(
        self,
        number: int,
        traced: trace_cache.Traced,
        jaxpr: Any,
        summed: Sequence[tuple[int, Sequence[Sequence[int]]]],
    ) -> None:
        sums = []
        for leaf, places in summed:
            if leaf in self._sums:
                sums += itertools.chain.from_iterable(self._sums[leaf])
                continue
            zeros = [
                zeros_like(jaxpr.out_avals[place]) for row in places for place in row
            ]
            sums += jax.lax.optimization_barrier(zeros) if self._opens_alone else zeros
        outs = primitives.call_p.bind(
            *traced.operands,
            *sums,
            jaxpr=jaxpr,
            name=self._name,
            call_counter=self._first + number,
        )
        # NNX variables in a result are the same objects every time.
        results = outs[: len(traced.jaxpr.out_avals)]
        leaves, self._tree = jax.tree.flatten(traced.result(results))
        if not self._columns:
            self._columns = [[] for _ in leaves]
        for column, leaf in zip(self._columns, leaves, strict=True):
            column.append(leaf)
        for leaf, places in summed:
            self._sums[leaf] = [[outs[place] for place in row] for row in places]

    def _total(self, leaf: int, kind: Any) -> Any:
        count = len(self._order)
        kind = _SUM if leaf in self._divided else kind
        return join_rows(self._sums[leaf], lambda total: _mean(kind, total, count))


def _is_kind(kind: Any) -> bool:
    return isinstance(kind, str) or callable(kind)


def _is_value_with_aux(result: Any) -> bool:
    """Whether a result is ((value, aux), grads)."""
    if not (type(result) is tuple and len(result) == 2):
        return False
    first = result[0]
    return (
        type(first) is tuple
        and len(first) == 2
        and static_leaves.is_array(first[0])
        and jnp.ndim(first[0]) == 0
    )


def _is_overwritten(path: Sequence[Any]) -> bool:
    """Whether a gradient is a new value rather than a derivative, such as the largest
    values seen by layers in eight bits, of which Flax has a collection."""
    return any(getattr(entry, "key", None) == _OVERWRITTEN for entry in path)


def _kinds(
    fn: Callable[..., Any], reduce: Any, has_aux: bool | None, result: Any
) -> list[Any]:
    """How each leaf of the result is reduced."""
    prefix = reduce
    if _is_kind(reduce) and has_aux is not False:
        if _is_value_with_aux(result):
            prefix = ((reduce, _STACK), reduce)
        elif has_aux:
            if not (isinstance(result, tuple) and len(result) == 2):
                raise TypeError(
                    f"{_WHAT}: has_aux, but {function_name(fn)} returns "
                    f"{jax.tree.structure(result)}; expected ((value, aux), grads) or "
                    "(result, aux)"
                )
            prefix = (reduce, _STACK)
    kinds: list[Any] = []

    def assign(path: Any, kind: Any, subtree: Any) -> None:
        for below, _ in jax.tree.leaves_with_path(subtree):
            is_overwritten = kind in (_MEAN, _SUM) and _is_overwritten((*path, *below))
            kinds.append(jnp.maximum if is_overwritten else kind)

    try:
        jax.tree.map_with_path(assign, prefix, result, is_leaf=_is_kind)
    except ValueError as error:
        raise ValueError(
            f"{_WHAT}: reduce, {prefix!r}, is no prefix of what {function_name(fn)} "
            f"returns, {jax.tree.structure(result)}: {error}"
        ) from None
    for (path, leaf), kind in zip(
        jax.tree.leaves_with_path(result), kinds, strict=True
    ):
        if not static_leaves.is_array(leaf):
            where = "result" + jax.tree_util.keystr(path)
            raise TypeError(
                f"{_WHAT}: {where} of {function_name(fn)} is {leaf!r} of type "
                f"{type(leaf).__name__}; there is one for each microbatch, and only "
                "arrays can be "
                + ("stacked" if kind == _STACK else "summed up")
                + "; leave it out, or return a number that represents it"
            )
    return kinds


def _reduced(
    kind: Any, column: Sequence[Any], order: Sequence[int], sum_dtype: Any
) -> Any:
    """One leaf of the result, from those of all microbatches."""
    if kind == _STACK:
        if len(shapes := {jnp.shape(leaf): None for leaf in column}) > 1:
            raise ValueError(
                f"{_WHAT}: results of microbatches of different shapes, "
                f"{', '.join(map(str, shapes))}, cannot be stacked; return arrays of "
                "one shape, or reduce them in another way"
            )
        return jnp.stack(column)
    dtype = jnp.result_type(column[0])
    if dtype == jax.dtypes.float0:
        return column[0]  # The derivative by integers; it has no numbers.
    if jnp.issubdtype(dtype, jax.dtypes.extended):
        raise TypeError(
            f"{_WHAT}: a result is {jax.typeof(column[0]).str_short()}, and keys can "
            'only be stacked; give reduce="stack" for it'
        )
    if callable(kind):
        if _takes_one(kind):
            return kind(jnp.stack(column))
        return functools.reduce(kind, [column[number] for number in order])
    if kind == _MEAN and not jnp.issubdtype(dtype, jnp.inexact):
        dtype = jnp.result_type(float)  # As for jnp.mean.
    elif kind == _SUM and jnp.issubdtype(dtype, jnp.bool_):
        dtype = jnp.result_type(int)
    if sum_dtype and jnp.issubdtype(dtype, jnp.floating):
        dtype = sum_dtype
    column = [jnp.asarray(leaf, dtype) for leaf in column]
    total = functools.reduce(operator.add, [column[number] for number in order])
    return _mean(kind, total, len(column))


def _takes_one(function: Callable[..., Any]) -> bool:
    """Whether a function must be given one array, rather than two."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # Some of those written in C do not tell.
        return False
    needed = [p for p in parameters if p.kind in BY_POSITION and p.default is p.empty]
    return len(needed) == 1


def _mean(kind: Any, total: Any, count: int) -> Any:
    return mean(total, count) if kind == _MEAN else total
