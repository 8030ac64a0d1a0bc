#!/usr/bin/env python3
"""Writes into pages what their commands print.

A page has blocks of the language `console`: lines that start with `$ ` are run, one
after the other and all in one folder of the page, and what they print, errors
included, comes after them. Of the folder's programs, `gpt.mlir` with `gpt.json` is
test/programs/mpmd/gpt_8_4_8; PROGRAMS has all of them. With --check nothing is written,
and it is an error if a page would change.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGES = ("docs/simulate.md", "docs/traffic.md")
PROGRAMS = {
    "gpt": "test/programs/mpmd/gpt_8_4_8",
    "gpt32": "test/programs/mpmd/gpt_32_8_32",
    "traffic": "docs/traffic",
}
BLOCK = re.compile(r"(?<=^```console\n)(.*?)(?=^```$)", re.M | re.S)


def run(line: str, folder: pathlib.Path, path: str) -> str:
    done = subprocess.run(
        ["bash", "-c", line],
        cwd=folder,
        env=os.environ | {"PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
    )
    return done.stdout


def remake(text: str, folder: pathlib.Path, path: str) -> str:
    def remake_block(match: re.Match[str]) -> str:
        lines = []
        commands = re.findall(r"^\$ ((?:.*\\\n)*.*)", match[0], re.M)
        for command in commands:
            printed = run(command, folder, path)
            lines += [f"$ {command}", *map(str.rstrip, printed.splitlines())]
        return "".join(f"{line}\n" for line in lines)

    return BLOCK.sub(remake_block, text)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", default=ROOT / "build/bin", type=pathlib.Path)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    path = f"{arguments.bin.resolve()}:{os.environ['PATH']}"
    stale = []
    for page in PAGES:
        file = ROOT / page
        text = file.read_text()
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            for stem, source in PROGRAMS.items():
                for suffix in ("mlir", "json"):
                    program = ROOT / f"{source}.{suffix}"
                    shutil.copy(program, folder / f"{stem}.{suffix}")
            made = remake(text, folder, path)
        if made != text:
            stale.append(page)
            if not arguments.check:
                file.write_text(made)
    for page in stale:
        print(f"{page}: {'is stale, make it again' if arguments.check else 'written'}")
    return 1 if stale and arguments.check else 0


if __name__ == "__main__":
    sys.exit(main())
