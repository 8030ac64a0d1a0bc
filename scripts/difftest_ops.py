"""Random single operations through our tools, against jaxlib's text and numbers.

Routes:
  print      parsed and printed, plain and generic: the text of jaxlib
  bytecode   written as bytecode and read back: the text that is printed
  fold       on constants: legalized, inlined, canonicalized, folded
  decompose  on arguments: the same, which decomposes CHLO
  partition  onto one mesh that is inferred, then erased

Programs that cannot be run, since no array has their types or they act on the world,
must be accepted on all routes, read by jaxlib afterwards, and have the operations they
had. Many programs share a module; where one fails, the module is halved.
"""

import collections
import dataclasses
import re
from collections.abc import Callable, Sequence

import difftest_meant
import ml_dtypes
import numerics
import numpy as np
import op_corpus
from isolated import Aborted, Isolated
from op_corpus import FOLD, Finding, ToolError, Tools
from random_ops import Program
from random_ops.program import module

ROUTES = ("print", "bytecode", "fold", "decompose", "partition")
# Units of the last place by which functions may be off that have formulas of their
# own on both sides, and complex numbers, by bytes of a number. All else is equal.
ULPS = {1: 1, 2: 2, 4: 64, 8: 512}
FUNCTIONS = r"chlo\.(?!constant|broadcast_(add|and|or|xor|m|sub|div|sel|shift|rem))|"
FUNCTIONS += r"stablehlo\.(power|abs|logistic|log|exp|sin|cos|tan|[rs]*qrt|cbrt|atan)"


def distance(left: np.ndarray, right: np.ndarray) -> float:
    """How far apart, as a part of what is allowed of functions; up to 1 is good."""
    if left.shape != right.shape or left.dtype != right.dtype:
        return np.inf
    if np.iscomplexobj(left):
        return complex_distance(left, right)
    if "int" in left.dtype.name or left.dtype == np.bool_:
        return 0.0 if np.array_equal(left, right) else np.inf
    if left.dtype.itemsize == 1:
        number = ml_dtypes.finfo(left.dtype)
        left, right = left.astype(np.float32), right.astype(np.float32)
        if not np.array_equal(np.isnan(left), np.isnan(right)):
            return np.inf
        size = np.maximum(np.abs(left), float(number.tiny)) * float(number.eps)
        with np.errstate(invalid="ignore"):  # Infinities of one sign are equal.
            apart = np.where(left == right, 0, np.abs(left - right) / size)
        return float(np.nan_to_num(apart).max(initial=0.0))
    return op_corpus.ulps(left, right) / ULPS[left.dtype.itemsize]


