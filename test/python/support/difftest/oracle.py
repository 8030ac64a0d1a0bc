"""A third opinion on single operations: of StableHLO's interpreter, or of IREE.

Where the third differs from XLA, what we fold decides: with XLA, the third is alone;
with the third, XLA is; with neither, three disagree, which is a finding.
"""

import collections
import dataclasses
from collections.abc import Callable, Sequence

import numpy as np

from support import numerics
from support.difftest.ops import Expected, OpComparison, compare_numbers
from support.isolated import Aborted, Isolated
from support.op_corpus import Finding, ToolError, Tools
from support.random_ops import Program
from support.random_ops.program import module

ORACLES = ("interpreter", "iree")
# Compiling takes the time, and one operation that is refused refuses all.
BATCH = 20


def run_iree(text: str, arguments: list[np.ndarray]) -> list[np.ndarray]:
    """The results of a module by IREE; raises RuntimeError if it refuses."""
    try:
        from support import iree_cpu
    except ImportError as error:
        raise SystemExit(
            f"--oracle iree: {error}; install what requirements/iree.txt pins"
        ) from error
    try:
        return iree_cpu.run(text, arguments)
    except iree_cpu.Refused as reason:
        raise RuntimeError(str(reason)) from None


class OracleComparison:
    """Asks the third about programs that run; counts who is with whom."""

    def __init__(self, tools: Tools, oracle: str):
        self.oracle = oracle
        self.ours = OpComparison(tools, ("fold",))
        self.third = Isolated(__name__)
        self.ask: Callable = {
            "interpreter": numerics.interpret,
            "iree": run_iree,
        }[oracle]
        if oracle == "iree":  # Ends at once where it is not installed.
            import iree.compiler  # noqa: F401
        self.outcomes: collections.Counter = collections.Counter()
        self.findings: list[Finding] = []
        self.alone: list[str] = []

    def close(self) -> None:
        self.ours.close()
        self.third.close()

    def check(self, programs: Sequence[Program]) -> None:
        running = [program for program in programs if program.runs]
        if self.oracle == "interpreter":  # It knows StableHLO alone.
            known = [p for p in running if p.op.startswith("stablehlo.")]
            self.outcomes["no operation of StableHLO"] += len(running) - len(known)
            programs = [p for p in programs if p in known or not p.runs]
            running = known
        self.outcomes["not run"] += len(programs) - len(running)
        expected = [e for e in self.ours._numbers(running) if e.numbers is not None]
        self.outcomes["not run"] += len(running) - len(expected)
        for at in range(0, len(expected), BATCH):
            for one, numbers in self._opinions(expected[at : at + BATCH]):
                self._judge(one, numbers)

    def _opinions(self, group: list[Expected]):
        """(program, the third's results) of each; None where it refuses."""
        programs = [e.program for e in group]
        arrays = [array for program in programs for array in program.arrays]
        try:
            found = self.third.call(self.ask, module(programs), arrays)
        except (Aborted, RuntimeError, ValueError, TypeError, KeyError):
            if len(group) == 1:
                return [(group[0], None)]
            half = len(group) // 2
            return self._opinions(group[:half]) + self._opinions(group[half:])
        pieces, at = [], 0
        for one in group:
            count = len(one.program.results)
            pieces.append((one, found[at : at + count]))
            at += count
        return pieces

    def _judge(self, expected: Expected, third: list[np.ndarray] | None) -> None:
        if third is None:
            self.outcomes[f"refused by {self.oracle}"] += 1
            return
        found = compare_numbers(expected, "oracle", third)
        if not found:
            self.outcomes["all agree"] += 1
            return
        name = f"{expected.program.op} ({expected.program.name})"
        try:
            ours = self._folded(expected.program)
        except (Aborted, RuntimeError, ToolError) as error:
            self.outcomes["not folded"] += 1
            self.alone.append(f"{name}: not folded, {str(error).strip()[:80]}; {found}")
            return
        if not compare_numbers(expected, "fold", ours):
            self.outcomes[f"{self.oracle} alone"] += 1
            self.alone.append(f"{name}: {self.oracle} alone: {found}")
        elif not compare_numbers(
            dataclasses.replace(expected, numbers=third), "fold", ours
        ):
            self.outcomes["XLA alone"] += 1
            self.alone.append(f"{name}: XLA alone: {found}")
        else:
            self.outcomes["three opinions"] += 1
            self.findings.append(Finding(name, "oracle", found))

    def _folded(self, program: Program) -> list[np.ndarray]:
        """What our folding makes of it, and XLA of what that has left."""

        def take(programs: Sequence[Program]) -> str:
            return self.ours._fold_text(module(programs, constants=True))

        one = Expected(program, None)
        (part,) = self.ours._taken([one], take, True, True, hide=True)
        return part
