#!/usr/bin/env python3
"""Random programs through our tools and through jaxlib; reports what differs.

    .venv/bin/python -m support.difftest 1000                 # single operations
    .venv/bin/python -m support.difftest 200 --programs       # annotated programs
    .venv/bin/python -m support.difftest 200 --models         # mw.jit and jax.jit
    .venv/bin/python -m support.difftest 200 --placement      # where state lives
    .venv/bin/python -m support.difftest 500 --ops gather,scatter --first 4000
    .venv/bin/python -m support.difftest 5000 --seeds         # those of fuzzing
    .venv/bin/python -m support.difftest 5000 --mutants       # what is almost right
    .venv/bin/python -m support.difftest 5000 --tokens        # with one token changed
    .venv/bin/python -m support.difftest 500 --oracle interpreter   # or iree
    .venv/bin/python -m support.difftest --show 4017          # the program of a number

A program depends on its number and on nothing else. Prints a line per finding and a
summary; exit code 1 if anything differs. docs/developing/differences.md explains the
differences that are meant.
"""

import argparse
import functools
import json
import pathlib
import sys
import time

from support import (
    op_corpus,  # noqa: E402
    random_ops,  # noqa: E402
)
from support.difftest import jit as difftest_jit  # noqa: E402
from support.difftest import mutants as difftest_mutants  # noqa: E402
from support.difftest import ops as difftest_ops  # noqa: E402
from support.difftest import oracle as difftest_oracle  # noqa: E402
from support.difftest import placement as difftest_placement  # noqa: E402
from support.difftest import programs as difftest_programs  # noqa: E402
from support.difftest import seeds as difftest_seeds  # noqa: E402
from support.difftest import tokens as difftest_tokens  # noqa: E402
from support.random_ops.program import module  # noqa: E402
from support.tools import ROOT

PER_BATCH = 50  # Programs or models.


def check_ops(tools, draw, numbers: range, routes, batch: int) -> int:
    """Runs single operations that `draw` has for numbers; returns how many findings."""
    comparison = difftest_ops.OpComparison(tools, routes)
    start = time.time()
    try:
        for at in range(0, len(numbers), batch):
            known = len(comparison.findings)
            comparison.check([draw(number) for number in numbers[at : at + batch]])
            for finding in comparison.findings[known:]:
                print(finding, flush=True)
            done = comparison.count
            print(f"{done} operations, {time.time() - start:.0f} s", file=sys.stderr)
    finally:
        comparison.close()
    for route in routes:
        agree, meant = comparison.passed[route], comparison.meant[route]
        note = f", {meant} differ as they should" if meant else ""
        print(f"{route}: {agree} of {comparison.count} agree{note}")
    print(f"run, not only read: {comparison.numbered} of {comparison.count}")
    if comparison.count and not comparison.numbered:
        print("jaxlib runs none of them: the numbers were not compared")
        return 1
    return len(comparison.findings)


def check_oracle(tools, draw, numbers: range, oracle: str, batch: int) -> int:
    """Asks a third about single operations; returns how often three disagree."""
    comparison = difftest_oracle.OracleComparison(tools, oracle)
    try:
        for at in range(0, len(numbers), batch):
            alone, known = len(comparison.alone), len(comparison.findings)
            comparison.check([draw(number) for number in numbers[at : at + batch]])
            for line in [*comparison.alone[alone:], *comparison.findings[known:]]:
                print(line, flush=True)
    finally:
        comparison.close()
    for outcome, times in comparison.outcomes.most_common():
        print(f"{outcome}: {times} of {len(numbers)}")
    return len(comparison.findings)


def check_each(comparison, first: int, count: int, batch: int) -> int:
    """Runs that many programs, models or mutants; returns the number of findings."""
    start = time.time()
    numbers = range(first, first + count)
    try:
        for at in range(0, count, batch):
            known = len(comparison.findings)
            comparison.check(numbers[at : at + batch])
            for finding in comparison.findings[known:]:
                print(finding, flush=True)
            done = min(at + batch, count)
            print(f"{done} done, {time.time() - start:.0f} s", file=sys.stderr)
    finally:
        comparison.close()
    for outcome, times in comparison.outcomes.most_common():
        print(f"{outcome}: {times} of {count}")
    return len(comparison.findings)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("count", type=int, nargs="?", default=1000)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build" / "bin")
    parser.add_argument("--first", type=int, default=0, help="number of the first")
    parser.add_argument("--ops", default="", help="parts of names, with commas")
    parser.add_argument("--batch", type=int, default=200, help="programs per module")
    parser.add_argument("--routes", default=",".join(difftest_ops.ROUTES))
    parser.add_argument("--programs", action="store_true", help="annotated programs")
    parser.add_argument("--models", action="store_true", help="mw.jit and jax.jit")
    parser.add_argument("--placement", action="store_true", help="training steps")
    parser.add_argument("--seeds", action="store_true", help="seeds of fuzzing")
    parser.add_argument("--mutants", action="store_true", help="changed programs")
    parser.add_argument("--tokens", action="store_true", help="one token changed")
    parser.add_argument(
        "--oracle",
        choices=difftest_oracle.ORACLES,
        help="a third opinion on single operations",
    )
    parser.add_argument("--show", type=int, help="print the program of a number")
    options = parser.parse_args()
    words = tuple(word for word in options.ops.split(",") if word)
    tools = op_corpus.Tools(options.bin.resolve())
    if options.show is not None and options.programs:
        program = difftest_programs.generate(options.show)
        print(f"// {json.dumps(program.config)}\n{program.text}")
        return 0
    changes = difftest_mutants.MutantComparison if options.mutants else None
    changes = difftest_tokens.TokenComparison if options.tokens else changes
    if options.show is not None and changes:
        comparison = changes(tools)
        number = options.show
        sys.stdout.buffer.write(comparison.mutants(range(number, number + 1))[0])
        comparison.close()
        return 0
    if options.show is not None:
        print(module([random_ops.generate(options.show, words)], constants=True))
        return 0
    span = options.first, options.count, PER_BATCH
    if options.models:
        difftest_jit.use_devices()
        comparison = difftest_jit.JitComparison()
        return 1 if check_each(comparison, *span) else 0
    if options.placement:
        comparison = difftest_placement.PlacementComparison()
        if options.first not in range(len(comparison)):
            parser.error(
                f"--first: there are steps 0 to {len(comparison) - 1}, "
                f"got {options.first}"
            )
        difftest_jit.use_devices()
        last = min(options.first + options.count, len(comparison))
        span = options.first, last - options.first, PER_BATCH
        return 1 if check_each(comparison, *span) else 0
    if options.programs:
        comparison = difftest_programs.ProgramComparison(tools)
        return 1 if check_each(comparison, *span) else 0
    if changes:
        comparison = changes(tools)
        return 1 if check_each(comparison, *span) else 0
    numbers = range(options.first, options.first + options.count)
    draw = functools.partial(random_ops.generate, words=words)
    if options.seeds:
        seeds = difftest_seeds.programs(words)
        numbers = range(options.first, min(numbers.stop, len(seeds)))
        draw = seeds.__getitem__
    if options.oracle:
        found = check_oracle(tools, draw, numbers, options.oracle, options.batch)
        return 1 if found else 0
    routes = options.routes.split(",")
    found = check_ops(tools, draw, numbers, routes, options.batch)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
