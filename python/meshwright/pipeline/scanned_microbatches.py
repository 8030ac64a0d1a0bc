# SPDX-License-Identifier: Apache-2.0
"""Loops of JAX over microbatches, as calls of what they repeat.

A loop of JAX runs on one mesh as a whole. One that takes a gradient in each trip, and
carries nothing from trip to trip but sums, is a loop over microbatches:

    scan(body, zeros, xs)   becomes   s0 = call 0 (w, zeros, xs[0])
                                      s1 = call 1 (w, s0, xs[1])
                                      …

A loop over layers or tokens is none: what it computes reads what the trip before gave.
"""

from __future__ import annotations

import itertools
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
    sums_of,
)
from ..tracing.primitives import call_p, for_p, named_computation_p
from ..tracing.scopes import body_of, source
from .results import guarded

_logger = logging.getLogger(__name__)

# The share of a program that is no part of what another operation needs.
_ALL = 0.9


def with_scans_called(traced: Any, config: Config) -> Any:
    """A traced function whose loops over microbatches are calls.

    These are loops with stages in them, by marks or names, and under `auto` those that
    are more work than half a stage. A program with calls says itself what its
    microbatches are.
    """
    closed = traced.jaxpr
    if compat.find(closed.jaxpr, _is_scan) is None or compat.find(
        closed.jaxpr, _is_call
    ):
        return traced
    writer = _Writer(closed, config)
    if not writer.holds(closed.jaxpr, writer.may_be_called):
        return traced
    written = writer.written()
    return compat.with_jaxpr(traced, written) if writer.calls else traced


def _is_scan(eqn: Any) -> bool:
    return eqn.primitive.name == "scan"


def _is_call(eqn: Any) -> bool:
    return eqn.primitive in (call_p, for_p)


class _Writer(Writer):
    """Writes loops over microbatches out as calls; everything else stays.

    Attributes:
      calls: how many there are so far.
    """

    def __init__(self, closed: Any, config: Config):
        super().__init__(closed, None, None)
        self._config = config
        self._whole = sum(map(work_of, closed.jaxpr.eqns))
        self._trains = compat.find(closed.jaxpr, is_transposed) is not None
        self.calls = 0
        self._held: dict[tuple[int, str], tuple[Any, bool]] = {}

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

    def may_be_called(self, eqn: Any) -> bool:
        """Whether an operation is a loop over microbatches."""
        return (
            _is_scan(eqn)
            and not eqn.effects
            and eqn.params["length"] in range(1, MAX_TRIPS + 1)
            and self._is_divided(eqn)
            and self._takes_gradients(eqn)
            and product_of_sums(eqn) is None
        )

    def _takes_gradients(self, eqn: Any) -> bool:
        """Whether a trip has its own backward pass, or is all that is computed."""
        if compat.find_inside(eqn, is_transposed) is not None:
            return True
        if self._trains or eqn.params["length"] == 1:
            return False
        # It may also be a loop over parts of a sequence, in a model.
        is_all = work_of(eqn) > _ALL * self._whole
        is_model = compat.find_inside(eqn, is_product) is not None
        return is_model and (is_all or self._config.auto_stages is None)

    def _is_divided(self, eqn: Any) -> bool:
        """Whether a loop is to be in stages."""
        count = self._config.auto_stages
        if count is not None:
            return 2 * work_of(eqn) * count > self._whole
        if self._config.max_loop_trips is not None:
            return False  # It is written out, as other loops with stages inside.
        return mark_in(eqn) is not None or any(
            self.holds(body, self._is_assigned) for body in compat.bodies(eqn)
        )

    def _is_assigned(self, eqn: Any) -> bool:
        return eqn.primitive is named_computation_p and bool(
            self._config.assignment_of([eqn.params["name"]])
        )

    def _open(
        self, eqn: Any, operands: list[Any], stack: Any, count: int
    ) -> list[Any] | None:
        if self.may_be_called(eqn) and not compat.is_derived(stack):
            return self._called(eqn, operands, stack, count)
        body = body_of(eqn)
        if body is None or self._is_assigned(eqn):
            return None  # What has a mesh of its own is on it as a whole.
        if not self.holds(body.jaxpr, self.may_be_called):
            return None
        return self._apply(eqn, body, operands, stack, count)

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
        trips = itertools.count()

        def run(closed: Any, atoms: Sequence[Any]) -> list[Any]:
            if closed.jaxpr is not body.jaxpr:
                return self._walk_closed(stack, count, closed, atoms)
            # The number of a trip is a constant of it, which no call waits for.
            trip, atoms = next(trips), list(atoms)
            for at, (first, step) in steps.items():
                value = np.asarray(int(first.val) + trip * int(step))
                value = value.astype(first.aval.dtype)
                atoms[at] = compat.Literal(value, first.aval)
            outvars = list(map(compat.Var, body.out_avals))
            params = {"jaxpr": body, "name": name, "call_counter": self.calls}
            call = eqn.replace(
                primitive=call_p,
                invars=atoms,
                outvars=outvars,
                params=params,
                source_info=info,
            )
            self.items.append(Item(call, count, self._scope))
            self.calls += 1
            return outvars

        name = CALLEE_PREFIX + body.jaxpr.debug_info.func_name
        length = eqn.params["length"]
        _logger.info(
            "%s: the %d trips of this loop of JAX become microbatches, since they "
            "carry only sums along; mw.pipeline.scan_microbatches in its place does "
            "the same",
            source(eqn),
            length,
        )
        first = self.calls
        outs = loops.expand(eqn, operands, run, length)
        # By this the compiler knows which microbatches belong together.
        for at in [*sums_of(eqn), *range(compat.scan_counts(eqn)[1], len(outs))]:
            aval = outs[at].aval
            types = jax.ShapeDtypeStruct(
                aval.shape, aval.dtype, weak_type=aval.weak_type
            )
            mark = jax.make_jaxpr(guarded, static_argnums=1)(
                types, range(first, self.calls)
            )
            (outs[at],) = self._walk_closed(stack, count, mark, [outs[at]])
        return outs


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
