# SPDX-License-Identifier: Apache-2.0
"""Imports runtime.run runtime.watch runtime.program core.

Runs a partitioned program on the devices of one machine (docs/runtime.md).
"""

from ..core import started as _started

if _started.NEEDS_JAX:
    from .program.errors import FragmentError as FragmentError
    from .program.errors import ProgramError as ProgramError
    from .program.folder import read_folder as read_folder
    from .run.executor import FragmentSummary as FragmentSummary
    from .run.executor import ProgramExecutor as ProgramExecutor
    from .run.executor import load as load
    from .watch.events import Event as Event
    from .watch.memory import Account as Account
    from .watch.memory import MeshMemory as MeshMemory
    from .watch.profile import Recording as Recording
    from .watch.profile import profile as profile
    from .watch.traffic import Collective as Collective
    from .watch.traffic import Edge as Edge
    from .watch.traffic import Traffic as Traffic
