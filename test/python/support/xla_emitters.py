"""XLA's older emitters for CPUs, which compile in a fraction of the time.

Tests that are about other things choose them where jaxlib still has them. A flag that
XLA does not know ends the process, and newer releases do not know this one.
"""

import importlib.metadata
import os

OPTION = "xla_cpu_use_fusion_emitters"
# jaxlib 0.12.0.1 refuses the option; releases between were not tried.
HAS_OLDER = importlib.metadata.version("jaxlib").startswith("0.10.")


def choose_older() -> None:
    """To be called before JAX looks for devices."""
    if HAS_OLDER:
        flags = os.environ.get("XLA_FLAGS", "")
        os.environ["XLA_FLAGS"] = f"{flags} --{OPTION}=false"
