"""The command of docs/export.md prints what the page shows."""

import re
import shlex

from support.tools import ROOT

PAGE = (ROOT / "docs" / "export.md").read_text()


def block(language: str) -> str:
    return re.search(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)[1]


def without_blanks(text: str) -> str:
    return re.sub(r"\s+", "", text)


def test_page_shows_what_the_command_prints(tools):
    tool, *args = shlex.split(block("sh"))
    paths = [str(ROOT / arg) if arg.startswith("docs/") else arg for arg in args]
    printed = without_blanks(tools.check(tool.removeprefix("build/bin/"), *paths))
    # An ellipsis, or the end of a statement, represents more than is shown.
    for shown in re.split(r"…|\n\n", block("mlir")):
        assert without_blanks(shown) in printed
