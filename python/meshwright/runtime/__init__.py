# SPDX-License-Identifier: Apache-2.0
"""Runs a partitioned program on the devices of one machine (docs/runtime.md)."""

from .errors import FragmentError as FragmentError
from .errors import ProgramError as ProgramError
from .executor import FragmentSummary as FragmentSummary
from .executor import ProgramExecutor as ProgramExecutor
from .executor import load as load
from .folder import read_folder as read_folder
from .memory import Account as Account
from .memory import MeshMemory as MeshMemory
from .profile import Event as Event
from .profile import Recording as Recording
from .profile import profile as profile
