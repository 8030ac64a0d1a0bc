# SPDX-License-Identifier: Apache-2.0
"""Tells what is installed, what works, and what to do: `meshwright doctor`.

The file runs by itself and imports the package only where it tries it, in a
process of its own: it has to speak when an import fails, or kills.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile

OK, WARNING, ERROR = "ok", "warning", "error"
MINIMUM_PYTHON = (3, 11)
COMMANDS = ("meshwright", "mpmd-opt", "mpmd-lsp-server")
OPTIONAL = {
    "flax": "mw.nnx",
    "optax": "examples that train",
    "orbax-checkpoint": "checkpoints (meshwright.distributed.orbax)",
    "libtpu": "compiling for TPUs (docs/hardware.md)",
    "jax-cuda13-plugin": "compiling for GPUs (docs/hardware.md)",
}
_CACHES = {
    "MESHWRIGHT_CACHE_DIR": "cache of compiled fragments",
    "JAX_COMPILATION_CACHE_DIR": "JAX's compilation cache",
}
_SECONDS = 300  # That a program may take.
_COLOURS = {OK: "32", WARNING: "33", ERROR: "31"}

# A program on two meshes, each of one CPU device, through compiler and runtime.
_TRIAL = """
import jax, jax.numpy as jnp, meshwright as mw
from jax.sharding import Mesh
a, b = jax.devices("cpu")[:2]
config = mw.make_config({"m1": Mesh([a], "x"), "m2": Mesh([b], "x")},
                        {"first": "m1", "second": "m2"})
def step(x):
    y = mw.named_computation(lambda x: x * 2, name="first")(x)
    return mw.named_computation(lambda y: y.sum(), name="second")(y)
