"""One MLIR context for all programs of a test process.

JAX makes one for each program that it lowers, and the package for each that it loads,
with all dialects: 6 of the 11 ms that a small program takes. A context never forgets an
attribute, so this is for small programs.
"""

import functools
import sys

_USERS = [
    "jax._src.interpreters.mlir",
    "meshwright.jaxapi.frontend",
    "meshwright.jaxapi.runtime",
]


def share() -> None:
    """To be called where modules that make contexts have been imported."""
    users = [sys.modules[name] for name in _USERS if name in sys.modules]
    if users:
        make = functools.cache(users[0].make_ir_context)
        for user in users:
            user.make_ir_context = make
