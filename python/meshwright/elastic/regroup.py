# SPDX-License-Identifier: Apache-2.0
"""A run that goes on without processes that are gone, and with those that come back."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from ..runtime.processes import exits, watch
from ..runtime.processes.failures import ProcessError
from ..runtime.processes.world import environment, existing


def members() -> tuple[int, ...]:
    """Numbers of the processes in the run; a device has one as `process_index`."""
    world = existing()
    return (0,) if world is None else world.members.processes


def regroup() -> tuple[int, ...]:
    """Makes the processes that are left the run, or also those that have come back.

    All that are left call it, after a `ProcessFailure` or where `returned` says so.
    Those that have come back join in the second case, even if they are there before.
    What was compiled runs on if it needs none of those that are gone; a program for
    meshes of one that has come back is compiled again. All arrays that were in
    flight are lost; restore the state.

    Returns:
      What `members` returns from now on.

    Raises:
      ProcessError: `initialize` was not called with `recoverable=True`, or another
        process that is left does not call this within four times the timeout.
    """
    exits.forget()
    world, client = existing(), watch.current()
    if world is None or client is None:
        return members()
    if not world.members.recoverable:
        raise ProcessError(
            "the processes of this run end together; call "
            "mw.distributed.initialize(recoverable=True)"
        )
    if not client.regroup(world.counters(), 4 * client.timeout):
        raise ProcessError(
            f"process {world.process}: not all processes that are left called "
            f"mw.elastic.regroup() within {4 * client.timeout:g} s; end those that hang"
        )
    return members()


def returned(step: int) -> bool:
    """Whether to call `regroup` now: a process has come back and waits for that.

    All return True after the same step; until then no process waits for another one.

    Args:
      step: a number that grows from call to call, the same in all processes.

    Raises:
      ProcessError: another process does not call it within the timeout.
    """
    client = watch.current()
    return client is not None and client.all_reach("return", step, "one has come back")


@contextlib.contextmanager
def guard() -> Iterator[None]:
    """Raises a `ProcessFailure` for JAX's errors that come of a process that is gone.

    What Meshwright does raises it by itself. Use this around what waits for arrays
    without it, such as `float(loss)` or `jax.block_until_ready`.
    """
    world = existing()
    with contextlib.nullcontext() if world is None else world.explaining():
        yield


def attempt() -> int:
    """How many times the launcher has started the processes again; 0 at first, and
    without the launcher."""
    return int(environment("ATTEMPT") or 0)
