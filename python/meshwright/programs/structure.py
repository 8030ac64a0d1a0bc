# SPDX-License-Identifier: Apache-2.0
"""Trees and types of arguments as JSON, for files that others may have written.

Containers of Python are written as they are. Of other nodes there is the name of the
class and what the class keeps of itself; a reader looks the name up among the modules
that its program has imported, and imports, calls and unpickles nothing.

  {"w": Adam(count, None)}  ->  ["builtins:dict", ["w"], [["my:Adam", null, [0, null]]]]

Leaves are 0, and `None` is null.
"""

from __future__ import annotations

import dataclasses
import enum
import sys
import types
from collections import OrderedDict, defaultdict
from typing import Any

import jax
import numpy as np

from ..jaxapi import frontend as compat
from ..tracing.identity import is_namedtuple
from ..tracing.static_leaves import Static

_LEAF = 0
_KEYS = ("threefry2x32", "rbg", "unsafe_rbg")
_CONTAINERS = {
    f"{kind.__module__}:{kind.__qualname__}": kind
    for kind in (tuple, list, dict, OrderedDict, defaultdict)
}


class StructureError(ValueError):
    """Something of a structure cannot be written, or is not known here."""


def tree_to_json(tree: Any) -> Any:
    """The structure of a pytree.

    Args:
      tree: what `jax.tree.structure` gives.

    Raises:
      StructureError: a part of it has no name that another process could find.
    """
    data = tree.node_data()
    if data is None:
        return _LEAF
    kind, own = data
    if kind is type(None):
        return None
    children = list(map(tree_to_json, tree.children()))
    return [_name_of(kind, "a node of a pytree"), value_to_json(own), children]


def tree_from_json(found: Any) -> Any:
    """The structure that `tree_to_json` wrote.

    Raises:
      StructureError: it is none, or has a class that is not imported here.
    """
    if found is None:
        return jax.tree.structure(None)
    if type(found) is int and found == _LEAF:
        return jax.tree.structure(0)
    name, own, children = _parts(found, 3)
    kind = _CONTAINERS.get(name) or _named(name)
    trees = [tree_from_json(child) for child in children]
    if not isinstance(kind, type):
        raise StructureError(f"{name} is no class of pytree nodes")
    try:
        return compat.make_tree(kind, value_from_json(own), trees)
    except (ValueError, TypeError, RuntimeError) as error:
        raise StructureError(
            f"{name} is no node of pytrees here, or another one: {error}"
        ) from None


def value_to_json(value: Any) -> Any:
    """A static value: what a node keeps, or what is in the place of an array.

    Raises:
      StructureError: another process could not have the same.
    """
    if value is None or type(value) in (bool, int, str):
        return value
    for name, (kind, write, _) in _VALUES.items():
        if type(value) is kind:
            return {name: write(value)}
    if isinstance(value, np.dtype):
        return {"dtype": dtype_to_text(value)}
    if isinstance(value, enum.Enum):
        return {"enum": [_name_of(type(value), "an enumeration"), value.name]}
    if is_namedtuple(type(value)):
        fields = list(map(value_to_json, value))
        return {"namedtuple": [_name_of(type(value), "a tuple"), fields]}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {
            field.name: value_to_json(getattr(value, field.name))
            for field in dataclasses.fields(value)
        }
        return {"dataclass": [_name_of(type(value), "a dataclass"), fields]}
    return {"object": _name_of(value, "a static value")}


def value_from_json(found: Any) -> Any:
    """What `value_to_json` wrote."""
    if found is None or type(found) in (bool, int, str):
        return found
    if not isinstance(found, dict) or len(found) != 1:
        raise StructureError(f"{found!r:.60} is no static value")
    ((name, content),) = found.items()
    try:
        if name in _VALUES:
            return _VALUES[name][2](content)
        return _READERS[name](content)
    except StructureError:
        raise
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise StructureError(f"{found!r:.60} is no static value: {error}") from None


def _many(write: Any) -> Any:
    return lambda values: list(map(write, values))


def _pairs_to_json(value: Any) -> Any:
    return [[value_to_json(key), value_to_json(entry)] for key, entry in value.items()]


def _pairs(found: Any) -> Any:
    return [(value_from_json(key), value_from_json(entry)) for key, entry in found]


# Name: the class, how it is written, and how it is read.
_VALUES: dict[str, tuple[type, Any, Any]] = {
    "float": (float, float.hex, float.fromhex),
    "complex": (
        complex,
        lambda value: [value.real.hex(), value.imag.hex()],
        lambda found: complex(*map(float.fromhex, found)),
    ),
    "bytes": (bytes, bytes.hex, bytes.fromhex),
    "tuple": (
        tuple,
        _many(value_to_json),
        lambda found: tuple(map(value_from_json, found)),
    ),
    "list": (
        list,
        _many(value_to_json),
        lambda found: list(map(value_from_json, found)),
    ),
    "dict": (dict, _pairs_to_json, lambda found: dict(_pairs(found))),
    "mapping": (
        types.MappingProxyType,
        _pairs_to_json,
        lambda found: types.MappingProxyType(dict(_pairs(found))),
    ),
    "frozenset": (
        frozenset,
        lambda value: sorted(map(value_to_json, value), key=repr),
        lambda found: frozenset(map(value_from_json, found)),
    ),
    "slice": (
        slice,
        lambda value: _many(value_to_json)((value.start, value.stop, value.step)),
        lambda found: slice(*map(value_from_json, found)),
    ),
    "static": (
        Static,
        lambda static: value_to_json(static.value),
        lambda found: Static(value_from_json(found)),
    ),
}


