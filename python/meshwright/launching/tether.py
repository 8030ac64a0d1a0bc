# SPDX-License-Identifier: Apache-2.0
"""Becomes another program that ends when its parent does.

    python -I -S tether.py PARENT PROGRAM ARGUMENTS...

A file to be started by its path. The system sends SIGKILL to the process when its
parent, which has the number PARENT, is gone, however that one ended.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1  # Of <linux/prctl.h>; what runs instead of this keeps it.


def main() -> None:
    parent, *command = sys.argv[1:]
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != int(parent):  # It has ended already.
        os.kill(os.getpid(), signal.SIGKILL)
    os.execv(command[0], command)


if __name__ == "__main__":
    main()
