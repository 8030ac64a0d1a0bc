#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a program that fails as small as it can be and still fails so.

    scripts/reduce.py big.mlir --says "unknown mesh" -o small.mlir -- \\
        build/bin/meshwright partition --config config.json -o -

The command behind `--` gets each candidate as its last argument. A candidate is
interesting if the command fails and prints the text of `--says`, a regular
expression, or, without it, if the command crashes. docs/developing/reducing.md
tells more.
"""

import argparse
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
CRASH = r"this is a mistake in Meshwright|Stack dump|PLEASE submit a bug report"


def is_interesting(command: list[str], says: str, path: str, limit: float) -> bool:
    try:
        done = subprocess.run(
            [*command, path], capture_output=True, text=True, timeout=limit
        )
    except subprocess.TimeoutExpired:
        return False
    return done.returncode != 0 and bool(re.search(says, done.stderr + done.stdout))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("program")
    parser.add_argument("--says", default=CRASH, help="what a failing run prints")
    parser.add_argument("-o", dest="output", default="reduced.mlir")
    parser.add_argument("--bin", default=ROOT / "build" / "bin", type=pathlib.Path)
    parser.add_argument(
        "--limit", default=60, type=float, help="seconds a run may take"
    )
    parser.add_argument("--ask", action="store_true", help=argparse.SUPPRESS)
    arguments = sys.argv[1:]
    command: list[str] = []
    if "--" in arguments:
        split = arguments.index("--")
        arguments, command = arguments[:split], arguments[split + 1 :]
    args = parser.parse_args(arguments)
    if not command:
        parser.error("no command: give the one that fails behind --")
    if args.ask:  # A reducer's question: exit code 1 means yes.
        return is_interesting(command, args.says, args.program, args.limit)
    if not is_interesting(command, args.says, args.program, args.limit):
        print(
            f"{shlex.join([*command, args.program])} does not fail with a text that "
            f"matches {args.says!r}; there is nothing to reduce",
            file=sys.stderr,
        )
        return 1
    with tempfile.TemporaryDirectory() as folder:
        script = pathlib.Path(folder) / "ask.sh"
        ask = [sys.executable, "-S", __file__, '"$1"', "--ask", "--says", args.says]
        ask += ["--limit", str(args.limit), "--", *command]
        quoted = [part if part == '"$1"' else shlex.quote(str(part)) for part in ask]
        script.write_text(f"#!/bin/sh\nexec {' '.join(quoted)}\n")
        script.chmod(0o755)
        options = f"test={script}"
        tool = [args.bin / "mpmd-reduce", args.program, "-o", args.output]
        done = subprocess.run(
            [*map(os.fspath, tool), f"--mpmd-reduce-program={options}"]
        )
    if done.returncode == 0:
        lines = pathlib.Path(args.output).read_text().count("\n")
        print(f"written: {args.output}, {lines} lines")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
