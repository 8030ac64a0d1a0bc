"""Training steps of many optimizers: where their state lives, and what they send.

A number is a model, an optimizer, and a way to tell its stages. All are lowered; one of
a hundred also runs, and has the numbers of `jax.jit`.
"""

import collections
import logging
from collections.abc import Sequence

import jax

from support import placement_programs
from support.difftest import jit as difftest_jit
from support.op_corpus import Finding

EXECUTED = 100
_logger = logging.getLogger("meshwright")


class PlacementComparison:
    def __init__(self):
        self.findings: list[Finding] = []
        self.outcomes: collections.Counter = collections.Counter()
        self._choices = placement_programs.choices()
        self._warnings = _Warnings()
        _logger.addHandler(self._warnings)

    def close(self) -> None:
        _logger.removeHandler(self._warnings)

    def check(self, numbers: Sequence[int]) -> None:
        for number in numbers:
            program = placement_programs.make(*self._choices[number])
            try:
                found = self.wrong(program, runs=number % EXECUTED == 0)
            except Exception as error:
                found = [f"{type(error).__name__}: {error}".splitlines()[0][:300]]
            self.outcomes["differ" if found else "in their places"] += 1
            for finding in found:
                name = f"step {number} ({program.name})"
                self.findings.append(Finding(name, "placement", finding))

    def __len__(self) -> int:
        return len(self._choices)

    def wrong(self, program: placement_programs.Program, runs: bool) -> list[str]:
        """What is out of place, warned of, or computed otherwise by `jax.jit`."""
        self._warnings.texts.clear()
        lowered = program.lower()
        found = placement_programs.misplaced(program, lowered)
        found += self._warnings.texts
        if runs:
            compiled = lowered.compile()
            values = program.values()
            ours = compiled(*compiled.place(*values))
            finding = difftest_jit.difference(jax.jit(program.step)(*values), ours)
            found += [finding] if finding else []
        return found


class _Warnings(logging.Handler):
    def __init__(self):
        super().__init__(logging.WARNING)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(record.getMessage())
