#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes what Python and docs/config.md know of the compiler's options.

    scripts/option_docs.py [--check]

The compiler has a table per phase (meshwright/*/Options.def) and tells it through
its extension. From that come python/meshwright/core/options.py, which checks options
before there is a program, and the tables between the two marks in docs/config.md.
With --check nothing is written; exit code 1 if something is stale.
"""

import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- options: begin -->", "<!-- options: end -->"
PHASES = {
    "import": "Import",
    "optimize": "Optimize",
    "shard": "Shard",
    "export": "Export",
    "all": "All phases: how passes are run and watched",
}


def read_options() -> list[tuple[str, ...]]:
    import _meshwright

    return _meshwright.options()


def python_text(options: list[tuple[str, ...]]) -> str:
    lines = [
        "# SPDX-License-Identifier: Apache-2.0",
        '"""The options of the compiler. Written by scripts/option_docs.py."""',
        "",
        "from __future__ import annotations",
        "",
        "# Name to type: bool, int, text, schedule, or pairs of indices.",
        "TYPES = {",
    ]
    for key, kind in dict((option[1], option[2]) for option in options).items():
        lines.append(f'    "{key}": "{kind}",')
    return "\n".join([*lines, "}", ""])


def show(kind: str, default: str) -> str:
    value = json.loads(default)
    if kind == "bool":
        return "on" if value else "off"
    return f"`{value}`" if value not in ("", []) else "none"


def docs_text(options: list[tuple[str, ...]]) -> str:
    blocks = []
    for phase, title in PHASES.items():
        mine = [option for option in options if option[0] == phase]
        blocks.append(f"### {title}\n")
        blocks.append("| option | type | when absent | in the pipeline | meaning |")
        blocks.append("| --- | --- | --- | --- | --- |")
        for _, key, kind, default, name, help_text in mine:
            # That of mpmd_verify_each depends on the build.
            shown = "off" if key == "mpmd_verify_each" else show(kind, default)
            text = f"`{name}`" if name else ""
            blocks.append(f"| `{key}` | {kind} | {shown} | {text} | {help_text} |")
        blocks.append("")
    return "\n".join(blocks)


def main() -> int:
    options = read_options()
    config = ROOT / "docs" / "config.md"
    page = config.read_text()
    block = f"{BEGIN}\n\n{docs_text(options)}\n{END}"
    before, _, rest = page.partition(BEGIN)
    after = rest.partition(END)[2]
    wanted = {
        ROOT / "python" / "meshwright" / "core" / "options.py": python_text(options),
        config: before + block + after,
    }
    stale = [
        path
        for path, text in wanted.items()
        if not path.exists() or path.read_text() != text
    ]
    for path in stale:
        if "--check" in sys.argv:
            print(f"{path.relative_to(ROOT)} is stale: run scripts/option_docs.py")
        else:
            path.write_text(wanted[path])
    return 1 if stale and "--check" in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
