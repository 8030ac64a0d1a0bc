"""These tests need the compiler of TPUs; `make test-hardware` has it."""

import importlib.util
import sys

import pytest

collect_ignore_glob = [] if importlib.util.find_spec("libtpu") else ["test_*.py"]


@pytest.fixture(autouse=True)
def _commands_in_this_python(monkeypatch):
    """Verbs of the command that Python does need the compilers, too."""
    monkeypatch.setenv("MESHWRIGHT_PYTHON", sys.executable)
