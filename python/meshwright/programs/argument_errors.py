# SPDX-License-Identifier: Apache-2.0
"""What is wrong with the arguments of a program, in the words of who passed them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax

from ..runtime.program.argument_errors import ArgumentErrors
from ..runtime.program.lost import reason_of
from ..shardings import named as named_shardings
from ..shardings.signature import IOSpecs, ProgramSignature

# How an array gets to devices of other processes.
_OVER_PROCESSES = "mw.distributed.place(mw.fetch(x), sharding) on every process"


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


class InputErrors(ArgumentErrors):
    """Speaks of flat inputs, by their paths, where a program has positions."""

    def __init__(self, signature: ProgramSignature, specs: IOSpecs):
        self._signature, self._specs = signature, specs
        self._first = len(signature.const_args)

    def _index(self, position: int) -> int:
        return self._signature.kept[position - self._first]

    def name(self, position: int) -> str:
        return self._signature.where(self._index(position))

    def count(self, found: int) -> Exception:
        signature = self._signature
        return TypeError(
            f"{signature.name} takes {len(signature.input_avals)} flat inputs, got "
            f"{found}"
        )

    def kind(self, position: int, array: Any) -> Exception:
        if _is_array(array):  # Of keys.
            return self.type(position, array)
        return self.no_array(self._index(position), array)

    def no_array(self, index: int, value: Any) -> Exception:
        """What is not a `jax.Array` as a flat input, used or not."""
        if isinstance(value, jax.core.Tracer):
            return TypeError(
                f"{self._signature.where(index)} is a {type(value).__name__}: the "
                "program was called inside a JAX transformation, or places a value "
                "there; transform the function first and apply meshwright.jit last"
            )
        return ValueError(
            f"{self._signature.where(index)} must be a jax.Array, got "
            f"{type(value).__name__}; place it with jax.device_put(x, sharding), "
            "the sharding is in input_shardings"
        )

    def type(self, position: int, array: Any) -> Exception:
        aval = self._signature.input_avals[self._index(position)]
        return TypeError(
            f"{self.name(position)} must be {aval.str_short()}, got "
            f"{jax.typeof(array).str_short()}; lower the function again for "
            "other types"
        )

    def deleted(self, position: int, failure: str | None) -> Exception:
        if failure is not None:
            return self.lost(position, failure)
        return RuntimeError(
            f"{self.name(position)} has been deleted: it was donated to an "
            "earlier call or deleted by hand; use that call's result instead"
        )

    def misplaced(self, arrays: Any, positions: Sequence[int]) -> Exception:
        signature, topology = self._signature, self._specs.topology
        ways = "compiled.place(...) or jax.device_put(x, sharding)"
        if jax.process_count() > 1:
            ways = _OVER_PROCESSES
        lines = [
            f"{signature.name}: {len(positions)} inputs do not have the sharding "
            f"that the program expects; place them with {ways}, or lower the function "
            "for them"
        ]
        for position in positions:
            index = self._index(position)
            received = named_shardings.describe(arrays[position].sharding, topology)
            wanted = named_shardings.describe(
                self._specs.input_shardings[index], topology
            )
            lines.append(
                f"  input {position - self._first} (originally {index}, "
                f"{signature.input_paths[index]}): received {received}, "
                f"expected {wanted}"
            )
        return ValueError("\n".join(lines))

    def elsewhere(self, index: int, array: Any) -> Exception:
        """An array that this process cannot put where a flat input is expected."""
        wanted, topology = self._specs.input_shardings[index], self._specs.topology
        return ValueError(
            f"{self._signature.where(index)} is "
            f"{named_shardings.describe(array.sharding, topology)}, expected "
            f"{named_shardings.describe(wanted, topology)}, and these devices are of "
            f"several processes; place it with {_OVER_PROCESSES}"
        )

    def check(self, index: int, array: Any) -> None:
        """Raises what is wrong with a flat input of which a program sees pieces."""
        position = self._first + self._signature.kept.index(index)
        aval = self._signature.input_avals[index]
        if not _is_array(array):
            raise self.kind(position, array)
        if array.shape != aval.shape or array.dtype != aval.dtype:
            raise self.type(position, array)
        if array.is_deleted():
            raise self.deleted(position, reason_of(array))
        wanted = self._specs.input_shardings[index]
        if not array.sharding.is_equivalent_to(wanted, array.ndim):
            raise self.misplaced({position: array}, [position])


def _is_array(value: Any) -> bool:
    return isinstance(value, jax.Array) and not isinstance(value, jax.core.Tracer)
