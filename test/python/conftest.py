"""Paths and tools that the Python tests share."""

import collections
import contextlib
import gc
import itertools
import os
import pathlib
import signal
import subprocess
import sys

import pytest
from support import one_context, xla_emitters
from support.tools import ROOT, Tools

if "--xla_backend_optimization_level=0" in os.environ.get("XLA_FLAGS", ""):
    xla_emitters.choose_older()

_INTERRUPTS = {
    signal.SIGINT: signal.default_int_handler,
    signal.SIGQUIT: signal.SIG_DFL,
}


def pytest_addoption(parser):
    parser.addoption(
        "--bin",
        default=str(ROOT / "build" / "bin"),
        help="folder with mpmd-opt and meshwright",
    )


def pytest_configure(config):
    """The package as it is in the tree, with the extension beside the binaries."""
    # A shell lets what it starts in the background ignore these, and so would all that
    # tests start.
    for number, handler in _INTERRUPTS.items():
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, handler)
    extension = pathlib.Path(config.getoption("--bin")).resolve().parent / "python"
    os.environ["MESHWRIGHT_EXTENSION"] = str(extension)
    sys.path[:0] = [str(ROOT), str(ROOT / "python"), str(extension)]


# How many tests of a file may be skipped: programs that jaxlib itself does not
# run, that a random choice made too large, or that mount. One more than that fails.
SKIPS_ALLOWED = {
    "test_differential": 1,
    "test_export_folder": 2,
    "test_file_writers": 5,
    "test_hijax": 1,  # JAX before 0.11 has no boxes.
    "test_launch": 1,  # Where there is no IPv6.
    "test_random_shardings": 0,
    "test_runtime_random": 5,
}


def pytest_collection_finish():
    # What is imported stays, and each full collection would look at all of it.
    gc.freeze()
    one_context.share()


def pytest_sessionfinish(session):
    _check_extension(session)
    _check_skips(session)


def _check_extension(session):
    """Scripts and benches that tests import may bring a path of their own."""
    wanted = pathlib.Path(os.environ["MESHWRIGHT_EXTENSION"])
    loaded = getattr(sys.modules.get("_meshwright"), "__file__", None)
    if loaded and pathlib.Path(loaded).resolve().parent != wanted:
        reporter = session.config.pluginmanager.get_plugin("terminalreporter")
        reporter.write_line(f"ERROR: {loaded} is not of {wanted}", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def _check_skips(session):
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    skipped = collections.Counter(
        pathlib.Path(report.nodeid.split("::")[0]).stem
        for report in reporter.stats.get("skipped", [])
    )
    for name, count in skipped.items():
        allowed = SKIPS_ALLOWED.get(name, 0)
        if count > allowed:
            reporter.write_line(
                f"ERROR: {name}: {count} tests were skipped, {allowed} may be "
                "(SKIPS_ALLOWED in test/python/conftest.py)",
                red=True,
            )
            session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.fixture(scope="session")
def tools(request) -> Tools:
    return Tools(pathlib.Path(request.config.getoption("--bin")).resolve())


@pytest.fixture
def comparing(tools):
    """Begins comparisons of `make difftest`, by class; ends them with the test."""
    from support import op_corpus  # Imports JAX, which not every test needs.

    with contextlib.ExitStack() as begun:
        yield lambda kind: begun.enter_context(
            contextlib.closing(kind(op_corpus.Tools(tools.folder)))
        )


@pytest.fixture(scope="session")
def same_numbers():
    """Compares the numbers of two programs of small arrays, with random arguments.

    XLA has to take what the interpreter takes: it gives the numbers of each tenth pair.
    """
    from support import same_numbers
    from support.isolated import Isolated

    pairs = itertools.count()
    with contextlib.closing(Isolated("support.same_numbers")) as worker:

        def check(plain: str, other: str, where: str = "") -> None:
            by_xla = next(pairs) % 10 == 0
            difference, _ = same_numbers.difference(worker, plain, other, by_xla)
            assert difference <= same_numbers.TOLERANCE, where

        yield check


# Runs a command where the folder $1 is a file system of $2.
MOUNTED = ["unshare", "--map-root-user", "--mount", "bash", "-c"]
MOUNTED += ['mount -t tmpfs -o "$2" none "$1" && shift 2 && exec "$@"', "bash"]


@pytest.fixture
def mounted(tmp_path):
    """Whether this process may mount at all; containers often forbid it."""
    (tmp_path / "mount").mkdir()
    try:
        subprocess.run([*MOUNTED, tmp_path / "mount", "size=4k", "true"], check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("mounting is not allowed here")
    return lambda folder, options: [*MOUNTED, folder, options]


def _jax_config():
    """All that can be set in JAX; nothing as long as it is not imported."""
    jax = sys.modules.get("jax")
    return dict(jax.config.values) if jax else None


def _changed(before):
    after = _jax_config() or before
    return {key: after[key] for key in before or () if after[key] != before[key]}


@pytest.fixture(autouse=True)
def same_jax_config():
    """No test, and no fixture of a single one, leaves JAX's configuration changed:
    files share a process, and what one leaves another one would find."""
    before = _jax_config()
    yield
    assert not _changed(before), "it leaves JAX's configuration changed"


@pytest.fixture(autouse=True)
def same_flags():
    """Nor does one leave XLA's flags changed: processes that later tests start would
    have them."""
    before = os.environ.get("XLA_FLAGS")
    yield
    assert os.environ.get("XLA_FLAGS") == before, "it leaves XLA_FLAGS changed"


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    """Nor does a file by its imports."""
    before = _jax_config() or {"jax_enable_x64": False}
    report = yield
    if changed := _changed(before):
        report.outcome = "failed"
        report.longrepr = f"{collector.nodeid}: its imports change JAX: {changed}"
    return report


@pytest.fixture
def x32():
    """32 bits are the default, whatever the environment says."""
    import jax

    with jax.enable_x64(False):
        yield


@pytest.fixture(scope="module")
def equal_compiles_once():
    """What equals a program that this run has compiled is not compiled again: for files
    whose tests run one program in many ways."""
    from support.compiled_once import compiling_once

    with compiling_once():
        yield
