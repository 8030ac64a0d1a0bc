# SPDX-License-Identifier: Apache-2.0
"""`jax.experimental.checkify` looks into annotated functions.

Errors travel with the values from one annotated function to the next, so the checks
run where the operations run:

    f(x)                                  # under checkify.checkify becomes
    error, out = f(error, x)
"""

from __future__ import annotations

from typing import Any

import jax

from ..jaxapi import frontend as compat
from . import primitives


def _check_body(primitive: Any) -> Any:
    """The rule of a primitive that applies its body once."""

    def rule(check, error, *args, jaxpr, **params):
        errors, tree = jax.tree.flatten(error)
        checked, out_tree = check(jaxpr, tree, *map(jax.typeof, (*errors, *args)))
        outs = primitive.bind(*errors, *args, jaxpr=checked, **params)
        return jax.tree.unflatten(out_tree, outs)

    return rule


def _refuse_loop(check, error, *args, name, **params):
    body = name.removeprefix("shardy_mpmd_")
    raise NotImplementedError(
        f"checkify does not look into meshwright's loop over {body!r}; write the loop "
        "as a Python loop of meshwright.call, or check the function without it"
    )


for primitive in (primitives.named_computation_p, primitives.call_p):
    compat.define_error_check(primitive, _check_body(primitive))
compat.define_error_check(primitives.for_p, _refuse_loop)
