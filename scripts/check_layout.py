#!/usr/bin/env python3
"""Checks the rules of the source tree that no other tool checks.

- No hand-written source above 900 lines, no pass file above 400.
- Stems: the pass `mpmd-copy-constants` is `def CopyConstantsPass` in a
  Passes.td, `CopyConstants.cpp` beside it and `copy-constants*.mlir` in the
  test folder that mirrors it. The entry declares a counter, unless the name says
  that the pass verifies, validates or reports, and so changes nothing.
- Every source and TableGen file starts with its header and licence line.
- No folder with more than 30 sources: headers, TableGen and .def files count as
  much as .cpp and .py, since each is a file that a reader of the folder meets.
  Tests do not count: they mirror the folders of what they test.
- Rooms, the folders of C++ and Python, take only from rooms below them; a Python
  room says which in its first line (check_rooms.py).
- Each Python test comes to an assertion (check_tests.py).
- A library includes only headers of the libraries that it links.
- Ops are matched by their type, not by their name as a string.
- Each COMPAT(name) and DEPARTURE(name) in the sources has a row in
  docs/developing/compatibility.md, and each row a place in the sources.
- The page of `meshwright draw` is what its sources were bundled into: the hashes in
  tools/page/bundle.sha256 are those of the files.

Prints one line per finding; exit code 1 if there is any.
"""

import hashlib
import pathlib
import re
import sys

from check_rooms import check_rooms
from check_tests import check_tests

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCES = ("meshwright", "tools", "unittests", "python", "scripts", "bench", "test")
MAX_LINES, MAX_PASS_LINES = 900, 400
MAX_SOURCES = 30
MATCH_BY_NAME = re.compile(
    r"RewritePattern\(\"|getName\(\)\s*\.(?:getStringRef|stripDialect|getDialectNamespace)"
    r"\(\)\s*(?:[=!]=|\.starts_with|\.ends_with)"
)
CHANGES_NOTHING = re.compile(r"\b(?:verify|verifier|validate|report)\b")
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
        entries = re.findall(
            r"^def (\w+)\s*:\s*\w*Pass<\s*\"([\w-]+)\"(.*?)^}",
            table.read_text(),
            re.MULTILINE | re.DOTALL,
        )
        for name, flag, body in entries:
            stem = stem_of(flag)
            where = f"{table.relative_to(ROOT)}: {flag}"
            if name.lower() != camel(stem).lower() + "pass":
                found.append(f"{where}: is def {name}, not {camel(stem)}Pass")
            if not (folder / f"{name.removesuffix('Pass')}.cpp").exists():
                found.append(f"{where}: no {name.removesuffix('Pass')}.cpp beside it")
            if not list(tests.glob(f"{stem}.mlir")):
                found.append(f"{where}: no {tests.relative_to(ROOT)}/{stem}.mlir")
            if "Statistic<" not in body and not CHANGES_NOTHING.search(stem):
                found.append(f"{where}: counts nothing of what it changes")
    return found


def check_folders() -> list[str]:
    found = []
    for top in ("meshwright", "tools", "python", "scripts", "bench"):
        for folder in [ROOT / top, *sorted((ROOT / top).rglob("*/"))]:
            sources = [
                path
                for path in folder.iterdir()
                if path.suffix in (".cpp", ".h", ".td", ".def", ".py")
            ]
            if len(sources) > MAX_SOURCES:
                found.append(
                    f"{folder.relative_to(ROOT)}: {len(sources)} sources, "
                    f"{MAX_SOURCES} allowed"
                )
    return found


def libraries() -> dict[pathlib.Path, tuple[str, list[str]]]:
    """The library of each folder that has one, and what it links."""
    found = {}
    for lists in sorted((ROOT / "meshwright").rglob("CMakeLists.txt")):
        call = re.search(r"meshwright_library\((\w+)([^)]*)\)", lists.read_text())
        if call:
            links = re.search(r"LINK([^)]*?)(?:DEPENDS|$)", call[2], re.DOTALL)
            found[lists.parent] = (call[1], links[1].split() if links else [])
    return found


def check_includes() -> list[str]:
    folders = libraries()
    links = dict(folders.values())

    def reach(library: str, seen: set[str]) -> set[str]:
        if library not in seen:
            seen.add(library)
            for other in links.get(library, []):
                reach(other, seen)
        return seen

    def library_of(path: pathlib.Path) -> str | None:
        homes = [folder for folder in path.parents if folder in folders]
        return folders[homes[0]][0] if homes else None

    found = []
    for path in sorted((ROOT / "meshwright").rglob("*")):
        library = library_of(path)
        if path.suffix not in (".cpp", ".h") or not library:
            continue
        allowed, text = reach(library, set()), path.read_text()
        for header in re.findall(r'^#include "(meshwright/.*)"', text, re.MULTILINE):
            other = library_of(ROOT / header)
            if other and other not in allowed:
                found.append(
                    f"{path.relative_to(ROOT)}: includes {header}, but {library} "
                    f"does not link {other}"
                )
        if MATCH_BY_NAME.search(text):
            found.append(f"{path.relative_to(ROOT)}: matches an op by its name")
    return found


def check_page() -> list[str]:
    """Whether the page or its sources were changed, but not bundled."""
    listed = "tools/page/bundle.sha256"
    hashes = dict(
        line.split("  ")[::-1] for line in (ROOT / listed).read_text().splitlines()
    )
    sources = {
        str(path.relative_to(ROOT)) for path in (ROOT / "tools/page/src").iterdir()
    }
    found = []
    for name in sorted(sources | set(hashes)):
        path = ROOT / name
        content = path.read_bytes() if path.exists() else b""
        if hashes.get(name) != hashlib.sha256(content).hexdigest():
            found.append(f"{name}: is not what {listed} says; run make page")
    return found


def check_compatibility() -> list[str]:
    page = "docs/developing/compatibility.md"
    places: dict[tuple[str, str], pathlib.Path] = {}
    for top in ("meshwright", "tools", "python"):
        for path in sorted((ROOT / top).rglob("*")):
            if path.suffix in (".cpp", ".h", ".td", ".def", ".py"):
                for mark in re.findall(
                    r"\b(COMPAT|DEPARTURE)\b(?:\(([\w-]+)\):)?", path.read_text()
                ):
                    places[mark] = path.relative_to(ROOT)
    same, other = (ROOT / page).read_text().split("\n## Otherwise")
    rows = {
        (kind, name)
        for kind, text in (("COMPAT", same), ("DEPARTURE", other))
        for name in re.findall(r"^\| ([a-z][\w-]*) \|", text, re.MULTILINE)
        if name != "name"
    }
    found = [
        f"{path}: {kind}({name}) has no row in {page}"
        for (kind, name), path in places.items()
        if (kind, name) not in rows
    ]
    return found + [
        f"{page}: {kind}({name}) is nowhere in the sources"
        for kind, name in sorted(rows - places.keys())
    ]


def main() -> int:
    found = (
        check_lengths()
        + check_stems()
        + check_folders()
        + check_rooms()
        + check_tests()
        + check_includes()
        + check_compatibility()
        + check_page()
    )
    print("\n".join(found) if found else "layout: nothing found")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
