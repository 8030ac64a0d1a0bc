# SPDX-License-Identifier: Apache-2.0
"""Traces equal functions once per program.

A program calls its step once per microbatch, often through a function object
made anew each time: `call(jax.value_and_grad(step))`. JAX caches traces by
function object and would trace and lower such a step once per microbatch. Two
functions of the same code whose free variables are the same objects do the same,
so while a program is traced, they share one jaxpr, and with it one callee.
"""

from __future__ import annotations

import contextlib
import functools
import threading
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax

from . import _jax_compat as compat

_VALUES = (bool, int, float, complex, str, bytes, type(None))

_session = threading.local()


class _Fingerprint:
    """What a function depends on. Keeps all objects alive that it compares by id."""

    def __init__(self, function: Callable[..., Any]):
        self._alive: list[Any] = []
        self._entered: set[int] = set()
        self.key = self._of(function)

    def _of(self, value: Any) -> Any:
        if isinstance(value, _VALUES):
            return type(value), value
        if isinstance(value, tuple) and type(value) is tuple:
            return tuple(map(self._of, value))
        if isinstance(value, functools.partial) and id(value) not in self._entered:
            self._entered.add(id(value))
            named = tuple((name, self._of(v)) for name, v in value.keywords.items())
            return "partial", self._of(value.func), self._of(value.args), named
        if isinstance(value, types.MethodType):
            return "method", self._of(value.__func__), self._same(value.__self__)
        if isinstance(value, types.FunctionType) and id(value) not in self._entered:
            self._entered.add(id(value))
            return self._of_function(value)
        return self._same(value)

    def _same(self, value: Any) -> Any:
        self._alive.append(value)
        return "object", id(value)

    def _of_function(self, function: types.FunctionType) -> Any:
        attributes = {k: v for k, v in vars(function).items() if k != "__wrapped__"}
        named = {**(function.__kwdefaults__ or {}), **attributes}
        return (
            self._same(function.__code__),
            self._same(function.__globals__),
            tuple(map(self._of_cell, function.__closure__ or ())),
            self._of(function.__defaults__),
            tuple((name, self._of(v)) for name, v in named.items()),
        )

    def _of_cell(self, cell: types.CellType) -> Any:
        try:
            return self._of(cell.cell_contents)
        except ValueError:  # Not assigned yet.
            return "empty"


@contextlib.contextmanager
def sharing_traces() -> Iterator[None]:
    """While active in this thread, equal functions share their trace."""
    outer = getattr(_session, "traces", None)
    _session.traces = {}
    try:
        yield
    finally:
        _session.traces = outer


def _type_of(leaf: Any) -> Any:
    return leaf if isinstance(leaf, jax.ShapeDtypeStruct) else jax.typeof(leaf)


def trace(
    function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]
) -> tuple[Any, list[Any], list[Any], Any]:
    """Traces a function, or finds the trace of an equal one.

    Args:
      function: the function to trace; its arguments are pytrees of arrays.
      args: positional arguments, possibly tracers of an enclosing trace.
      kwargs: keyword arguments.

    Returns:
      The closed jaxpr, the values that it captured from enclosing traces, the
      flat arguments, and the tree of the result. The jaxpr takes the captured
      values first.
    """
    traces = getattr(_session, "traces", None)
    if traces is None:
        return compat.trace_body(function, args, kwargs)
    fingerprint = _Fingerprint(function)
    flat, tree = jax.tree.flatten((args, kwargs))
    enclosing = compat.current_trace()
    key = (
        fingerprint.key,
        tree,
        tuple(map(_type_of, flat)),
        id(enclosing),
        compat.trace_context(),
    )
    if key not in traces:
        jaxpr, captured, _, out_tree = compat.trace_body(function, args, kwargs)
        traces[key] = jaxpr, captured, out_tree, (fingerprint, enclosing)
    jaxpr, captured, out_tree, _ = traces[key]
    return jaxpr, captured, flat, out_tree
