# SPDX-License-Identifier: Apache-2.0
"""Whether Python was started for a part of this package that needs no JAX.

Python imports a package before any module of it that `python -m` runs. To import JAX
takes a second of processor time and 150 MB, which the launcher and the watchdog beside
process 0 would have for nothing.
"""

import sys

_MODULES = ("meshwright.launch", "meshwright.runtime.processes.watchdog")


def _needs_jax(arguments: list[str], command: list[str]) -> bool:
    """As `sys.argv` and `sys.orig_argv` are while Python looks for its module."""
    if arguments[:1] != ["-m"]:
        return True
    return command[len(command) - len(arguments)] not in _MODULES


#: Found while the package is imported; a module that runs has another `sys.argv`.
NEEDS_JAX = _needs_jax(sys.argv, sys.orig_argv)
