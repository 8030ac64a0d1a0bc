#!/usr/bin/env python3
"""Checks that texts use the field's words: the glossary of CONTRIBUTING.md.

Prints each line with a word of the list and what to write instead, and exits with 1
if there is one.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
WHERE = ["meshwright", "python", "tools", "docs", "README.md", "SECURITY.md"]
WHERE += ["bench", "cmake", "findings", "fuzz", "scripts", "test", "unittests"]
# This list, a bundled script, a lock file, pictures.
SKIPPED = re.compile(
    r"check_words\.py|Draw/Page\.html|package-lock\.json|\.(svg|png|bc|mlirbc)$"
)

WORDS = {
    r"behind": "after",
    r"stands?|stood": "is, represents (for “stands for”)",
    r"nobody|somebody|anybody": "the op, process or caller that is meant",
    r"told": "given, reported, distinguished (for “told apart”)",
    r"be had": "available",
    r"so many": "this many, that many, a number of",
    r"whoever": "the caller, reader or process that is meant",
    r"anew": "again, re- (recomputed, renumbered)",
    r"for ever": "forever, without end",
    r"slips?": "typing error, error",
    r"spread(s|ing)?": "propagate (shardings), distribute (work)",
    r"dissolv(e|es|ed|ing)": "inline",
    r"without a word": "silently",
}
# What these words mean in English, too.
ALLOWED = re.compile(
    r"(leaves?|left|leaving|stays?|lags?|links) behind|transfers behind work"
    r"|Weight gradients behind|\bspread[(,:]|\.spread\b|'spread'",
    re.IGNORECASE,
)
# "Who reads it comes later": a sentence needs its subject. A question may have it.
WHO = re.compile(r"(?:^\W*|[.:;] )Who\b(?![^.]*\?)")
RULES = [
    *(
        (re.compile(rf"\b(?:{word})\b", re.IGNORECASE), to)
        for word, to in WORDS.items()
    ),
    (WHO, "a sentence with a subject"),
]


def findings(text: str):
    """Pairs of a line's number and what to write instead of what."""
    for number, line in enumerate(text.splitlines(), 1):
        line = ALLOWED.sub("", line)
        for rule, instead in RULES:
            if found := rule.search(line):
                yield number, f"“{found[0].strip()}”: write {instead}"


def main() -> int:
    names = subprocess.run(
        ["git", "ls-files", "-z", *WHERE], cwd=ROOT, check=True, capture_output=True
    ).stdout.decode()
    count = 0
    for name in filter(None, names.split("\0")):
        path = ROOT / name
        if SKIPPED.search(name) or not path.is_file():
            continue
        for number, finding in findings(path.read_text(errors="ignore")):
            print(f"{name}:{number}: {finding}")
            count += 1
    print(f"words: {count} lines" if count else "words: nothing found")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
