# SPDX-License-Identifier: Apache-2.0
"""What becomes of sums over microbatches."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

from ..tracing.ops import reduce
from ..tracing.scopes import layers_of_stages


def join_rows(
    rows: Sequence[Sequence[Any]], finish: Callable[[Any], Any] = lambda total: total
) -> Any:
    """A sum of which several stages have parts.

    Args:
      rows: for each stage the sums that are its part, along the leading axis.
      finish: what is done to each part, where that is.
    """
    found = [
        # They may be of several meshes.
        finish(row[0] if len(row) == 1 else reduce(functools.reduce(operator.add, row)))
        for row in rows
    ]
    with layers_of_stages():
        return found[0] if len(found) == 1 else jnp.concatenate(found)


def mean(total: Any, count: int) -> Any:
    """A sum divided by how many it is of; it may have a part on each device.

    Args:
      total: an array of floating point or complex numbers.

    Returns:
      The mean, as partial as the sum.
    """
    sharding = getattr(jax.typeof(total), "sharding", None)
    partial = getattr(getattr(sharding, "spec", None), "unreduced", None)
    if not partial:
        return jax.lax.div(total, np.asarray(count, total.dtype))
    # JAX takes a factor of the partial sums whose type says that it is the same on
    # every device; JAX 0.10 has no rule for a divisor.
    share = jnp.full((), 1 / count, jnp.result_type(total))
    same = NamedSharding(sharding.mesh, PartitionSpec(reduced=partial))
    return total * jax.reshard(share, same)
