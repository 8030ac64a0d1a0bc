# SPDX-License-Identifier: Apache-2.0
"""Calls of Python functions in the modules of fragments."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from ...jaxapi import runtime as jax_runtime
from .errors import FragmentError

ir = jax_runtime.ir


class PythonCalls(NamedTuple):
    """How a module calls Python functions; its executable is for one fragment.

    Attributes:
      any: whether it does.
      functions: how many functions there have to be for those that it calls by number.
      by_number: whether all that it calls are given when it is loaded. Others are
        addresses, or objects of a backend, of one process.
      effects: whether a call has effects beside its results, as `jax.pure_callback` has
        none.
    """

    any: bool
    functions: int
    by_number: bool
    effects: bool

    def __bool__(self) -> bool:
        return self.any


def find_python_calls(operations: Iterable[Any]) -> PythonCalls:
    """Those among custom calls, sends and receives.

    JAX calls functions by custom calls; on TPUs, by pairs of transfers with the host.
    """
    numbers: list[int | None] = []
    effects = False
    for op in operations:
        if op.name == "stablehlo.custom_call":
            target = ir.StringAttr(op.attributes["call_target_name"]).value
            if _is_callback(target):
                numbers.append(_number(op))
                effect = op.attributes.get("has_side_effect")
                effects |= effect is not None and ir.BoolAttr(effect).value
        else:
            with_host = op.attributes.get("is_host_transfer")
            if with_host is not None and ir.BoolAttr(with_host).value:
                numbers.append(None)
                effects = True  # Of which kind it is, a transfer does not say.
    known = [number for number in numbers if number is not None]
    return PythonCalls(
        bool(numbers),
        max(known, default=-1) + 1,
        len(known) == len(numbers),
        effects,
    )


def _is_callback(target: str) -> bool:
    """Whether a custom call has the name of JAX's for callbacks on some backend."""
    kind = target.removeprefix("xla_").removeprefix("ffi_").removeprefix("partitioned_")
    return (
        target.startswith("xla_")
        and kind.startswith("python_")
        and kind.endswith("callback")
    )


def _number(op: Any) -> int | None:
    """The position of the function that a call has."""
    for key in ("backend_config", "mhlo.backend_config"):
        config = op.attributes.get(key)
        if isinstance(config, ir.DictAttr) and "index" in config:
            return ir.IntegerAttr(config["index"]).value
    return None


def name_errors(callback: Callable, where: str) -> Callable:
    """The callback, whose exceptions say where in the program they happened."""

    def named(*args):
        try:
            return callback(*args)
        except Exception as error:
            text = f"{where} failed: {type(error).__name__}: {error}"
            raise FragmentError(text) from error

    return named
