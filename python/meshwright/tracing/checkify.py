# SPDX-License-Identifier: Apache-2.0
"""`jax.experimental.checkify` looks into annotated functions.

Errors travel with the values from one annotated function to the next, so the checks
run where the operations run:

    f(x)                                  # under checkify.checkify becomes
    error, out = f(error, x)
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import jax
from jax.experimental import checkify

from ..jaxapi import frontend as compat
from . import primitives


def has_errors(tree: Any) -> bool:
    """Whether a structure has errors whose codes may be on several meshes."""
    whole = jax.tree.unflatten(tree, range(tree.num_leaves))
    errors = filter(_is_error, jax.tree.leaves(whole, is_leaf=_is_error))
    return any(len(error._code) > 1 for error in errors)


def gather_codes(result: Any) -> Any:
    """A result in which the codes of each error are on one device.

    An error has a code for each kind of check, and the least of those that failed says
    which message counts. JAX compares them, which it cannot do where each is on the
    mesh of its check. What is on devices of other processes stays there.
    """
    return jax.tree.map(_gather, result, is_leaf=_is_error)


def _is_error(node: Any) -> bool:
    return isinstance(node, checkify.Error)


def _gather(node: Any) -> Any:
    if not _is_error(node):
        return node
    codes = list(node._code.values())
    if not all(code.is_fully_addressable for code in codes):
        return node
    device = min(codes[0].devices(), key=lambda device: device.id)
    codes = jax.device_put(codes, device)
    return dataclasses.replace(node, _code=dict(zip(node._code, codes, strict=True)))


def _check_body(primitive, check, error, *args, jaxpr, **params):
    errors, tree = jax.tree.flatten(error)
    checked, out_tree = check(jaxpr, tree, *map(jax.typeof, (*errors, *args)))
    outs = primitive.bind(*errors, *args, jaxpr=checked, **params)
    return jax.tree.unflatten(out_tree, outs)


def _refuse_loop(check, error, *args, name, **params):
    body = name.removeprefix("shardy_mpmd_")
    raise NotImplementedError(
        f"checkify does not look into meshwright's loop over {body!r}; write the loop "
        "as a Python loop of meshwright.call, or check the function without it"
    )


for primitive in (primitives.named_computation_p, primitives.call_p):
    compat.define_error_check(primitive, functools.partial(_check_body, primitive))
compat.define_error_check(primitives.for_p, _refuse_loop)
