# SPDX-License-Identifier: Apache-2.0
"""The mark between two stages, and what JAX's transformations make of it.

A mark passes arrays through. Its last result is a token, by which a derivative of
the mark says where it belongs: which mark a cotangent passes is read from the
program, however that was batched, cut off, recomputed or shared.

  y, token = mark(x)                    the model's own
  dy       = mark(token, dx, linked)    its tangent, at the same place
  dx       = mark(token, dy, linked)    its cotangent, one more transposed

`cut` turns what is between the marks into named computations. Eager
execution and plain `jax.jit` see through a mark.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import jax
import numpy as np

from ..core.names import check_type
from ..jaxapi import frontend as compat
from ..tracing import static_leaves

T = TypeVar("T")

mark_p = compat.Primitive("mpmd_stage_boundary")
mark_p.multiple_results = True


def _values(args: Any, linked: bool) -> list[Any]:
    return list(args[1:] if linked else args)


def _through(*args: Any, linked: bool, **_: Any) -> list[Any]:
    token = [] if linked else [np.uint32(0)]
    return _values(args, linked) + token


def _types(*avals: Any, linked: bool, **_: Any) -> list[Any]:
    token = [] if linked else [jax.core.ShapedArray((), np.dtype(np.uint32))]
    return _values(avals, linked) + token


def _tangents(token: Any, tangents: Any, linked: bool, place: Any) -> list[Any]:
    """The tangents of a mark's results; its token has none."""
    tangents = _values(tangents, linked)
    given = [
        not isinstance(tangent, compat.Zero)
        and getattr(jax.typeof(tangent), "dtype", None) != jax.dtypes.float0
        for tangent in tangents
    ]
    moved = ()
    if any(given):
        wanted = itertools.compress(tangents, given)
        moved = mark_p.bind(token, *wanted, linked=True, **_values_of(place, given))
    results = compat.merge(given, moved, tangents)
    zero = compat.Zero(jax.typeof(token).to_tangent_aval())
    return results if linked else [*results, zero]


def _jvp(primals: Any, tangents: Any, *, linked: bool, **place: Any) -> Any:
    outs = mark_p.bind(*primals, linked=linked, **place)
    token = primals[0] if linked else outs[-1]
    return outs, _tangents(token, tangents, linked, place)


def _linearize(
    is_vjp: bool, nonzero: Any, *primals: Any, linked: bool, **place: Any
) -> Any:
    """What JAX would find out by tracing `_jvp` once more for each mark."""
    outs = mark_p.bind(*primals, linked=linked, **place)
    token = primals[0] if linked else outs[-1]

    def tangents_of(residuals: Any, structured: Any, *tangents: Any) -> list[Any]:
        return _tangents(residuals[0], tangents, linked, place)

    has_tangent = _values(nonzero, linked) + ([] if linked else [False])
    return outs, has_tangent, [token], None, tangents_of


def _values_of(place: Mapping[str, Any], kept: Sequence[bool]) -> dict[str, Any]:
    """Which values of the model's own mark a derivative is of, if that has a tower.

    Those come from different stages, to which their cotangents go back.
    """
    values = place.get("of", range(len(kept)) if "tower" in place else None)
    if values is None:
        return {}
    return {"of": tuple(itertools.compress(values, kept))}


def _transpose(cotangents: Any, *args: Any, linked: bool, **place: Any) -> None:
    accumulators = _values(args, linked)
    kept = [
        not isinstance(cotangent, compat.Zero)
        and isinstance(accumulator, compat.ValAccum)
        for cotangent, accumulator in zip(cotangents, accumulators, strict=False)
    ]
    if not any(kept):
        return
    given = list(itertools.compress(cotangents, kept))
    if linked:
        given = mark_p.bind(args[0], *given, linked=True, **_values_of(place, kept))
    receivers = itertools.compress(accumulators, kept)
    for cotangent, accumulator in zip(given, receivers, strict=True):
        accumulator.accum(cotangent)


def _batch(args: Any, dims: Any, *, linked: bool, **place: Any) -> Any:
    if linked and dims[0] is not None:  # Tokens are all the same.
        args = [jax.lax.index_in_dim(args[0], 0, dims[0], False), *args[1:]]
    outs = mark_p.bind(*args, linked=linked, **place)
    return outs, _values(dims, linked) + ([] if linked else [None])


def _dce(used: Any, live: Any, eqn: Any) -> Any:
    """Drops arrays that are unused after the mark."""
    if not any(used):
        return [False] * len(eqn.invars), None
    linked = eqn.params["linked"]
    params = eqn.params
    if linked:
        keep = [True, *used]
        params = {**params, **_values_of(params, used)}
    else:
        keep, used = list(used[:-1]), [*used[:-1], True]
    return keep, eqn.replace(
        invars=list(itertools.compress(eqn.invars, keep)),
        outvars=list(itertools.compress(eqn.outvars, used)),
        params=params,
    )


