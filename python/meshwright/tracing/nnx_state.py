# SPDX-License-Identifier: Apache-2.0
"""Carries the state of Flax NNX modules into a traced body and out of it again.

A module is an object whose variables are assigned to. Code inside an annotation
that has a module, as an argument or by closing over it, has the caller's own
object: for the time of the trace its variables hold the body's tracers, which are
operands, and what the body has assigned comes out as further results.

  model.count += 1; y = model(x)        y, count = body(count, x); model.count = count

Flax is not needed for this package: nothing here is reached before it is imported.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import numpy as np

from .captures import captured


def _nnx() -> Any:
    return sys.modules.get("flax.nnx")


def is_stateful(value: Any) -> bool:
    """Whether a value is an NNX module, variable or the like."""
    nnx = _nnx()
    return nnx is not None and isinstance(value, (nnx.Variable, nnx.Pytree))


def find(function: Callable[..., Any], args: Any) -> list[Any]:
    """NNX objects among the arguments of a function, and that it closes over."""
    if _nnx() is None:
        return []
    leaves = jax.tree.leaves(args, is_leaf=is_stateful)
    given = [leaf for leaf in leaves if is_stateful(leaf)]
    others = [leaf for leaf in leaves if callable(leaf) and not is_stateful(leaf)]
    return captured([*given, function, *others], is_stateful)


def _graph(roots: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """All variables, and all other NNX objects, that can be reached from some."""
    variables, nodes = [], []
    nnx = _nnx()
    for _, value in nnx.iter_graph(list(roots), graph=True):
        if isinstance(value, nnx.Variable):
            variables.append(value)
        elif isinstance(value, nnx.Pytree):
            nodes.append(value)
    return variables, nodes


def _is_own(variable: Any) -> bool:
    """Whether Flax lets the code that runs now assign to a variable."""
    return variable._trace_state.is_valid()


class _Values:
    """What variables hold. A node of its own: numbers in it stay numbers."""

    def __init__(self, values: Sequence[Any]):
        self.values = list(values)


def _numbers(values: Sequence[Any]) -> list[Any]:
    """What of the values of variables is no array."""
    arrays = (jax.Array, np.ndarray, np.generic)
    return [leaf for leaf in jax.tree.leaves(values) if not isinstance(leaf, arrays)]


jax.tree_util.register_pytree_node(
    _Values, lambda node: (node.values, None), lambda _, values: _Values(values)
)


class Lifted:
    """A function with the state of NNX objects among its arguments and results.

    Attributes:
      state: what the variables hold; the first argument of `body`.
    """

    def __init__(self, function: Callable[..., Any], roots: Sequence[Any]):
        self._function = function
        self._roots = roots
        variables, nodes = _graph(roots)
        for variable in variables:
            if variable.hijax:
                raise NotImplementedError(
                    f"an annotated function uses a {type(variable).__name__} that is "
                    "a hijax value; annotations carry the state of ordinary variables "
                    "only, create it with hijax=False"
                )
        # What belongs to an outer trace must not be assigned to from here: Flax
        # says so when the body tries.
        own = [v for v in variables if _is_own(v)]
        # References are written to in place, by their users.
        self._variables = [v for v in own if not v.ref]
        self._references = [v for v in own if v.ref]
        self._nodes = [n for n in nodes if n._pytree__state.trace_state.is_valid()]
        self._changed: list[Any] = []
        self._reached = [*variables, *nodes]
        self._values = [v.get_raw_value() for v in self._variables]
        self._level = _trace_state()
        self.state = _Values(self._values)

    def body(self, state: _Values, *args: Any, **kwargs: Any) -> Any:
        """What is to be traced: (state, arguments) to (result, changed state)."""
        touched, nodes = [*self._variables, *self._references], list(self._nodes)
        _set_level(touched, nodes, _trace_state())
        for variable, value in zip(self._variables, state.values, strict=True):
            _assign(variable, value)
        try:
            result = self._function(*args, **kwargs)
            results = jax.tree.leaves(result, is_leaf=is_stateful)
            given = {
                id(variable): value
                for variable, value in zip(self._variables, state.values, strict=True)
            }
            # Variables may have been added, and whole modules made.
            reached, more = _graph([*self._roots, *filter(is_stateful, results)])
            touched += filter(_is_own, reached)
            nodes += [n for n in more if n._pytree__state.trace_state.is_valid()]
            self._changed = [
                variable
                for variable in {id(v): v for v in touched}.values()
                if not variable.ref
                and variable.get_raw_value() is not given.get(id(variable), given)
            ]
            return result, _Values(v.get_raw_value() for v in self._changed)
        finally:
            _set_level(touched, nodes, self._level)
            for variable, value in zip(self._variables, self._values, strict=True):
                _assign(variable, value)

    def renew(self) -> bool:
        """Reads the state again, for one more application of the traced body.

        Returns:
          Whether it is made of the same variables as when the body was traced, and
          of the same Python values, which are a part of what was traced.
        """
        variables, nodes = _graph(self._roots)
        values = [v.get_raw_value() for v in self._variables]
        before = [*self._reached, *_numbers(self._values)]
        after = [*variables, *nodes, *_numbers(values)]
        self._values, self.state = values, _Values(values)
        return list(map(id, before)) == list(map(id, after))

    def held(self) -> list[Any]:
        """What the variables hold now that are there without the function, too."""
        return [v.get_raw_value() for v in _graph(self._roots)[0]]

    def update(self, values: _Values) -> None:
        """Assigns what the body gave as changed state, in the caller's trace."""
        for variable, value in zip(self._changed, values.values, strict=True):
            _assign(variable, value)


