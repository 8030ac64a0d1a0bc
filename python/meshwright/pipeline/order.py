# SPDX-License-Identifier: Apache-2.0
"""What is known of a program's config while it is traced.

In which order its schedule has the backward passes of the microbatches, and whether
its loops are unrolled.
"""

from __future__ import annotations

import contextlib
import contextvars
import re
from collections.abc import Iterator

from ..schedule_names import FILE_PREFIX

__all__ = ["backward_order", "scheduled_by", "unrolls_loops"]

# The compiler's name of the schedule of the program that is traced.
_schedule: contextvars.ContextVar[str] = contextvars.ContextVar(
    "schedule", default="None"
)
_unrolls: contextvars.ContextVar[bool] = contextvars.ContextVar(
    "unrolls", default=False
)
_LAST_FIRST = frozenset({"CircularWithReversedBackward", "LoopedBFS"})
# A cell of a file with the backward of the first stage.
_FIRST_STAGE = re.compile(r"\b0[BI](\d+)")


@contextlib.contextmanager
def scheduled_by(schedule: str, unrolls: bool = True) -> Iterator[None]:
    """While active, programs are traced for this schedule.

    Args:
      schedule: the compiler's name of it, or `file:PATH`.
      unrolls: whether loops of this package need not be written out as calls.
    """
    token, outer = _schedule.set(schedule), _unrolls.set(unrolls)
    try:
        yield
    finally:
        _schedule.reset(token)
        _unrolls.reset(outer)


def unrolls_loops() -> bool:
    """Whether loops of this package may be left to the compiler."""
    return _unrolls.get()


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
