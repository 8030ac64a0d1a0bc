#!/usr/bin/env python3
"""Random programs through our tools and through jaxlib; reports what differs.

    .venv/bin/python scripts/difftest.py 1000                 # as many of each kind
    .venv/bin/python scripts/difftest.py 500 --ops gather,scatter --first 4000
    .venv/bin/python scripts/difftest.py --show 4017          # the program of a number

A program depends on its number and on nothing else. Prints a line per finding and a
summary; exit code 1 if anything differs. docs/developing/differences.md explains the
differences that are meant.
"""

import argparse
import pathlib
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [
    str(ROOT / path) for path in ("scripts", "python", "build/python", "test/python")
]

import difftest_ops  # noqa: E402
import op_corpus  # noqa: E402
import random_ops  # noqa: E402
from random_ops.program import module  # noqa: E402


def check_ops(tools, first: int, count: int, words, routes, batch: int) -> int:
    """Runs that many single operations; returns the number of findings."""
    comparison = difftest_ops.OpComparison(tools, routes)
    start = time.time()
    numbers = range(first, first + count)
    try:
        for at in range(0, count, batch):
            known = len(comparison.findings)
            some = [random_ops.generate(n, words) for n in numbers[at : at + batch]]
            comparison.check(some)
            for finding in comparison.findings[known:]:
                print(finding, flush=True)
            done = comparison.count
            print(f"{done} operations, {time.time() - start:.0f} s", file=sys.stderr)
    finally:
        comparison.close()
    for route in routes:
        agree, meant = comparison.passed[route], comparison.meant[route]
        told = f", {meant} differ as they should" if meant else ""
        print(f"{route}: {agree} of {comparison.count} agree{told}")
    print(f"run, not only read: {comparison.numbered} of {comparison.count}")
    return len(comparison.findings)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("count", type=int, nargs="?", default=1000)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build" / "bin")
    parser.add_argument("--first", type=int, default=0, help="number of the first")
    parser.add_argument("--ops", default="", help="parts of names, with commas")
    parser.add_argument("--batch", type=int, default=40, help="programs per module")
    parser.add_argument("--routes", default=",".join(difftest_ops.ROUTES))
    parser.add_argument("--show", type=int, help="print the program of a number")
    options = parser.parse_args()
    words = tuple(word for word in options.ops.split(",") if word)
    if options.show is not None:
        print(module([random_ops.generate(options.show, words)], constants=True))
        return 0
    tools = op_corpus.Tools(options.bin.resolve())
    routes = options.routes.split(",")
    found = check_ops(tools, options.first, options.count, words, routes, options.batch)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
