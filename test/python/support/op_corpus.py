#!/usr/bin/env python3
"""Runs JAX's own op harnesses through our tools and compares the numbers.

JAX ships, for the tests of its converters, several thousand small calls of its
primitives: one per element type, shape and attribute. Each is lowered to
StableHLO here, taken through the tools on several routes, and run by jaxlib
before and after. The numbers must agree within ULPS units of the last place.

    .venv/bin/python -m support.op_corpus --bin build/bin            # everything
    .venv/bin/python -m support.op_corpus --filter erf,top_k --inputs arguments

Many calls share a module, since starting a tool and compiling a module cost more
than the calls themselves. Where a module fails it is halved until the call that
fails is alone. Prints one line per finding and a summary per route; exit
code 1 if there is any finding.

Routes:
  print      parsed and printed
  fold       legalized, inlined, canonicalized, constants folded
  partition  onto one mesh that is inferred, then erased
  named      every call a named computation on one of two meshes, then erased
"""

import argparse
import collections
import dataclasses
import functools
import json
import pathlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax  # noqa: E402
import ml_dtypes  # noqa: E402
import numpy as np  # noqa: E402

import meshwright as mw  # noqa: E402
from support import numerics
from support.frontend_ir import emitted  # noqa: E402
from support.tools import ROOT  # noqa: E402

ULPS = 64
TIMEOUT = 120
FOLD = (
    "--chlo-legalize-to-stablehlo",
    "--inline",
    "--cse",
    "--canonicalize",
    "--stablehlo-target-independent-optimization",
    "--canonicalize",
)
INFERRED = {"topology": {"a": {"x": 1}}, "options": {"mpmd_infer_transfers": True}}
NAMED = {
    "topology": {"a": {"x": 1}, "b": {"x": 1}},
    "assignment": {"first": "a", "second": "b"},
    "options": {"mpmd_infer_transfers": True},
}
# LAPACK's factors are unique up to signs only, and its calls are none of ours.
LAPACK = {"cholesky", "custom_linear_solve", "eig", "eigh", "lu", "qr", "svd"}
LAPACK |= {"householder_product", "schur", "triangular_solve", "tridiagonal_solve"}
# Draws from a generator of the platform, other numbers in every run.
RANDOM = ("stablehlo.rng ",)


@dataclasses.dataclass
class Case:
    """A call: a function of arrays, and arrays."""

    name: str
    function: Callable
    arguments: list[np.ndarray]


@dataclasses.dataclass
class Finding:
    case: str
    route: str
    what: str

    def __str__(self) -> str:
        return f"{self.route}: {self.case}: {self.what}"


class ToolError(Exception):
    """A tool failed; the message is its last line of errors."""


def harness_cases(words: Sequence[str] = (), every: int = 1) -> Iterator[Case]:
    """The harnesses whose name has one of `words` in it, or every n-th."""
    from jax._src.internal_test_util import test_harnesses

    chosen = [
        harness
        for harness in test_harnesses.all_harnesses
        if harness.filter("cpu") and harness.group_name not in LAPACK
    ]
    if words:
        chosen = [h for h in chosen if any(word in h.fullname for word in words)]
    for harness in chosen[::every]:
        rng = np.random.RandomState(42)
        try:
            arguments = [np.asarray(a) for a in harness.dyn_args_maker(rng)]
        except TypeError:
            continue  # Random keys and other things that are no arrays.
        yield Case(harness.fullname, harness.dyn_fun, arguments)


def _flat(case: Case, arguments: Sequence[Any]) -> list[Any]:
    return jax.tree.leaves(case.function(*arguments))


def _plain(cases: Sequence[Case], arguments: Sequence[Sequence[Any]]) -> list:
    return [_flat(case, mine) for case, mine in zip(cases, arguments, strict=True)]


def _named(cases: Sequence[Case], arguments: Sequence[Sequence[Any]]) -> list:
    results = []
    for index, (case, mine) in enumerate(zip(cases, arguments, strict=True)):
        call = mw.named_computation(
            lambda *values, case=case: _flat(case, values),
            name="second" if index % 2 else "first",
        )
        results.append(call(*mine))
    if len(cases) == 1:  # Both names are needed.
        again = mw.named_computation(lambda *values: values, name="second")
        results = [again(*results[0])]
    return results


