# SPDX-License-Identifier: Apache-2.0
"""docs/hardware.md, with the compiler of TPUs that its first lines install."""

import json
import re

import pytest
from support.tools import ROOT

PAGE = (ROOT / "docs" / "hardware.md").read_text()


def run(code, names):
    exec(compile(code, "docs/hardware.md", "exec"), names)


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.M | re.S)


@pytest.fixture(scope="module")
def names():
    """What the first code of the page defines."""
    found = {}
    run(blocks("python")[0], found)
    return found


def test_the_page_gets_to_fits(names, capsys):
    names["compiled"].report()
    printed = capsys.readouterr().out
    (shown,) = re.findall(r"^```text\n(.*?)^\.\.\.$", PAGE, re.M | re.S)
    wanted, found = (re.findall(r"^m\d.*", text, re.M) for text in (shown, printed))
    # How large the code is differs from release to release.
    assert [line.split()[::4] for line in found] == [
        line.split()[::4] for line in wanted
    ]
    assert all(line.endswith("fits") for line in found)
    assert "p0_first_fwd.step" in printed


def test_files_get_there_too(names, tools, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (write,) = (code for code in blocks("python") if "step.mlir" in code)
    run(write, names)
    (config,) = blocks("json")
    (tmp_path / "config.json").write_text(config)
    (commands,) = (code for code in blocks("sh") if "partition" in code)
    for line in commands.splitlines():
        # That of GPUs is not installed everywhere, and this one takes a second target.
        verb = line.replace("--target h100:8", "--json").split()
        printed = tools.check(*verb)
    found = json.loads(printed)
    fit = names["compiled"].runtime_executable().fit()
    assert found["meshes"] == fit.as_json()["meshes"]
    assert found["target"] == "v5e:2x4"
