# SPDX-License-Identifier: Apache-2.0
"""Traces the bodies of annotations, equal ones once per program if that is safe.

What a function closes over is read when it is called. JAX caches traces by
function object, so a body is traced through an object of its own each time. But a
program calls its step once per microbatch, often through a function made anew:
`call(jax.value_and_grad(step))`. While a program is traced, functions that read
nothing that can change (`_immutable`) therefore share one trace; the others are
traced at every call, and traces that came out equal share one jaxpr and with it
one callee.
"""

from __future__ import annotations

import contextlib
import dataclasses
import threading
import weakref
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax

from . import _jax_compat as compat
from ._equal_jaxprs import EqualJaxprs
from ._immutable import describe, is_namedtuple
from ._nnx_state import Lifted, find, is_stateful


class _Session:
    """Traces of one program."""

    def __init__(self, trace: Any = None):
        self.traces: dict[Any, tuple[Any, Any]] = {}
        self.jaxprs = EqualJaxprs()
        # Only for programs of plain JAX: which one, and equal jaxprs by function.
        self.trace = trace and weakref.ref(trace)
        self.by_function: dict[int, tuple[Any, EqualJaxprs]] = {}


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
    session = _sessions.plain
    if session is None or session.trace() is not trace:
        session = _sessions.plain = _Session(trace)
    _, jaxprs = session.by_function.setdefault(id(function), (function, EqualJaxprs()))
    return jaxprs.first(jaxpr)


class _Static:
    """A leaf that is no array: a Python value that stays what it is."""

    def __init__(self, value: Any):
        self.value = value


# To JAX a node without children, whose identity is all that counts.
jax.tree_util.register_pytree_node(
    _Static, lambda static: ((), static), lambda static, _: static
)


def _is_static(leaf: Any) -> bool:
    return isinstance(leaf, _Static)


def _unwrap(tree: Any) -> Any:
    return jax.tree.map(
        lambda leaf: leaf.value if _is_static(leaf) else leaf, tree, is_leaf=_is_static
    )


_NUMBERS = (bool, int, float, complex)
_CONTAINERS = (tuple, list, dict, OrderedDict, defaultdict, type(None))


def _inside_modules(tree: Any, inside: bool = False) -> list[bool]:
    """For every leaf whether a node above it is of a class that is no container."""
    data = tree.node_data()
    if data is None:
        return [inside] * tree.num_leaves
    kind = data[0]
    inside = inside or not (kind in _CONTAINERS or is_namedtuple(kind))
    return [
        flag for child in tree.children() for flag in _inside_modules(child, inside)
    ]


def _is_array(leaf: Any) -> bool:
    if isinstance(leaf, (jax.Array, jax.ShapeDtypeStruct)):
        return True
    try:
        jax.typeof(leaf)
    except TypeError:
        return False
    return True


def _wrap_static(leaves: Sequence[Any], tree: Any) -> list[Any]:
    """Wraps the leaves that are no arrays.

    Numbers in tuples, lists and dicts are arrays to JAX. In a module they are a
    part of the program, such as its number of layers, and stay numbers.
    """
    inside = None
    wrapped = []
    for index, leaf in enumerate(leaves):
        static = is_stateful(leaf) or not _is_array(leaf)
        if not static and isinstance(leaf, _NUMBERS):
            inside = _inside_modules(tree) if inside is None else inside
            static = inside[index]
        wrapped.append(_Static(leaf) if static else leaf)
    return wrapped


@dataclasses.dataclass(frozen=True)
class Traced:
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

    def result(self, outs: Sequence[Any]) -> Any:
        """The function's result, with the arrays that the jaxpr gave."""
        result = _unwrap(jax.tree.unflatten(self.out_tree, outs))
        if self.lifted is None:
            return result
        result, state = result
        self.lifted.update(state)
        return result


def _type_of(leaf: Any) -> Any:
    return leaf if isinstance(leaf, jax.ShapeDtypeStruct) else jax.typeof(leaf)


def trace(
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: dict[str, Any],
    *,
    scope: str | None = None,
    lift: bool = True,
) -> Traced:
    """Traces a function, or finds the trace of an equal one.

    Args:
      function: the function to trace. Leaves of its arguments and of its result
        that are no arrays are Python values that it gets and gives as they are.
      args: positional arguments, possibly tracers of an enclosing trace.
      kwargs: keyword arguments.
      scope: name scope of what the function does.
      lift: carry the state of NNX modules that it changes out of it.

    Returns:
      What is to be applied, to which operands.
    """
    if lift and (roots := find(function, (args, kwargs))):
        lifted = Lifted(function, roots)
        return _trace_lifted(lifted, function, (lifted.state, *args), kwargs, scope)
    leaves, tree = jax.tree.flatten((args, kwargs))
    leaves = _wrap_static(leaves, tree)
    arrays = [compat.snapshot(leaf) for leaf in leaves if not _is_static(leaf)]
    session = _sessions.shared
    static = [leaf.value for leaf in leaves if _is_static(leaf)]
    description = None if session is None else describe(function, tree, static)
    if description is None:
        jaxpr, captured, out_tree = _trace(function, leaves, tree, scope)
        return Traced(jaxpr, [*captured, *arrays], len(captured), out_tree)
    key = (
        description[0],
        tree,
        tuple(None if _is_static(leaf) else _type_of(leaf) for leaf in leaves),
        scope,
        compat.trace_context(),
    )
    # What captures nothing is the same wherever it is traced.
    enclosing = compat.current_trace()
    found = session.traces.get(key) or session.traces.get((key, id(enclosing)))
    if found is None:
        jaxpr, captured, out_tree = _trace(function, leaves, tree, scope)
        found = (jaxpr, captured, out_tree), (description[1], enclosing)
        if describe(function, tree, static) == description and not _has_static(
            out_tree
        ):
            session.traces[(key, id(enclosing)) if captured else key] = found
    jaxpr, captured, out_tree = found[0]
    return Traced(jaxpr, [*captured, *arrays], len(captured), out_tree)


def _trace_lifted(
    lifted: Lifted,
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: dict[str, Any],
    scope: str | None,
) -> Traced:
    leaves, tree = jax.tree.flatten((args, kwargs), is_leaf=is_stateful)
    leaves = _wrap_static(leaves, tree)
    arrays = [compat.snapshot(leaf) for leaf in leaves if not _is_static(leaf)]
    jaxpr, captured, out_tree = _trace(
        function, leaves, tree, scope, body=lifted.body, is_leaf=is_stateful
    )
    return Traced(jaxpr, [*captured, *arrays], len(captured), out_tree, lifted)


def _has_static(tree: Any) -> bool:
    data = tree.node_data()
    if data is None:
        return False
    return data[0] is _Static or any(map(_has_static, tree.children()))


def _trace(
    function: Callable[..., Any],
    leaves: Sequence[Any],
    tree: Any,
    scope: str | None,
    body: Callable[..., Any] | None = None,
    is_leaf: Callable[[Any], bool] | None = None,
) -> tuple[Any, list[Any], Any]:
    body = body or function

    def scoped(*args, **kwargs):
        args, kwargs = _unwrap((args, kwargs))
        with jax.named_scope(scope) if scope else contextlib.nullcontext():
            result = body(*args, **kwargs)
        outs, out_tree = jax.tree.flatten(result, is_leaf=is_leaf)
        return jax.tree.unflatten(out_tree, _wrap_static(outs, out_tree))

    args, kwargs = jax.tree.unflatten(tree, leaves)
    jaxpr, captured, out_tree = compat.trace_body(function, scoped, args, kwargs)
    return _merge(function, jaxpr), captured, out_tree