def _read_enum(found: Any) -> Any:
    name, member = _parts(found, 2)
    return _class(name, enum.Enum)[member]


def _read_namedtuple(found: Any) -> Any:
    name, fields = _parts(found, 2)
    kind = _class(name, tuple)
    return tuple.__new__(kind, map(value_from_json, fields))


def _read_dataclass(found: Any) -> Any:
    name, fields = _parts(found, 2)
    kind = _class(name, object)
    if not dataclasses.is_dataclass(kind):
        raise StructureError(f"{name} is no dataclass here")
    names = {field.name for field in dataclasses.fields(kind)}
    if names != fields.keys():
        raise StructureError(f"{name} has other fields here")
    made = object.__new__(kind)
    for field, value in fields.items():  # Without code of the class.
        object.__setattr__(made, field, value_from_json(value))
    return made


_READERS = {
    "dtype": lambda found: dtype_from_text(found),
    "enum": _read_enum,
    "namedtuple": _read_namedtuple,
    "dataclass": _read_dataclass,
    "object": lambda found: _named(found),
}


def _parts(found: Any, count: int) -> Any:
    if not isinstance(found, list) or len(found) != count:
        raise StructureError(f"{found!r:.60} is no part of a structure")
    return found


def _name_of(value: Any, what: str) -> str:
    """By which name any process that has imported the module finds a value."""
    module = getattr(value, "__module__", None)
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    if isinstance(module, str) and isinstance(name, str):
        found = _look_up(module, name)
        if found is value:
            return f"{module}:{name}"
    # One of its kind, such as a mark for nothing given, is of the kind's module.
    module = type(value).__module__
    for name, found in list(vars(sys.modules.get(module, types)).items()):
        if found is value and module != "builtins":
            return f"{module}:{name}"
    raise StructureError(
        f"{value!r:.80}, {what}, has no name by which another process could find it; "
        "use what is defined at the top of a module, or plain containers and numbers"
    )


def _look_up(module: str, name: str) -> Any:
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        # No attribute that code computes, such as one that imports a module.
        found = getattr(found, "__dict__", {}).get(part)
        if isinstance(found, (staticmethod, classmethod)):
            return None
    return found


def _named(name: Any) -> Any:
    if not isinstance(name, str):
        raise StructureError(f"{name!r:.60} is no name")
    module, _, inner = name.partition(":")
    found = _look_up(module, inner)
    if found is None:
        raise StructureError(
            f"{name.replace(':', '.')} is not known here; import {module!r} first, in "
            "the version that the program was saved with"
        )
    return found


def _class(name: str, base: type) -> Any:
    found = _named(name)
    if not (isinstance(found, type) and issubclass(found, base)):
        raise StructureError(f"{name} is no {base.__name__} here")
    return found


def dtype_to_text(dtype: Any) -> str:
    """A type of elements, typed keys included."""
    if dtype == jax.dtypes.float0:
        return "float0"
    if not jax.numpy.issubdtype(dtype, jax.dtypes.extended):
        return np.dtype(dtype).name
    for name in _KEYS:
        if _key_type(name) == dtype:
            return f"key {name}"
    raise StructureError(
        f"elements of type {dtype} are of no kind that another process would know"
    )


def dtype_from_text(text: Any) -> Any:
    """What `dtype_to_text` wrote. Raises StructureError if it is none."""
    if text == "float0":
        return jax.dtypes.float0
    if isinstance(text, str) and text.startswith("key "):
        name = text.removeprefix("key ")
        if name in _KEYS:
            return _key_type(name)
    elif isinstance(text, str):
        try:
            return jax.numpy.dtype(text)
        except TypeError:
            pass
    raise StructureError(f"{text!r:.60} is no type of elements")


def _key_type(name: str) -> Any:
    return jax.eval_shape(lambda: jax.random.key(0, impl=name)).dtype


def aval_to_json(aval: Any) -> Any:
    """The abstract value of an argument or result: shape, dtype, whether weak."""
    if not compat.is_plain_type(aval):
        raise StructureError(f"{aval} is no array, which alone can be saved")
    weak = bool(getattr(aval, "weak_type", False))
    return [list(aval.shape), dtype_to_text(aval.dtype), weak]


def aval_from_json(found: Any) -> Any:
    """What `aval_to_json` wrote. Raises StructureError if it is none."""
    shape, dtype, weak = _parts(found, 3)
    if not (isinstance(shape, list) and all(type(n) is int and n >= 0 for n in shape)):
        raise StructureError(f"{shape!r:.60} is no shape")
    return compat.make_type(tuple(shape), dtype_from_text(dtype), bool(weak))
