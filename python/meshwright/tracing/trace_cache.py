# SPDX-License-Identifier: Apache-2.0
"""Traces the bodies of annotations, equal ones once per program if that is safe.

What a function closes over is read when it is called. JAX caches traces by
function object, so a body is traced through an object of its own each time. But a
program calls its step once per microbatch, often through a function made again:
`call(jax.value_and_grad(step))`. While a program is traced, what `identity` finds
to be one function therefore shares one trace; the others are traced at every call,
and traces that came out equal share one jaxpr and with it one callee.
"""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import jax
from jax.sharding import AxisType

from ..jaxapi import frontend as compat
from .equal_jaxprs import EqualJaxprs
from .identity import describe
from .nnx_state import Lifted, find, is_stateful
from .static_leaves import (
    is_equinox_module,
    is_module,
    is_static,
    occur_in,
    unwrap,
    wrap_leaves,
)


class _Session:
    """Traces of one program."""

    def __init__(self, trace: Any = None):
        self.traces: dict[Any, tuple[Any, Any]] = {}
        self.jaxprs = EqualJaxprs()
        # Only for programs of plain JAX: which one, and equal jaxprs by function.
        found: dict[int, tuple[Any, EqualJaxprs]] = {}
        self.trace = trace and weakref.ref(trace, lambda _: found.clear())
        self.by_function = found


class _Sessions(threading.local):
    shared: _Session | None = None
    plain: _Session | None = None


_sessions = _Sessions()


@contextlib.contextmanager
def sharing_traces() -> Iterator[None]:
    """While active in this thread, equal functions share their trace."""
    outer = _sessions.shared
    _sessions.shared = _Session()
    try:
        yield
    finally:
        _sessions.shared = outer


def _merge(function: Callable[..., Any], jaxpr: Any) -> Any:
    """The first jaxpr in this program that is equal to this one.

    Under plain JAX, the first of the same function object: nothing is gained from
    looking further, and a printed program stays as its author wrote it.
    """
    if _sessions.shared is not None:
        return _sessions.shared.jaxprs.first(jaxpr)
    trace = compat.outermost_trace()
    if trace is None:  # What is done at once has no program.
        return jaxpr
    session = _sessions.plain
    if session is None or session.trace() is not trace:
        session = _sessions.plain = _Session(trace)
    _, jaxprs = session.by_function.setdefault(id(function), (function, EqualJaxprs()))
    return jaxprs.first(jaxpr)


