# SPDX-License-Identifier: Apache-2.0
"""JAX's coordination service in a process of its own, beside the launcher.

    python -P coordinator.py MODULE ADDRESS PROCESSES TIMEOUT

A file to be started by its path, so that it imports nothing but the module of jaxlib
that has the service, which its starter names: all of JAX would take a second.

In a worker the service would end with that worker, and everybody with it; and it
ends its process when workers do not come. It ends when its standard input does, which
is when the launcher was killed: so it never outlives it. Nor does what the launcher
has started, whose process groups come as lines of that input: they are killed, with
all that the script has started in turn. Other lines are folders, which are removed.
A service manager that asks all processes of a job to end asks the launcher, too, which
gives its workers time to save something; until then they need the service.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import shutil
import signal
import sys
import threading

# JAX aborts all processes after so long without a heartbeat, and counts the time in
# which their machine slept. The watchdog notices sooner what is at fault.
HEARTBEAT_SECONDS = 24 * 3600
_ASKING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


def _end_with_watchdog() -> None:
    for line in list(map(str.strip, sys.stdin)):
        with contextlib.suppress(OSError):
            if line.isdecimal():
                os.killpg(int(line), signal.SIGKILL)
            else:
                shutil.rmtree(line)
    os._exit(0)  # Does not wait for the service.


def main() -> None:
    for number in _ASKING:
        signal.signal(number, signal.SIG_IGN)
    module, address, processes, timeout = sys.argv[1:]
    keeper = threading.Thread(target=_end_with_watchdog)
    keeper.start()
    service = importlib.import_module(module).get_distributed_runtime_service(
        address,
        int(processes),
        heartbeat_timeout=HEARTBEAT_SECONDS,
        shutdown_timeout=int(timeout),
        recoverable=True,
    )
    keeper.join()
    del service


if __name__ == "__main__":
    main()
