"""Runs scripts in processes that one process forks, which has imported the package.

To import it takes most of the processor time of a script that soon ends.
"""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
from collections.abc import Hashable
from typing import NamedTuple

from support.launching import LIMIT, SCRIPTS, environment


class Done(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


def run_forked(jobs: dict[Hashable, tuple], folder: pathlib.Path) -> dict:
    """Runs all at once; how each has ended.

    Args:
      jobs: the words of a command, from the name of a script on, and variables.
      folder: for what they print.
    """
    given, files = [], []
    for number, (words, variables) in enumerate(jobs.values()):
        files.append([folder / f"{number}.{kind}" for kind in ("out", "errors")])
        script = str(SCRIPTS / words[0])
        given.append([[script, *words[1:]], variables, *map(str, files[-1])])
    process = subprocess.Popen(
        [sys.executable, str(SCRIPTS / "forked.py"), json.dumps(given)],
        env=environment(JAX_NUM_CPU_DEVICES="1"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        out, errors = process.communicate(timeout=LIMIT)
    finally:
        with contextlib.suppress(ProcessLookupError):  # And what has been forked.
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    assert process.returncode == 0, errors
    done = [
        Done(code, *(file.read_text() for file in of_job))
        for code, of_job in zip(json.loads(out), files, strict=True)
    ]
    return dict(zip(jobs, done, strict=True))