class Traced(NamedTuple):
    """A function as it was traced for some arguments.

    Attributes:
      jaxpr: the closed jaxpr; it takes the captured values first.
      operands: captured values, then the flat arguments.
      num_captured: how many values it captured from enclosing traces.
      out_tree: structure of the result.
      lifted: the function with the state that it changes, if there is any.
    """

    jaxpr: Any
    operands: list[Any]
    num_captured: int
    out_tree: Any
    lifted: Lifted | None = None

    def again(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Traced | None:
        """What applies the same trace to other arguments of the same types.

        Args:
          args: positional arguments in the trees of those it was traced for. What
            is no array among them must be the same.

        Returns:
          The trace with other operands, or None where the types of the state that
          it carries have changed, so that it has to be retraced.
        """
        is_leaf = None
        if self.lifted is not None:
            if not self.lifted.renew():
                return None
            args, is_leaf = (self.lifted.state, *args), is_stateful
        leaves, tree = jax.tree.flatten((args, kwargs), is_leaf=is_leaf)
        leaves = wrap_leaves(leaves, tree)
        arrays = [compat.snapshot(leaf) for leaf in leaves if not is_static(leaf)]
        operands = [*self.operands[: self.num_captured], *arrays]
        types = [_type_in_any_mesh(operand) for operand in operands]
        if types != [_type_in_any_mesh(operand) for operand in self.operands]:
            return None
        return self._replace(operands=operands)

    def result(self, outs: Sequence[Any]) -> Any:
        """The function's result, with the arrays that the jaxpr gave."""
        result = unwrap(jax.tree.unflatten(self.out_tree, outs))
        if self.lifted is None:
            return result
        result, state = result
        self.lifted.update(state)
        return result


def _type_in_any_mesh(operand: Any) -> Any:
    """A type without its mesh, if all axes are automatic: what was constrained has one,
    and that says nothing."""
    aval = jax.typeof(operand)
    mesh = getattr(getattr(aval, "sharding", None), "mesh", None)
    if mesh is None or any(kind is not AxisType.Auto for kind in mesh.axis_types):
        return aval
    return aval.shape, aval.dtype, aval.weak_type, aval.memory_space


def _type_of(leaf: Any) -> Any:
    return leaf if isinstance(leaf, jax.ShapeDtypeStruct) else jax.typeof(leaf)


def trace(
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: dict[str, Any],
    *,
    scope: str | None = None,
    carry: bool = False,
) -> Traced:
    """Traces a function, or finds the trace of an equal one.

    Args:
      function: the function to trace. Leaves of its arguments and of its result
        that are no arrays are Python values that it gets and gives as they are.
      args: positional arguments, possibly tracers of an enclosing trace.
      scope: name scope of what the function does.
      carry: it is the body of a loop, whose numbers and modules are carried along:
        they are arrays, and copies of modules.

    Returns:
      What is to be applied, to which operands.
    """
    body, lifted, is_leaf = function, None, None
    if not carry and (roots := find(function, (args, kwargs))):
        lifted, is_leaf = Lifted(function, roots), is_stateful
        body, args = lifted.body, (lifted.state, *args)
    leaves, tree = jax.tree.flatten((args, kwargs), is_leaf=is_leaf)
    keeps_numbers = is_equinox_module if carry else is_module
    leaves = wrap_leaves(leaves, tree, keeps_numbers)
    arrays = [compat.snapshot(leaf) for leaf in leaves if not is_static(leaf)]

    def make() -> tuple[Any, list[Any], Any]:
        return _trace(function, body, leaves, tree, scope, is_leaf, keeps_numbers)

    def applied(jaxpr: Any, captured: list[Any], out_tree: Any) -> Traced:
        operands = [*captured, *arrays]
        return Traced(jaxpr, operands, len(captured), out_tree, lifted)

    session = None if lifted else _sessions.shared
    static = [leaf.value for leaf in leaves if is_static(leaf)]
    description = None if session is None else describe(function, tree, static)
    # Boxes may hold something of another type at the next call.
    if description is None or any(map(compat.is_box, arrays)):
        return applied(*make())
    key = (
        description[0],
        keeps_numbers,
        tree,
        tuple(None if is_static(leaf) else _type_of(leaf) for leaf in leaves),
        scope,
        compat.settings(),
    )
    # What captures nothing is the same wherever it is traced.
    enclosing = compat.current_trace()
    found = session.traces.get(key) or session.traces.get((key, id(enclosing)))
    if found is None:
        found = make(), (description[1], enclosing)
        _, captured, out_tree = found[0]
        # What tracing changed must be changed at the next call, too.
        after = describe(function, tree, static)
        unchanged = after is not None and after[0] == description[0]
        if unchanged and not occur_in(out_tree):
            session.traces[(key, id(enclosing)) if captured else key] = found
    return applied(*found[0])


def _trace(
    function: Callable[..., Any],
    body: Callable[..., Any],
    leaves: Sequence[Any],
    tree: Any,
    scope: str | None,
    is_leaf: Callable[[Any], bool] | None,
    keeps_numbers: Callable[[type], bool],
) -> tuple[Any, list[Any], Any]:
    def scoped(*args, **kwargs):
        args, kwargs = unwrap((args, kwargs))
        with jax.named_scope(scope) if scope else contextlib.nullcontext():
            result = body(*args, **kwargs)
        outs, out_tree = jax.tree.flatten(result, is_leaf=is_leaf)
        return jax.tree.unflatten(out_tree, wrap_leaves(outs, out_tree, keeps_numbers))

    args, kwargs = jax.tree.unflatten(tree, leaves)
    jaxpr, captured, out_tree = compat.trace_body(function, scoped, args, kwargs)
    return _merge(function, jaxpr), captured, out_tree
