# SPDX-License-Identifier: Apache-2.0
"""What is known of a program while it is traced.

In which order its schedule has the backward passes of the microbatches, whether its
loops are unrolled, and how many microbatches it has so far.
"""

from __future__ import annotations

import contextlib
import contextvars
import dataclasses
from collections.abc import Iterator

from ..compiler import native


@dataclasses.dataclass
class _Program:
    schedule: str  # The compiler's name of it.
    unrolls: bool
    meshes: int = 0  # Those that have stages.
    microbatches: int = 0
    sequence_chunks: int = 1


# The program that is traced by `meshwright.jit`.
_program: contextvars.ContextVar[_Program | None] = contextvars.ContextVar(
    "program", default=None
)


@contextlib.contextmanager
def scheduled_by(
    schedule: str, unrolls: bool = True, meshes: int = 0
) -> Iterator[None]:
    """While active, programs are traced for this schedule.

    Args:
      schedule: the compiler's name of it, or `file:PATH`.
      unrolls: whether loops of this package need not be written out as calls.
      meshes: how many meshes have stages.
    """
    token = _program.set(_Program(schedule, unrolls, meshes))
    try:
        yield
    finally:
        _program.reset(token)


def unrolls_loops() -> bool:
    """Whether loops of this package may be left to the compiler."""
    program = _program.get()
    return program is not None and program.unrolls


def count_microbatches(count: int, sequence_chunks: int = 1) -> int:
    """The number of the first of `count` further microbatches of a program.

    A schedule tells microbatches apart by their numbers, also those of two functions,
    or of two gradients in one step. With sequences in chunks, each is one.
    """
    program = _program.get()
    if program is None:
        return 0
    if program.microbatches and program.sequence_chunks != sequence_chunks:
        raise ValueError(
            f"microbatches with sequences in {sequence_chunks} chunks come after those "
            f"with {program.sequence_chunks}; in one program all must be cut into as "
            "many chunks"
        )
    program.sequence_chunks = sequence_chunks
    first = program.microbatches
    program.microbatches += count
    return first


def count_meshes() -> int:
    """How many meshes have stages; 0 if no program of `meshwright.jit` is traced."""
    program = _program.get()
    return 0 if program is None else program.meshes


def is_scheduled() -> bool:
    """Whether a program of `meshwright.jit` is being traced."""
    return _program.get() is not None


def backward_order(count: int, first: int = 0) -> list[int]:
    """Which of `count` microbatches has its backward first, which next, and so on.

    In a schedule from a file, which is for a number of microbatches of its own,
    the order is that of the first stage, whose backward is the last of all.

    Args:
      count: the number of microbatches.
      first: the number of the first of them in the program.

    Returns:
      The numbers from 0 to `count`, in this order.
    """
    program = _program.get()
    if program is None:
        return list(range(count))
    return native.extension().backward_order(program.schedule, count, first)
