# SPDX-License-Identifier: Apache-2.0
"""JAX's coordination service in a process of its own, beside the launcher.

    python -P coordinator.py MODULE ADDRESS PROCESSES TIMEOUT

A file to be started by its path, so that it imports nothing but the module of jaxlib
that has the service, which its starter names: all of JAX would take a second.

In a worker the service would end with that worker, and everybody with it; and it
ends its process when workers do not come. Says when it listens, ends when its
standard input does, so that it never outlives the launcher.
"""

from __future__ import annotations

import importlib
import os
import sys


def main() -> None:
    module, address, processes, timeout = sys.argv[1:]
    service = importlib.import_module(module).get_distributed_runtime_service(
        address,
        int(processes),
        heartbeat_timeout=int(timeout),
        shutdown_timeout=int(timeout),
        recoverable=True,
    )
    print("listening", flush=True)
    sys.stdin.read()
    del service
    os._exit(0)  # Does not wait.


if __name__ == "__main__":
    main()
