# SPDX-License-Identifier: Apache-2.0
"""What the compiler knows of schedules: their names, and what they order."""

from __future__ import annotations

import functools
from typing import NamedTuple

from ..core.names import SCHEDULE_FILE_PREFIX, unknown_name
from . import native


class Schedule(NamedTuple):
    """A builtin schedule.

    Attributes:
      name: the compiler's name of it.
      registry_name: its name in the registry.
      is_relation: it is a relation between two fragments, not a complete list.
      needs_stages: it orders only fragments that have a stage.
      source: what it is from, with a link; may be empty.
    """

    name: str
    registry_name: str
    is_relation: bool
    needs_stages: bool
    source: str


@functools.cache
def builtin_schedules() -> dict[str, Schedule]:
    """All schedules that come with the compiler, by name."""
    found = [Schedule(*facts) for facts in native.extension().schedules()]
    # The command line lists `none`, which configs have always called like this.
    named = [s._replace(name="None") if s.name == "none" else s for s in found]
    return {schedule.name: schedule for schedule in named}


def schedule_names() -> tuple[str, ...]:
    """The compiler's names of all schedules."""
    return tuple(builtin_schedules())


def registry_names() -> dict[str, str]:
    """The registry's name of each schedule, and the compiler's."""
    return {s.registry_name: s.name for s in builtin_schedules().values()}


def _key(name: str) -> str:
    """What is left of a registry name without its word breaks."""
    return name.replace("ONE_FWD_ONE_BWD", "1F1B").replace("_", "").casefold()


def find_schedule_name(name: object) -> str | None:
    """The compiler's name of a schedule.

    Args:
      name: its name for the compiler (`ZeroBubbleV`) or in the registry
        (`ZERO_BUBBLE_V`, in capitals, wherever words are thought to end); with a colon
        and into how many chunks it cuts sequences, `Seq1F1B:4`.

    Returns:
      One of `schedule_names()`, or None for any other name.

    Example:

      >>> find_schedule_name("INTERLEAVED_ONE_FWD_ONE_BWD")
      'Interleaved1F1B'
    """
    if not isinstance(name, str):
        return None
    plain, colon, chunks = name.rpartition(":")
    if colon and chunks.isascii() and chunks.isdigit():
        found = find_schedule_name(plain)
        return f"{found}:{chunks}" if found and ":" not in found else None
    known = builtin_schedules()
    if name in known:
        return name
    if name == "none":  # What the command line lists.
        return "None"
    if not name.isupper():
        return None
    return next((found for found in known if _key(found) == _key(name)), None)


def compiler_name(what: str, name: object) -> str:
    """The compiler's name of a schedule, or `file:PATH`.

    Args:
      what: where the name is, for the error.
      name: as for `find_schedule_name`, or `file:PATH`.
    """
    is_file = isinstance(name, str) and name.startswith(SCHEDULE_FILE_PREFIX)
    found = name if is_file else find_schedule_name(name)
    if found is None:
        known = (*schedule_names(), f"{SCHEDULE_FILE_PREFIX}PATH")
        raise ValueError(unknown_name(what, name, known))
    if ":" in found:
        try:
            native.extension().splits_backward(found)
        except ValueError as error:
            raise ValueError(f"{what}: {error}") from None
    return found
