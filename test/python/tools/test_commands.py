"""What all commands have: versions, colours, completion, the doctor."""

import os
import pty
import re
import subprocess
import sys
import tomllib
import xml.etree.ElementTree

import pytest
from meshwright.core import python_version
from support.tools import ROOT

from meshwright import __version__, doctor

COMMANDS = ("meshwright", "mpmd-opt", "mpmd-lsp-server")


def environment(**changes) -> dict:
    kept = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "TERM")}
    return {**kept, "MESHWRIGHT_PYTHON": sys.executable, "TERM": "xterm", **changes}


@pytest.mark.parametrize("command", COMMANDS)
def test_version_names_llvm_and_the_jax_beside_it(tools, command):
    import jax

    done = subprocess.run(
        [tools.folder / command, "--version"],
        env=environment(),
        capture_output=True,
        text=True,
    )
    lines = done.stdout.splitlines()
    assert lines[0] == f"meshwright {__version__}"
    assert re.fullmatch(r"LLVM 22\.[\d.]+, (linked in|a shared library)", lines[1])
    assert lines[2].startswith(f"jax {jax.__version__}, jaxlib ")


def test_version_without_jax(tools, tmp_path):
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\nexit 1\n")
    python.chmod(0o755)
    done = subprocess.run(
        [tools.folder / "meshwright", "--version"],
        env=environment(MESHWRIGHT_PYTHON=str(python)),
        capture_output=True,
        text=True,
    )
    assert done.stdout.splitlines()[2] == f"no jax ({python})"