def lower(cases: Sequence[Case], inputs: str, named: bool) -> str:
    """The module of some calls; inputs are `constants` or `arguments` of it."""
    body = _named if named else _plain
    arguments = [case.arguments for case in cases]
    if inputs == "constants":
        # The arrays are captured and become constants.
        return emitted(lambda: body(cases, arguments), keep_unused=True)
    return emitted(lambda args: body(cases, args), arguments, keep_unused=True)


def layout(cases: Sequence[Case]) -> list[int]:
    """How many results each call has."""
    return [
        len(jax.eval_shape(functools.partial(_flat, case), case.arguments))
        for case in cases
    ]


class Tools:
    def __init__(self, folder: pathlib.Path):
        self.folder = folder

    def run(self, tool: str, *args: object, stdin: str | bytes = "") -> str:
        return self.output(tool, *args, stdin=stdin).decode()

    def output(self, tool: str, *args: object, stdin: str | bytes = "") -> bytes:
        try:
            done = subprocess.run(
                [str(self.folder / tool), *map(str, args)],
                input=stdin.encode() if isinstance(stdin, str) else stdin,
                capture_output=True,
                timeout=TIMEOUT,
            )
        except subprocess.TimeoutExpired as error:
            raise ToolError(f"{tool} took more than {TIMEOUT} s") from error
        if done.returncode != 0:
            errors = done.stderr.decode(errors="replace").strip().splitlines()
            found = [line for line in errors if "error:" in line or "ssert" in line]
            raise ToolError(
                f"{tool} exits with {done.returncode}: "
                + (found or errors or ["nothing said"])[0][:300]
            )
        return done.stdout

    def round_trip(self, text: str) -> str:
        """What is printed after the program was bytecode."""
        data = self.output("mpmd-opt", "-", "--emit-bytecode", stdin=text)
        return self.run("mpmd-opt", "-", stdin=data)

    def partition(self, text: str, config: dict) -> str:
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder)
            (path / "in.mlir").write_text(text)
            (path / "config.json").write_text(json.dumps(config))
            self.run(
                "meshwright",
                "partition",
                path / "in.mlir",
                f"--config={path / 'config.json'}",
                f"-o={path / 'out'}",
            )
            return self.run("meshwright", "erase", path / "out" / "partitioned.mlir")


def take(route: str, cases: Sequence[Case], inputs: str, tools: Tools) -> str:
    """What a route makes of the module of some calls."""
    text = lower(cases, inputs, named=route == "named")
    if route == "print":
        return tools.run("mpmd-opt", "-", stdin=text)
    if route == "fold":
        return tools.run("mpmd-opt", "-", *FOLD, stdin=text)
    return tools.partition(text, NAMED if route == "named" else INFERRED)


_BITS = {2: np.int16, 4: np.int32, 8: np.int64}


def _ordered(values: np.ndarray) -> np.ndarray:
    """Bit patterns of floats as integers in the order of the numbers; numbers
    below the smallest normal one are zeros, as processors may take them."""
    tiny = ml_dtypes.finfo(values.dtype).tiny
    values = np.where(np.abs(values) < tiny, np.zeros_like(values), values)
    bits = values.view(_BITS[values.dtype.itemsize]).astype(np.int64)
    smallest = np.int64(-(1 << (8 * values.dtype.itemsize - 1)))
    return np.where(bits < 0, smallest - bits, bits)


def ulps(left: np.ndarray, right: np.ndarray) -> float:
    """The largest distance in units of the last place; infinite for other
    shapes, types or places of NaN, and for integers that differ."""
    if left.shape != right.shape or left.dtype != right.dtype:
        return np.inf
    if left.size == 0 or left.tobytes() == right.tobytes():
        return 0.0
    if np.iscomplexobj(left):
        return max(ulps(left.real, right.real), ulps(left.imag, right.imag))
    if left.dtype.itemsize == 1 or left.dtype.kind in "iub":
        return 0.0 if np.array_equal(left, right) else np.inf
    left, right = np.ascontiguousarray(left), np.ascontiguousarray(right)
    numbers = ~np.isnan(left)
    if not np.array_equal(numbers, ~np.isnan(right)):
        return np.inf
    if not numbers.any():
        return 0.0
    a, b = _ordered(left[numbers]), _ordered(right[numbers])
    # The distance of two 64-bit integers needs all bits of an unsigned one.
    above, below = np.maximum(a, b), np.minimum(a, b)
    return float((above.view(np.uint64) - below.view(np.uint64)).max())


