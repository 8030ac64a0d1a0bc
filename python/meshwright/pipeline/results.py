# SPDX-License-Identifier: Apache-2.0
"""What marks a result as one over microbatches.

It refuses to be differentiated, and `meshwright.jit` knows by it that the sums of the
gradients are where they are made.
"""

from __future__ import annotations

from typing import Any

import jax

from ..jaxapi import frontend as compat

__all__ = ["guarded", "is_in"]

_result_p = compat.Primitive("mpmd_accumulated")
_result_p.def_impl(lambda x: x)
_result_p.def_abstract_eval(lambda aval: aval)
compat.defvectorized(_result_p)
compat.register_lowering(_result_p, lambda ctx, x: [x], cacheable=False)


def _refuse_derivative(primals: Any, tangents: Any) -> Any:
    raise TypeError(
        "accumulate: its result is differentiated from outside, where the backward "
        "passes of all microbatches would hang together and no schedule could order "
        "them; take the gradient inside: accumulate(jax.value_and_grad(loss), "
        "microbatches=N)(params, batch)"
    )


compat.primitive_jvps[_result_p] = _refuse_derivative


def guarded(result: Any) -> Any:
    """The result, which refuses to be differentiated."""
    return jax.tree.map(_result_p.bind, result)


def is_in(jaxpr: Any) -> bool:
    """Whether a program has a result over microbatches."""
    return any(
        eqn.primitive is _result_p
        or (eqn.primitive is compat.jit_p and is_in(eqn.params["jaxpr"].jaxpr))
        for eqn in jaxpr.eqns
    )
