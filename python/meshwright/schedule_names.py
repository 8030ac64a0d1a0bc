# SPDX-License-Identifier: Apache-2.0
"""The names of schedules: the compiler's own, and those of the registry."""

from typing import Any

from .compiler.schedules import (
    compiler_name,
    find_schedule_name,
    registry_names,
    schedule_names,
)
from .core.names import SCHEDULE_FILE_PREFIX as FILE_PREFIX

__all__ = [
    "FILE_PREFIX",
    "PIPELINE_SCHEDULE_NAMES",
    "REGISTRY_NAMES",
    "compiler_name",
    "find_schedule_name",
]

PIPELINE_SCHEDULE_NAMES: tuple[str, ...]
REGISTRY_NAMES: dict[str, str]


def __getattr__(name: str) -> Any:
    # Asked of the compiler, which is not loaded before it is needed.
    if name == "PIPELINE_SCHEDULE_NAMES":
        return schedule_names()
    if name == "REGISTRY_NAMES":
        return registry_names()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
