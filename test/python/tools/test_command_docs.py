"""The pages on commands show what the commands print."""

import subprocess
import sys

from support.tools import ROOT


def test_pages_are_up_to_date(tools):
    script = ROOT / "scripts" / "command_docs.py"
    done = subprocess.run(
        [sys.executable, script, f"--bin={tools.folder}", "--check"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
