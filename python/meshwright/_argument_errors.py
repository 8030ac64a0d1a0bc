# SPDX-License-Identifier: Apache-2.0
"""What is wrong with the arguments of a program, in the words of who passed them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax

from . import _shardings
from ._signature import IOSpecs, ProgramSignature


def tree_error(signature: ProgramSignature, tree: Any) -> str:
    """What is said about arguments of another structure than lowered for."""
    args, kwargs = tree.children()
    no_kwargs = jax.tree.structure({})
    wanted = signature.call_tree.children()[1]
    if kwargs == wanted == no_kwargs:
        tree = args
    elif kwargs != wanted:
        return (
            f"{signature.name} was compiled for the keyword arguments "
            f"{_names(wanted)}, but was called with {_names(kwargs)}; pass the same "
            "ones by keyword, and the others by position"
        )
    return (
        f"{signature.name} was compiled for arguments of the structure "
        f"{signature.input_tree}, but was called with {tree}"
    )


def _names(kwargs: Any) -> str:
    return ", ".join(kwargs.node_data()[1]) or "none"


def check_arguments(
    args: Sequence[Any], signature: ProgramSignature, specs: IOSpecs
) -> None:
    """Raises an error that names the first unfit arguments, if there are any."""
    avals = signature.input_avals
    if len(args) != len(avals):
        raise TypeError(
            f"{signature.name} takes {len(avals)} flat inputs, got {len(args)}"
        )
    for index, arg in enumerate(args):
        if not isinstance(arg, jax.Array) or isinstance(arg, jax.core.Tracer):
            raise ValueError(
                f"{signature.where(index)} must be a jax.Array, got "
                f"{type(arg).__name__}; place it with jax.device_put(x, sharding), "
                "the sharding is in input_shardings"
            )
    misplaced = []
    for position, index in enumerate(signature.kept):
        arg, aval = args[index], avals[index]
        if arg.shape != aval.shape or arg.dtype != aval.dtype:
            raise TypeError(
                f"{signature.where(index)} must be {aval.str_short()}, got "
                f"{jax.typeof(arg).str_short()}; lower the function again for "
                "other types"
            )
        if arg.is_deleted():
            raise RuntimeError(
                f"{signature.where(index)} has been deleted: it was donated to an "
                "earlier call or deleted by hand; use that call's result instead"
            )
        wanted = specs.input_shardings[index]
        if not arg.sharding.is_equivalent_to(wanted, arg.ndim):
            misplaced.append((position, index))
    if misplaced:
        raise ValueError(_misplaced(args, misplaced, signature, specs))
    check_donations(args, signature)


def check_donations(args: Sequence[Any], signature: ProgramSignature) -> None:
    """Raises ValueError if one array is two arguments, one of them donated."""
    owners: dict[int, int] = {}
    for index in signature.kept:
        other = owners.setdefault(id(args[index]), index)
        if other != index and not signature.donated.isdisjoint((other, index)):
            raise ValueError(
                f"{signature.where(other)} and {signature.where(index)} are the same "
                "array, and it is donated; pass a copy for one of them"
            )


def _misplaced(
    args: Sequence[Any],
    indices: Sequence[tuple[int, int]],
    signature: ProgramSignature,
    specs: IOSpecs,
) -> str:
    topology = specs.topology
    lines = [
        f"{signature.name}: {len(indices)} inputs do not have the sharding "
        "that the program expects; place them with jax.device_put(x, sharding), "
        "or lower the function for them"
    ]
    for position, index in indices:
        received = _shardings.describe(args[index].sharding, topology)
        wanted = _shardings.describe(specs.input_shardings[index], topology)
        lines.append(
            f"  input {position} (originally {index}, "
            f"{signature.input_paths[index]}): received {received}, "
            f"expected {wanted}"
        )
    return "\n".join(lines)
