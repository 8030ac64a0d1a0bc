# SPDX-License-Identifier: Apache-2.0
"""Whether all processes are about to run the same program.

Processes that differ would wait for each other forever, or compute with each
other's numbers. Each publishes digests when it loads a program, and the first part
that differs is named everywhere, with both values, before anything is compiled.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jaxlib

from ...core.version import __version__
from .world import ProcessError, World

_SHOWN = 120
_WHAT = "load this program"
# Uses of an alias, names of arguments with or without one, and the lines that define
# aliases: their numbers depend on how deep in the script a program is traced.
_NAMED = r'"(?:[^"\\]|\\.)*"(?:\(#loc\d*\))?'
_LOCATION = re.compile(rf" loc\((?:#loc\d*|unknown|{_NAMED})\)|^#loc.*\n", re.MULTILINE)


def digest(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _bare(module: str) -> str:
    """A module's text without locations, which differ where files lie elsewhere."""
    return _LOCATION.sub("", module)


def _unlocated(program: Mapping[str, Any]) -> dict[str, Any]:
    items = [
        {key: value for key, value in item.items() if key != "location"}
        for item in program["items"]
    ]
    return {**program, "items": items}


def describe(
    program: Mapping[str, Any],
    code: Mapping[str, str],
    order: Sequence[int],
    devices: Mapping[str, Sequence[Any]],
    options: Mapping[str, Any],
) -> dict[str, Any]:
    """What must be equal everywhere, in the order in which it is compared.

    Args:
      program: the schedule.
      code: fragment to its module's text; locations do not count.
      order: in which the program's items are issued.
      devices: mesh to its devices.
      options: mesh to compiler options.
    """
    return {
        "version of jax": jax.__version__,
        "version of jaxlib": jaxlib.__version__,
        "version of meshwright": __version__,
        "XLA_FLAGS": os.environ.get("XLA_FLAGS", ""),
        "topology (mesh: process:device)": {
            name: " ".join(f"{d.process_index}:{d.id}" for d in mesh)
            for name, mesh in devices.items()
        },
        "compiler options": {name: dict(given) for name, given in options.items()},
        "number of inputs and outputs": [
            len(program["inputs"]),
            len(program["outputs"]),
        ],
        "large constants": list(program.get("constants", ())),
        "fragments": {name: digest(_bare(text)) for name, text in code.items()},
        "schedule": digest(_unlocated(program)),
        "order of issue": digest(list(order)),
    }


def agree(world: World, parts: Mapping[str, Any]) -> None:
    """Compares the parts of all processes.

    Raises:
      ProcessError: they differ; names the first part that does, with both values.
    """
    # Both ends of a way count its bytes, and agree so on where a window ends.
    given = {name: getattr(world, name) for name in ("transport", "window_bytes")}
    parts = {"arguments of mw.distributed.initialize": given, **parts}
    number, ours = world.next_number(), digest(parts)
    # All parts of all processes would be much to carry; nearly always they agree.
    world.put(f"agree/{number}/{world.process}", ours.encode())
    first = world.members.first
    if world.process == first:
        found = _find_other(world, number, ours)
        other = found if isinstance(found, int) else None
        world.put(f"differs/{number}", str(other).encode())
        verdict = found if isinstance(found, str) else ""
        if other is not None:
            verdict = _compare(world, number, other, json.loads(json.dumps(parts)))
        world.put(f"verdict/{number}", verdict.encode())
    else:
        other = world.get(f"differs/{number}", first, _WHAT).decode()
        if other == str(world.process):
            world.put_large(f"parts/{number}", json.dumps(parts).encode())
        verdict = world.get(f"verdict/{number}", first, _WHAT).decode()
    if verdict:
        raise ProcessError(verdict)


def _find_other(world: World, number: int, ours: str) -> int | str | None:
    """The first process with another digest; or what is wrong with one."""
    for process in world.members.processes[1:]:
        try:
            found = world.get(f"agree/{number}/{process}", process, _WHAT)
        except ProcessError as error:
            return str(error)
        if found.decode() != ours:
            return process
    return None


def _compare(world: World, number: int, process: int, ours: Mapping[str, Any]) -> str:
    try:
        theirs = json.loads(world.get_large(f"parts/{number}", process, _WHAT))
    except ProcessError as error:
        return str(error)
    for part, value in ours.items():
        if theirs.get(part) != value:
            name, one, other = _narrow(part, value, theirs.get(part))
            return (
                f"the processes are about to run different programs: {name} is "
                f"{_short(one)} in process {world.process} and {_short(other)} in "
                f"process {process}; start the same script with the same arguments, "
                "versions and devices everywhere"
            )
    raise AssertionError("digests differ, parts do not")


def _narrow(part: str, one: Any, other: Any) -> tuple[str, Any, Any]:
    """The first entry that differs, of parts that have entries."""
    if isinstance(one, dict) and isinstance(other, dict):
        for name in [*one, *other]:
            if one.get(name) != other.get(name):
                return f"{part}, {name!r},", one.get(name), other.get(name)
    return part, one, other


def _short(value: Any) -> str:
    text = "missing" if value is None else json.dumps(value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