def describe(left: np.ndarray, right: np.ndarray, distance: float) -> str:
    if left.shape != right.shape or left.dtype != right.dtype:
        return f"{left.dtype}{left.shape} became {right.dtype}{right.shape}"
    a, b = np.ravel(left), np.ravel(right)
    apart = [ulps(a[i : i + 1], b[i : i + 1]) for i in range(a.size)]
    worst = int(np.argmax(apart))
    return f"{distance:.0f} ulp, {a[worst]!r} became {b[worst]!r} ({left.dtype})"


class Comparison:
    """Runs modules of calls before and after a route and collects findings."""

    def __init__(self, tools: Tools, inputs: str, routes: Sequence[str]):
        self.tools = tools
        self.inputs = inputs
        self.routes = routes
        self.findings: list[Finding] = []
        self.worst: dict[tuple[str, str], float] = {}
        self.passed: collections.Counter = collections.Counter()
        self.refused: list[str] = []

    def _run(self, text: str, cases: Sequence[Case]) -> list[np.ndarray]:
        arguments: list[np.ndarray] = []
        if self.inputs == "arguments":
            arguments = [array for case in cases for array in case.arguments]
        return numerics.run(text, arguments)

    def check(self, cases: Sequence[Case]) -> None:
        """Compares on all routes. What JAX itself does not compile is set aside."""
        try:
            text = lower(cases, self.inputs, named=False)
            if len(cases) == 1 and any(word in text for word in RANDOM):
                self.refused.append(cases[0].name)
                return
            original = self._run(text, cases)
            counts = layout(cases)
        except Exception:
            if len(cases) == 1:
                self.refused.append(cases[0].name)
            else:
                self.check(cases[: len(cases) // 2])
                self.check(cases[len(cases) // 2 :])
            return
        for route in self.routes:
            self._check_route(route, cases, original, counts)

    def _check_route(self, route, cases, original, counts) -> None:
        try:
            text = take(route, cases, self.inputs, self.tools)
            results = self._run(text, cases)
        except Exception as error:
            if len(cases) == 1:
                what = str(error).strip().splitlines()[0][:300]
                self.findings.append(Finding(cases[0].name, route, what))
                return
            half = len(cases) // 2
            first = sum(counts[:half])
            self._check_route(route, cases[:half], original[:first], counts[:half])
            self._check_route(route, cases[half:], original[first:], counts[half:])
            return
        start = 0
        for case, count in zip(cases, counts, strict=True):
            self._compare(
                route,
                case,
                original[start : start + count],
                results[start : start + count],
            )
            start += count

    def _compare(self, route, case, before, after) -> None:
        worst, found = 0.0, ""
        for left, right in zip(before, after, strict=True):
            distance = ulps(left, right)
            if distance > worst:
                worst, found = distance, describe(left, right, distance)
        self.worst[route, case.name] = worst
        if worst > ULPS:
            self.findings.append(Finding(case.name, route, found))
        else:
            self.passed[route] += 1


def batches(cases: Iterator[Case], size: int) -> Iterator[list[Case]]:
    batch: list[Case] = []
    for case in cases:
        batch.append(case)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build" / "bin")
    parser.add_argument("--filter", default="", help="parts of names, with commas")
    parser.add_argument("--every", type=int, default=1, help="only every n-th call")
    parser.add_argument("--batch", type=int, default=50, help="calls per module")
    parser.add_argument(
        "--inputs", choices=["constants", "arguments"], default="constants"
    )
    parser.add_argument("--routes", default="print,fold,partition,named")
    parser.add_argument("--worst", type=int, default=0, help="list the n worst")
    options = parser.parse_args()
    words = [word for word in options.filter.split(",") if word]
    comparison = Comparison(
        Tools(options.bin.resolve()), options.inputs, options.routes.split(",")
    )
    start, count = time.time(), 0
    for batch in batches(harness_cases(words, options.every), options.batch):
        known = len(comparison.findings)
        comparison.check(batch)
        count += len(batch)
        for finding in comparison.findings[known:]:
            print(finding, flush=True)
        print(f"{count} calls, {time.time() - start:.0f} s", file=sys.stderr)
    ranked = sorted(comparison.worst.items(), key=lambda entry: -entry[1])
    for (route, name), distance in ranked[: options.worst]:
        print(f"{route}: {name}: {distance:.0f} ulp")
    for route in comparison.routes:
        print(f"{route}: {comparison.passed[route]} of {count} calls agree")
    print(f"set aside, since JAX itself does not run them: {len(comparison.refused)}")
    return 1 if comparison.findings else 0


if __name__ == "__main__":
    sys.exit(main())