def read_terminal(*command, **env) -> str:
    """What a command writes to standard error if that is a terminal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        command, stderr=theirs, stdout=subprocess.DEVNULL, env=environment(**env)
    )
    os.close(theirs)
    written = b""
    try:
        while piece := os.read(ours, 4096):
            written += piece
    except OSError:  # Its other end is closed.
        pass
    os.close(ours)
    process.wait()
    return written.decode()


@pytest.mark.parametrize(
    "command", [("meshwright", "check"), ("mpmd-opt",)], ids=lambda c: c[0]
)
def test_colours_are_for_terminals_that_want_them(tools, tmp_path, command):
    bad = tmp_path / "bad.mlir"
    bad.write_text("func.func @f() { oops }")
    command = (tools.folder / command[0], *command[1:], bad)
    assert "\x1b[" in read_terminal(*command)
    plain = read_terminal(*command, NO_COLOR="1")
    assert "error" in plain and "\x1b[" not in plain
    assert "\x1b[" in read_terminal(*command, NO_COLOR="")


@pytest.mark.parametrize(
    "command", [("meshwright", "check"), ("mpmd-opt",)], ids=lambda c: c[0]
)
def test_color_decides_against_terminal_and_environment(tools, tmp_path, command):
    bad = tmp_path / "bad.mlir"
    bad.write_text("func.func @f() { oops }")
    always = tools.run(*command, "--color=always", bad)
    assert always.returncode == 1 and "\x1b[" in always.stderr
    command = (tools.folder / command[0], *command[1:], bad)
    assert "\x1b[" in read_terminal(*command, "--color=always", NO_COLOR="1")
    assert "\x1b[" not in read_terminal(*command, "--color=never")
    assert "\x1b[" in read_terminal(*command, "--color=auto")


def test_drawings_have_colours_in_a_pipe_if_asked(tools, tmp_path):
    plan = tmp_path / "plan.csv"
    plan.write_text("0F0,0B0\n1F0,1B0\n")
    assert "\x1b[" not in tools.check("meshwright", "draw", plan)
    assert "\x1b[" in tools.check("meshwright", "draw", plan, "--color=always")


def complete(tools, *words: str) -> list[str]:
    """What bash offers for the last word."""
    script = f"""
      source <(meshwright completion bash)
      COMP_WORDS=({" ".join(f"'{word}'" for word in words)})
      COMP_CWORD={len(words) - 1}
      {"_meshwright" if words[0] == "meshwright" else "_meshwright_tool"} {words[0]}
      printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(
        ["bash", "-c", script],
        env=environment(PATH=f"{tools.folder}:{os.environ['PATH']}"),
        capture_output=True,
        text=True,
        cwd=ROOT / "docs",
    )
    assert done.returncode == 0 and not done.stderr, done.stderr
    return done.stdout.split()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("meshwright", ""), {"check", "partition", "doctor", "--version"}),
        (("meshwright", "par"), {"partition"}),
        (("meshwright", "partition", "--sch"), {"--schedule"}),
        (("meshwright", "partition", "--schedule", "Zero"), {"ZeroBubbleV"}),
        (("meshwright", "schedule", "1F"), {"1F1B"}),
        (("meshwright", "schedule", "--mes"), {"--meshes"}),
        (("meshwright", "draw", "--format", ""), {"html", "perfetto", "text"}),
        (("meshwright", "draw", "--format", "=", "pe"), {"perfetto"}),
        (("meshwright", "check", "--color", ""), {"auto", "always", "never"}),
        (("meshwright", "check", "first.m"), {"first.mlir"}),
        (("meshwright", "completion", ""), {"bash", "zsh", "fish"}),
        (("mpmd-opt", "--mpmd-erase"), {"--mpmd-erase-partitioning"}),
    ],
    ids=" ".join,
)
def test_bash_completes(tools, words, offered):
    assert offered <= set(complete(tools, *words))


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("meshwright par", ["partition"]),
        ("meshwright partition --sch", ["--schedule"]),
        ("meshwright schedule 1F", ["1F1B"]),
        ("meshwright draw --format pe", ["perfetto"]),
        ("meshwright check --color=a", ["--color=always", "--color=auto"]),
        ("meshwright check first.m", ["first.mlir"]),
        ("mpmd-opt --mpmd-erase", ["--mpmd-erase-partitioning"]),
    ],
)
def test_fish_completes(tools, line, offered):
    script = "meshwright completion fish | source; complete -C $argv"
    done = subprocess.run(
        ["fish", "--no-config", "-c", script, line],
        env=environment(PATH=f"{tools.folder}:{os.environ['PATH']}"),
        capture_output=True,
        text=True,
        cwd=ROOT / "docs",
    )
    assert done.returncode == 0 and not done.stderr, done.stderr
    found = [row.partition("\t")[0] for row in done.stdout.splitlines()]
    assert set(offered) <= set(found)


# A zsh as a user has it, on a terminal. Waits for what it prints, which is a whole
# line or what it adds to one.
ZSH = r"""
zmodload zsh/zpty
zpty user zsh -f -i
zpty -w user 'source <(meshwright completion zsh); bindkey "^I" complete-word
print REA""DY'
zpty -r user seen '*READY*'
zpty -n -w user $1$'\t'
zpty -r user seen "*$2*"
"""


@pytest.mark.parametrize(
    ("line", "added"),
    [
        ("meshwright par", "tition"),
        ("meshwright draw --format=pe", "rfetto"),
        ("mpmd-opt --mpmd-erase-p", "artitioning"),
    ],
)
def test_zsh_completes(tools, tmp_path, line, added):
    path = f"{tools.folder}:{os.environ['PATH']}"
    subprocess.run(
        ["zsh", "-f", "-c", ZSH, "zsh", line, added],
        env=environment(PATH=path, HOME=str(tmp_path), TERM="xterm"),
        check=True,
        timeout=60,
        cwd=ROOT / "docs",
    )


def test_completion_for_another_shell_is_an_error(tools):
    done = tools.run("meshwright", "completion", "tcsh")
    assert done.returncode == 1
    assert "unknown shell 'tcsh', expected bash, zsh or fish" in done.stderr


