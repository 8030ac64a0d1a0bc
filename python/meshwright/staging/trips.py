# SPDX-License-Identifier: Apache-2.0
"""What the trips of a `jax.lax.scan` over microbatches have to be.

Each takes a gradient, and nothing but sums, numbers and keys goes from one to the next:
a loop over layers or tokens computes with what the trip before gave.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from ..jaxapi import frontend as compat
from ..tracing.primitives import named_computation_p
from ..tracing.scopes import source
from .costs import count_of
from .marks import mark_p

# Loops of more trips stay loops: each call is one of the program.
MAX_TRIPS = 256
# Integers of as many elements count trips, or are the words of a key.
_SMALL = 4
_PRODUCTS = ("dot_general", "conv_general_dilated")
# What users know stages by.
_NAMES = {named_computation_p: "a named computation", mark_p: "stage_boundary"}


def is_product(eqn: Any) -> bool:
    return eqn.primitive.name in _PRODUCTS


def is_transposed(eqn: Any) -> bool:
    return compat.transpose_count(eqn.source_info.name_stack) > 0


def why_none(eqn: Any) -> str | None:
    """Why a scan is no loop over microbatches; None if nothing here says so."""
    length = eqn.params["length"]
    if length > MAX_TRIPS:
        return f"it has {length} trips, which are more than {MAX_TRIPS}"
    takes_gradients = compat.find_inside(eqn, is_transposed) is not None
    reader = product_of_sums(eqn) if takes_gradients else reader_of_sums(eqn)
    if reader is not None:
        return (
            f"{_NAMES.get(reader.primitive, reader.primitive.name)} at "
            f"{source(reader)} reads what the trip before gave, and the next trip "
            "needs its result"
        )
    if not takes_gradients:
        return (
            "its trips take no gradient each, and no derivative of it alone was "
            "found: it may be differentiated twice, share its rows with another loop, "
            "be inside of another one, or be in a jax.checkpoint"
        )
    return None


def product_of_sums(eqn: Any) -> Any | None:
    """What multiplies what the trip before gave, and is carried on; None if nothing is.

    Numbers and keys are left aside, which count the trips, or draw for them.
    """
    return _reader_of_sums(eqn, is_product)


def reader_of_sums(eqn: Any) -> Any | None:
    """What does more than to add to what the trip before gave, and is carried on.

    These are products, and what a stage does; None if there is nothing of that.
    """
    return _reader_of_sums(eqn, _is_product_or_stage)


def _is_product_or_stage(eqn: Any) -> bool:
    return is_product(eqn) or eqn.primitive in _NAMES


def _reader_of_sums(eqn: Any, is_wanted: Callable[[Any], bool]) -> Any | None:
    jaxpr = compat.closed(eqn.params["jaxpr"]).jaxpr
    begin, count = compat.scan_counts(eqn)
    found = {jaxpr.invars[begin + at] for at in sums_of(eqn)}
    carried = _needed(jaxpr, jaxpr.outvars[:count])
    for inner in jaxpr.eqns:
        # What is only logged, such as a norm of the sum, holds nothing up.
        if carried.isdisjoint(inner.outvars):
            continue
        if found.isdisjoint(compat.variables(inner.invars)):
            continue
        if is_wanted(inner):
            return inner
        if (reader := compat.find_inside(inner, is_wanted)) is not None:
            return reader
        found.update(inner.outvars)
    return None


def sums_of(eqn: Any) -> list[int]:
    """The positions of carried arrays that a trip changes."""
    jaxpr = compat.closed(eqn.params["jaxpr"]).jaxpr
    begin, count = compat.scan_counts(eqn)
    return [
        at
        for at, (before, after) in enumerate(
            zip(jaxpr.invars[begin : begin + count], jaxpr.outvars, strict=False)
        )
        if after is not before and not _is_number(before)
    ]


def _needed(jaxpr: Any, outs: Sequence[Any]) -> set[Any]:
    """The values of a jaxpr of which some of its results are made, these included."""
    found = set(compat.variables(outs))
    for eqn in reversed(jaxpr.eqns):
        if not found.isdisjoint(eqn.outvars):
            found.update(compat.variables(eqn.invars))
    return found


def _is_number(var: Any) -> bool:
    """Whether a carried value counts trips, draws for them, or adds up one number."""
    dtype, count = var.aval.dtype, count_of(var)
    if jax.dtypes.issubdtype(dtype, jax.dtypes.prng_key):
        return True
    return count <= (1 if jax.dtypes.issubdtype(dtype, np.inexact) else _SMALL)
