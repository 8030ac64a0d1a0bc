# SPDX-License-Identifier: Apache-2.0
"""Tells whether two functions are the same one, made twice.

They are if they have the same code, and what the code reads is the same: cells,
defaults, attributes and globals, and what the functions among those read in turn.
Arrays, tracers and what libraries define are compared by identity, plain values by
value, lists and dicts by what they hold at the time: the caller that traces a function
describes it before and after, and again at each further call, so that a change is
seen. Other objects may change without that: a function that reads one is like no
other, not even itself.
"""

from __future__ import annotations

import contextlib
import dataclasses
import dis
import functools
import inspect
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import numpy as np

# Their code reads nothing of its own which changes while a program is traced. (What
# JAX reads, its settings, is part of every key beside the description.)
_LIBRARIES = frozenset({"jax", "jaxlib", "meshwright", "numpy", "optax"})
_PURE_MODULES = frozenset(
    {"abc", "builtins", "cmath", "collections.abc", "dataclasses", "enum", "functools"}
    | {"math", "operator", "_functools", "_operator", "types", "typing"}
)
# What in them reads by a name that is computed, or what is outside.
_READERS = frozenset(
    {"__import__", "attrgetter", "dir", "eval", "exec", "getattr", "globals", "input"}
    | {"locals", "methodcaller", "open", "random", "vars"}
)
# What a class of records gets by itself.
_MADE = frozenset(
    {"__delattr__", "__eq__", "__getnewargs__", "__hash__", "__init__", "__new__"}
    | {"__replace__", "__repr__", "__setattr__", "_asdict", "_field_defaults"}
    | {"_fields", "_make", "_replace"}
)
_ATOMS = (bool, int, str, bytes, type(None), type(Ellipsis), type(NotImplemented))
_BY_VALUE = (
    jax.ShapeDtypeStruct,
    jax.sharding.AbstractMesh,
    jax.sharding.Mesh,
    jax.sharding.PartitionSpec,
    jax.sharding.Sharding,
    np.dtype,
    range,
)
_TRANSFORMED = (type(jax.jit(abs)), jax.custom_jvp, jax.custom_vjp)
_CACHED = next((name for name in vars(jax.jit(abs)) if "info" in name), None)
# To look through more takes as long as to trace the function.
_MOST = 2_000


class _Unlike(Exception):
    """Something is read that may change unnoticed, or too much."""


def is_library(module: Any) -> bool:
    return isinstance(module, str) and module.partition(".")[0] in _LIBRARIES


def is_namedtuple(kind: type) -> bool:
    """Whether a class is a `collections.namedtuple` or inherits from one."""
    return issubclass(kind, tuple) and hasattr(kind, "_fields")


@functools.lru_cache(maxsize=4096)
def names_in(code: types.CodeType) -> frozenset[str]:
    """Names of globals and attributes that code has, and that of functions in it."""
    inner = (const for const in code.co_consts if isinstance(const, types.CodeType))
    return frozenset(code.co_names).union(*map(names_in, inner))


def named_in(space: dict[str, Any], names: frozenset[str]) -> list[tuple[str, Any]]:
    """What code with these names may read of a module's globals."""
    return [(name, space[name]) for name in sorted(names & space.keys())]


@functools.lru_cache(maxsize=4096)
def _imports(code: types.CodeType) -> bool:
    return any(
        _imports(operation.argval)
        if isinstance(operation.argval, types.CodeType)
        else operation.opname == "IMPORT_NAME"
        for operation in dis.get_instructions(code)
    )


def _is_of_library(value: Any) -> bool:
    """Whether a library offers this object, which reads nothing else, by its name."""
    module, name = getattr(value, "__module__", None), getattr(value, "__name__", None)
    if not isinstance(name, str) or name in _READERS:
        return False
    if not is_library(module) and module not in _PURE_MODULES:
        return False
    return vars(sys.modules.get(module, sys)).get(name) is value


@functools.lru_cache(maxsize=4096)
def _plain(tree: Any) -> Any:
    """A structure of builtin containers without keys but names, which says it all.

    Raises ValueError for any other, so that the cache keeps no data of users.
    """
    kind, held = tree.node_data() or (None, ())
    names = held if kind is dict else ()
    is_known = kind in (None, list, tuple, dict, type(None))
    if not is_known or any(type(name) is not str for name in names):
        raise ValueError(kind)
    for child in tree.children():
        _plain(child)
    return tree


