"""XLA's older emitters for CPUs, which compile in a fraction of the time, and one LLVM
module a program: by itself XLA makes up to 32 of them, to compile them in parallel,
which takes small programs half as much time again.

Tests that are about other things choose them where jaxlib still has them. A flag that
XLA does not know ends the process, and newer releases do not know this one.
"""

import importlib.metadata
import os

OPTION = "xla_cpu_use_fusion_emitters"
_MODULES = "xla_cpu_parallel_codegen_split_count"
# jaxlib 0.12.0.1 refuses the option; releases between were not tried.
HAS_OLDER = importlib.metadata.version("jaxlib").startswith("0.10.")


def choose_older() -> None:
    """To be called before JAX looks for devices."""
    if HAS_OLDER:
        flags = f"{os.environ.get('XLA_FLAGS', '')} --{OPTION}=false"
        if _MODULES not in flags:  # Else the test has chosen.
            flags += f" --{_MODULES}=1"
        os.environ["XLA_FLAGS"] = flags
