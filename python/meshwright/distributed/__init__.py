# SPDX-License-Identifier: Apache-2.0
"""One program over several processes (docs/distributed.md).

    mw.distributed.initialize()

is the first thing a script does; under `python -m meshwright.launch` or on a
cluster it finds its place among the others, alone it is one process.
"""

from .start import initialize as initialize
from .start import is_initialized as is_initialized
from .start import shutdown as shutdown
from .values import fetch as fetch
from .values import place as place
from .world import ProcessError as ProcessError
