# SPDX-License-Identifier: Apache-2.0
"""What `jax.checkpoint` recomputes in a backward pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..jaxapi import frontend as compat
from .flatten import Flat, Item


def repeated(flat: Flat) -> dict[int, int]:
    """Which operations of the backward pass repeat one of the forward pass.

    These are what `jax.checkpoint` recomputes: the same operation on the same values.

    Returns:
      Position of the operation to position of the one that it repeats.
    """
    # The first of equal values represents all of them.
    same: dict[Any, Any] = {}
    original: dict[Any, Any] = {}
    forward: dict[Any, list[int]] = {}
    found: dict[int, int] = {}
    choices: dict[int, list[int]] = {}
    for index, item in enumerate(flat.items):
        if item.transposes and not is_recomputed(item):
            continue
        operands = tuple(
            (atom.aval, str(atom.val))
            if isinstance(atom, compat.Literal)
            else same.get(atom, atom)
            for atom in item.eqn.invars
        )
        key = item.eqn.primitive, operands, tuple(sorted(item.eqn.params.items()))
        try:
            alike = forward.setdefault(key, [])
        except TypeError:  # A parameter that cannot be compared.
            continue
        if not item.transposes:
            alike.append(index)
        if not alike:
            continue
        first = flat.items[alike[0]].eqn.outvars
        same.update(zip(item.eqn.outvars, first, strict=True))
        if item.transposes:
            found[index] = _same_place(flat, item, alike, original)
            choices[index] = alike
            outs = flat.items[found[index]].eqn.outvars
            original.update(zip(item.eqn.outvars, outs, strict=True))
    _choose_by_readers(flat, found, choices)
    return found


def _choose_by_readers(
    flat: Flat, found: dict[int, int], choices: Mapping[int, Sequence[int]]
) -> None:
    """Of equal operations takes the one whose value is read as that of the repeated.

    Such as what each layer makes of a mask for itself: these read the same, and only
    the layers tell them apart.
    """
    producer = flat.table.producer
    for index in reversed(choices):
        if len(choices[index]) == 1:
            continue
        outvars = flat.items[index].eqn.outvars
        read = [
            producer.get(theirs)
            for reader in flat.table.readers[index]
            if reader in found
            for mine, theirs in zip(
                flat.items[reader].eqn.invars,
                flat.items[found[reader]].eqn.invars,
                strict=True,
            )
            if compat.is_variable(theirs) and mine in outvars
        ]
        found[index] = next((at for at in read if at in choices[index]), found[index])


def originals(flat: Flat, first: Mapping[int, int]) -> dict[Any, Any]:
    """For each value that is recomputed, what `repeated` found it to be of."""
    return {
        var: original
        for index, at in first.items()
        for var, original in zip(
            flat.items[index].eqn.outvars, flat.items[at].eqn.outvars, strict=True
        )
    }


def _same_place(
    flat: Flat, item: Item, alike: Sequence[int], original: Mapping[Any, Any]
) -> int:
    """Of equal operations the one that reads what an operation reads, if any does."""
    wanted = [
        original.get(atom, atom) if compat.is_variable(atom) else None
        for atom in item.eqn.invars
    ]
    for index in alike:
        atoms = flat.items[index].eqn.invars
        if wanted == [a if compat.is_variable(a) else None for a in atoms]:
            return index
    return alike[-1]


def is_recomputed(item: Item) -> bool:
    """Whether `jax.checkpoint` put an operation into a backward pass.

    Beside what it recomputes this may be a part of the derivative itself.
    """
    stack = item.eqn.source_info.name_stack.stack
    return any(entry.name == "rematted_computation" for entry in stack)
