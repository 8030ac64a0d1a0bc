# SPDX-License-Identifier: Apache-2.0
"""Whether a program has the form of schedule.json (docs/schedule-json.md).

A program may come from a file that was cut off, changed by hand, or written by others;
who plans it looks up what it names without asking. Here is only what is looked up.
"""

from __future__ import annotations

import collections
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .errors import ProgramError


class _Leaf(NamedTuple):
    """What a string, number or the like has to be."""

    fits: Callable[[Any], bool]
    expected: str


class _Or(NamedTuple):
    """One form for objects and lists, and another one for the rest."""

    nested: Any
    leaf: _Leaf


def _whole(least: int) -> _Leaf:
    return _Leaf(
        lambda found: type(found) is int and least <= found < 1 << 63,
        f"a number of {least} or more",
    )


def _position(count: int, what: str) -> _Leaf:
    return _Leaf(
        lambda found: type(found) is int and 0 <= found < count,
        f"the position of one of {count} {what}",
    )


_TEXT = _Leaf(lambda found: isinstance(found, str), "a string")
_FLAG = _Leaf(lambda found: isinstance(found, bool), "true or false")
_SIZE = _whole(1)
_COUNT = _whole(0)
_NOTHING = _Leaf(lambda found: found is None, "null")
_TEXT_OR_NULL = _Leaf(
    lambda found: found is None or isinstance(found, str), "a string or null"
)
_WORK = _Leaf(
    lambda found: (
        found is None
        or (type(found) in (int, float) and found >= 0 and math.isfinite(found))
    ),
    "a number of 0 or more",
)
_KIND = _Leaf(lambda found: found in ("call", "transfer"), "'call' or 'transfer'")
_AXIS = _Or({"axis": _TEXT, "pre": _SIZE, "size": _SIZE}, _TEXT)
_SHARDING = _Or({"dims": [[_AXIS]], "unreduced?": [_AXIS]}, _NOTHING)

_NAMES = {"fragments": [{"name": _TEXT}]}


def _lists(version: int, names: Sequence[str]) -> dict[str, Any]:
    """What a program of a version has, before anything in it is looked up."""
    expected = f"{version}, which this release reads"
    return {
        "version?": _Leaf(lambda found: found == version, expected),
        "meshes": [
            {
                "name": _TEXT,
                "axes": [(_TEXT, _SIZE)],
                "device_ids?": _Or([_COUNT], _NOTHING),
            }
        ],
        **{name: [{}] for name in names},
    }


_LISTS = _lists(1, ("values", "inputs", "outputs", "fragments", "items"))
_RANGED_LISTS = _lists(2, ("inputs", "outputs"))
# But for their meshes and values.
_VALUE = {
    "shape": [_COUNT],
    "dtype": _TEXT,
    "sharding?": _SHARDING,
    "memory_kind": _TEXT_OR_NULL,
}
_END = {"memory_kind?": _TEXT_OR_NULL, "layout?": _TEXT_OR_NULL}
_INPUT = {"name?": _TEXT_OR_NULL, "donated?": _FLAG}
_SLOT = {"memory_kind": _TEXT_OR_NULL, "sharding": _SHARDING}
_FRAGMENT = {
    "name": _TEXT,
    "calls": _COUNT,
    "flops?": _WORK,
    "arguments": [_SLOT | {"donated": _FLAG}],
    "results": [_SLOT],
}


def check_names(program: Any) -> None:
    """Raises ProgramError unless a program has fragments with names."""
    _check(program, _NAMES, ())


def check_form(program: Any) -> None:
    """Raises ProgramError if something in a program is missing or something else."""
    try:
        _check_all(program)
    except ProgramError as error:
        raise ProgramError(f"{error}; partition again") from None


def check_ranged_form(
    program: Any, fragments: Any, values: int, items: int, order: np.ndarray
) -> None:
    """Raises ProgramError if something in a program of version 2 is missing or
    something else. Its items are looked at when they are written out.

    Args:
      fragments: with the slots that its classes say.
      values, items: how many there are.
      order: of issue.
    """
    try:
        _check_all_ranged(program, fragments, values)
        if not np.array_equal(np.sort(order), np.arange(items)):
            _fail_order(items)
    except ProgramError as error:
        raise ProgramError(f"{error}; partition again") from None


