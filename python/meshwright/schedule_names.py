# SPDX-License-Identifier: Apache-2.0
"""The names of schedules: the compiler's own, and those of the registry."""

from .compiler.schedules import compiler_name
from .core.schedule_names import (
    FILE_PREFIX,
    PIPELINE_SCHEDULE_NAMES,
    REGISTRY_NAMES,
    find_schedule_name,
)

__all__ = [
    "FILE_PREFIX",
    "PIPELINE_SCHEDULE_NAMES",
    "REGISTRY_NAMES",
    "find_schedule_name",
    "compiler_name",
]
