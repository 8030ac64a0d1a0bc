# SPDX-License-Identifier: Apache-2.0
"""The mean of what was summed over microbatches."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding, PartitionSpec


def mean(total: Any, count: int) -> Any:
    """A sum divided by how many it is of; it may have a part on each device.

    Args:
      total: an array of floating point or complex numbers.
      count: the number of summands.

    Returns:
      The mean, as partial as the sum.
    """
    sharding = getattr(jax.typeof(total), "sharding", None)
    partial = getattr(getattr(sharding, "spec", None), "unreduced", None)
    if not partial:
        return total / count
    # JAX takes a factor of the partial sums whose type says that it is the same on
    # every device; JAX 0.10 has no rule for a divisor.
    share = jnp.full((), 1 / count, jnp.result_type(total))
    same = NamedSharding(sharding.mesh, PartitionSpec(reduced=partial))
    return total * jax.reshard(share, same)
