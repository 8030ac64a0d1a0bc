"""The files for editors: highlighting, and the server's set-up."""

import json
import re

import pytest
from support.tools import ROOT

FOLDER = ROOT / "editors" / "vscode"
GRAMMAR = json.loads((FOLDER / "syntaxes" / "mlir.tmLanguage.json").read_text())


def scope_of(text: str, line: str) -> str | None:
    """The scope in which an editor shows a text: the first pattern at the earliest
    place wins, and goes on after what it took."""
    rules = []

    def add(patterns):
        for pattern in patterns:
            if "include" in pattern:
                key = pattern["include"].removeprefix("#")
                found = GRAMMAR["repository"][key]
                add(found.get("patterns", [found]) if "begin" not in found else [found])
            elif "begin" in pattern:
                whole = pattern["begin"] + r"(?:[^\"\\]|\\.)*" + pattern["end"]
                rules.append((re.compile(whole), pattern["name"]))
            else:
                rules.append((re.compile(pattern["match"]), pattern["name"]))

    add(GRAMMAR["patterns"])
    place = 0
    while True:
        found = [
            (match.start(), number, match, name)
            for number, (rule, name) in enumerate(rules)
            if (match := rule.search(line, place)) and match.end() > match.start()
        ]
        if not found:
            return None
        _, _, match, name = min(found, key=lambda entry: entry[:2])
        if match[0] == text:
            return name
        place = match.end()


@pytest.mark.parametrize(
    ("text", "line", "scope"),
    [
        ("%0", "%0 = stablehlo.add %a, %b : tensor<4xf32>", "variable.other"),
        ("stablehlo.add", "%0 = stablehlo.add %a, %b", "support.function"),
        ("f32", "%0 = stablehlo.add %a : tensor<4x8xf32>", "storage.type"),
        ("f8E4M3FN", "tensor<f8E4M3FN>", "storage.type"),
        ("!mpmd.mesh_tensor", '!mpmd.mesh_tensor<"m1", tensor<i1>>', "storage.type"),
        ("@main", "func.func @main() {", "entity.name.function"),
        ("#sdy.sharding", "{sdy.sharding = #sdy.sharding<@m, []>}", "entity.other"),
        ("// f32", "return // f32", "comment.line"),
        ('"%x // no"', 'attributes {a = "%x // no"}', "string.quoted"),
        ("^bb0", "^bb0(%a: i1):", "entity.name.label"),
        ("-1.5e3", "dense<-1.5e3>", "constant.numeric"),
        ("private", "func.func private @f", "keyword.control"),
    ],
)
def test_grammar_knows(text, line, scope):
    assert (scope_of(text, line) or "").startswith(scope)


def test_ops_of_the_first_program_are_highlighted():
    text = (ROOT / "docs" / "first.mlir").read_text()
    names = [
        (name, line)
        for line in text.splitlines()
        for name in re.findall(r"(?:mpmd|stablehlo|func)\.[a-z_]+", line)
    ]
    assert names
    for name, line in names:
        assert scope_of(name, line).startswith("support.function")


def test_extension_names_files_that_are_there():
    package = json.loads((FOLDER / "package.json").read_text())
    [language] = package["contributes"]["languages"]
    [grammar] = package["contributes"]["grammars"]
    for path in (package["main"], language["configuration"], grammar["path"]):
        assert (FOLDER / path).exists()
    json.loads((FOLDER / language["configuration"]).read_text())
    assert grammar["scopeName"] == GRAMMAR["scopeName"]
    assert "meshwright.server" in package["contributes"]["configuration"]["properties"]
