#!/usr/bin/env python3
"""Builds the wheel into dist/, and checks what is in it.

    .venv/bin/python scripts/build_wheel.py [--out dist]

One wheel serves every Python from 3.11 on, and every Linux with a C library as
old as its tag says: LLVM and MLIR are linked in. It is an error if something in it
still needs them, shows symbols to other libraries, lacks a command or a licence,
or is larger than 60 MB.
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import zipfile

from elftools.elf.elffile import ELFFile

ROOT = pathlib.Path(__file__).resolve().parent.parent
COMMANDS = ("meshwright", "mpmd-lsp-server", "mpmd-opt")
LICENCES = ("LICENSE", "libjemalloc-dev", "libzstd-dev", "llvm-22-dev") + (
    "nanobind",
    "zlib1g-dev",
)
# What any Linux with a C++ runtime has; jaxlib needs the same.
SYSTEM = {"libc.so.6", "libm.so.6", "libstdc++.so.6", "libgcc_s.so.1"} | {
    "libdl.so.2",
    "libpthread.so.0",
    "ld-linux-x86-64.so.2",
    "ld-linux-aarch64.so.1",
}
LIMIT = 60_000_000


def run(*command: object) -> None:
    # The tools are where this Python is, which need not be on PATH.
    path = f"{pathlib.Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [str(part) for part in command], cwd=ROOT, env={**os.environ, "PATH": path}
    )
    if done.returncode:
        sys.exit(f"error: {pathlib.Path(str(command[0])).name} failed")


def build(out: pathlib.Path) -> pathlib.Path:
    """The wheel with the tag of the oldest C library that it runs on."""
    with tempfile.TemporaryDirectory() as folder:
        run(sys.executable, "-m", "build", "--wheel", "--outdir", folder, ROOT)
        [raw] = pathlib.Path(folder).glob("*.whl")
        before = set(out.glob("*.whl"))
        for old in before:
            old.unlink()
        run("auditwheel", "repair", "--wheel-dir", out, raw)
    [wheel] = out.glob("*.whl")
    run("abi3audit", "--strict", "--assume-minimum-abi3", "3.11", wheel)
    return wheel


def check_binary(path: pathlib.Path) -> list[str]:
    """What is wrong with a binary of the wheel."""
    with path.open("rb") as file:
        elf = ELFFile(file)
        dynamic = elf.get_section_by_name(".dynamic")
        needed = {t.needed for t in dynamic.iter_tags("DT_NEEDED")}
        shown = [
            symbol.name
            for symbol in elf.get_section_by_name(".dynsym").iter_symbols()
            if symbol["st_shndx"] != "SHN_UNDEF"
            and symbol["st_info"]["bind"] == "STB_GLOBAL"
            and symbol.name.startswith(("_ZN4mlir", "_ZN4llvm", "_ZN10meshwright"))
        ]
    problems = []
    if needed - SYSTEM:
        problems.append(f"{path.name} needs {', '.join(sorted(needed - SYSTEM))}")
    if shown:
        problems.append(f"{path.name} shows {len(shown)} symbols, first {shown[0]}")
    return problems


def check(wheel: pathlib.Path) -> list[str]:
    """What is wrong with a wheel."""
    problems = []
    size = wheel.stat().st_size
    if size > LIMIT:
        problems.append(f"{size / 1e6:.1f} MB, more than {LIMIT / 1e6:.0f}")
    if "-manylinux" not in wheel.name:
        problems.append("not tagged for a C library")
    if "-abi3-" not in wheel.name:
        problems.append("not in Python's stable ABI")
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
        names = archive.namelist()
        for command in COMMANDS:
            if not any(name.endswith(f".data/scripts/{command}") for name in names):
                problems.append(f"no command {command}")
        for licence in LICENCES:
            if not any(f".dist-info/licenses/{licence}" in name for name in names):
                problems.append(f"no licence of {licence}")
        for path in sorted(pathlib.Path(folder).rglob("*")):
            if path.is_file() and path.read_bytes()[:4] == b"\x7fELF":
                problems += check_binary(path)
    return problems


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "dist")
    parser.add_argument("--check", type=pathlib.Path, help="only check this wheel")
    args = parser.parse_args()
    if not args.check and not shutil.which("lld-22"):
        sys.exit("error: lld-22 is not installed; run make deps")
    wheel = args.check or build(args.out.resolve())
    problems = check(wheel)
    for problem in problems:
        print(f"error: {wheel.name}: {problem}", file=sys.stderr)
    if not problems:
        print(f"{wheel} ({wheel.stat().st_size / 1e6:.1f} MB)")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