class _Description:
    """What functions are made of. Keeps all objects alive that it compares by id."""

    def __init__(self):
        self.alive: list[Any] = []
        self._entered: dict[int, int] = {}
        self._count = 0

    def of(self, value: Any) -> Any:
        self._count += 1
        if self._count > _MOST:
            raise _Unlike
        kind = type(value)
        if kind in _ATOMS:
            return kind, value
        if kind in (float, complex):
            return kind, repr(value)  # Which tells -0.0 from 0.0, too.
        if kind in (tuple, frozenset):
            return kind, kind(map(self.of, value))
        if isinstance(value, (jax.Array, np.generic, np.ufunc)):
            return self._same(value)
        if isinstance(value, _BY_VALUE):
            return kind, value
        if _is_of_library(value):
            return self._same(value)
        if id(value) in self._entered:
            return "again", self._entered[id(value)]
        self._entered[id(value)] = len(self._entered)
        self.alive.append(value)
        return kind, *self._parts(kind, value)

    def _same(self, value: Any) -> Any:
        self.alive.append(value)
        return "object", id(value)

    def _parts(self, kind: type, value: Any) -> Iterator[Any]:
        """What makes up an object that is not compared as a whole."""
        if kind is types.FunctionType:
            return self._parts_of_function(value)
        if kind is types.MethodType:
            return map(self.of, (value.__func__, value.__self__))
        if kind in (functools.partial, jax.tree_util.Partial):
            return map(self.of, (value.func, value.args, dict(value.keywords)))
        if kind is list:
            return map(self.of, value)
        if kind is dict:
            return map(self.of, (*value.keys(), *value.values()))
        if kind is slice:
            return map(self.of, (value.start, value.stop, value.step))
        if kind is property:
            return map(self.of, (value.fget, value.fset, value.fdel))
        if kind in (staticmethod, classmethod):
            return iter([self.of(value.__func__)])
        if kind in _TRANSFORMED:
            wrapped = getattr(value, "__wrapped__", None)
            return iter([id(value), self.of(wrapped), self._attributes(value)])
        if kind is type:
            return self._parts_of_class(value)
        is_record = is_namedtuple(kind) and not getattr(value, "__dict__", None)
        if is_record:
            return map(self.of, (kind, tuple(value)))
        parameters = getattr(kind, "__dataclass_params__", None)
        if parameters is None or not parameters.frozen or kind.__bases__ != (object,):
            raise _Unlike
        names = {field.name for field in dataclasses.fields(value)}
        if not names.issuperset(getattr(value, "__dict__", ())):
            raise _Unlike
        fields = {name: getattr(value, name, None) for name in sorted(names)}
        return map(self.of, (kind, fields))

    def _parts_of_function(self, function: types.FunctionType) -> Iterator[Any]:
        names = names_in(function.__code__)
        yield self._same(function.__code__)
        yield self.of(function.__defaults__)
        yield self.of(function.__kwdefaults__)
        yield self._attributes(function)
        for cell in function.__closure__ or ():
            try:
                value = cell.cell_contents
            except ValueError:  # Not assigned yet.
                yield "empty"
            else:
                yield self._read(value, names)
        if is_library(function.__globals__.get("__name__")):
            return
        if names & (_READERS - {"random"}) or _imports(function.__code__):
            raise _Unlike
        for name, value in named_in(function.__globals__, names):
            yield name, self._read(value, names)

    def _attributes(self, function: Any) -> Any:
        own = {k: v for k, v in vars(function).items() if not k.startswith("__")}
        own.pop(_CACHED, None)
        return self.of(own)

    def _read(self, value: Any, names: frozenset[str]) -> Any:
        """A value, or what code with these names may read of a module."""
        if not isinstance(value, types.ModuleType):
            return self.of(value)
        module = value.__name__
        if module in _PURE_MODULES or is_library(module):
            if module == "numpy" and "random" in names:
                raise _Unlike
            return module
        if id(value) in self._entered:
            return "again", self._entered[id(value)]
        self._entered[id(value)] = len(self._entered)
        if "__getattr__" in vars(value):
            raise _Unlike
        read = named_in(vars(value), names)
        return self._same(value), tuple((n, self._read(v, names)) for n, v in read)

    def _parts_of_class(self, kind: type) -> Iterator[Any]:
        yield self._same(kind)
        is_record = is_namedtuple(kind) or hasattr(kind, "__dataclass_params__")
        for base in kind.__mro__[:-1]:
            if base.__module__ in _PURE_MODULES or is_library(base.__module__):
                yield self._same(base)
                continue
            for name, value in vars(base).items():
                is_code = isinstance(
                    value, (types.FunctionType, property, staticmethod)
                )
                is_inert = name.startswith("__") and not is_code
                if is_inert or is_record and name in _MADE:
                    continue
                if is_code or not inspect.isdatadescriptor(value):  # Else a field.
                    yield name, self.of(value)

    def of_tree(self, tree: Any) -> Any:
        """The nodes of a pytree's structure: their classes and what they hold."""
        with contextlib.suppress(TypeError, ValueError):
            return _plain(tree)
        data = tree.node_data()
        kind, held = data or (None, None)
        known = kind is None or kind.__module__ in ("builtins", "collections")
        return (
            self._same(kind) if known else self.of(kind),
            self.of(tuple(held) if isinstance(held, (list, tuple)) else held),
            tuple(map(self.of_tree, tree.children())),
        )


def describe(
    function: Callable[..., Any], tree: Any, static: Sequence[Any]
) -> tuple[Any, list[Any]] | None:
    """Describes a function and all that it reads.

    Args:
      function: any callable.
      tree: structure of its arguments; nodes may hold data of their own.
      static: leaves of the arguments that are no arrays.

    Returns:
      A hashable key, equal for two functions that do the same to arguments of
      equal types, and the objects that must live as long as the key. None if
      something that the function reads may change.
    """
    description = _Description()
    try:
        key = (
            description.of(function),
            description.of_tree(tree),
            tuple(map(description.of, static)),
        )
        hash(key)
    except (_Unlike, TypeError, RecursionError):
        return None
    return key, description.alive
