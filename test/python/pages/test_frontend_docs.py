"""The examples of docs/python.md and of the docstrings print what they say."""

import doctest
import importlib
import re

import pytest
from support.tools import ROOT

pytestmark = pytest.mark.usefixtures("x32")

MODULES = [
    "auto",
    "config.make",
    "core.by_path",
    "core.names",
    "frontend.jit",
    "nnx",
    "pipeline.accumulate",
    "pipeline.parts",
    "pipeline.scan",
    "pipeline_registry",
    "programs.planning",
    "schedules.assignment",
    "schedules.rules",
    "staging.marks",
    "tracing.ops",
]
PAGES = ["python.md", "recipes.md", "migrating.md"]


@pytest.mark.parametrize("module", MODULES)
def test_examples_in_docstrings(module):
    found = importlib.import_module(f"meshwright.{module}")
    public = importlib.import_module("meshwright")
    names = {**vars(found), **vars(public)}
    assert doctest.testmod(found, extraglobs=names).failed == 0


@pytest.mark.parametrize("page", PAGES)
def test_examples_in_the_guides(page, capsys):
    text = (ROOT / "docs" / page).read_text()
    blocks = re.findall(r"```(python)?\n(.*?)```", text, re.S)
    assert {language for language, _ in blocks} == {"python", ""}
    names: dict = {}
    shown = ""
    for language, block in blocks:
        if language:
            exec(compile(block, f"docs/{page}", "exec"), names)
            shown = capsys.readouterr().out
        else:
            assert shown == block
