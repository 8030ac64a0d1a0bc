# SPDX-License-Identifier: Apache-2.0
"""Refuses a Python that is too old, before anything else is imported.

pip does so by itself; a source tree on PYTHONPATH does not, and then JAX, whose
releases for such a Python are too old as well, would be blamed. No syntax of newer
Pythons here.
"""

import sys

OLDEST = (3, 11)

if sys.version_info < OLDEST:  # noqa: UP036
    raise ImportError(
        "meshwright needs Python {}.{} or newer, found {}.{}.{} ({}); make an "
        "environment with one".format(*OLDEST, *sys.version_info[:3], sys.executable)
    )