print(float(mw.jit(step, config)(jnp.arange(4.0))))
"""
_DEVICES = """
import collections, jax
print(dict(collections.Counter(d.device_kind for d in jax.devices())))
"""


class Report:
    """Lines of a state, what was looked at, and what to do about it."""

    def __init__(self, colours: bool):
        self.colours = colours
        self.failed = False

    def add(self, state: str, what: str, advice: str = "") -> None:
        self.failed |= state == ERROR
        mark = f"{state:<8}"
        if self.colours:
            mark = f"\033[{_COLOURS[state]}m{mark}\033[0m"
        print(mark + what, flush=True)
        if advice:
            print(" " * 8 + "-> " + advice, flush=True)

    def check(
        self, works: object, what: str, problem: str, advice: str, state: str = ERROR
    ) -> None:
        """Adds what there is, or the problem and what to do about it."""
        self.add(*((OK, what) if works else (state, problem, advice)))


def wants_colours(stream=None) -> bool:
    """On a terminal, unless NO_COLOR is set to something."""
    stream = sys.stdout if stream is None else stream
    return stream.isatty() and not os.environ.get("NO_COLOR")


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _try(code: str, **environment: str) -> tuple[bool, str]:
    """Runs a program in a process of its own: whether it ended well, its last line."""
    try:
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            errors="replace",
            env={**os.environ, **environment},
            timeout=_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return False, f"it has not ended within {_SECONDS} s"
    lines = (done.stdout if done.returncode == 0 else done.stderr).strip().splitlines()
    if done.returncode < 0:
        lines.append(f"ended by signal {-done.returncode}")
    return done.returncode == 0, lines[-1] if lines else ""


def check_python(report: Report) -> None:
    """The interpreter and the C library below it."""
    found = platform.python_version()
    needed = ".".join(map(str, MINIMUM_PYTHON))
    what = f"Python {found} ({sys.executable})"
    advice = f"meshwright needs Python {needed} or newer; make an environment with one"
    report.check(sys.version_info >= MINIMUM_PYTHON, what, what, advice)
    library, version = platform.libc_ver()
    report.check(
        library == "glibc",
        f"glibc {version}, {platform.machine()}",
        f"C library: {library or 'not glibc (musl?)'}, {platform.machine()}",
        "the wheel and jaxlib are for Linux with glibc; use an image of Debian, "
        "Ubuntu, Fedora or the like",
        ERROR if sys.platform == "linux" else WARNING,
    )


def check_jax(report: Report) -> None:
    """Versions of JAX and of what is optional."""
    jax, jaxlib = _version("jax"), _version("jaxlib")
    if jax is None or jaxlib is None:
        missing = "jax" if jax is None else "jaxlib"
        report.add(ERROR, f"no {missing}", f"{sys.executable} -m pip install jax")
    else:
        works, line = _try("import jax")
        advice = f"{sys.executable} -m pip install --upgrade jax jaxlib"
        state = OK if works else ERROR
        report.add(state, f"jax {jax}, jaxlib {jaxlib}", "" if works else line)
        if not works:
            report.add(ERROR, "import jax fails", advice)
        elif jax != jaxlib:
            report.add(WARNING, "jax and jaxlib are of different versions", advice)
    for package, purpose in OPTIONAL.items():
        found = _version(package)
        needless = f"no {package}, needed only for {purpose}"
        report.add(OK, f"{package} {found}" if found else needless)


def find_extensions() -> list[pathlib.Path]:
    """All copies of the compiler that an import could find, in its order."""
    found = []
    for folder in sys.path:
        for path in sorted(pathlib.Path(folder or ".").glob("_meshwright*.so")):
            if path.resolve() not in found:
                found.append(path.resolve())
    return found


def check_package(report: Report) -> None:
    """The package, its compiler, and the commands."""
    spec = importlib.util.find_spec("meshwright")
    if spec is None or spec.origin is None:
        report.add(
            ERROR, "no package meshwright", f"{sys.executable} -m pip install <wheel>"
        )
        return
    package = pathlib.Path(spec.origin).parent
    works, line = _try(
        "import meshwright, json; print(json.dumps(meshwright.__version__))"
    )
    what = f"meshwright {json.loads(line)} ({package})" if works else ""
    report.check(works, what, f"import meshwright fails ({package})", line)
    copies = find_extensions()
    if not copies:
        report.add(
            ERROR,
            "the compiler (_meshwright) is not there",
            "install the wheel, or build it and put build/python on PYTHONPATH",
        )
    for path in copies[1:]:
        report.add(
            WARNING,
            f"a second copy of the compiler: {path}",
            f"{copies[0]} comes first; uninstall one, or take it off PYTHONPATH",
        )
    if copies:
        works, line = _try("import _meshwright; print(_meshwright.version)")
        what = f"compiler {copies[0]}"
        report.add(OK if works else ERROR, what, "" if works else line)
    # Of a wheel they are beside Python, of a build beside the compiler's folder.
    folders = [pathlib.Path(sys.executable).parent]
    folders += [path.parent.parent / "bin" for path in copies[:1]]
    for command in COMMANDS:
        found = [folder / command for folder in folders if (folder / command).exists()]
        path = found[0] if found else shutil.which(command)
        remedy = "install the wheel, or build it with make build"
        what, problem = f"{command} ({path})", f"no command {command}"
        report.check(path, what, problem, remedy, WARNING)


def check_folders(report: Report) -> None:
    """What is written to; the home folder is not."""
    try:
        with tempfile.TemporaryFile():
            pass
        report.add(OK, f"temporary files in {tempfile.gettempdir()}")
    except OSError as error:
        report.add(
            ERROR, f"no temporary files: {error}", "set TMPDIR to a writable folder"
        )
    for variable, purpose in _CACHES.items():
        cache = os.environ.get(variable)
        if not cache or "://" in cache:
            continue
        folder = os.path.expanduser(cache)
        while not os.path.exists(folder):  # Or it is in one that may not be read.
            folder = os.path.dirname(folder) or "."
        report.check(
            os.path.isdir(folder) and os.access(folder, os.W_OK | os.X_OK),
            f"{purpose} in {cache}",
            f"{purpose} in {cache}, which cannot be written",
            f"set {variable} to a writable folder, or unset it",
            WARNING,
        )


def check_running(report: Report) -> None:
    """A program on two meshes, and the devices that there are."""
    works, line = _try(_DEVICES)
    report.add(OK if works else ERROR, f"devices: {line}")
    works, line = _try(
        _TRIAL,
        JAX_PLATFORMS="cpu",
        XLA_FLAGS="",
        JAX_NUM_CPU_DEVICES="2",
    )
    report.check(
        works and line == "12.0",
        "a program on two meshes of CPU devices runs",
        f"a program on two meshes of CPU devices does not run: {line}",
        "see the errors above; without any, please report this one",
    )


def main() -> int:
    report = Report(wants_colours())
    check_python(report)
    check_jax(report)
    check_package(report)
    check_folders(report)
    if not report.failed:
        check_running(report)
    print("something is wrong" if report.failed else "all is well")
    return int(report.failed)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BrokenPipeError:
        # The reader has seen enough, as `head` has; nothing is flushed at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
