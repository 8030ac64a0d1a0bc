#!/usr/bin/env python3
"""Builds what a release consists of into dist/, and checks it.

    .venv/bin/python scripts/release.py [--draft]

Source archive, wheel, site, bill of materials (CycloneDX) and checksums. It is an
error if the changelog has no section for the version, or anything of it is not as it
should be; --draft leaves out the changelog.
"""

import argparse
import hashlib
import importlib.metadata
import json
import pathlib
import re
import subprocess
import sys
import tarfile
import tomllib

from scripts import build_wheel

ROOT = pathlib.Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
# In the wheel, from these Debian packages.
LINKED_IN = {
    "llvm-22-dev": "Apache-2.0 WITH LLVM-exception",
    "libmlir-22-dev": "Apache-2.0 WITH LLVM-exception",
    "libzstd-dev": "BSD-3-Clause",
    "zlib1g-dev": "Zlib",
    "libjemalloc-dev": "BSD-2-Clause",
}
# What a build from source reads.
SOURCES = ("CMakeLists.txt", "LICENSE", "README.md", "pyproject.toml", "cmake") + (
    "meshwright/InitAll.h",
    "python/Extension.cpp",
    "python/meshwright/__init__.py",
    "tools/meshwright/meshwright.cpp",
)


def read_version() -> str:
    text = (ROOT / "python" / "meshwright" / "core" / "version.py").read_text()
    return re.search(r'__version__ = "(.*)"', text)[1]


def check_changelog(version: str, text: str) -> list[str]:
    if re.search(rf"^## {re.escape(version)}\b", text, re.M):
        return []
    return [f"CHANGELOG.md has no section {version}; turn Unreleased into it"]


def check_source(archive: pathlib.Path) -> list[str]:
    """A source archive has what a build reads, and nothing that a build made."""
    with tarfile.open(archive) as files:
        names = [name.partition("/")[2] for name in files.getnames()]
    problems = [
        f"{archive.name} lacks {source}"
        for source in SOURCES
        if not any(name == source or name.startswith(f"{source}/") for name in names)
    ]
    made = re.compile(r"(^|/)(build[^/]*|\.venv|dist|__pycache__)/|\.(o|a|so|pyc)$")
    problems += [f"{archive.name} has {name}" for name in names if made.search(name)]
    return problems[:10]


def debian_version(package: str) -> str:
    done = subprocess.run(
        ["dpkg-query", "-W", "-f=${Version}", package], capture_output=True, text=True
    )
    return done.stdout or "unknown"


def make_bill(version: str) -> dict:
    """What is in the wheel, and what it asks for, as CycloneDX 1.6."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    components = [
        {
            "type": "library",
            "bom-ref": package,
            "name": package,
            "version": debian_version(package),
            "scope": "required",
            "description": "linked into the binaries",
            "licenses": [{"expression": licence}],
            "purl": f"pkg:deb/debian/{package}@{debian_version(package)}",
        }
        for package, licence in LINKED_IN.items()
    ]
    components.append(
        {
            "type": "library",
            "bom-ref": "nanobind",
            "name": "nanobind",
            "version": importlib.metadata.version("nanobind"),
            "scope": "required",
            "description": "headers, compiled into the extension",
            "licenses": [{"license": {"id": "BSD-3-Clause"}}],
            "purl": f"pkg:pypi/nanobind@{importlib.metadata.version('nanobind')}",
        }
    )
    bundled = (ROOT / "tools" / "page" / "licences.txt").read_text()
    for package, release, licence in re.findall(
        r"^(@?[\w./-]+) (\d[\w.-]*), ([\w.-]+)$", bundled, re.MULTILINE
    ):
        components.append(
            {
                "type": "library",
                "bom-ref": package,
                "name": package,
                "version": release,
                "scope": "required",
                "description": "bundled into the page of meshwright draw",
                "licenses": [{"license": {"id": licence}}],
                "purl": f"pkg:npm/{package.replace('@', '%40')}@{release}",
            }
        )
    for requirement in project["dependencies"]:
        name = re.match(r"[\w-]+", requirement)[0]
        components.append(
            {
                "type": "library",
                "bom-ref": name,
                "name": name,
                "scope": "required",
                "description": f"installed beside the package: {requirement}",
                "purl": f"pkg:pypi/{name}",
            }
        )
    root = f"meshwright@{version}"
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "library",
                "bom-ref": root,
                "name": "meshwright",
                "version": version,
                "licenses": [{"license": {"id": "Apache-2.0"}}],
                "purl": f"pkg:pypi/meshwright@{version}",
            }
        },
        "components": components,
        "dependencies": [
            {"ref": root, "dependsOn": [each["bom-ref"] for each in components]}
        ],
    }


def check_bill(text: str) -> list[str]:
    """Against the schema of CycloneDX."""
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)
    return [f"bill of materials: {error}"] if error else []


def run(*command: object) -> None:
    if subprocess.run([str(part) for part in command], cwd=ROOT).returncode:
        sys.exit(f"error: {pathlib.Path(str(command[1])).name} failed")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--draft", action="store_true")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    args = parser.parse_args()
    version = read_version()
    problems = []
    if not args.draft:
        problems += check_changelog(version, (ROOT / "CHANGELOG.md").read_text())
    if problems:
        sys.exit(f"error: {problems[0]}")
    DIST.mkdir(exist_ok=True)
    for old in DIST.iterdir():
        old.unlink()

    run(sys.executable, "-m", "build", "--sdist", "--outdir", DIST)
    source = DIST / f"meshwright-{version}.tar.gz"
    problems += check_source(source)
    problems += build_wheel.check(build_wheel.build(DIST))
    site = args.build / "site"
    run(sys.executable, "scripts/site_builder.py", "--build", args.build, "--out", site)
    with tarfile.open(DIST / f"meshwright-{version}-docs.tar.gz", "w:gz") as archive:
        archive.add(site, f"meshwright-{version}-docs")
    bill = json.dumps(make_bill(version), indent=2) + "\n"
    problems += check_bill(bill)
    (DIST / f"meshwright-{version}.cdx.json").write_text(bill)
    made = sorted(DIST.iterdir())
    (DIST / "SHA256SUMS").write_text(
        "".join(
            f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n"
            for path in made
        )
    )
    for problem in problems:
        print(f"error: {problem}", file=sys.stderr)
    for path in made:
        print(f"{path.stat().st_size / 1e6:8.1f} MB  {path.name}")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
