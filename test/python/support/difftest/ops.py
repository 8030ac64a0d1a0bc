"""Random single operations through our tools, against jaxlib's text and numbers.

Routes:
  print      parsed and printed, plain and generic: the text of jaxlib
  bytecode   written as bytecode and read back: the text that is printed
  fold       on constants: legalized, inlined, canonicalized, folded
  decompose  on arguments: the same, which decomposes CHLO
  partition  onto one mesh that is inferred, then erased
  named      by a name on one of two meshes, its results by another name, then erased

Programs that cannot be run, since no array has their types or they act on the world,
must be accepted on all routes, read by jaxlib afterwards, and have the operations they
had. Many programs share a module; where one fails, the module is halved.
"""

import collections
import dataclasses
import re
from collections.abc import Callable, Sequence

import ml_dtypes
import numpy as np

from support import numerics, op_corpus
from support.difftest import meant as difftest_meant
from support.difftest.values import read_results
from support.isolated import Aborted, Isolated
from support.op_corpus import FOLD, Finding, ToolError, Tools
from support.random_ops import Program
from support.random_ops.program import module

# XLA takes longer for each operation of a larger module.
MODULE = 100
ROUTES = ("print", "bytecode", "fold", "decompose", "partition", "named")
# A mesh holds no such value. Where names are inferred, it is one between two fragments
# until they are merged, which is no valid program, so passes may be verified at the
# end only, as builds without sanitizers do.
HELD_BY_NO_MESH = re.compile(r"memref<|!stablehlo\.future<|tensor<\*")
UNVERIFIED = {"mpmd_verify_each": False}
# Units of the last place by which functions may be off that have formulas of their
# own on both sides, and complex numbers, by bytes of a number. All else is equal.
ULPS = {1: 1, 2: 2, 4: 64, 8: 512}
FUNCTIONS = r"chlo\.(?!constant|broadcast_(add|and|or|xor|m|sub|sel|shift|rem))|"
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

    from support.jaxlib_context import context_with_quantized_types

    with context_with_quantized_types():
        operation = ir.Module.parse(text).operation
        return operation.get_asm(), operation.get_asm(print_generic_op_form=True)


def operations(text: str) -> collections.Counter:
    """The lines of @main without names of values."""
    main = text.partition("func.func @main(")[2].partition("\n  }")[0]
    lines = (re.sub(r"%[\w#:]+", "%", line.strip()) for line in main.splitlines())
    return collections.Counter(line for line in lines if "=" in line)


@dataclasses.dataclass(eq=False)
class Expected:
    """What is known of a program before it goes through the tools."""

    program: Program
    numbers: list[np.ndarray] | None


Differences = list[tuple[Expected, str]]


