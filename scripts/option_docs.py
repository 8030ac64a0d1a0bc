#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes what docs/config.md says of the compiler's options.

    scripts/option_docs.py [--check]

The compiler has a table per phase (meshwright/*/Options.def) and tells it through
its extension. From that come the tables between the two marks in docs/config.md.
With --check nothing is written; exit code 1 if the page is stale.
"""

import json
import pathlib
import sys
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- options: begin -->", "<!-- options: end -->"
PHASES = {
    "import": "Import",
    "optimize": "Optimize",
    "shard": "Shard",
    "export": "Export",
    "all": "All phases: how passes are run and watched",
}


def read_options() -> list[tuple[Any, ...]]:
    import _meshwright

    return _meshwright.options()


def show(kind: str, default: str) -> str:
    value = json.loads(default)
    if kind == "bool":
        return "on" if value else "off"
    return f"`{value}`" if value not in ("", []) else "none"


def docs_text(options: list[tuple[Any, ...]]) -> str:
    blocks = []
    for phase, title in PHASES.items():
        mine = [option for option in options if option[0] == phase]
        blocks.append(f"### {title}\n")
        blocks.append("| option | type | when absent | in the pipeline | meaning |")
        blocks.append("| --- | --- | --- | --- | --- |")
        for _, key, kind, default, name, help_text, _ in mine:
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
    wanted = before + block + after
    if wanted == page:
        return 0
    if "--check" in sys.argv:
        print(f"{config.relative_to(ROOT)} is stale: run scripts/option_docs.py")
        return 1
    config.write_text(wanted)
    return 0


if __name__ == "__main__":
    sys.exit(main())
