# SPDX-License-Identifier: Apache-2.0
"""A notice that the end is near, upon which all processes save the same step."""

from __future__ import annotations

import signal
import threading
from collections.abc import Sequence

from ..runtime.processes import watch

_noticed = threading.Event()


def notice_preemption(signals: Sequence[int] = (signal.SIGTERM,)) -> None:
    """Lets `preempted` know of signals that ask this process to end.

    Schedulers send SIGTERM some time before they kill: Kubernetes 30 seconds by
    default, SLURM with `--signal=TERM@120`, the launcher `--grace`. Call it in every
    process, in the main thread, after `mw.distributed.initialize()`.

    Raises:
      ValueError: not in the main thread.
    """
    for number in signals:
        signal.signal(number, _notice)


def _notice(number: int, frame: object) -> None:
    _noticed.set()
    # Once is enough, and a second one would kill Python while it ends: the launcher
    # hands on what the whole job has got.
    signal.signal(number, signal.SIG_IGN)
    client = watch.current()
    if client is not None:  # Which the main thread may be using right now.
        threading.Thread(target=client.report_preempted, daemon=True).start()


def preempted(step: int) -> bool:
    """Whether to save the state and end, now that this step has been issued.

    One process is asked to end, or all of them: all return True after the same step.
    Until then it costs less than a microsecond, and no process waits for another one.

        if mw.elastic.preempted(step):
            save(state)
            sys.exit(mw.elastic.PREEMPTED)

    Args:
      step: a number that grows by one from call to call, the same in all processes.

    Raises:
      ProcessError: another process does not call it within the timeout.
    """
    client = watch.current()
    if client is None:
        return _noticed.is_set()
    return client.all_reach("preemption", step, "one was asked to end")
