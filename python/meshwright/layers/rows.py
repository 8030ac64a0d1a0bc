# SPDX-License-Identifier: Apache-2.0
"""Which operations do the same to each row of an array, one by one.

Row i of the result depends on row i of some operands, those along the rows, and on
others as a whole. Such an operation can be done to any part of the rows alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jax.sharding import NamedSharding

from ..jaxapi import frontend as compat


def rows_of(aval: Any) -> int | None:
    """The size of the leading axis; None for what has no rows."""
    shape = getattr(aval, "shape", ())
    return shape[0] if shape and isinstance(shape[0], int) else None


def _elementwise(eqn: Any) -> list[int] | None:
    shape = eqn.outvars[0].aval.shape
    along = []
    for at, atom in enumerate(eqn.invars):
        found = atom.aval.shape
        if found and (
            len(found) != len(shape)
            or any(a not in (1, b) for a, b in zip(found, shape, strict=True))
        ):
            return None
        if found[:1] == shape[:1]:
            along.append(at)
    # Of scalars alone it makes an array of a size that its parameters say.
    return along or None


def _broadcast(eqn: Any) -> list[int]:
    dims, (operand, *_) = eqn.params["broadcast_dimensions"], eqn.invars
    size = eqn.params["shape"][0]
    return [0] if dims and dims[0] == 0 and operand.aval.shape[0] == size else []


def _reshape(eqn: Any) -> list[int] | None:
    before, after = eqn.invars[0].aval.shape, eqn.params["new_sizes"]
    return [0] if before[:1] == after[:1] and not eqn.params["dimensions"] else None


def _slice(eqn: Any) -> list[int] | None:
    size, strides = eqn.invars[0].aval.shape[0], eqn.params["strides"]
    whole = not eqn.params["start_indices"][0] and (
        eqn.params["limit_indices"][0] == size and (not strides or strides[0] == 1)
    )
    return [0] if whole else None


def _dot(eqn: Any) -> list[int] | None:
    batch = eqn.params["dimension_numbers"][1]
    return [0, 1] if [tuple(side[:1]) for side in batch] == [(0,), (0,)] else None


def _constraint(eqn: Any) -> list[int] | None:
    sharding = eqn.params["sharding"]
    known = isinstance(sharding, NamedSharding)
    return [0] if known and (not sharding.spec or sharding.spec[0] is None) else None


def _unless_in(key: str) -> Callable[[Any], list[int] | None]:
    """For an operation on the axes, or the one axis, that a parameter says."""

    def along(eqn: Any) -> list[int] | None:
        axes = eqn.params[key]
        return None if 0 in (axes if isinstance(axes, tuple) else (axes,)) else [0]

    return along


_ALONG: dict[str, Callable[[Any], list[int] | None]] = {
    "broadcast_in_dim": _broadcast,
    "concatenate": lambda eqn: (
        list(range(len(eqn.invars))) if eqn.params["dimension"] else None
    ),
    "dot_general": _dot,
    "iota": lambda eqn: [] if eqn.params["dimension"] else None,
    "pad": lambda eqn: None if any(eqn.params["padding_config"][0]) else [0],
    "reshape": _reshape,
    "rev": _unless_in("dimensions"),
    "sharding_constraint": _constraint,
    "slice": _slice,
    "split": _unless_in("axis"),
    "squeeze": _unless_in("dimensions"),
    "transpose": lambda eqn: [0] if eqn.params["permutation"][0] == 0 else None,
    **dict.fromkeys(compat.COMBINING, _unless_in("axes")),
    **{f"arg{kind}": _unless_in("axes") for kind in ("max", "min")},
    **{f"cum{kind}": _unless_in("axis") for kind in ("sum", "prod", "max", "min")},
    **dict.fromkeys(
        ("add_any", "clamp", "convert_element_type", "select_n"), _elementwise
    ),
}


def along_rows(eqn: Any) -> list[int] | None:
    """Operands of which a row of the results needs the same row only.

    Returns:
      Their positions; None if the operation is not done row by row, or has results
      without rows.
    """
    size = rows_of(eqn.outvars[0].aval) if eqn.outvars else None
    found = _ALONG.get(eqn.primitive.name)
    if found is None and compat.is_elementwise(eqn.primitive):
        found = _elementwise
    if found is None or size is None or eqn.effects:
        return None
    along = found(eqn)
    if along is None:
        return None
    atoms = [*eqn.outvars, *(eqn.invars[at] for at in along)]
    return along if all(rows_of(atom.aval) == size for atom in atoms) else None


def of_rows(params: dict[str, Any], primitive: Any, rows: int) -> dict[str, Any]:
    """Parameters of an operation on that many rows."""
    keys = {
        "broadcast_in_dim": ("shape",),
        "iota": ("shape",),
        "reshape": ("new_sizes",),
        "slice": ("limit_indices",),
    }.get(primitive.name, ())
    return {**params, **{key: (rows, *params[key][1:]) for key in keys}}


def combining(eqn: Any) -> Callable[..., Any] | None:
    """How results for parts of the rows become that for all; None if they do not.

    For reductions over the leading axis: what puts two together.
    """
    found = compat.COMBINING.get(eqn.primitive.name)
    return found if found and 0 in eqn.params["axes"] else None
