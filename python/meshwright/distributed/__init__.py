# SPDX-License-Identifier: Apache-2.0
"""One program over several processes (docs/distributed.md).

    mw.distributed.initialize()

is the first thing a script does; under `python -m meshwright.launch` or on a
cluster it finds its place among the others, alone it is one process.
"""

from ..runtime.processes.start import initialize as initialize
from ..runtime.processes.start import is_initialized as is_initialized
from ..runtime.processes.start import shutdown as shutdown
from ..runtime.processes.values import fetch as fetch
from ..runtime.processes.values import place as place
from ..runtime.processes.world import ProcessError as ProcessError
