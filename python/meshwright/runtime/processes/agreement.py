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
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jaxlib
import numpy as np
from jax import config

from ...core.version import __version__
from ...jaxapi import runtime as jax_runtime
from ..program.schedule import Schedule
from .world import ProcessError, World

_SHOWN = 120
_WHAT = "load this program"
_OF_JAX = "settings of JAX"
# Of JAX's configuration, what makes other code of one function. Code that differs shows
# only in digests; where this differs, too, it is probably why.
_SETTINGS = (
    "jax_enable_x64",
    "jax_default_matmul_precision",
    "jax_default_prng_impl",
    "jax_threefry_partitionable",
    "jax_numpy_dtype_promotion",
    "jax_disable_jit",
)


def digest(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def without_locations(modules: Mapping[str, str]) -> dict[str, str]:
    """Texts of modules, by name, without locations.

    A text that does not parse stays as it is; its reader says so.
    """

    def printed(text: str) -> str:
        try:
            module = jax_runtime.ir.Module.parse(text)
        except jax_runtime.ir.MLIRError:
            return text
        return module.operation.get_asm(enable_debug_info=False)

    with jax_runtime.make_ir_context():
        return {name: printed(text) for name, text in modules.items()}


def describe(
    schedule: Schedule,
    code: Mapping[str, str],
    order: np.ndarray,
    devices: Mapping[str, Sequence[Any]],
    options: Mapping[str, Any],
    has_locations: bool,
) -> dict[str, Any]:
    """What must be equal everywhere, in the order in which it is compared.

    Args:
      code: fragment to its module's text.
      order: in which the program's items are issued.
      devices: mesh to its devices.
      options: mesh to compiler options.
      has_locations: whether lines of the user's program count.
    """
    if not has_locations:
        code = without_locations(code)
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
        "function": schedule.form["name"],
        "number of inputs and outputs": [
            len(schedule.inputs),
            len(schedule.outputs),
        ],
        "types of inputs": _types_of_inputs(schedule),
        "large constants": list(schedule.constants),
        "fragments": {name: digest(text) for name, text in code.items()},
        "schedule": schedule.digest(has_locations),
        "order of issue": digest(order.tobytes().hex()),
    }


def _types_of_inputs(schedule: Schedule) -> dict[str, str]:
    found = {}
    for number, given in enumerate(schedule.inputs):
        value = schedule.value(given["value"])
        shape = ",".join(map(str, value["shape"]))
        name = given["name"] or f"input {number}"
        # Names need not differ.
        key = f"{name} ({number})" if name in found else name
        found[key] = f"{value['dtype']}[{shape}]"
    return found


def agree(
    world: World,
    parts: Mapping[str, Any],
    unlocated: Callable[[], Mapping[str, Any]],
    settings: Mapping[str, Any] | None = None,
) -> None:
    """Compares the parts of all processes.

    Args:
      parts: those of this process, with texts as they are.
      unlocated: makes the same of texts without locations, which differ where files lie
        elsewhere or a program is traced deeper in the script; asked if parts differ.
      settings: of JAX in this process, by default as they are.

    Raises:
      ProcessError: they differ; names the first part that does, with both values.
    """
    # Both ends of a way count its bytes, and agree so on where a window ends; members
    # that may be lost meet in another way.
    given = {name: getattr(world, name) for name in ("transport", "window_bytes")}
    given["recoverable"] = world.members.recoverable
    given = {"arguments of mw.distributed.initialize": given}
    if _find_different(world, world.next_number(), {**given, **parts}) is None:
        return
    parts, number = {**given, **unlocated()}, world.next_number()
    other = _find_different(world, number, parts)
    if other is None:
        return
    first, settings = world.members.first, settings or _settings()
    if world.process == first:
        ours = json.loads(json.dumps({**parts, _OF_JAX: settings}))
        verdict = _compare(world, number, other, ours)
        world.put(f"verdict/{number}", verdict.encode())
    else:
        if other == world.process:
            both = json.dumps({**parts, _OF_JAX: settings}).encode()
            world.put_large(f"parts/{number}", both)
        verdict = world.get(f"verdict/{number}", first, _WHAT).decode()
    raise ProcessError(verdict)


def _find_different(world: World, number: int, parts: Mapping[str, Any]) -> int | None:
    """The first process whose parts are not those of the first one, on all of them.

    All parts of all processes would be much to carry; nearly always they agree, and
    digests say so.
    """
    ours, first = digest(parts), world.members.first
    world.put(f"agree/{number}/{world.process}", ours.encode())
    if world.process == first:
        found = _find_other(world, number, ours)
        world.put(f"differs/{number}", json.dumps(found).encode())
    else:
        found = json.loads(world.get(f"differs/{number}", first, _WHAT))
    if isinstance(found, str):
        raise ProcessError(found)
    return found


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


def _compare(world: World, number: int, process: int, ours: dict[str, Any]) -> str:
    try:
        theirs = json.loads(world.get_large(f"parts/{number}", process, _WHAT))
    except ProcessError as error:
        return str(error)
    settings = ours.pop(_OF_JAX)
    others = theirs.get(_OF_JAX, settings)  # Another release may not send them.
    also = "".join(
        f", and {name} is {json.dumps(settings.get(name))} and "
        f"{json.dumps(others.get(name))}"
        for name in _SETTINGS
        if settings.get(name) != others.get(name)
    )
    for part, value in ours.items():
        if theirs.get(part) != value:
            name, one, other = _narrow(part, value, theirs.get(part))
            return (
                f"the processes are about to run different programs: {name} is "
                f"{_short(one)} in process {world.process} and {_short(other)} in "
                f"process {process}{also}; start the same script with the same "
                "arguments, versions and devices everywhere"
            )
    raise AssertionError("digests differ, parts do not")


def _settings() -> dict[str, Any]:
    return {name: getattr(config, name, None) for name in _SETTINGS}


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