def _check_all(program: Any) -> None:
    _check(program, _LISTS, ())
    mesh, value = _mesh(program), _position(len(program["values"]), "values")
    count = len(program["items"])
    end = {"value": value} | _END
    _check(
        program,
        {
            "values": [{"mesh": mesh} | _VALUE],
            "inputs": [end | _INPUT],
            "outputs": [end],
            "fragments": [{"mesh": mesh} | _FRAGMENT],
            "items": [{"kind": _KIND}],
            "issue_order": [_position(count, "items")],
        },
        (),
    )
    if sorted(program["issue_order"]) != list(range(count)):
        _fail_order(count)
    call = _call(program, mesh) | {"operands": [value], "results": [value]}
    move = _move(mesh) | {"operand": value, "result": value}
    made = [entry["value"] for entry in program["inputs"]]
    for index, item in enumerate(program["items"]):
        is_call = item["kind"] == "call"
        _check(item, call if is_call else move, (((), "items"), index))
        made += item["results"] if is_call else [item["result"]]
    if len(made) != len(set(made)):
        (twice, _), *_ = collections.Counter(made).most_common(1)
        raise ProgramError(f"value {twice} of schedule.json is computed twice")


def _check_all_ranged(program: Any, fragments: Any, count: int) -> None:
    _check(program, _RANGED_LISTS, ())
    mesh, classes = _mesh(program), program["classes"]
    value = _position(len(classes["values"]), "classes of values")
    _check(
        program | {"fragments": fragments},
        {
            "classes": {
                "values": [{"mesh": mesh} | _VALUE],
                "items": [{"kind": _KIND}],
            },
            "inputs": [{"value": _COUNT} | _END | _INPUT],
            "outputs": [{"value": _position(count, "values")} | _END],
            "fragments": [{"mesh": mesh} | _FRAGMENT],
        },
        (),
    )
    call = _call(program, mesh) | {"results": [value]}
    move = _move(mesh) | {"results": (value,)}
    for index, item in enumerate(classes["items"]):
        is_call = item["kind"] == "call"
        path = ((((), "classes"), "items"), index)
        _check(item, call if is_call else move, path)
    for index, entry in enumerate(program["inputs"]):
        if entry["value"] != index:
            _fail(entry["value"], ((((), "inputs"), index), "value"), str(index))


def _mesh(program: Any) -> _Leaf:
    meshes = {mesh["name"] for mesh in program["meshes"]}
    return _Leaf(
        lambda found: isinstance(found, str) and found in meshes,
        f"one of the meshes {', '.join(map(repr, sorted(meshes)))}",
    )


def _call(program: Any, mesh: _Leaf) -> dict[str, Any]:
    """A call but for its values."""
    return {
        "mesh": mesh,
        "fragment": _position(len(program["fragments"]), "fragments"),
        "origins?": [_TEXT],
        "overlapped?": [{"origins": [_TEXT], "results": _COUNT}],
    }


def _move(mesh: _Leaf) -> dict[str, Any]:
    """A transfer but for its values."""
    return {"from": mesh, "to": mesh, "bytes": _COUNT}


def _fail_order(count: int) -> None:
    raise ProgramError(
        f"issue_order of schedule.json does not have each of the {count} items once"
    )


def _check(found: Any, form: Any, path: tuple) -> None:
    """Compares with a form: an object with entries, of which those with `?` may be
    missing; a list of any length, or a tuple, a list of that length; or a leaf."""
    if isinstance(form, _Leaf):
        if not form.fits(found):
            _fail(found, path, form.expected)
    elif isinstance(form, _Or):
        nested = isinstance(found, (dict, list, tuple))
        _check(found, form.nested if nested else form.leaf, path)
    elif isinstance(form, dict):
        if not isinstance(found, dict):
            _fail(found, path, "an object")
        for key, inner in form.items():
            name = key.removesuffix("?")
            if name in found:
                # There are many of them, so that calls count.
                if not (isinstance(inner, _Leaf) and inner.fits(found[name])):
                    _check(found[name], inner, (path, name))
            elif name == key:
                raise ProgramError(f"{_where(path)} has no {name!r}")
    else:
        if not isinstance(found, (list, tuple)):
            _fail(found, path, "a list")
        if isinstance(form, list):
            form = form * len(found)
        elif len(form) != len(found):
            _fail(found, path, f"a list of {len(form)}")
        for index, (entry, inner) in enumerate(zip(found, form, strict=True)):
            if not (isinstance(inner, _Leaf) and inner.fits(entry)):
                _check(entry, inner, (path, index))


def _fail(found: Any, path: tuple, expected: str) -> None:
    text = repr(found)
    text = text if len(text) <= 40 else f"{text[:40]}…"
    raise ProgramError(f"{_where(path)} is {text}; expected {expected}")


def _where(path: tuple) -> str:
    """How a place in the file is called, such as `items[3].mesh of schedule.json`."""
    keys = []
    while path:
        path, key = path
        keys.append(f"[{key}]" if isinstance(key, int) else f".{key}")
    name = "".join(reversed(keys)).removeprefix(".")
    return f"{name} of schedule.json" if name else "schedule.json"
