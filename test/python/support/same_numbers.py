"""How far apart the numbers of two programs of small arrays are, found in a twentieth
of the time in which XLA compiles them, where that is possible. Large arrays would take
the interpreter minutes."""

from support import numerics
from support.isolated import Aborted, Isolated

TOLERANCE = 1e-5


def _interpreted_difference(plain: str, other: str) -> float:
    arguments = numerics.random_arguments(plain)
    left, right = (numerics.interpret(text, arguments) for text in (plain, other))
    return numerics.largest_difference(left, right)


def difference(
    worker: Isolated, plain: str, other: str, by_xla: bool = False
) -> tuple[float, bool]:
    """The largest difference, for random arguments, and whether XLA has found it.

    Unless `by_xla`, the numbers of StableHLO's interpreter are the first result. It
    knows few types, and scatters into arrays that are read again: where it refuses a
    program, ends the worker, or finds another number, those of XLA count.

    Raises:
      RuntimeError: XLA does not compile one of them.
    """
    if not by_xla:
        try:
            found = worker.call(_interpreted_difference, plain, other)
            if found <= TOLERANCE:
                return found, False
        except (RuntimeError, Aborted):
            pass
    arguments = numerics.random_arguments(plain)
    left, right = (
        numerics.run(text, arguments, fold=False, fuse=False) for text in (plain, other)
    )
    return numerics.largest_difference(left, right), True
