"""The examples, shortened: each trains, and its losses are those of jax.jit."""

import json
import os
import subprocess
import sys

import pytest
from support import forking
from support.tools import ROOT

EXAMPLES = ROOT / "examples"
COMMANDS = {
    "mlp": ["mlp.py"],
    "flax_model": ["flax_model.py"],
    "encoder_decoder": ["encoder_decoder.py"],
    "two_towers": ["two_towers.py"],
    "two_towers_auto": ["two_towers.py", "--schedule=auto"],
    "actor_learner": ["actor_learner.py"],
    "gpt_1f1b": ["gpt.py", "--devices=2"],
    "gpt_zero_bubble": ["gpt.py", "--devices=1", "--schedule=ZERO_BUBBLE_H1"],
}

# It starts Python and imports all that it needs.
AS_USERS_DO = "mlp"


@pytest.mark.parametrize("name", COMMANDS)
def test_losses_are_those_of_jax_jit(name, tmp_path):
    if name == "flax_model":
        pytest.importorskip("flax")
    script, *options = COMMANDS[name]
    losses = tmp_path / "losses.json"
    words = [str(EXAMPLES / script), "--steps=3", f"--json={losses}", *options]
    if name == AS_USERS_DO:
        done = subprocess.run(
            [sys.executable, *words], capture_output=True, text=True, timeout=400
        )
    else:
        done = forking.run(words, dict(os.environ), 400)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(losses.read_text())
    assert len(found["meshwright"]) == 3
    for ours, theirs in zip(found["meshwright"], found["jax.jit"], strict=True):
        assert abs(ours - theirs) <= 1e-5 * abs(theirs)
