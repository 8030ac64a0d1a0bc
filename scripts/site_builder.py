#!/usr/bin/env python3
"""Builds the documentation as a site that needs no network, and checks it.

    .venv/bin/python scripts/site_builder.py [--build build] [--out build/site]

The tutorial is a notebook; the reference of dialects and passes comes from TableGen,
drawings from `meshwright schedule`, the API from docstrings. It is an error if a page
warns, a link leads nowhere, or a page loads something from elsewhere.
"""

import argparse
import functools
import html.parser
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.parse

from scripts import notebook_page

ROOT = pathlib.Path(__file__).resolve().parent.parent


# Colours of code: most of the tags of a page, none of which links or is linked to.
_COLOURS = re.compile(r'</?span(?: class="[^"<>]*")?>')


class Links(html.parser.HTMLParser):
    """Anchors of a page, what it links to, and what it loads."""

    def __init__(self):
        super().__init__()
        self.anchors: set[str] = set()
        self.targets: list[str] = []
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attrs: list) -> None:
        values = dict(attrs)
        self.anchors |= {values[key] for key in ("id", "name") if values.get(key)}
        if tag == "a" and values.get("href"):
            self.targets.append(values["href"])
        elif tag == "link" and values.get("rel") in ("stylesheet", "icon", "preload"):
            self.loaded.append(values["href"])
        elif values.get("src"):
            self.loaded.append(values["src"])


def check(site: pathlib.Path) -> list[str]:
    """Links of a site that lead nowhere, and what it would load from elsewhere."""
    site = site.resolve()
    pages = {}
    for path in sorted(site.rglob("*.html")):
        pages[str(path)] = Links()
        pages[str(path)].feed(_COLOURS.sub("", path.read_text()))

    @functools.cache
    def find(path: str) -> str | None:
        """The file that a path means, if there is one."""
        file = os.path.realpath(path)
        if os.path.isdir(file):
            file = os.path.join(file, "index.html")
        return file if os.path.exists(file) else None

    problems = []
    for page, found in pages.items():
        folder, shown = os.path.dirname(page), pathlib.Path(page).relative_to(site)
        for target in [*found.targets, *found.loaded]:
            parts = urllib.parse.urlsplit(target)
            if parts.scheme or parts.netloc:
                if target in found.loaded and parts.scheme != "data":
                    problems.append(f"{shown} loads {target}")
                continue
            name = urllib.parse.unquote(parts.path)
            file = find(os.path.join(folder, name)) if name else page
            anchor = urllib.parse.unquote(parts.fragment)
            if file is None:
                problems.append(f"{shown}: no {target}")
            elif anchor and file in pages and anchor not in pages[file].anchors:
                problems.append(f"{shown}: no place {target}")
    return problems


def run(*command: object, quiet: bool = False) -> None:
    """Runs a command; a quiet one is only heard if it fails."""
    done = subprocess.run(
        [str(part) for part in command], cwd=ROOT, capture_output=quiet, text=True
    )
    if done.returncode:
        output = f"\n{done.stdout}{done.stderr}" if quiet else ""
        sys.exit(f"error: {pathlib.Path(str(command[0])).name} failed{output}")


def build(tree: pathlib.Path, out: pathlib.Path) -> None:
    reference = ROOT / "docs" / "reference"
    shutil.rmtree(reference, ignore_errors=True)
    run("cmake", "--build", tree, "--target", "meshwright-docs", quiet=True)
    drawings = reference / "schedules"
    script = ROOT / "scripts" / "schedule_docs.py"
    run(sys.executable, script, "--bin", tree / "bin", "--svg", drawings)
    notebook = ROOT / "examples" / "tutorial.ipynb"
    notebook_page.write_page(notebook, reference / "tutorial.md")
    shutil.rmtree(out, ignore_errors=True)
    with tempfile.TemporaryDirectory() as trees:
        sphinx = (sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going")
        run(*sphinx, "-b", "html", "-d", trees, ROOT / "docs", out)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--out", type=pathlib.Path)
    args = parser.parse_args()
    tree = args.build.resolve()
    out = (args.out or tree / "site").resolve()
    build(tree, out)
    problems = check(out)
    for problem in problems:
        print(f"error: {problem}", file=sys.stderr)
    if not problems:
        print(f"{out / 'index.html'}")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
