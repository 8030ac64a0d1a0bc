# SPDX-License-Identifier: Apache-2.0
"""What all processes prepare and one of them finishes."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from .world import ProcessError, current


def prepare_and_finish(
    what: str, prepare: Callable[[], Any], finish: Callable[[list[Any]], None]
) -> None:
    """Lets each process prepare a part, and process 0 make a whole of them.

    Returns when the whole is made. A process of its own does both.

    Args:
      what: each is expected to do, for messages.
      prepare: gives a part, as JSON can hold it.
      finish: gets all parts, in the order of processes.

    Raises:
      ProcessError: another process failed; its error is in the text.
      Exception: whatever failed in this process.
    """
    world = current()
    if world is None:
        finish([prepare()])
        return
    number, failure = world.next_number(), None
    try:
        part = {"part": prepare()}
    except Exception as error:
        failure, part = error, {"error": str(error)}
    keys = world.put_large(f"part/{number}/{world.process}", json.dumps(part).encode())
    if world.process == 0:
        verdict = ""
        try:
            finish(_collect(world, number, what))
        except Exception as error:
            failure, verdict = failure or error, str(error)
        world.put(f"whole/{number}", verdict.encode())
    else:
        verdict = world.get(f"whole/{number}", 0, what).decode()
    world.drop(*keys)
    if failure is not None:
        raise failure
    if verdict:
        raise ProcessError(verdict)


def _collect(world: Any, number: int, what: str) -> list[Any]:
    found = []
    for process in range(world.count):
        part = json.loads(world.get_large(f"part/{number}/{process}", process, what))
        if "error" in part:
            raise ProcessError(f"process {process}: {part['error']}")
        found.append(part["part"])
    return found
