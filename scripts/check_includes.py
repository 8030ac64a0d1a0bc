#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that sources and headers include what they use, with or without assertions.

    scripts/check_includes.py [--since REV | --all] [FILE...]

A build precompiles the headers that most sources need, so that it does not notice
where one is missing; a header is compiled only where others have included theirs
before it. This compiles each file by itself, without code and without precompiled
headers, and without assertions, of which the build that tests run on has all; a
variable or function that only assertions use is an error.

Looks at the files named, all, or those changed since REV (HEAD~1), uncommitted
changes among them; all, too, in a clone that does not go back as far as REV. It
needs a configured build, whose TableGen has run, in build/.
Prints what compilers say and exits with 1 if any file needs more than it includes.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ("meshwright", "tools", "unittests")
USED_BY_ASSERTIONS = ("variable", "but-set-variable", "function", "lambda-capture")


def git(*arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["git", "-C", ROOT, *arguments], check=check, capture_output=True, text=True
    )


def is_known(revision: str) -> bool:
    found = git("rev-parse", "-q", "--verify", revision + "^{commit}", check=False)
    return found.returncode == 0


def changed_since(revision: str) -> list[str]:
    return git("diff", "--name-only", "--diff-filter=d", revision).stdout.split()


def compile_flags(build: pathlib.Path) -> dict[str, list[str]]:
    """By file, and by folder for headers: what to compile with, but no output."""
    flags: dict[str, list[str]] = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        words, kept = shlex.split(entry["command"]), []
        while words:
            word = words.pop(0)
            if word == "-Xclang" and words[:1] in (["-include-pch"], ["-include"]):
                del words[:3]
            elif word in ("-o", "-c"):
                del words[0]
            elif word not in ("-Winvalid-pch", "-fpch-instantiate-templates"):
                kept.append(word)
        path = os.path.relpath(entry["file"], ROOT)
        flags[path] = kept
        flags.setdefault(os.path.dirname(path), kept)
    return flags


def find_flags(flags: dict[str, list[str]], path: str) -> list[str] | None:
    """Those of the file, or of the next folder above that has any sources."""
    if path in flags or path.endswith(".cpp"):
        return flags.get(path)
    folders = map(os.fspath, pathlib.PurePath(path).parents)
    return next((flags[folder] for folder in folders if folder in flags), None)


def check(flags: list[str], path: str, build: pathlib.Path) -> str:
    command = [*flags, "-fsyntax-only", "-DNDEBUG"]
    if path == "meshwright/CAPI/Meshwright.h":
        command = [word for word in command if not word.startswith("-std=")]
        command += ["-x", "c"]
    elif path.endswith(".h"):
        command += ["-x", "c++"]
    else:
        command += [f"-Werror=unused-{what}" for what in USED_BY_ASSERTIONS]
    done = subprocess.run(
        [*command, ROOT / path], cwd=build, capture_output=True, text=True
    )
    return done.stderr if done.returncode else ""


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="*")
    parser.add_argument("--since", default="HEAD~1")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--build", default=ROOT / "build", type=pathlib.Path)
    parser.add_argument("-j", dest="jobs", default=os.cpu_count(), type=int)
    args = parser.parse_args()
    flags = compile_flags(args.build)
    files = args.files
    if args.all or not (files or is_known(args.since)):
        files = [
            os.path.relpath(path, ROOT)
            for folder in FOLDERS
            for path in sorted((ROOT / folder).rglob("*"))
        ]
    elif not files:
        files = changed_since(args.since)
    chosen = {
        path: found
        for path in files
        if path.endswith((".cpp", ".h")) and (found := find_flags(flags, path))
    }
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        reports = list(
            pool.map(lambda path: check(chosen[path], path, args.build), chosen)
        )
    print("".join(reports), end="")
    count = sum(map(bool, reports))
    print(f"includes: {len(chosen)} files looked at, {count} need more than they have")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
