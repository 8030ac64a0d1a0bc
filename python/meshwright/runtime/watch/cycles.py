# SPDX-License-Identifier: Apache-2.0
"""How long the compiler of a TPU thinks that its code takes.

It writes its estimate after each operation, in cycles of the clock. Unlike the sum of
its cost analysis they know the precision of products, and on-chip memory:

    %fusion = bf16[8,8] fusion(...), calls=%c, backend_config={"estimated_cycles":"512"}
"""

from __future__ import annotations

import re

from .traffic import Module

_CYCLES = re.compile(r'"estimated_cycles":"(\d+)"')


def count_cycles(text: str) -> int | None:
    """Cycles of all operations of optimized HLO, loops as often as they turn.

    Returns:
      None where the text has none, as that of other compilers.
    """
    if '"estimated_cycles"' not in text:
        return None
    module = Module(text)
    return _count(module, module.entry, {})


def _count(module: Module, name: str, known: dict[str, int]) -> int:
    if name not in known:
        known[name] = 0  # For a computation that calls itself, which none does.
        known[name] = sum(
            _of_line(module, name, line, known) for line in module.lines.get(name, ())
        )
    return known[name]


def _of_line(module: Module, name: str, line: str, known: dict[str, int]) -> int:
    found = _CYCLES.search(line)
    if found:  # That of all that it calls.
        return int(found[1])
    counts = [_count(module, called, known) for called in module.called(line)]
    if " conditional(" in line:
        return max(counts, default=0)
    return sum(counts) * (module.turns(name, line) if " while(" in line else 1)
