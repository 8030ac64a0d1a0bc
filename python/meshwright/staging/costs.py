# SPDX-License-Identifier: Apache-2.0
"""What an operation of a traced program costs, before there is a module of it.

The rules are those of the compiler's own estimate (meshwright/Cost): a matrix
product counts a multiplication and an addition per contracted element, arithmetic
one per element of the result, moving data nothing.
"""

from __future__ import annotations

import math
from typing import Any

import jax
import numpy as np

from ..jaxapi import frontend as compat

_MOVES = frozenset(
    {
        "broadcast_in_dim",
        "bitcast_convert_type",
        "concatenate",
        "copy",
        "device_put",
        "dynamic_slice",
        "dynamic_update_slice",
        "expand_dims",
        "gather",
        "iota",
        "mpmd_broadcast",
        "mpmd_named_tensor",
        "mpmd_reduce",
        "mpmd_stage_boundary",
        "optimization_barrier",
        "pad",
        "reshape",
        "rev",
        "sharding_constraint",
        "slice",
        "split",
        "squeeze",
        "stop_gradient",
        "transpose",
    }
)


def bytes_of(aval: Any) -> int:
    """Bytes of a value; keys count as what they are made of."""
    shape = getattr(aval, "shape", ())
    try:
        bits = jax.dtypes.itemsize_bits(aval.dtype)
    except (AttributeError, TypeError, ValueError):
        bits = 128
    return math.prod(shape) * bits // 8


def count_of(atom: Any) -> int:
    """Elements of a value."""
    return math.prod(getattr(atom.aval, "shape", ()))


def work_of(eqn: Any) -> float:
    """Floating point operations of one equation, and of all that it applies."""
    name = eqn.primitive.name
    if name in _MOVES or not eqn.outvars:
        return 0
    if name == "dot_general":
        (contracted, _), _ = eqn.params["dimension_numbers"]
        shape = eqn.invars[0].aval.shape
        return 2 * count_of(eqn.outvars[0]) * math.prod(shape[d] for d in contracted)
    if name == "conv_general_dilated":
        return _convolution(eqn)
    if name == "scan":
        return eqn.params["length"] * _of_jaxpr(eqn.params["jaxpr"])
    if name == "cond":
        return max(map(_of_jaxpr, eqn.params["branches"]), default=0)
    if name.startswith("scatter"):
        return count_of(eqn.invars[2])
    if name.startswith(("reduce_window", "select_and")):
        return count_of(eqn.outvars[0]) * math.prod(eqn.params["window_dimensions"])
    if name.startswith(("reduce_", "arg")) and name != "reduce_precision":
        return count_of(eqn.invars[0])
    if name in ("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp", "sort"):
        size = count_of(eqn.invars[0])
        return size * math.ceil(math.log2(max(size, 2)))
    applied = compat.bodies(eqn)
    if applied:
        return sum(map(_of_jaxpr, applied))
    return count_of(eqn.outvars[0])


@compat.weakref_lru_cache
def _of_jaxpr(jaxpr: Any) -> float:
    inner = jaxpr.jaxpr if isinstance(jaxpr, compat.ClosedJaxpr) else jaxpr
    return sum(map(work_of, inner.eqns))


def _convolution(eqn: Any) -> float:
    """Only positions that meet an element count, neither padding nor holes."""
    params = eqn.params
    numbers = params["dimension_numbers"]
    lhs, rhs = (var.aval.shape for var in eqn.invars[:2])
    out = eqn.outvars[0].aval.shape
    work = 2.0 * lhs[numbers.lhs_spec[1]] / params["feature_group_count"]
    work *= rhs[numbers.rhs_spec[0]] * lhs[numbers.lhs_spec[0]]
    work /= params["batch_group_count"]
    for dim in range(len(lhs) - 2):
        work *= _hits(
            lhs[numbers.lhs_spec[2 + dim]],
            rhs[numbers.rhs_spec[2 + dim]],
            out[numbers.out_spec[2 + dim]],
            params["window_strides"][dim],
            params["padding"][dim][0],
            params["lhs_dilation"][dim],
            params["rhs_dilation"][dim],
        )
    return work


def _hits(size, kernel, outputs, stride, before, holes, steps) -> int:
    starts = np.arange(outputs)[:, None] * stride - before
    at = starts + np.arange(kernel)[None, :] * steps
    inside = (at >= 0) & (at <= (size - 1) * holes) & (at % holes == 0)
    return int(inside.sum())
