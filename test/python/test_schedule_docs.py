"""The page on schedules is what its script writes."""

import subprocess
import sys

from conftest import ROOT


def test_page_is_up_to_date(tools):
    done = subprocess.run(
        [
            sys.executable,
            ROOT / "scripts" / "schedule_docs.py",
            f"--bin={tools.folder}",
            "--check",
        ],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
