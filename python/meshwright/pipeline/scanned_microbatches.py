# SPDX-License-Identifier: Apache-2.0
"""Loops of JAX over microbatches, as calls of what they repeat.

A loop of JAX runs on one mesh as a whole. One that takes a gradient in each trip, and
carries nothing from trip to trip but sums, is a loop over microbatches:

    scan(body, zeros, xs)   becomes   s0 = call 0 (w, zeros, xs[0])
                                      s1 = call 1 (w, s0, xs[1])
                                      …

A loop over layers or tokens is none: what it computes reads what the trip before gave.

One that is differentiated as a whole is two loops, of the same microbatches:

    scan(forward, 0, xs)    becomes   y0 = call 0 (w, xs[0]); y1 = call 1 (w, xs[1]) …
    scan(backward, 0, ys)             s1 = call 1 (w, zeros, y1); call 0 (w, s1, y0) …
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from ..core.config import Config
from ..core.names import CALLEE_PREFIX
from ..jaxapi import frontend as compat
from ..staging import loops
from ..staging.costs import work_of
from ..staging.emit import Writer
from ..staging.flatten import Item, mark_in
from ..staging.trips import (
    MAX_TRIPS,
    is_product,
    is_transposed,
    product_of_sums,
    reader_of_sums,
    sums_of,
)
from ..tracing.primitives import call_p, for_p, named_computation_p
from ..tracing.scopes import body_of, source
from .differentiated_scans import (
    Pair,
    may_be_half,
    pairs_in,
    rows_given,
    rows_read,
)
from .results import guarded

_logger = logging.getLogger(__name__)

# The share of a program that is no part of what another operation needs.
_ALL = 0.9


def with_scans_called(traced: Any, config: Config) -> Any:
    """A traced function whose loops over microbatches are calls.

    These are loops with stages in them, by marks or names, and under `auto` those that
    are more work than half a stage. There, a program with calls says itself what its
    microbatches are; elsewhere those of loops are further ones.
    """
    closed = traced.jaxpr
    if compat.find(closed.jaxpr, _is_scan) is None or (
        config.auto_stages is not None and compat.find(closed.jaxpr, _is_call)
    ):
        return traced
    closed, pairs = _with_pairs(closed, config)
    writer = _Writer(closed, config, pairs)
    if not pairs and not writer.holds(closed.jaxpr, writer.may_be_called):
        return traced
    first, written = writer.calls, writer.written()
    return compat.with_jaxpr(traced, written) if writer.calls > first else traced


def _with_pairs(closed: Any, config: Config) -> tuple[Any, list[Pair]]:
    """A program, laid open as far as it has differentiated loops, and these."""
    if config.auto_stages is not None:
        return closed, []  # It divides bodies with their own backward pass.
    opener = _Opener(closed, config)
    if not opener.trains or not opener.holds(closed.jaxpr, opener.may_be_half):
        return closed, []
    opened = opener.written()
    pairs = pairs_in(opened.jaxpr, opener.is_divided)
    return (opened, pairs) if pairs else (closed, [])


def _is_scan(eqn: Any) -> bool:
    return eqn.primitive.name == "scan"


def _is_call(eqn: Any) -> bool:
    return eqn.primitive in (call_p, for_p)


@compat.weakref_lru_cache
def _first_number(jaxpr: Any) -> int:
    """A call counter above all that a program has."""
    found = [0]
    for eqn in jaxpr.eqns:
        if eqn.primitive is call_p:
            counter = eqn.params["call_counter"]
            found.append(0 if counter is None else counter + 1)
        elif eqn.primitive is for_p:
            found.append(eqn.params["iterations"])
        else:
            found += map(_first_number, compat.bodies(eqn))
    return max(found)


class _Opener(Writer):
    """Lays open what loops over microbatches may be in; everything else stays."""

    def __init__(self, closed: Any, config: Config):
        super().__init__(closed, None, None)
        self._config = config
        self._held: dict[tuple[int, str], tuple[Any, bool]] = {}

    @functools.cached_property
    def whole(self) -> float:
        """The work of the program, which few programs are asked for."""
        return sum(map(work_of, self._closed.jaxpr.eqns))

    @functools.cached_property
    def trains(self) -> bool:
        """Whether a part of the program was transposed."""
        return compat.find(self._closed.jaxpr, is_transposed) is not None

    def holds(self, jaxpr: Any, is_wanted: Callable[[Any], bool]) -> bool:
        """Whether an operation of a kind is in a jaxpr, or in one that it applies.

        Kinds are methods. `compat.find` would remember them, and with them the program,
        as long as the program lives.
        """
        key = id(jaxpr), is_wanted.__name__
        if key not in self._held:
            found = any(
                is_wanted(eqn)
                or any(self.holds(body, is_wanted) for body in compat.bodies(eqn))
                for eqn in jaxpr.eqns
            )
            self._held[key] = jaxpr, found  # Kept, so that no other gets its identity.
        return self._held[key][1]

    def may_be_half(self, eqn: Any) -> bool:
        """Whether an operation may be one of the two loops of a differentiated one."""
        return may_be_half(eqn) and self.is_divided(eqn)

    def is_divided(self, eqn: Any) -> bool:
        """Whether a loop is to be in stages."""
        count = self._config.auto_stages
        if compat.find_inside(eqn, _is_call) is not None:
            return False  # Its calls cannot be numbered.
        if count is not None:
            return 2 * work_of(eqn) * count > self.whole
        if self._config.max_loop_trips is not None:
            return False  # It is written out, as other loops with stages inside.
        return mark_in(eqn) is not None or any(
            self.holds(body, self.is_assigned) for body in compat.bodies(eqn)
        )

    def is_assigned(self, eqn: Any) -> bool:
        """Whether an operation has a mesh of its own, on which it is as a whole."""
        return eqn.primitive is named_computation_p and bool(
            self._config.assignment_of([eqn.params["name"]])
        )

    def _open(
        self, eqn: Any, operands: list[Any], stack: Any, count: int
    ) -> list[Any] | None:
        return self._opened(eqn, operands, stack, count, self.may_be_half)

    def _opened(
        self,
        eqn: Any,
        operands: list[Any],
        stack: Any,
        count: int,
        is_wanted: Callable[[Any], bool],
    ) -> list[Any] | None:
        """The results of an operation that applies one of a kind; None of others."""
        body = body_of(eqn)
        if body is None or _is_call(eqn) or self.is_assigned(eqn):
            return None
        if not self.holds(body.jaxpr, is_wanted):
            return None
        return self._apply(eqn, body, operands, stack, count)


class _Writer(_Opener):
    """Writes loops over microbatches out as calls; everything else stays.

    Attributes:
      calls: the next counter.
    """

    def __init__(self, closed: Any, config: Config, pairs: Sequence[Pair]):
        super().__init__(closed, config)
        self.calls = _first_number(closed.jaxpr)
        self._pairs = {id(eqn): pair for pair in pairs for eqn in pair}
        self._numbers_of: dict[int, dict[int, int]] = {}
        self._rows: dict[tuple[Any, int], Any] = {}
        self._wholes = _read_as_whole(closed.jaxpr, pairs)

    def may_be_called(self, eqn: Any) -> bool:
        """Whether an operation is a loop over microbatches."""
        return (
            _is_scan(eqn)
            and not eqn.effects
            and eqn.params["length"] in range(1, MAX_TRIPS + 1)
            and self.is_divided(eqn)
            and self._takes_gradients(eqn)
            and product_of_sums(eqn) is None
        )

    def _takes_gradients(self, eqn: Any) -> bool:
        """Whether a trip has its own backward pass, or is all that is computed."""
        if compat.find_inside(eqn, is_transposed) is not None:
            return True
        if eqn.params["length"] == 1 or not compat.find_inside(eqn, is_product):
            return False
        # It may also be a loop over parts of a sequence, in a model.
        if self._config.auto_stages is not None:
            return not self.trains and work_of(eqn) > _ALL * self.whole
        # Beside a training step it is an evaluation, if no stage of it reads what
        # the trip before gave.
        return not self.trains or reader_of_sums(eqn) is None

    def _open(
        self, eqn: Any, operands: list[Any], stack: Any, count: int
    ) -> list[Any] | None:
        if id(eqn) in self._pairs:
            return self._called(eqn, operands, stack, count)
        if self.may_be_called(eqn) and not compat.is_derived(stack):
            return self._called(eqn, operands, stack, count)
        return self._opened(eqn, operands, stack, count, self.may_be_called)

    def _called(
        self, eqn: Any, operands: list[Any], stack: Any, count: int
    ) -> list[Any]:
        """The results of a loop that is written out as calls."""
        body = compat.closed(eqn.params["jaxpr"])
        begin, _ = compat.scan_counts(eqn)
        steps = {
            begin + at: (operands[begin + at], step)
            for at, step in _counts(eqn).items()
            if isinstance(operands[begin + at], compat.Literal)
        }
        info = eqn.source_info.replace(name_stack=stack)
        name = CALLEE_PREFIX + body.jaxpr.debug_info.func_name
        numbers = self._numbers(eqn)
        run = functools.partial(self._walk_closed, stack, count)

        def call(row: int, atoms: list[Any]) -> list[Any]:
            # The number of a trip is a constant of it, which no call waits for.
            trip = loops.trips(eqn).index(row)
            for at, (first, step) in steps.items():
                value = np.asarray(int(first.val) + trip * int(step))
                value = value.astype(first.aval.dtype)
                atoms[at] = compat.Literal(value, first.aval)
            outvars = list(map(compat.Var, body.out_avals))
            params = {"jaxpr": body, "name": name, "call_counter": numbers[row]}
            new = eqn.replace(
                primitive=call_p,
                invars=atoms,
                outvars=outvars,
                params=params,
                source_info=info,
            )
            self.items.append(Item(new, count, self._scope))
            return outvars

        def row_of(stacked: Any, row: int) -> Any:
            if not compat.is_variable(stacked):  # A literal is no key.
                return loops.row(run, stacked, row)
            key = stacked, row
            if key not in self._rows:
                self._rows[key] = loops.row(run, stacked, row)
            return self._rows[key]

        outs, columns = loops.unroll(eqn, operands, call, row_of)
        pair = self._pairs.get(id(eqn))
        if pair is not None and eqn is pair.forward:
            # The second loop takes each row from the call that gives it.
            for var, column in zip(rows_given(eqn), columns, strict=True):
                is_whole = var in self._wholes
                outs.append(
                    loops.stack(run, var, column) if is_whole else compat.Var(var.aval)
                )
                self._rows |= {(outs[-1], row): x for row, x in enumerate(column)}
            return outs
        outs += map(functools.partial(loops.stack, run), rows_given(eqn), columns)
        # By this the compiler knows which microbatches belong together.
        group = range(min(numbers.values()), max(numbers.values()) + 1)
        for at in [*sums_of(eqn), *range(compat.scan_counts(eqn)[1], len(outs))]:
            aval = outs[at].aval
            types = jax.ShapeDtypeStruct(
                aval.shape, aval.dtype, weak_type=aval.weak_type
            )
            mark = jax.make_jaxpr(guarded, static_argnums=1)(types, group)
            (outs[at],) = run(mark, [outs[at]])
        return outs

    def _numbers(self, eqn: Any) -> dict[int, int]:
        """The counter of the call for each row, the same in both halves of a pair."""
        pair = self._pairs.get(id(eqn))
        if pair is not None and id(pair) in self._numbers_of:
            return self._numbers_of[id(pair)]
        found = {row: self.calls + at for at, row in enumerate(loops.trips(eqn))}
        self.calls += len(found)
        if pair is None:
            _logger.info(
                "%s: the %d trips of this loop of JAX become microbatches, since they "
                "carry only sums along; mw.pipeline.scan_microbatches in its place "
                "does the same",
                source(eqn),
                len(found),
            )
        else:
            self._numbers_of[id(pair)] = found
            _logger.info(
                "%s: the %d trips of this loop of JAX, and of its derivative, become "
                "microbatches, which run backward from the last to the first, as "
                "their gradients are added up; with the gradient inside of the loop "
                "schedules order them",
                source(eqn),
                len(found),
            )
        return found


def _read_as_whole(jaxpr: Any, pairs: Sequence[Pair]) -> set[Any]:
    """The stacked values of pairs that more than the trips of the second loop read."""
    second = {id(pair.backward) for pair in pairs}
    read = set(compat.variables(jaxpr.outvars))
    for eqn in jaxpr.eqns:
        rows = len(rows_read(eqn)) if id(eqn) in second else 0
        read.update(compat.variables(eqn.invars[: len(eqn.invars) - rows]))
    return read


def _counts(eqn: Any) -> dict[int, Any]:
    """The carried numbers that count trips, by position, and what each trip adds."""
    jaxpr = compat.closed(eqn.params["jaxpr"]).jaxpr
    begin, count = compat.scan_counts(eqn)
    producer = {var: inner for inner in jaxpr.eqns for var in inner.outvars}
    found = {}
    for at in range(count):
        inner = compat.look_up(producer, jaxpr.outvars[at])
        if inner is None or inner.primitive is not jax.lax.add_p:
            continue
        before, step = inner.invars
        is_count = before is jaxpr.invars[begin + at] and isinstance(
            step, compat.Literal
        )
        if is_count and np.issubdtype(before.aval.dtype, np.integer):
            found[at] = step.val
    return found
