#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a program that fails as small as it can be and still fails so.

    scripts/reduce.py big.mlir --says "unknown mesh" -o small.mlir -- \\
        build/bin/meshwright partition --config config.json -o -

The command after `--` gets each candidate as its last argument. A candidate is
interesting if the command fails and prints the text of `--says`, a regular
expression, or, without it, if the command crashes. The file after the command's
`--config` becomes smaller, too, and is written beside the program.
docs/developing/reducing.md tells more.
"""

import argparse
import contextlib
import copy
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import threading

ROOT = pathlib.Path(__file__).resolve().parent.parent
CRASH = r"this is a bug in Meshwright|Stack dump|PLEASE submit a bug report"


class Question:
    """Whether a program, with a configuration, fails as it should."""

    def __init__(self, command: list[str], says: str, limit: float):
        self.command, self.says, self.limit = list(command), says, limit
        self.config_at = None
        if "--config" in command[:-1]:
            self.config_at = command.index("--config") + 1

    def read_config(self) -> dict | None:
        if self.config_at is None:
            return None
        return json.loads(pathlib.Path(self.command[self.config_at]).read_text())

    def ask(self, program: str, config: dict | None) -> bool:
        command = list(self.command)
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            if config is not None:
                json.dump(follow(config, pathlib.Path(program).read_text()), file)
                file.flush()
                command[self.config_at] = file.name
            try:
                done = subprocess.run(
                    [*command, program],
                    capture_output=True,
                    text=True,
                    errors="replace",
                    timeout=self.limit,
                )
            except subprocess.TimeoutExpired:
                return False
        text = done.stderr + done.stdout
        return done.returncode != 0 and bool(re.search(self.says, text))


def follow(config: dict, program: str) -> dict:
    """The configuration without names that the program no longer has."""
    assigned = config.get("assignment")
    if not isinstance(assigned, dict):
        return config
    kept = {name: mesh for name, mesh in assigned.items() if f'"{name}"' in program}
    return {**config, "assignment": kept}


def paths_of(value, depth: int, path=()):
    """Where something can be left out, outer things first."""
    keys = value if isinstance(value, dict) else range(len(value))
    for key in reversed(list(keys)):
        yield (*path, key)
    if depth > 1:
        for key in keys:
            if isinstance(value[key], dict | list):
                yield from paths_of(value[key], depth - 1, (*path, key))


def without(config: dict, path: tuple) -> dict:
    smaller = copy.deepcopy(config)
    holder = smaller
    for key in path[:-1]:
        holder = holder[key]
    del holder[path[-1]]
    return smaller


def reduce_config(question: Question, program: str, config: dict, depth: int) -> dict:
    config = follow(config, pathlib.Path(program).read_text())
    while True:
        for path in list(paths_of(config, depth)):
            smaller = without(config, path)
            if question.ask(program, smaller):
                config = smaller
                break
        else:
            return config


# Asks the process that reduces, by its pipes: to start Python takes longer than most
# of what fails. The reducer asks one question after the other.
ASK = """#!/bin/sh
printf '%s\\n' "$1" >{folder}/asked
read -r answer <{folder}/answers
exit "$answer"
"""


@contextlib.contextmanager
def answering(question: Question, config: dict | None):
    """A script that asks for a program; as a reducer has it, exit code 1 means yes."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        script, asked, answers = (folder / n for n in ("ask.sh", "asked", "answers"))
        script.write_text(ASK.format(folder=shlex.quote(name)))
        script.chmod(0o755)
        pipes, problems = [], []
        for path in (asked, answers):
            os.mkfifo(path)
            # For both directions, so that neither end waits for the other one.
            pipes.append(os.fdopen(os.open(path, os.O_RDWR), "rb+", buffering=0))

        def answer():
            with open(pipes[0].fileno(), "rb", closefd=False) as lines:
                while program := os.fsdecode(lines.readline()).strip("\n"):
                    found = False
                    try:
                        found = question.ask(program, config)
                    except Exception as error:  # The reducer waits for an answer.
                        problems.append(error)
                    pipes[1].write(b"%d\n" % found)

        answerer = threading.Thread(target=answer)
        answerer.start()
        try:
            yield script
        finally:
            pipes[0].write(b"\n")
            answerer.join()
            for pipe in pipes:
                pipe.close()
        if problems:
            raise problems[0]


def reduce_program(args, question: Question, program: str, config: dict | None) -> bool:
    with (
        tempfile.NamedTemporaryFile(suffix=".mlir") as given,
        answering(question, config) as script,
    ):
        # The output may be the input.
        given.write(pathlib.Path(program).read_bytes())
        given.flush()
        tool = [args.bin / "mpmd-reduce", given.name, "-o", args.output]
        options = f"--mpmd-reduce-program=test={script}"
        return subprocess.run([*map(os.fspath, tool), options]).returncode == 0


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
    arguments = sys.argv[1:]
    command: list[str] = []
    if "--" in arguments:
        split = arguments.index("--")
        arguments, command = arguments[:split], arguments[split + 1 :]
    args = parser.parse_args(arguments)
    if not command:
        parser.error("no command: give the one that fails after --")
    question = Question(command, args.says, args.limit)
    try:
        config = question.read_config()
    except (OSError, ValueError) as error:
        parser.error(f"{question.command[question.config_at]}: {error}")
    if not question.ask(args.program, config):
        print(
            f"{shlex.join([*command, args.program])} does not fail with a text that "
            f"matches {args.says!r}; there is nothing to reduce",
            file=sys.stderr,
        )
        return 1
    if config is None:
        if not reduce_program(args, question, args.program, None):
            return 1
    else:
        output = pathlib.Path(args.output).with_suffix(".json")
        # What is about single arguments and results would keep them all.
        config = reduce_config(question, args.program, config, depth=1)
        program, before = args.program, None
        while before != (program, config):
            output.write_text(json.dumps(config, indent=2) + "\n")
            before = (args.output, config)
            if not reduce_program(args, question, program, config):
                return 1
            program = args.output
            config = reduce_config(question, program, config, depth=9)
        print(f"written: {output}")
    lines = pathlib.Path(args.output).read_text().count("\n")
    print(f"written: {args.output}, {lines} lines")
    return 0


if __name__ == "__main__":
    sys.exit(main())
