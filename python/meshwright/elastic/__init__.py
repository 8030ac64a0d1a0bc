# SPDX-License-Identifier: Apache-2.0
"""Runs that outlive a process (docs/distributed.md, "When something fails").

python -m meshwright.launch -n 4 --restart 10 train.py
"""

from ..runtime.processes.exits import PREEMPTED as PREEMPTED
from ..runtime.processes.failures import ProcessFailure as ProcessFailure
from .copies import Copies as Copies
from .preemption import notice_preemption as notice_preemption
from .preemption import preempted as preempted
from .regroup import attempt as attempt
from .regroup import guard as guard
from .regroup import members as members
from .regroup import regroup as regroup
from .regroup import returned as returned
