# SPDX-License-Identifier: Apache-2.0
"""What the runtime raises besides Python's own exceptions."""

from __future__ import annotations

import jax


class FragmentError(jax.errors.JaxRuntimeError):
    """A fragment or transfer failed while it was compiled, issued or computed.

    The text says which: the fragment's name, the named computations it came from
    and its mesh, then what JAX said. The process stays usable; arrays that were
    donated to the failed call are gone.
    """


class ProgramError(ValueError):
    """A program does not fit its fragments, its meshes or itself."""
