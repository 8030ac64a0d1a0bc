# SPDX-License-Identifier: Apache-2.0
"""Calls of one function for all microbatches, as a loop.

A loop is there once, however many microbatches there are, until the compiler unrolls
it. It leaves what calls that are written out would be: what each microbatch has of
its own waits in the carry, in a queue that goes on by one in each iteration, and what
each one gives joins another queue.

    for i: x0, x1, x2, y0, y1, y2, sum = x1, x2, x0, y1, y2, *call(w, x0, sum)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..jaxapi import frontend as compat
from ..tracing import primitives
from ..tracing.loops import LoopForm, has_loop
from ..tracing.program import unrolls_loops
from ..tracing.scopes import has_marks


def can_loop(jaxpr: Any) -> bool:
    """Whether calls of a function may be a loop here.

    `meshwright.jit` unrolls loops of its own program. Other transformations have no
    rules for them, and what takes layers apart wants to see the calls. A loop does not
    write to references either.
    """
    return (
        unrolls_loops()
        and compat.current_trace() is compat.outermost_trace()
        and not has_marks(jaxpr.jaxpr)
        and not has_loop(jaxpr.jaxpr)
        and not any(
            jnp.issubdtype(aval.dtype, jax.dtypes.extended) for aval in jaxpr.out_avals
        )
        and not any(isinstance(aval, compat.AbstractRef) for aval in jaxpr.in_avals)
    )


def call_in_loop(
    name: str,
    jaxpr: Any,
    operands: Sequence[Any],
    columns: Mapping[int, Sequence[Any]],
    sums: Mapping[int, Any],
    count: int,
    wanted: Sequence[int],
) -> tuple[dict[int, list[Any]], dict[int, Any]]:
    """Calls a function once for each microbatch.

    Args:
      name: of the function.
      jaxpr: what it computes, a closed jaxpr of the operands, then of sums.
      operands: those of the first microbatch.
      columns: by position, operands that each microbatch has of its own.
      sums: by the position of the result that is the next sum, the first one, in
        the order in which the jaxpr takes them.
      count: the number of microbatches.
      wanted: positions of further results that are wanted of each microbatch.

    Returns:
      By position, the results of all microbatches that are wanted, and the sums.
    """
    fixed = [at for at in range(len(operands)) if at not in columns]
    queues = [list(values) for values in columns.values()]
    avals = [jaxpr.out_avals[at] for at in wanted]
    # Leave the queue before they are read.
    empty = [jnp.zeros(aval.shape, aval.dtype) for aval in avals]
    types = [
        *(jax.typeof(operands[at]) for at in fixed),
        *(jax.typeof(queue[0]) for queue in queues for _ in queue),
        *(aval for aval in avals for _ in range(count)),
        *(jaxpr.in_avals[len(operands) + at] for at in range(len(sums))),
        jax.typeof(np.uint32(0)),
    ]

    def body(*values: Any) -> list[Any]:
        left = iter(values[:-1])
        own = {at: next(left) for at in fixed}
        inputs = [[next(left) for _ in queue] for queue in queues]
        results = [[next(left) for _ in range(count)] for _ in wanted]
        own |= {at: queue[0] for at, queue in zip(columns, inputs, strict=True)}
        outs = primitives.call_p.bind(
            *(own[at] for at in range(len(operands))),
            *left,
            jaxpr=jaxpr,
            name=name,
            call_counter=None,
        )
        return [
            *(value for queue in inputs for value in (*queue[1:], queue[0])),
            *(
                value
                for at, queue in zip(wanted, results, strict=True)
                for value in (*queue[1:], outs[at])
            ),
            *(outs[at] for at in sums),
        ]

    info = jaxpr.jaxpr.debug_info.with_unknown_names()
    closed, _, consts = compat.trace_to_jaxpr_dynamic(
        compat.wrap_init(body, debug_info=info), types
    )
    outs = primitives.for_p.bind(
        *(operands[at] for at in fixed),
        *(value for queue in queues for value in queue),
        *(value for value in empty for _ in range(count)),
        *sums.values(),
        jaxpr=compat.ClosedJaxpr(closed, consts),
        name=name,
        num_captured=len(fixed),
        iterations=count,
        form=LoopForm.WRITTEN,
    )
    left = iter(outs[sum(map(len, queues)) :])
    results = {at: [next(left) for _ in range(count)] for at in wanted}
    return results, dict(zip(sums, left, strict=True))
