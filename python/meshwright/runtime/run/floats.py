# SPDX-License-Identifier: Apache-2.0
"""`jax_debug_nans` and `jax_debug_infs` for programs of many fragments.

`jax.jit` looks at its results and raises FloatingPointError if they have a NaN. So
does a program, which also looks at the results of every fragment to name the one
that made it. Values that no result depends on may be NaN, as under `jax.jit`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..program.steps import Launch, Step


class FloatChecks:
    """Looks for NaNs and infinities in one run; waits for every fragment."""

    def __init__(self, kinds: Sequence[str]):
        self.kinds = kinds
        self.makers: dict[str, str] = {}

    @staticmethod
    def wanted() -> FloatChecks | None:
        """Checks of what JAX's configuration asks for, if it asks for any."""
        nans, infs = jax.config.jax_debug_nans, jax.config.jax_debug_infs
        if not (nans or infs):
            return None
        return FloatChecks(["nan"] * bool(nans) + ["inf"] * bool(infs))

    def start(self, inputs: Iterable[Any]) -> None:
        """Looks at the arguments of the program."""
        for position, array in enumerate(inputs):
            for kind in self._found([array]):
                self.makers.setdefault(kind, f"argument {position} of the program")

    def after(self, step: Step, slots: Sequence[Any]) -> None:
        """Looks at what a step has just made."""
        if isinstance(step, Launch) and step.fragment:
            for kind in self._found(slots[slot] for slot in step.writes):
                self.makers.setdefault(kind, step.what)

    def finish(self, outputs: Sequence[Any]) -> None:
        """Raises FloatingPointError if a result of the program has what is sought."""
        for kind in self._found(outputs):
            maker = self.makers.get(kind, "the program")
            raise FloatingPointError(
                f"invalid value ({kind}) encountered in {maker}; call the function "
                "without meshwright.jit to find the operation"
            )

    def _found(self, arrays: Iterable[Any]) -> list[str]:
        shards = [
            shard
            for array in arrays
            if array is not None and jnp.issubdtype(array.dtype, jnp.inexact)
            for shard in array.addressable_shards
        ]
        tests = {"nan": np.isnan, "inf": np.isinf}
        with jax.transfer_guard("allow"):
            return [
                kind
                for kind in self.kinds
                if any(tests[kind](np.asarray(shard.data)).any() for shard in shards)
            ]
