"""Random programs of a single operation of StableHLO or CHLO.

`generate(seed)` draws one: an operation, its shapes, attributes, element types and
numbers. Operations take turns, so n programs have each about n / 180 times.
"""

import random

from . import contractions, effects, elementwise, regions, shapes, typed
from .program import Builder, Program, Skip

__all__ = ["OPS", "Program", "generate"]

OPS = {
    name: draw
    for family in (elementwise, shapes, contractions, regions, effects, typed)
    for name, draw in family.OPS.items()
}
_NAMES = sorted(OPS)


def generate(seed: int, words: tuple[str, ...] = ()) -> Program:
    """The program of a number; `words` are parts of the names of what is drawn."""
    names = [n for n in _NAMES if not words or any(word in n for word in words)]
    name = names[seed % len(names)]
    for attempt in range(100):
        builder = Builder(random.Random(f"{seed} {attempt}"), f"p{seed}")
        try:
            OPS[name](builder)
        except Skip:  # What was drawn does not go together.
            continue
        return builder.program(name)
    raise AssertionError(f"{name}: nothing that fits was drawn")