def returning_changes(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """A function that raises an error where state of its arguments would be lost.

    What `jit` gives to a function are copies of the caller's modules. A change of
    their state is lost with them, unless it is part of the result.
    """

    @functools.wraps(function)
    def checked(*args, **kwargs):
        if _nnx() is None:
            return function(*args, **kwargs)
        before = [
            (where, variable, variable.get_raw_value())
            for what, given in (("args", args), ("kwargs", kwargs))
            for where, variable in _variables_of_modules(what, given)
        ]
        result = function(*args, **kwargs)
        returned = {id(leaf) for leaf in jax.tree.leaves(result)} if before else ()
        for where, variable, value in before:
            new = variable.get_raw_value()
            if new is not value and id(new) not in returned:
                raise ValueError(
                    f"{name}: changes {where} ({type(variable).__name__}), which it "
                    "got as a copy, as under jax.jit, and does not return: the "
                    "change would be lost; use meshwright.nnx.jit, which updates the "
                    "caller's modules, or return the module"
                )
        return result

    return checked


def _variables_of_modules(what: str, given: Any) -> Iterator[tuple[str, Any]]:
    nnx = _nnx()
    leaves = jax.tree.leaves_with_path(given, is_leaf=is_stateful)
    for path, module in leaves:
        if isinstance(module, nnx.Pytree):
            for inner, value in nnx.iter_graph(module, graph=True):
                if isinstance(value, nnx.Variable):
                    where = ".".join(
                        [what + jax.tree_util.keystr(path), *map(str, inner)]
                    )
                    yield where, value


def _trace_state() -> Any:
    """What Flax compares to tell in which trace an object was made."""
    return sys.modules["flax.nnx.tracers"].TraceState()


def _set_level(variables: Sequence[Any], nodes: Sequence[Any], level: Any) -> None:
    for holder in (*variables, *(node._pytree__state for node in nodes)):
        object.__setattr__(holder, "_trace_state", level)


def _assign(variable: Any, value: Any) -> None:
    # Like set_raw_value, without its check of the level, which is in between.
    object.__setattr__(variable, "_raw_value", value)
