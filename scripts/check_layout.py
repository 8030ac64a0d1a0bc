#!/usr/bin/env python3
"""Checks the rules of the source tree that no other tool checks.

- No hand-written source above 900 lines, no pass file above 400.
- Stems: the pass `mpmd-copy-constants` is `def CopyConstantsPass` in a
  Passes.td, `CopyConstants.cpp` beside it and `copy-constants*.mlir` in the
  test folder that mirrors it.
- Every source and TableGen file starts with its header and licence line.

Prints one line per finding; exit code 1 if there is any.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCES = ("meshwright", "tools", "unittests", "python", "scripts", "bench", "test")
MAX_LINES, MAX_PASS_LINES = 900, 400
DIALECT_PREFIXES = ("mpmd-", "sdy-", "stablehlo-", "chlo-")


def stem_of(flag: str) -> str:
    for prefix in DIALECT_PREFIXES:
        if flag.startswith(prefix):
            return flag.removeprefix(prefix)
    return flag


def camel(stem: str) -> str:
    return "".join(word.capitalize() for word in stem.split("-"))


def check_lengths() -> list[str]:
    found = []
    for top in SOURCES:
        for path in sorted((ROOT / top).rglob("*")):
            if path.suffix not in (".cpp", ".h", ".py", ".td"):
                continue
            text = path.read_text()
            lines = text.count("\n")
            limit = MAX_LINES
            if path.suffix == ".cpp" and "#define GEN_PASS_DEF_" in text:
                limit = MAX_PASS_LINES
            if lines > limit:
                found.append(
                    f"{path.relative_to(ROOT)}: {lines} lines, {limit} allowed"
                )
            if path.suffix in (".cpp", ".h", ".td") and (
                not text.startswith(("//===- ", "/*===- "))
                or "SPDX-License-Identifier: Apache-2.0" not in text[:300]
            ):
                found.append(f"{path.relative_to(ROOT)}: no header with licence line")
    return found


def check_stems() -> list[str]:
    found = []
    for table in sorted((ROOT / "meshwright").rglob("Passes.td")):
        folder = table.parent
        tests = ROOT / "test" / folder.relative_to(ROOT / "meshwright")
        entries = re.findall(r"def (\w+)\s*:\s*Pass<\s*\"([\w-]+)\"", table.read_text())
        for name, flag in entries:
            stem = stem_of(flag)
            where = f"{table.relative_to(ROOT)}: {flag}"
            if name.lower() != camel(stem).lower() + "pass":
                found.append(f"{where}: is def {name}, not {camel(stem)}Pass")
            if not (folder / f"{name.removesuffix('Pass')}.cpp").exists():
                found.append(f"{where}: no {name.removesuffix('Pass')}.cpp beside it")
            if not list(tests.glob(f"{stem}.mlir")):
                found.append(f"{where}: no {tests.relative_to(ROOT)}/{stem}.mlir")
    return found


def main() -> int:
    found = check_lengths() + check_stems()
    print("\n".join(found) if found else "layout: nothing found")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