def test_schedules_are_drawn_as_svg(tools):
    image = tools.check("meshwright", "schedule", "ZeroBubbleV", "--svg")
    root = xml.etree.ElementTree.fromstring(image)
    titles = [e.text for e in root.iter() if e.tag.endswith("title")]
    assert titles[0] == "0F0, 0 to 1" and len(titles) == 2 * 4 * 8 * 3
    done = tools.run("meshwright", "schedule", "1F1B", "--svg", "--csv")
    assert done.returncode == 1 and "choose one" in done.stderr


def test_doctor_runs_a_program(tools):
    done = subprocess.run(
        [tools.folder / "meshwright", "doctor"],
        env=environment(PYTHONPATH=os.pathsep.join(sys.path)),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "a program on two meshes of CPU devices runs" in done.stdout
    assert done.stdout.endswith("all is well\n")


def test_doctor_ends_quietly_when_its_reader_has_gone(tools):
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [tools.folder / "meshwright", "doctor"],
        env=environment(PYTHONPATH=os.pathsep.join(sys.path)),
        stdout=writing,
        stderr=subprocess.PIPE,
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (1, b"")


def test_doctor_without_the_package_says_what_to_install(tools, tmp_path):
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S "$@"\n')
    python.chmod(0o755)
    done = subprocess.run(
        [tools.folder / "meshwright", "doctor"],
        env=environment(MESHWRIGHT_PYTHON=str(python)),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert "the Python package meshwright is not installed" in done.stderr


def test_doctor_finds_second_copies(tmp_path, monkeypatch, capsys):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "_meshwright.abi3.so").write_bytes(b"")
        monkeypatch.syspath_prepend(str(tmp_path / name))
    found = doctor.find_extensions()
    assert [path.parent.name for path in found[:2]] == ["two", "one"]
    report = doctor.Report(colours=False)
    monkeypatch.setattr(doctor, "_try", lambda code, **_: (False, "import fails"))
    doctor.check_package(report)
    printed = capsys.readouterr().out
    assert "a second copy of the compiler" in printed
    assert "import fails" in printed and report.failed


def test_doctor_finds_commands_of_a_build(tmp_path, monkeypatch, capsys):
    for name in ("python/_meshwright.so", "bin/meshwright"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text("")
    copy = tmp_path / "python" / "_meshwright.so"
    monkeypatch.setattr(doctor, "find_extensions", lambda: [copy])
    monkeypatch.setattr(doctor.shutil, "which", lambda name: None)
    monkeypatch.setattr(doctor.sys, "executable", str(tmp_path / "none" / "python"))
    monkeypatch.setattr(doctor, "_try", lambda code, **_: (True, '"1"'))
    doctor.check_package(doctor.Report(colours=False))
    printed = capsys.readouterr().out
    assert f"ok      meshwright ({tmp_path}/bin/meshwright)" in printed
    assert "warning no command mpmd-opt\n        -> install the wheel, or" in printed


def test_doctor_refuses_old_pythons_and_other_c_libraries(monkeypatch, capsys):
    report = doctor.Report(colours=True)
    monkeypatch.setattr(doctor, "MINIMUM_PYTHON", (99, 0))
    monkeypatch.setattr(doctor.platform, "libc_ver", lambda: ("", ""))
    doctor.check_python(report)
    printed = capsys.readouterr().out
    assert "meshwright needs Python 99.0 or newer" in printed
    assert "not glibc (musl?)" in printed and "\x1b[31merror" in printed


def test_an_old_python_is_refused_before_anything_else():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["requires-python"] == ">={}.{}".format(*python_version.OLDEST)
    assert doctor.MINIMUM_PYTHON == python_version.OLDEST
    code = "import sys; sys.version_info = (3, 10, 13); import meshwright"
    done = subprocess.run(
        [sys.executable, "-S", "-c", code],
        env=environment(PYTHONPATH=str(ROOT / "python")),
        capture_output=True,
        text=True,
    )
    message = done.stderr.strip().splitlines()[-1]
    assert message.startswith(
        "ImportError: meshwright needs Python 3.11 or newer, found 3.10.13"
    )


def test_doctor_tries_the_caches(monkeypatch, capsys, tmp_path):
    report = doctor.Report(colours=False)
    monkeypatch.setenv("MESHWRIGHT_CACHE_DIR", str(tmp_path / "new" / "folder"))
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", "/proc/none")
    monkeypatch.setattr(doctor.os, "access", lambda folder, _: str(folder) != "/proc")
    doctor.check_folders(report)
    printed = capsys.readouterr().out
    assert "ok      cache of compiled fragments" in printed
    assert "warning JAX's compilation cache in /proc/none" in printed
    assert "-> set JAX_COMPILATION_CACHE_DIR" in printed and not report.failed


def test_a_compiler_of_another_release_is_refused(monkeypatch):
    from meshwright.compiler import native

    monkeypatch.setattr(native, "__version__", "99.0")
    with pytest.raises(ImportError, match="two copies are installed; uninstall one"):
        native.extension()


def test_a_compiler_that_does_not_load_names_the_c_library(monkeypatch):
    from meshwright.compiler import native

    monkeypatch.setitem(sys.modules, "_meshwright", None)
    with pytest.raises(ImportError, match="install the wheel, or build it"):
        native.extension()
    monkeypatch.setattr(native.platform, "libc_ver", lambda: ("", ""))
    with pytest.raises(ImportError, match="it needs a Linux with glibc"):
        native.extension()


def refusal_of_requirements(mlir):
    """What configuring says, on one line, with MLIR's CMake files in a folder."""
    done = subprocess.run(
        ["cmake", f"-DMLIR_DIR={mlir}", "-DCMAKE_CXX_COMPILER=sh"]
        + ["-P", ROOT / "cmake" / "Requirements.cmake"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    return " ".join(done.stderr.split())


@pytest.mark.parametrize(
    ("missing", "sentence"),
    [
        ("lib/cmake/mlir/MLIRConfig.cmake", "MLIR 22 is not installed"),
        ("lib/cmake/llvm/LLVMConfig.cmake", "installed in part only"),
        ("bin/mlir-tblgen", "installed in part only"),
        ("include/llvm/ADT/StringRef.h", "installed in part only"),
    ],
)
def test_builds_say_what_of_llvm_is_missing(tmp_path, missing, sentence):
    files = {
        "lib/cmake/mlir/MLIRConfig.cmake",
        "lib/cmake/llvm/LLVMConfig.cmake",
        "bin/mlir-tblgen",
        "include/mlir/IR/Operation.h",
        "include/llvm/ADT/StringRef.h",
    }
    for name in files - {missing}:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    said = refusal_of_requirements(tmp_path / "lib" / "cmake" / "mlir")
    assert sentence in said and "libmlir-22-dev, llvm-22-dev" in said


def test_builds_say_that_another_llvm_is_not_enough(tmp_path):
    folder = tmp_path / "lib" / "cmake" / "mlir"
    folder.mkdir(parents=True)
    (folder / "MLIRConfig.cmake").write_text("")
    (folder / "MLIRConfigVersion.cmake").write_text('set(PACKAGE_VERSION "21.1.8")\n')
    said = refusal_of_requirements(folder)
    assert f"MLIR 22.1 is needed, and that in {tmp_path} is 21.1; on Debian" in said


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["-DCMAKE_CXX_COMPILER=clang++-0"], "The compiler clang++-0 is not installed"),
        (
            ["-DCMAKE_CXX_COMPILER=sh", "-DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=lld-0"],
            "The linker ld.lld-0 is not installed; on Debian, install the package lld",
        ),
    ],
)
def test_builds_say_that_compiler_or_linker_are_missing(options, sentence):
    done = subprocess.run(
        ["cmake", *options, "-P", ROOT / "cmake" / "Requirements.cmake"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert sentence in " ".join(done.stderr.split())
