# SPDX-License-Identifier: Apache-2.0
"""Layers that take gradients: forces, or a step of learning inside of a model.

How often an operation was transposed says forward from backward where the gradient of
all is taken once. The derivative of a layer is a part of its forward pass, though, and
was transposed; the derivative of that was transposed twice. What was done last to an
operation tells them apart, but for a second derivative of all, which is the same to it:

  gradient in layers    jvp(transpose(jvp)) of layer 0, then jvp of layer 1
  second derivative     jvp of all layers, then jvp(transpose(jvp)) of all
"""

from __future__ import annotations

from ..jaxapi import frontend as compat
from .costs import count_of, work_of
from .flatten import Flat, Item
from .marks import mark_p
from .origins import Origins

# Layers that read no weight are this many times less work than derivatives, if they are
# none but sums of these.
_LITTLE = 4


def last_transpose(item: Item) -> int:
    """How often an operation was transposed, without what was done before that to it
    in a layer."""
    if not item.transposes:
        return 0
    stack = item.eqn.source_info.name_stack
    around = item.transposes - compat.transpose_count(stack)
    return around + (not around and compat.transposed_last(stack))


def count_by_marks(flat: Flat) -> None:
    """Counts an operation as transposed if the gradient of all did that to it.

    Nothing changes where marks say that a gradient of all is transposed again, or is
    part of a tangent.
    """
    marks = [item for item in flat.items if item.eqn.primitive is mark_p]
    if all(last_transpose(item) == item.transposes < 2 for item in marks):
        _count(flat)


def count_by_work(flat: Flat) -> None:
    """The same without marks: where layers come after a derivative, which is one of a
    layer then. A second derivative has nothing after it but sums of what it gives, and
    a model that is applied again only weights that were read before."""
    inner: set[object] = set()  # What depends on derivatives in the forward pass.
    origins, known = Origins(), set[object]()
    # Layers after a derivative: whether all weights that each reads were read before.
    repeats: list[bool] = []
    others = 0.0  # The work of layers that read none.
    derivatives = 0.0
    for item in flat.items:
        if last_transpose(item):
            continue
        if item.transposes:
            derivatives += work_of(item.eqn)
        given = compat.variables(item.eqn.invars)
        depends = not inner.isdisjoint(given)
        if not item.transposes and _is_layer(item.eqn):
            weights = origins.of(item.eqn)
            if not depends:
                known |= weights
            elif weights:
                repeats.append(known >= weights)
            else:
                others += work_of(item.eqn)
        if depends or item.transposes:
            inner.update(item.eqn.outvars)
        origins.note(item.eqn, comes_from_none=bool(item.transposes))
    # Vector-Jacobian products in backward rules of the user's own.
    has_second = any(
        item.transposes and not last_transpose(item) for item in flat.items
    )
    # A batch of its own, which the first layer reads, is none; nor is a product that
    # sums up a derivative, which is little work beside it.
    is_layered = not repeats and _LITTLE * others > derivatives
    if not has_second or 2 * sum(repeats) < len(repeats) or is_layered:
        _count(flat)


def _count(flat: Flat) -> None:
    for item in flat.items:
        item.transposes = last_transpose(item)


def _is_layer(eqn: object) -> bool:
    """Whether an operation does more with its operands than to look at each once."""
    bodies = compat.bodies(eqn)
    if bodies:
        return any(_is_layer(inner) for body in bodies for inner in body.eqns)
    return work_of(eqn) > sum(map(count_of, [*eqn.invars, *eqn.outvars]))
