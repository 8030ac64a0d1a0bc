# SPDX-License-Identifier: Apache-2.0
"""Proves that what a function reads cannot change, and describes it.

Two functions made anew for each microbatch do the same if their code is the same
and all that the code reads is: cells, defaults, attributes, globals, and what
these read in turn. Values that cannot change are compared by value, arrays and
tracers by identity, functions and classes by what they consist of, lists and dicts
by what they hold at the time: who traces a function describes it before and behind,
and at each further call. Everything else may change between two calls: NumPy arrays,
iterators, ordinary instances. A function that reads such a thing has no description,
and neither has one that writes to what others read.
"""

from __future__ import annotations

import abc
import builtins
import dataclasses
import dis
import enum
import functools
import sys
import types
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import jax
import numpy as np


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Code that reads nothing of its own which changes while a program is traced.
# (What JAX reads, its settings, is part of every key beside the description.)
_LIBRARIES = frozenset({"jax", "jaxlib", "meshwright", "optax"})
_PURE_MODULES = _words(
    "abc cmath collections.abc dataclasses enum functools _functools math operator "
    "_operator typing"
)
_PURE_BUILTINS = _words(
    "abs all any bool bytes callable chr complex dict divmod enumerate filter float "
    "format frozenset hash int isinstance issubclass iter len list map max min next "
    "object ord pow range repr reversed round set slice sorted str sum super tuple "
    "type zip property staticmethod classmethod NotImplemented Ellipsis "
    "__build_class__"
)
_PURE_NUMPY = _words(
    "arange array asarray concatenate cumsum diag dot eye full linspace mean ones "
    "outer prod reshape result_type shape sort stack sum transpose tri tril triu "
    "zeros finfo iinfo issubdtype dtype newaxis"
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
_PJIT_INFO = next((k for k in vars(jax.jit(abs)) if "info" in k), None)
_SLOTS = (
    types.MemberDescriptorType,
    types.GetSetDescriptorType,
    types.WrapperDescriptorType,
    types.MethodDescriptorType,
    types.ClassMethodDescriptorType,
    type(vars(dataclasses.make_dataclass("_", ()))["__dict__"]),
)
# Attributes of a class that none of its code depends on.
_INERT = _words(
    "__abstractmethods__ __annotations__ __dataclass_fields__ __dataclass_params__ "
    "__dict__ __doc__ __firstlineno__ __match_args__ __module__ __name__ "
    "__orig_bases__ __parameters__ __qualname__ __slots__ __static_attributes__ "
    "__weakref__ _abc_impl"
)
_NAMEDTUPLE = _words(
    "_asdict _field_defaults _fields _make _replace __getnewargs__ __new__ __repr__"
)
_OF_MEMBERS = _words("_value_ _name_ __objclass__ _sort_order_")
_WRITES = ("STORE_GLOBAL", "DELETE_GLOBAL", "IMPORT_NAME")
_MOST_ENTRIES = 10_000
_CONTAINERS = (tuple, list, dict, OrderedDict, defaultdict, type(None))


Chains = Iterable[tuple[str, ...]]
_MISSING = object()


class _Changes(Exception):
    """Something that may change between two calls is read."""


@dataclasses.dataclass
class Reads:
    """What code reads from outside: names, each with chains of attributes."""

    found: dict[str, set[tuple[str, ...]]]
    free: dict[str, set[tuple[str, ...]]]
    writes: bool = False


@functools.lru_cache(maxsize=4096)
def reads_of(code: types.CodeType) -> Reads:
    reads = Reads({}, {})
    before, chain, chains = "", (), None
    for instruction in dis.get_instructions(code):
        name, value = instruction.opname, instruction.argval
        if name in ("EXTENDED_ARG", "PRECALL", "CACHE", "PUSH_NULL"):
            continue
        if chains is not None and name in ("LOAD_ATTR", "LOAD_METHOD"):
            chain = (*chain, value)
            before = name
            continue
        if chains is not None:
            chains.add(chain)
        chain, chains = (), None
        if name in ("LOAD_GLOBAL", "LOAD_NAME"):
            chains = reads.found.setdefault(value, set())
        elif name in ("LOAD_DEREF", "LOAD_CLASSDEREF"):
            chains = reads.free.setdefault(value, set())
        elif name in ("STORE_ATTR", "DELETE_ATTR"):
            # Local objects are nobody else's; what is shared is loaded otherwise.
            reads.writes |= not before.startswith("LOAD_FAST")
        elif name in ("STORE_DEREF", "DELETE_DEREF"):
            reads.writes |= value in code.co_freevars
        else:
            reads.writes |= name in _WRITES
        before = name
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            inner = reads_of(const)
            for mine, others in ((reads.found, inner.found), (reads.free, inner.free)):
                for name, more in others.items():
                    mine.setdefault(name, set()).update(more)
            reads.writes |= inner.writes
    return reads


def _top(module: str) -> str:
    return module.partition(".")[0]


def is_library(module: Any) -> bool:
    return isinstance(module, str) and _top(module) in _LIBRARIES


def _is_pure(module: Any) -> bool:
    return is_library(module) or module in _PURE_MODULES


def _belongs_to_library(value: Any) -> bool:
    """Whether a library offers this object under its own name."""
    if not isinstance(value, (types.FunctionType, type)) and not is_library(
        type(value).__module__
    ):
        return False
    module = getattr(value, "__module__", None)
    if not is_library(module) or module not in sys.modules:
        return False
    name = getattr(value, "__name__", None)
    return isinstance(name, str) and vars(sys.modules[module]).get(name) is value


def is_namedtuple(kind: type) -> bool:
    """Whether a class is a `collections.namedtuple` or inherits from one."""
    return issubclass(kind, tuple) and hasattr(kind, "_fields")


class _Description:
    """What values consist of. Keeps all objects alive that it compares by id."""

    def __init__(self):
        self.alive: list[Any] = []
        self._entered: dict[int, int] = {}
        self._entries = 0  # Of lists and dicts.

    def of(self, value: Any) -> Any:
        kind = type(value)
        if kind in _ATOMS:
            return kind, value
        if kind is float:
            return kind, value.hex()
        if kind is complex:
            return kind, value.real.hex(), value.imag.hex()
        if kind in (tuple, frozenset):
            return kind, kind(map(self.of, value))
        if isinstance(value, jax.Array):
            return self._same(value)
        if isinstance(value, np.generic):
            return kind, value.dtype, value.tobytes()
        if isinstance(value, _BY_VALUE):
            return kind, value
        if isinstance(value, types.BuiltinFunctionType):
            return self._of_builtin(value)
        if isinstance(value, np.ufunc) or _belongs_to_library(value):
            return self._same(value)
        return self._of_compound(value)

    def _of_compound(self, value: Any) -> Any:
        kind = type(value)
        if id(value) in self._entered:
            return "again", self._entered[id(value)]
        self._entered[id(value)] = len(self._entered)
        self.alive.append(value)
        if kind is types.FunctionType:
            return self._of_function(value)
        if kind is types.MethodType:
            return "method", self.of(value.__func__), self.of(value.__self__)
        if kind in (functools.partial, jax.tree_util.Partial):
            named = tuple((name, self.of(v)) for name, v in value.keywords.items())
            return kind, self.of(value.func), self.of(value.args), named
        if kind in (list, dict):
            return self._of_container(kind, value)
        if kind is slice:
            return kind, self.of((value.start, value.stop, value.step))
        if kind in (staticmethod, classmethod):
            return kind, self.of(value.__func__)
        if kind is property:
            return kind, self.of((value.fget, value.fset, value.fdel))
        if kind in _TRANSFORMED:
            wrapped = self.of(getattr(value, "__wrapped__", None))
            return "transformed", id(value), wrapped, self._of_attributes(value)
        if isinstance(value, type):
            return self._of_class(value)
        return self._of_instance(value)

    def _of_container(self, kind: type, value: Any) -> Any:
        """What a container holds now; the next description says whether it does yet."""
        self._entries += len(value)
        if self._entries > _MOST_ENTRIES:
            raise _Changes  # To look through it each time is no quicker.
        if kind is dict:
            return kind, tuple((self.of(k), self.of(v)) for k, v in value.items())
        return kind, tuple(map(self.of, value))

    def _same(self, value: Any) -> Any:
        self.alive.append(value)
        return "object", id(value)

    def _of_builtin(self, value: Any) -> Any:
        module = value.__module__
        pure = value.__name__ in _PURE_BUILTINS if module == "builtins" else False
        if pure or module in _PURE_MODULES or _belongs_to_library(value):
            return self._same(value)
        raise _Changes

    def _of_function(self, function: types.FunctionType) -> Any:
        named = function.__kwdefaults__ or {}
        module = function.__globals__.get("__name__")
        reads = None if _is_pure(module) else reads_of(function.__code__)
        if reads is not None and reads.writes:
            raise _Changes
        names = function.__code__.co_freevars
        return (
            self._same(function.__code__),
            tuple(
                self._of_cell(cell, () if reads is None else reads.free.get(name, ()))
                for name, cell in zip(names, function.__closure__ or (), strict=True)
            ),
            self.of(function.__defaults__),
            tuple((name, self.of(value)) for name, value in named.items()),
            self._of_attributes(function),
            module if reads is None else self._of_globals(function, reads),
        )

    def _of_attributes(self, function: Any) -> Any:
        return tuple(
            (name, self.of(value))
            for name, value in vars(function).items()
            if name not in _INERT and name != _PJIT_INFO
        )

    def _of_cell(self, cell: types.CellType, chains: Chains) -> Any:
        try:
            value = cell.cell_contents
        except ValueError:  # Not assigned yet.
            return "empty"
        if isinstance(value, types.ModuleType):
            return self._of_module(value, chains)
        return self.of(value)

    def _of_globals(self, function: types.FunctionType, reads: Reads) -> Any:
        found = []
        for name, chains in reads.found.items():
            if name in function.__globals__:
                value = function.__globals__[name]
                if isinstance(value, types.ModuleType):
                    found.append((name, self._of_module(value, chains)))
                else:
                    found.append((name, self.of(value)))
            elif name in _PURE_BUILTINS or _is_exception(name):
                found.append((name, "builtin"))
            else:
                raise _Changes
        return tuple(found)

    def _of_module(self, module: types.ModuleType, chains: Chains) -> Any:
        """What code reads of a module: values behind chains of attributes."""
        name = module.__name__
        if _is_pure(name):
            return name
        found = []
        for chain in sorted(chains):
            if not chain or "__getattr__" in vars(module) and name != "numpy":
                raise _Changes
            value = vars(module).get(chain[0], _MISSING)
            if isinstance(value, types.ModuleType):
                found.append((chain, self._of_module(value, {chain[1:]})))
            elif name == "numpy" and _is_pure_numpy(chain[0], value):
                found.append((chain, self._same(value)))
            else:
                found.append((chain, self.of(value)))
        return self._same(module), tuple(found)

    def _of_class(self, kind: type) -> Any:
        if type(kind) not in (type, abc.ABCMeta, enum.EnumMeta):
            raise _Changes
        parts = []
        for base in kind.__mro__:
            module = base.__module__
            if module in ("builtins", "numpy") or _is_pure(module):
                parts.append(self._same(base))
            else:
                parts.append(self._of_class_body(base))
        return self._same(kind), tuple(parts)

    def _of_class_body(self, kind: type) -> Any:
        inert = set(_INERT)
        if kind.__bases__ == (tuple,):
            inert |= _NAMEDTUPLE
        parameters = vars(kind).get("__dataclass_params__")
        if parameters is not None and parameters.repr:
            inert.add("__repr__")
        found = []
        for name, value in vars(kind).items():
            if name in inert or isinstance(value, _SLOTS) or _is_field(value):
                continue
            if isinstance(kind, enum.EnumMeta) and _is_enum_part(kind, name):
                continue
            found.append((name, self.of(value)))
        if isinstance(kind, enum.EnumMeta):
            found += [(name, self.of(m)) for name, m in kind.__members__.items()]
        return tuple(found)

    def _of_instance(self, value: Any) -> Any:
        kind = type(value)
        if kind is object:
            return self._same(value)
        if is_namedtuple(kind) and not getattr(value, "__dict__", None):
            return self.of(kind), tuple(map(self.of, value))
        if isinstance(value, enum.Enum):
            own = [(k, v) for k, v in vars(value).items() if k not in _OF_MEMBERS]
            return self.of(kind), value.name, self.of(value.value), self.of(tuple(own))
        parameters = getattr(kind, "__dataclass_params__", None)
        if parameters is None or not parameters.frozen:
            raise _Changes
        if any(b.__module__ == "builtins" and b is not object for b in kind.__mro__):
            raise _Changes  # A list that is a dataclass, too.
        names = [field.name for field in dataclasses.fields(value)]
        stored = getattr(value, "__dict__", {})
        if not set(stored) <= set(names):
            raise _Changes
        fields = tuple((n, self.of(getattr(value, n, None))) for n in names)
        return self.of(kind), fields

    def of_tree(self, tree: Any) -> Any:
        """The nodes of a pytree's structure: their classes and what they hold."""
        if jax.tree_util.treedef_is_leaf(tree) and tree.num_leaves == 1:
            return "leaf"
        data = tree.node_data()
        children = tuple(map(self.of_tree, tree.children()))
        if data is None:
            return None, children
        kind, aux = data
        if kind is dict or kind is OrderedDict:
            return kind, self.of(tuple(aux)), children
        if kind in _CONTAINERS:
            return kind, self.of(aux), children
        if is_namedtuple(kind):
            return self.of(kind), children
        return self.of(kind), self.of(aux), children


def _is_pure_numpy(name: str, value: Any) -> bool:
    return isinstance(value, (type, np.ufunc)) or name in _PURE_NUMPY


def _is_exception(name: str) -> bool:
    value = getattr(builtins, name, None)
    return isinstance(value, type) and issubclass(value, BaseException)


def _is_field(value: Any) -> bool:
    return type(value).__name__ == "_tuplegetter"


def _is_enum_part(kind: Any, name: str) -> bool:
    """Tables of members, and the members, which are described as instances."""
    is_table = name.startswith("_") and name.endswith("_")
    return name in kind.__members__ or (is_table and not name.startswith("__"))


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
    except (_Changes, TypeError, RecursionError):
        return None
    return key, description.alive
