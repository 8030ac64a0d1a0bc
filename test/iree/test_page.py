"""The commands of docs/other-compilers.md, in the environment that has IREE."""

import re
import shlex
import subprocess
import sys

import numpy as np
from support.tools import ROOT

PAGE = (ROOT / "docs" / "other-compilers.md").read_text()


def test_commands_print_what_the_page_shows(tools, tmp_path):
    (block,) = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
    (shown,) = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)
    *made, partition, run = block.replace("\\\n", " ").splitlines()
    assert all("iree" in line for line in made)
    out = tmp_path / "out"
    options = shlex.split(partition)
    assert options[0] == "build/bin/meshwright"
    files = [str(ROOT / word) if "/" in word else word for word in options[2:-4]]
    tools.check("meshwright", options[1], *files, "-o", out, *options[-2:])
    python, script, folder = shlex.split(run)
    assert (python, folder) == ("iree/bin/python", "out")
    arrays = tmp_path / "arrays.npz"
    command = [sys.executable, ROOT / script, out, "--npz", arrays]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == shown
    with np.load(arrays) as file:
        wanted = np.tanh(file["input0"] @ file["input1"])
        np.testing.assert_allclose(file["result0"], wanted, atol=1e-6)


def test_the_program_of_the_page_runs_by_iree(tools, tmp_path):
    (block,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    command = [sys.executable, "-c", block]
    subprocess.run(command, cwd=tmp_path, check=True)
    out, arrays = tmp_path / "out", tmp_path / "arrays.npz"
    files = tmp_path / "model.mlir", f"--config={tmp_path / 'model.json'}"
    tools.check("meshwright", "partition", *files, "-o", out, "--portable", "--plain")
    command = [sys.executable, ROOT / "examples/iree_pipeline.py", out, "--npz", arrays]
    subprocess.run(command, check=True)
    with np.load(arrays) as file:
        wanted = np.tanh(file["input1"] @ file["input0"])
        np.testing.assert_allclose(file["result0"], wanted, atol=1e-6)


def test_listed_fragments_are_those_of_the_test():
    from test_fragments import REFUSED, SEVERAL_DEVICES

    listed = set(
        re.findall(r"`([\w/]+)`", "\n".join(re.findall(r"^\| `.*", PAGE, re.M)))
    )
    names = {name for name, _ in REFUSED} | set(SEVERAL_DEVICES)
    assert names <= listed
