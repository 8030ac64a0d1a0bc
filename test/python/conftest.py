"""Paths and tools that the Python tests share."""

import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
# The package as it is in the tree, with the extension that was built last.
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "build" / "python")]
# Read when JAX starts: enough CPU devices for several meshes.
os.environ.setdefault("JAX_NUM_CPU_DEVICES", "9")
PROGRAMS = ROOT / "test" / "programs"


def pytest_addoption(parser):
    parser.addoption(
        "--bin",
        default=str(ROOT / "build" / "bin"),
        help="folder with mpmd-opt and meshwright",
    )


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
        return done

    def check(self, tool: str, *args: object, stdin: str | bytes = "") -> str:
        """The standard output of a run that must succeed."""
        done = self.run(tool, *args, stdin=stdin)
        assert done.returncode == 0, done.stderr
        return done.stdout.decode()

    def opt(self, text: str, *args: object) -> str:
        return self.check("mpmd-opt", "-", *args, stdin=text)


@pytest.fixture(scope="session")
def tools(request) -> Tools:
    return Tools(pathlib.Path(request.config.getoption("--bin")).resolve())


@pytest.fixture
def x32():
    """32 bits are the default, also after tests that need 64."""
    import jax

    with jax.enable_x64(False):
        yield
