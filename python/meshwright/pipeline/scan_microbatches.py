# SPDX-License-Identifier: Apache-2.0
"""A `jax.lax.scan` over microbatches, one call for each."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from ..core.names import callee_name
from ..tracing import trace_cache
from ..tracing.ops import apply_call
from ..tracing.program import count_microbatches, is_scheduled

T = TypeVar("T")

_WHAT = "pipeline.scan_microbatches"


def scan_microbatches(
    body: Callable[[T, Any], tuple[T, Any]],
    init: T,
    xs: Any = None,
    length: int | None = None,
) -> tuple[T, Any]:
    """Runs a loop over microbatches that was written as `jax.lax.scan`.

    Each iteration is one `call`, which a schedule can order, and the body is traced
    once for all of them. The gradient is taken inside of the body, and what is added
    up is carried along. Without `meshwright.jit` this is `jax.lax.scan`.

    Args:
      body: from (carry, microbatch) to a pair of the next carry and an output.
      init: the first carry, a pytree of arrays and numbers.
      xs: a pytree of arrays with a leading axis of microbatches.
      length: their number; not needed if `xs` has arrays.

    Returns:
      The last carry, and the outputs, stacked.

    Raises:
      TypeError: `body` gives no pair, or another carry than it gets.
      ValueError: arrays of different lengths, or no length.

    Example: gradients of the rows, added up, and the losses.

      >>> import jax, jax.numpy as jnp
      >>> def body(total, x):
      ...     loss, grad = jax.value_and_grad(lambda w: w * x)(2.0)
      ...     return total + grad, loss
      >>> total, losses = scan_microbatches(body, jnp.float32(0), jnp.arange(3.0))
      >>> float(total), losses.tolist()
      (3.0, [0.0, 2.0, 4.0])
    """
    if not is_scheduled():
        return jax.lax.scan(body, init, xs, length)
    count = _length(xs, length)
    # Numbers become what the body makes of them, so that it is traced once.
    carry = jax.tree.map(
        lambda leaf: jax.lax.convert_element_type(leaf, jnp.result_type(leaf)), init
    )
    if count == 0:
        return jax.lax.scan(body, carry, xs, 0)
    name = callee_name(body)
    first = count_microbatches(count)
    traced, outputs = None, []
    for number in range(count):
        args = carry, jax.tree.map(lambda x, at=number: x[at], xs)
        traced = traced and traced.again(args, {})
        traced = traced or trace_cache.trace(body, args, {}, carry=True)
        carry, output = _pair(apply_call(name, traced, first + number), carry)
        outputs.append(output)
    return carry, jax.tree.map(lambda *leaves: jnp.stack(leaves), *outputs)


def _length(xs: Any, length: int | None) -> int:
    lengths = {
        "xs" + jax.tree_util.keystr(path): np.shape(leaf)[0]
        for path, leaf in jax.tree.leaves_with_path(xs)
    }
    if length is not None:
        lengths["length"] = operator.index(length)
    if not lengths:
        raise ValueError(f"{_WHAT}: xs holds no array; give length=")
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{where}: {count}" for where, count in lengths.items())
        raise ValueError(f"{_WHAT}: all lengths must be equal, got {listed}")
    return next(iter(lengths.values()))


def _pair(result: Any, carry: Any) -> tuple[Any, Any]:
    if not isinstance(result, tuple) or len(result) != 2:
        raise TypeError(
            f"{_WHAT}: the body must give a pair of the next carry and an output, got "
            f"{jax.tree.structure(result)}"
        )
    found, wanted = [
        jax.tree.map(lambda leaf: jax.typeof(leaf).str_short(), tree)
        for tree in (result[0], carry)
    ]
    if found != wanted:
        raise TypeError(
            f"{_WHAT}: the body got the carry {wanted} and gives {found}; trees, "
            "shapes and dtypes must be equal in every iteration"
        )
    return result
