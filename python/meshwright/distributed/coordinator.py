# SPDX-License-Identifier: Apache-2.0
"""JAX's coordination service in a process of its own, beside the launcher.

    python -m meshwright.distributed.coordinator ADDRESS PROCESSES TIMEOUT

In a worker the service would end with that worker, and everybody with it; and it
ends its process when workers do not come. Says when it listens, ends when its
standard input does, so that it never outlives the launcher.
"""

from __future__ import annotations

import os
import sys

from ..runtime import _jax_runtime


def main() -> None:
    address, processes, timeout = sys.argv[1:]
    service = _jax_runtime.start_coordinator(address, int(processes), int(timeout))
    print("listening", flush=True)
    sys.stdin.read()
    del service
    os._exit(0)  # Waits for nobody.


if __name__ == "__main__":
    main()