def complex_distance(left: np.ndarray, right: np.ndarray) -> float:
    """By the larger part, since functions lose the digits of the smaller. A number
    is NaN if a part is."""
    left, right = left.ravel(), right.ravel()
    nan = np.isnan(left)
    if not np.array_equal(nan, np.isnan(right)):
        return np.inf
    left, right = left[~nan], right[~nan]
    if not np.array_equal(np.isinf(left), np.isinf(right)):
        return np.inf
    info = np.finfo(left.dtype)
    left, right = left[np.isfinite(left)], right[np.isfinite(right)]
    allowed = np.maximum(np.abs(left), info.tiny) * info.eps
    allowed *= ULPS[left.dtype.itemsize // 2]
    return float((np.abs(left - right) / allowed).max(initial=0.0))


def is_equal(left: np.ndarray, right: np.ndarray) -> bool:
    """Bit by bit, but for the bits of NaN and the sign of zero."""
    if left.shape != right.shape or left.dtype != right.dtype:
        return False
    return bool(np.all((left == right) | (np.not_equal(left, left) & (right != right))))


def print_both(text: str) -> tuple[str, str]:
    from jaxlib.mlir import ir
    from test_differential import context_with_quantized_types

    with context_with_quantized_types():
        operation = ir.Module.parse(text).operation
        return operation.get_asm(), operation.get_asm(print_generic_op_form=True)


def operations(text: str) -> collections.Counter:
    """The lines of @main without names of values."""
    main = text.partition("func.func @main(")[2].partition("\n  }")[0]
    lines = (re.sub(r"%[\w#:]+", "%", line.strip()) for line in main.splitlines())
    return collections.Counter(line for line in lines if "=" in line)


@dataclasses.dataclass
class Expected:
    """What is known of a program before it goes through the tools."""

    program: Program
    numbers: list[np.ndarray] | None


class OpComparison:
    """Runs batches of programs on all routes and collects what differs."""

    def __init__(self, tools: Tools, routes: Sequence[str] = ROUTES):
        self.tools = tools
        self.routes = routes
        self.jaxlib = Isolated()
        self.findings: list[Finding] = []
        self.passed: collections.Counter = collections.Counter()
        self.meant: collections.Counter = collections.Counter()
        self.numbered = 0
        self.count = 0

    def close(self) -> None:
        self.jaxlib.close()

    def check(self, programs: Sequence[Program]) -> None:
        self.count += len(programs)
        expected = self._numbers([p for p in programs if p.runs])
        known = {e.program.name: e.numbers for e in expected}
        all_ = [Expected(p, known.get(p.name)) for p in programs]
        self.numbered += sum(e.numbers is not None for e in all_)
        for route in self.routes:
            action = getattr(self, f"_{route}")
            for group in (
                [e for e in all_ if e.numbers is not None],
                [e for e in all_ if e.numbers is None],
            ):
                self._blame(route, group, action)

    def _numbers(self, programs: Sequence[Program]) -> list[Expected]:
        """What jaxlib computes; programs that it refuses have no numbers."""
        if not programs:
            return []
        try:
            results = self._run(module(programs), programs)
        except (Aborted, RuntimeError):
            if len(programs) == 1:
                return [Expected(programs[0], None)]
            half = len(programs) // 2
            return self._numbers(programs[:half]) + self._numbers(programs[half:])
        return [
            Expected(program, part)
            for program, part in zip(programs, results, strict=True)
        ]

    def _run(self, text: str, programs: Sequence[Program]) -> list[list[np.ndarray]]:
        arrays = [array for program in programs for array in program.arrays]
        # XLA has defects of its own where it folds.
        results = self.jaxlib.call(numerics.run, text, arrays, False)
        parts, at = [], 0
        for program in programs:
            parts.append(results[at : at + len(program.results)])
            at += len(program.results)
        return parts

    def _blame(self, route: str, group: list[Expected], action: Callable) -> None:
        """Runs a route on a group; a failure is pinned to single programs."""
        if not group:
            return
        try:
            action(group)
        except (ToolError, Aborted, RuntimeError, Differs) as error:
            if len(group) > 1:
                half = len(group) // 2
                self._blame(route, group[:half], action)
                self._blame(route, group[half:], action)
                return
            what = " ".join(str(error).strip().splitlines()[:2])[:300]
            program = group[0].program
            if difftest_meant.is_meant(program, route, what):
                self.meant[route] += 1
                return
            kinds = ", ".join(map(str, program.arguments))
            name = f"{program.op} ({program.name}: {kinds})"
            self.findings.append(Finding(name, route, what))
            return
        self.passed[route] += len(group)

    def _print(self, group: list[Expected]) -> None:
        text = module([e.program for e in group])
        plain, generic = self.jaxlib.call(print_both, text)
        for option, theirs in ((), plain), (("--mlir-print-op-generic",), generic):
            same(self.tools.run("mpmd-opt", "-", *option, stdin=text), theirs)

    def _bytecode(self, group: list[Expected]) -> None:
        text = module([e.program for e in group])
        plain = self.tools.run("mpmd-opt", "-", stdin=text)
        same(self.tools.round_trip(text), plain)

    def _fold(self, group: list[Expected]) -> None:
        text = module([e.program for e in group], constants=True)
        folded = self.tools.run("mpmd-opt", "-", *FOLD, stdin=text)
        try:
            self._compare(group, "fold", folded)
        except (Aborted, RuntimeError, Differs):
            # XLA folds, too, where it cannot be told not to, and does so otherwise
            # than it computes; what we did not touch is not ours.
            plain = self.tools.run("mpmd-opt", "-", "--inline", stdin=text)
            if len(group) > 1 or operations(plain) != operations(folded):
                raise

    def _decompose(self, group: list[Expected]) -> None:
        text = module([e.program for e in group])
        folded = self.tools.run("mpmd-opt", "-", *FOLD, stdin=text)
        self._compare(group, "decompose", folded)

    def _partition(self, group: list[Expected]) -> None:
        text = module([e.program for e in group])
        erased = self.tools.partition(text, op_corpus.INFERRED)
        self._compare(group, "partition", erased)
        if group[0].numbers is None:
            before, after = (
                operations(self.tools.run("mpmd-opt", "-", *FOLD, stdin=t))
                for t in (text, erased)
            )
            if before != after:
                lost, new = before - after, after - before
                raise Differs(f"has lost {list(lost)[:2]}, gained {list(new)[:2]}")

    def _compare(self, group: list[Expected], route: str, text: str) -> None:
        if group[0].numbers is None:
            self.jaxlib.call(print_both, text)
            return
        programs = [e.program for e in group]
        if route == "fold":  # The arrays are in the text.
            programs = [dataclasses.replace(p, arrays=[]) for p in programs]
        results = self._run(text, programs)
        for expected, part in zip(group, results, strict=True):
            for i, (left, right) in enumerate(zip(expected.numbers, part, strict=True)):
                self._compare_numbers(expected.program, route, i, left, right)

    def _compare_numbers(self, program, route: str, i: int, left, right) -> None:
        if is_equal(left, right):
            return
        left, right = difftest_meant.without_meant(program, route, left, right)
        is_function = re.match(FUNCTIONS, program.op) or np.iscomplexobj(left)
        off = distance(left, right) if is_function else np.inf
        if off > 1 and not is_equal(left, right):
            told = f"result {i}: {describe(left, right)}"
            raise Differs(f"{told}, {off:.3g} times what is allowed")


class Differs(Exception):
    """Not the text or the numbers that are expected."""


def same(ours: str, theirs: str) -> None:
    if ours.strip() == theirs.strip():
        return
    for left, right in zip(ours.splitlines(), theirs.splitlines(), strict=False):
        if left != right:
            raise Differs(f"prints {left.strip()!r}, not {right.strip()!r}")
    raise Differs("prints more or less lines")


def describe(left: np.ndarray, right: np.ndarray) -> str:
    if left.shape != right.shape or left.dtype != right.dtype:
        return f"{left.dtype}{left.shape} became {right.dtype}{right.shape}"
    pairs = zip(left.ravel(), right.ravel(), strict=True)
    apart = [
        (distance(x, y), not is_equal(x, y), x[0], y[0])
        for x, y in ((np.array([a]), np.array([b])) for a, b in pairs)
    ]
    *_, a, b = max(apart, key=lambda entry: entry[:2])
    return f"{a!r} became {b!r} ({left.dtype})"