def _remat(saveable: Any, unknown: Any, instantiated: Any, eqn: Any) -> Any:
    """What passes a mark is kept, so that each stage recomputes its own part."""
    if not any(unknown):
        count = len(eqn.outvars)
        return eqn, None, [False] * count, [False] * count, []
    missing = [
        var
        for var, flag in zip(eqn.invars, instantiated, strict=True)
        if not flag and compat.is_variable(var)
    ]
    count = len(eqn.outvars)
    return None, eqn, [True] * count, [True] * count, missing


def _on_arrays(*args: Any, linked: bool, **place: Any) -> list[Any]:
    """A high value passes as the arrays that it represents."""
    avals = [jax.typeof(value) for value in _values(args, linked)]
    arrays = [
        aval.lower_val(value)
        for aval, value in zip(avals, _values(args, linked), strict=True)
    ]
    token = args[:1] if linked else ()
    place.pop("of", None)  # The arrays have other numbers.
    low = itertools.chain(*arrays)
    outs = iter(mark_p.bind(*token, *low, linked=linked, **place))
    moved = [
        aval.raise_val(*itertools.islice(outs, len(parts)))
        for aval, parts in zip(avals, arrays, strict=True)
    ]
    return [*moved, *outs]


mark_p.is_high = lambda *avals, **_: any(aval.is_high for aval in avals)
mark_p.to_lojax = _on_arrays
mark_p.def_impl(_through)
mark_p.def_abstract_eval(_types)
compat.primitive_jvps[mark_p] = _jvp
compat.define_linearization(mark_p, _linearize)
compat.fancy_transposes[mark_p] = _transpose
compat.primitive_batchers[mark_p] = _batch
compat.define_dce(mark_p, _dce)
compat.partial_eval_jaxpr_custom_rules[mark_p] = _remat


def _lower(ctx: Any, *args: Any, linked: bool, **_: Any) -> list[Any]:
    lower = compat.lower_fun(_through, multiple_results=True)
    return compat.with_unreduced(ctx, lower(ctx, *args, linked=linked), ctx.avals_out)


compat.register_lowering(mark_p, _lower, cacheable=False)


def stage_boundary(x: T, tower: str | None = None) -> T:
    """Ends a stage of a pipeline, and begins the next one.

    Goes into a model's own forward function. What `meshwright.jit` finds between
    two marks is one stage, whatever functions and modules it crosses, and the
    stages are numbered in order, from 0. Their derivatives belong to them.

    Args:
      x: what goes from one stage to the next, an array or a pytree of arrays.
        Other leaves stay as they are. What is not given here and read after the
        mark all the same goes along.
      tower: the name of a tower, such as `"vision"`, where stages are no chain but a
        graph. Each mark then begins a stage of its tower, also the first one, and what
        goes into a stage from other towers is given, too. Letters, digits and
        underscores; all marks of a model have one, or none.

    Returns:
      `x`. Go on with this: a mark whose result is not used divides nothing.

    Raises:
      TypeError: `x` holds an NNX object instead of the arrays in it, or the tower is no
        text.
      ValueError: the name of the tower has other characters.

    Example: two stages; without `meshwright.jit`, a mark does nothing.

      >>> import jax.numpy as jnp
      >>> def model(w, x):
      ...     h = stage_boundary(jnp.tanh(w[0] * x))
      ...     return w[1] * h
      >>> float(model([1.0, 2.0], 0.0))
      0.0
    """
    if tower is not None:
        check_tower_name("stage_boundary", tower)
    return mark(x, tower=tower)


def check_tower_name(what: str, name: Any) -> None:
    """Refuses what the compiler could not read as the name of a tower."""
    check_type(f"{what}: a tower is named by a text", name, str)
    if not (name.isascii() and name.isidentifier()):
        raise ValueError(
            f"{what}: the name of a tower has letters, digits and underscores, and "
            f"begins with no digit, got {name!r}"
        )


class Begins(NamedTuple):
    """Which stage begins at a mark of a layout, in which some may be empty.

    Attributes:
      stage: its number.
      first: that of the stage before the first mark.
      count: the number of stages of the layout.
    """

    stage: int
    first: int
    count: int


def mark(x: T, begins: Begins | None = None, tower: str | None = None) -> T:
    """`stage_boundary`; `begins` says which stage follows, if not just the next."""
    place = {"begins": begins, "tower": tower}
    if not compat.is_staged():
        return x
    wrapped, tree = static_leaves.flatten(
        x, "stage_boundary", "give the arrays that go on to the next stage"
    )
    arrays = [leaf for leaf in wrapped if not static_leaves.is_static(leaf)]
    if not arrays:
        raise ValueError(
            f"stage_boundary: {x!r} holds no array; give what goes from one stage to "
            "the next"
        )
    given = {key: value for key, value in place.items() if value is not None}
    outs = mark_p.bind(*arrays, linked=False, **given)
    return static_leaves.unflatten(tree, wrapped, outs)