class OpComparison:
    """Runs batches of programs on all routes and collects what differs."""

    def __init__(self, tools: Tools, routes: Sequence[str] = ROUTES):
        self.tools = tools
        self.routes = routes
        self.jaxlib = Isolated(__name__)
        self.findings: list[Finding] = []
        self.passed: collections.Counter = collections.Counter()
        self.meant: collections.Counter = collections.Counter()
        self.numbered = 0
        self.compiled = 0
        self.count = 0

    def close(self) -> None:
        self.jaxlib.close()

    def check(self, programs: Sequence[Program]) -> None:
        self.count += len(programs)
        running = [p for p in programs if p.runs]
        fused = [p for p in running if needs_fusion(p)]
        others = [p for p in running if p not in fused]
        expected = self._numbers(fused, True)
        for at in range(0, len(others), MODULE):
            expected += self._numbers(others[at : at + MODULE])
        known = {e.program.name: e.numbers for e in expected}
        all_ = [Expected(p, known.get(p.name)) for p in programs]
        numbered = [e for e in all_ if e.numbers is not None]
        others = [e for e in all_ if e.numbers is None]
        self.numbered += len(numbered)
        for route in self.routes:
            groups = [numbered, others]
            if route == "partition":
                # Those that it may refuse, by themselves: to find them takes longer.
                apart = [e for e in others if has_unusual_arguments(e.program)]
                groups = [numbered, [e for e in others if e not in apart]]
                groups += [[e] for e in apart]
            if route == "named":  # Only these have values that go to another mesh.
                groups = [[e for e in g if is_transferable(e.program)] for g in groups]
            for group in groups:
                self._blame(route, group, getattr(self, f"_{route}"))

    def _numbers(
        self, programs: Sequence[Program], fuse: bool = False
    ) -> list[Expected]:
        """What jaxlib computes; programs that it refuses have no numbers."""
        if not programs:
            return []
        try:
            results = self._run_plain(programs, fuse)
        except (Aborted, RuntimeError):
            if len(programs) == 1:
                return [Expected(programs[0], None)]
            half = len(programs) // 2
            return self._numbers(programs[:half], fuse) + self._numbers(
                programs[half:], fuse
            )
        return [
            Expected(program, part)
            for program, part in zip(programs, results, strict=True)
        ]

    def _run_plain(self, programs: Sequence[Program], fuse: bool):
        """Their numbers before any tool has seen them."""
        text = module([difftest_meant.for_xla(p) for p in programs])
        return self._run(text, programs, fuse)

    def _run(
        self, text: str, programs: Sequence[Program], fuse: bool = False
    ) -> list[list[np.ndarray]]:
        arrays = [array for program in programs for array in program.arrays]
        self.compiled += len(programs)
        # XLA has defects of its own where it folds.
        results = self.jaxlib.call(numerics.run, text, arrays, False, fuse)
        return split(results, [e.results for e in programs])

    def _blame(self, route: str, group: list[Expected], action: Callable) -> None:
        """Runs a route on a group; a failure is pinned to single programs."""
        if not group:
            return
        try:
            differences = action(group)
        except (ToolError, Aborted, RuntimeError, Differs) as error:
            if len(group) > 1:
                half = len(group) // 2
                self._blame(route, group[:half], action)
                self._blame(route, group[half:], action)
                return
            what = " ".join(str(error).strip().splitlines()[:2])[:300]
            differences = [(group[0], what)]
        for expected, what in differences:
            program = expected.program
            if difftest_meant.is_meant(program, route, what):
                self.meant[route] += 1
                continue
            kinds = ", ".join(map(str, program.arguments))
            name = f"{program.op} ({program.name}: {kinds})"
            self.findings.append(Finding(name, route, what))
        self.passed[route] += len(group) - len(differences)

    def _print(self, group: list[Expected]) -> Differences:
        text = module([e.program for e in group])
        plain, generic = self.jaxlib.call(print_both, text)
        for option, theirs in ((), plain), (("--mlir-print-op-generic",), generic):
            same(self.tools.run("mpmd-opt", "-", *option, stdin=text), theirs)
        return []

    def _bytecode(self, group: list[Expected]) -> Differences:
        text = module([e.program for e in group])
        plain = self.tools.run("mpmd-opt", "-", stdin=text)
        same(self.tools.round_trip(text), plain)
        return []

    def _fold(self, group: list[Expected]) -> Differences:
        return self._folded(group, "fold")

    def _decompose(self, group: list[Expected]) -> Differences:
        return self._folded(group, "decompose")

    def _folded(self, group: list[Expected], route: str) -> Differences:
        constants = route == "fold"
        programs = [e.program for e in group]
        text = module(programs, constants)
        folded = self._fold_text(text)
        if group[0].numbers is None:
            self.jaxlib.call(print_both, folded)
            return []
        # What we did not touch is not ours.
        plain = self.tools.run("mpmd-opt", "-", "--inline", stdin=text)
        touched = self._differing(group, plain, folded)
        if constants:
            touched = [e for e in touched if not divides_by_zero(e.program)]

        def take(programs: Sequence[Program]) -> str:
            return self._fold_text(module(programs, constants))

        return self._compare(touched, route, take, constants)

    def _fold_text(self, text: str) -> str:
        return self.tools.run("mpmd-opt", "-", *FOLD, stdin=text)

    def _partition(self, group: list[Expected]) -> Differences:
        def take(programs: Sequence[Program]) -> str:
            text = module(programs)
            config = op_corpus.INFERRED
            if HELD_BY_NO_MESH.search(text):
                config = config | {"options": config["options"] | UNVERIFIED}
            return self.tools.partition(text, config)

        return self._partitioned(group, "partition", take)

    def _named(self, group: list[Expected]) -> Differences:
        def take(programs: Sequence[Program]) -> str:
            return self.tools.partition(module(programs, named=True), op_corpus.NAMED)

        return self._partitioned(group, "named", take)

    def _partitioned(self, group: list[Expected], route: str, take) -> Differences:
        programs = [e.program for e in group]
        text, erased = module(programs), take(programs)
        folded = [self._fold_text(FUNCTION.sub(PRIVATE, t)) for t in (text, erased)]
        if group[0].numbers is None:
            self.jaxlib.call(print_both, erased)
            before, after = map(operations, folded)
            if before != after:
                lost, new = before - after, after - before
                raise Differs(f"has lost {list(lost)[:2]}, gained {list(new)[:2]}")
            return []
        touched = self._differing(group, *folded)
        return self._compare(touched, route, take)

    def _differing(self, group: list[Expected], left: str, right: str):
        """The programs whose results are not computed in the same way."""
        results = [self.jaxlib.call(read_results, text) for text in (left, right)]
        counts = [e.program.results for e in group]
        parts = (split(found, counts) for found in results)
        return [
            e
            for e, one, other in zip(group, *parts, strict=True)
            if any(a != b for a, b in zip(one, other, strict=True))
        ]

    def _compare(
        self,
        group: list[Expected],
        route: str,
        take: Callable[[Sequence[Program]], str],
        constants: bool = False,
    ) -> Differences:
        """Takes only these through the tools, and runs what comes out."""
        if not group:
            return []
        suspects = []
        for fuse in (False, True):
            some = [e for e in group if needs_fusion(e.program) == fuse]
            if not some:
                continue
            try:
                parts = self._taken(some, take, constants, fuse)
                pairs = zip(some, parts, strict=True)
                suspects += [e for e, p in pairs if compare_numbers(e, route, p)]
            except RuntimeError:
                if len(group) > 1:
                    raise
                suspects = group
        differences = []
        for suspect in suspects:  # What counts is XLA as it comes.
            numbers = self._run_plain([suspect.program], True)
            expected = Expected(suspect.program, numbers[0])
            (part,) = self._taken([suspect], take, constants, True, hide=True)
            found = compare_numbers(expected, route, part)
            if found:
                differences.append((expected, found))
        return differences

    def _taken(
        self, group: list[Expected], take, constants: bool, fuse: bool, hide=False
    ):
        """Numbers of programs that have been through the tools; with `hide` XLA does
        not fold what these have left."""
        programs = [e.program for e in group]
        text = take(programs)
        if constants:  # The arrays are in the text.
            programs = [dataclasses.replace(p, arrays=[]) for p in programs]
        if not (hide and constants):
            return self._run(text, programs, fuse)
        # XLA folds, too, where it cannot be prevented, and does so otherwise than it
        # computes.
        values, rest = constants_as_arguments(text)
        try:
            arrays = self.jaxlib.call(numerics.run, values, [], False, True)
            programs = [dataclasses.replace(programs[0], arrays=arrays)]
            return self._run(rest, programs, fuse)
        except RuntimeError:  # Some have to be known, as sizes do.
            return self._run(text, programs, fuse)


