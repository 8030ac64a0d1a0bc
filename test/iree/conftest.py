"""What the tests of IREE share. They are no part of `make test`: `make test-iree`."""

import os
import pathlib
import sys

import pytest
from support.tools import ROOT, Tools


def pytest_addoption(parser):
    parser.addoption("--bin", default=str(ROOT / "build" / "bin"))


def pytest_configure(config):
    extension = pathlib.Path(config.getoption("--bin")).resolve().parent / "python"
    os.environ["MESHWRIGHT_EXTENSION"] = str(extension)
    sys.path[:0] = [str(ROOT / "python"), str(extension)]


@pytest.fixture(scope="session")
def tools(request) -> Tools:
    return Tools(pathlib.Path(request.config.getoption("--bin")).resolve())
