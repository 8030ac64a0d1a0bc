# SPDX-License-Identifier: Apache-2.0
"""What marks a result as one over microbatches.

It refuses to be differentiated, and `meshwright.jit` knows by it that the sums of the
gradients are where they are made, and which microbatches belong together.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax

from ..jaxapi import frontend as compat

_result_p = compat.Primitive("mpmd_accumulated")
_result_p.def_impl(lambda x, **_: x)
_result_p.def_abstract_eval(lambda aval, **_: aval)
compat.defvectorized(_result_p)
compat.register_lowering(_result_p, lambda ctx, x, **_: [x], cacheable=False)


def _refuse_derivative(primals: Any, tangents: Any, **_: Any) -> Any:
    raise TypeError(
        "accumulate: its result is differentiated from outside, where the backward "
        "passes of all microbatches depend on each other and no schedule can order "
        "them; take the gradient inside: accumulate(jax.value_and_grad(loss), "
        "microbatches=N)(params, batch)"
    )


compat.primitive_jvps[_result_p] = _refuse_derivative


def guarded(result: Any, numbers: range | None = None, sequence_chunks: int = 1) -> Any:
    """The result, which refuses to be differentiated.

    Args:
      result: a pytree of arrays.
      numbers: the call counters of its microbatches, or of their chunks.
      sequence_chunks: into how many chunks the sequences of its microbatches were cut.
    """
    return jax.tree.map(
        lambda leaf: _result_p.bind(
            leaf, numbers=numbers, sequence_chunks=sequence_chunks
        ),
        result,
    )


def _results(jaxpr: Any) -> Iterator[Any]:
    """What marks the results over microbatches that a program has."""
    for eqn in jaxpr.eqns:
        if eqn.primitive is _result_p:
            yield eqn
        elif eqn.primitive is compat.jit_p:
            yield from _results(eqn.params["jaxpr"].jaxpr)


def numbers_of(eqn: Any) -> range | None:
    """The call counters of the microbatches whose result an operation marks, if any."""
    return eqn.params["numbers"] if eqn.primitive is _result_p else None


def is_in(jaxpr: Any) -> bool:
    """Whether a program has a result over microbatches."""
    return any(True for _ in _results(jaxpr))


def sequence_chunks_in(jaxpr: Any) -> int:
    """Into how many chunks a program cuts the sequence of each microbatch."""
    return max((eqn.params["sequence_chunks"] for eqn in _results(jaxpr)), default=1)


def groups_in(jaxpr: Any) -> set[range]:
    """The call counters of the microbatches of each `accumulate` of a program.

    Those whose sequences are in chunks are none.
    """
    whole = (eqn for eqn in _results(jaxpr) if eqn.params["sequence_chunks"] == 1)
    return {eqn.params["numbers"] for eqn in whole} - {None}
