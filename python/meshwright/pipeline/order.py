# SPDX-License-Identifier: Apache-2.0
"""In which order a schedule has the backward passes of the microbatches.

Read while a program is traced, so `meshwright.jit` says for which config.
"""

from __future__ import annotations

import contextlib
import contextvars
import re
from collections.abc import Iterator

from ..schedule_names import FILE_PREFIX

__all__ = ["backward_order", "scheduled_by"]

# The compiler's name of the schedule of the program that is traced.
_schedule: contextvars.ContextVar[str] = contextvars.ContextVar(
    "schedule", default="None"
)
_LAST_FIRST = frozenset({"CircularWithReversedBackward", "LoopedBFS"})
# A cell of a file with the backward of the first stage.
_FIRST_STAGE = re.compile(r"\b0[BI](\d+)")


@contextlib.contextmanager
def scheduled_by(schedule: str) -> Iterator[None]:
    """While active, programs are traced for this schedule.

    Args:
      schedule: the compiler's name of it, or `file:PATH`.
    """
    token = _schedule.set(schedule)
    try:
        yield
    finally:
        _schedule.reset(token)


def backward_order(count: int) -> list[int]:
    """The numbers of `count` microbatches, those whose backward is first first.

    In a schedule from a file, which is for a number of microbatches of its own,
    the order is that of the first stage, whose backward is the last of all.
    """
    schedule = _schedule.get()
    numbers = list(range(count))
    if schedule in _LAST_FIRST:
        return numbers[::-1]
    if schedule.startswith(FILE_PREFIX):
        with open(schedule.removeprefix(FILE_PREFIX), encoding="utf-8") as file:
            cells = _FIRST_STAGE.findall(file.read())
        place = {int(microbatch): at for at, microbatch in enumerate(cells)}
        return sorted(numbers, key=lambda number: place.get(number, number))
    return numbers
