# SPDX-License-Identifier: Apache-2.0
"""Programs whose meshes are on devices of several platforms, GPUs beside CPUs.

JAX lowers some operations in another way for each platform, and a function for one
platform at a time. So a function is lowered once for each platform of its topology,
and each fragment is taken from the program for the platform that it runs on. The
programs differ inside of fragments only, which is checked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..core.config import Topology
from ..jaxapi import described
from ..jaxapi import frontend as compat
from ..programs.stages import schedule_of
from ..tracing.scopes import source

# Where there is no backend for the platform, or one for another mesh.
_NO_BACKEND = ("Unknown backend", "different from the lowering platform")


def platforms_of(topology: Topology) -> dict[str, str]:
    """The platform of each mesh, such as `cpu`, that of the first one first."""
    return {
        name: described.lowering_platform(mesh.devices.flat[0])
        for name, mesh in topology.items()
    }


def explain_calls(jaxpr: Any, reported: str) -> str | None:
    """Why a program that calls Python functions cannot be lowered for a GPU.

    Args:
      reported: what JAX reports, which asks the backend where such a call is to run.

    Returns:
      A text with the calls; None if this is not about them.
    """
    calls = list(dict.fromkeys(_python_calls(jaxpr)))
    if not calls or not any(text in reported for text in _NO_BACKEND):
        return None
    return (
        f"{', '.join(calls)}: JAX lowers calls of Python functions for GPUs only where "
        "there are some; leave out jax.debug.print, jax.debug.callback, "
        "jax.pure_callback and io_callback in a program that has a mesh of GPUs that "
        "are only described"
    )


def _python_calls(jaxpr: Any) -> Iterator[str]:
    """The user's lines that call Python functions while a program runs."""
    for eqn in jaxpr.eqns:
        name = eqn.primitive.name
        if name.endswith("_callback") or name == "debug_print":
            yield source(eqn)
        for body in compat.bodies(eqn):
            yield from _python_calls(body)


def pick_fragments(
    results: Mapping[str, Any], platforms: Mapping[str, str]
) -> dict[str, str]:
    """The modules of the fragments of a program, each for its own platform.

    Args:
      results: what the partitioner made of the module for each platform.

    Returns:
      Fragment name to module.
    """
    if len(results) == 1:
        return dict(next(iter(results.values())).fragments)
    programs = {
        key: schedule_of(result).written_out() for key, result in results.items()
    }
    (first, program), *others = programs.items()
    for platform, other in others:
        if _outline(program) != _outline(other):
            raise NotImplementedError(
                f"the function has different fragments on {first} and on {platform}; "
                "name what differs between the platforms with mw.named_computation"
            )
    modules = {key: dict(result.fragments) for key, result in results.items()}
    return {
        fragment["name"]: modules[platforms[fragment["mesh"]]][fragment["name"]]
        for fragment in program["fragments"]
    }


def _outline(program: Mapping[str, Any]) -> Any:
    """What two programs must have in common to exchange fragments."""
    fragments = [
        [fragment[key] for key in ("name", "mesh", "arguments", "results")]
        for fragment in program["fragments"]
    ]
    items = [
        {key: value for key, value in item.items() if key != "location"}
        for item in program["items"]
    ]
    return fragments, items, program["values"]