# Functions of fragments are public, which keeps them beside what is inlined.
FUNCTION, PRIVATE = re.compile(r"func\.func (?=@(?!main\b))"), "func.func private "


def split(items: list, parts: Sequence[Sequence]) -> list[list]:
    """A list in pieces, as long as `parts`."""
    pieces, at = [], 0
    for part in parts:
        pieces.append(items[at : at + len(part)])
        at += len(part)
    return pieces


def needs_fusion(program: Program) -> bool:
    """What XLA's older emitters do not know: the larger of two complex numbers, and
    some of the operations on less than a byte."""
    types = " ".join([*map(str, program.arguments), *program.results])
    if program.op.endswith(("maximum", "minimum")) and "complex" in types:
        return True
    return re.search(r"[xi<](u?i[24]|f4E2M1FN)>", types) is not None


def has_unusual_arguments(program: Program) -> bool:
    """No tensors, or such of unknown size."""
    types = [str(argument) for argument in program.arguments] + program.results
    return any("?" in t or "*" in t or not t.startswith("tensor") for t in types)


def is_transferable(program: Program) -> bool:
    """Whether all that goes in and out are arrays."""
    types = [*map(str, program.arguments), *program.results]
    return all(t.startswith("tensor<") and "?" not in t and "*" not in t for t in types)


CONSTANT = re.compile(r"^    (%\w+) = stablehlo\.constant .* : (tensor<.*>)\n", re.M)


def constants_as_arguments(text: str) -> tuple[str, str]:
    """A module that returns the constants of @main, and one that takes them."""
    found = list(CONSTANT.finditer(text))
    names = ", ".join(match[1] for match in found)
    types = ", ".join(match[2] for match in found)
    lines = "".join(match[0] for match in found)
    given = ", ".join(f"{match[1]}: {match[2]}" for match in found)
    return (
        f"func.func @main() -> ({types}) {{\n{lines}return {names} : {types}\n}}",
        CONSTANT.sub("", text).replace("@main()", f"@main({given})"),
    )


def divides_by_zero(program: Program) -> bool:
    """As constants, which ends XLA's process where it folds them."""
    if not re.search(r"(divide|remainder)$", program.op):
        return False
    element = getattr(program.arguments[-1], "element", "")
    return "i" in element and not np.all(program.arrays[-1])


def compare_numbers(expected: Expected, route: str, results) -> str:
    """What differs, or nothing."""
    program = expected.program
    for i, (left, right) in enumerate(zip(expected.numbers, results, strict=True)):
        if is_equal(left, right):
            continue
        left, right = difftest_meant.without_meant(program, route, left, right)
        is_function = re.match(FUNCTIONS, program.op) or np.iscomplexobj(left)
        off = distance(left, right) if is_function else np.inf
        if off > 1 and not is_equal(left, right):
            found = f"result {i}: {describe(left, right)}"
            return f"{found}, {off:.3g} times what is allowed"
    return ""


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
