"""Paths of the source tree, and the binaries of a build."""

import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[3]
PROGRAMS = ROOT / "test" / "programs"


class Tools:
    """Runs the project's binaries and returns what they print."""

    def __init__(self, folder: pathlib.Path):
        self.folder = folder

    def run(
        self, tool: str, *args: object, stdin: str | bytes = ""
    ) -> subprocess.CompletedProcess:
        data = stdin.encode() if isinstance(stdin, str) else stdin
        done = subprocess.run(
            [os.fspath(self.folder / tool), *map(str, args)],
            input=data,
            capture_output=True,
            timeout=300,
        )
        done.stderr = done.stderr.decode(errors="replace")
        # Else it was ended by a signal, or by a report of a sanitizer.
        assert done.returncode in (0, 1), done.stderr
        return done

    def check(self, tool: str, *args: object, stdin: str | bytes = "") -> str:
        """The standard output of a run that must succeed."""
        done = self.run(tool, *args, stdin=stdin)
        assert done.returncode == 0, done.stderr
        return done.stdout.decode()

    def opt(self, text: str, *args: object) -> str:
        return self.check("mpmd-opt", "-", *args, stdin=text)
