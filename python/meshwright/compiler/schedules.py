# SPDX-License-Identifier: Apache-2.0
"""Names of schedules as the compiler takes them."""

from __future__ import annotations

from ..core.names import unknown_name
from ..core.schedule_names import (
    FILE_PREFIX,
    PIPELINE_SCHEDULE_NAMES,
    find_schedule_name,
)
from . import native


def compiler_name(what: str, name: object) -> str:
    """The compiler's name of a schedule, or `file:PATH`.

    Args:
      what: where the name stands, for the error.
      name: as for `find_schedule_name`, or `file:PATH`.

    Raises:
      ValueError: there is no such schedule, or the file is not one.
    """
    if isinstance(name, str) and name.startswith(FILE_PREFIX):
        try:
            native.splits_backward(name)
        except ValueError as error:
            raise ValueError(f"{what}: {error}") from None
        return name
    found = find_schedule_name(name)
    if found is None:
        known = (*PIPELINE_SCHEDULE_NAMES, f"{FILE_PREFIX}PATH")
        raise ValueError(unknown_name(what, name, known))
    return found
