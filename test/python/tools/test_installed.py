"""What `cmake --install` leaves is enough to build against, in C++ and in C."""

import os
import re
import subprocess

import pytest
from support.tools import ROOT

C_PROGRAM = r"""
#include "meshwright/CAPI/Meshwright.h"
#include <stdio.h>

static char program[1 << 16], config[1 << 16];

static size_t load(const char *path, char *text) {
  FILE *file = fopen(path, "r");
  size_t length = file ? fread(text, 1, 1 << 16, file) : 0;
  if (file)
    fclose(file);
  return length;
}

int main(int argc, char **argv) {
  size_t length = load(argv[1], program);
  MeshwrightResult *result = meshwrightPartition(
      program, length, config, load(argv[2], config), MESHWRIGHT_ALL);
  const char *error = meshwrightResultGetError(result);
  puts(error ? error : meshwrightResultGetFragmentName(result, 0));
  meshwrightResultDestroy(result);
  return error != 0;
}
"""
EXPECTED = "m1 calls p0_encoder.main\nm1 sends 512 bytes to m2\n"
EXAMPLE = (ROOT / "docs" / "first.mlir", ROOT / "docs" / "first.json")


def output_of(*command, **options):
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, **options
    )
    assert done.returncode == 0, f"{command}:\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def settings(tools):
    """How the build was made: a sanitizer of it belongs into what links to it."""
    cache = (tools.folder.parent / "CMakeCache.txt").read_text()
    return dict(re.findall(r"^(\w+):\w+=(.*)$", cache, re.M))


@pytest.fixture(scope="module")
def prefix(tools, tmp_path_factory):
    folder = tmp_path_factory.mktemp("prefix")
    output_of("cmake", "--install", tools.folder.parent, "--prefix", folder)
    return folder


def test_a_cmake_project_finds_it(prefix, settings, tmp_path):
    taken = ("CMAKE_CXX_COMPILER", "CMAKE_CXX_FLAGS", "CMAKE_C_COMPILER")
    output_of(
        *("cmake", "-G", "Ninja", "-S", ROOT / "docs" / "examples", "-B", tmp_path),
        f"-DMeshwright_DIR={prefix / 'lib' / 'cmake' / 'Meshwright'}",
        *(f"-D{name}={settings[name]}" for name in taken if settings.get(name)),
    )
    output_of("cmake", "--build", tmp_path)
    assert EXPECTED in output_of(tmp_path / "meshwright-example", *EXAMPLE)


def test_a_c_program_finds_it_by_pkg_config(prefix, settings, tmp_path):
    source = tmp_path / "main.c"
    source.write_text(C_PROGRAM)
    lib = prefix / "lib"
    path = {**os.environ, "PKG_CONFIG_PATH": str(lib / "pkgconfig")}
    flags = output_of(
        *("pkg-config", "--cflags", "--libs", "meshwright-c"),
        env=path,
    )
    program = tmp_path / "main"
    output_of(
        *(settings.get("CMAKE_C_COMPILER") or "cc", "-o", program, source),
        *(*flags.split(), f"-Wl,-rpath,{lib}", *settings["CMAKE_C_FLAGS"].split()),
    )
    assert output_of(program, *EXAMPLE) == "p0_encoder.main\n"


def test_the_tools_run_from_there(prefix):
    assert "meshwright " in output_of(prefix / "bin" / "meshwright", "--version")
    replay = (prefix / "bin" / "mpmd-opt", EXAMPLE[0], "--canonicalize")
    assert "mpmd.named_computation" in output_of(*replay)


def test_the_c_library_shows_nothing_but_the_c_api(prefix):
    library = prefix / "lib" / "libmeshwright-c.so"
    symbols = {
        line.split()[-1]
        for line in output_of("nm", "-D", "--defined-only", library).splitlines()
    }
    headers = (prefix / "include" / "meshwright" / "CAPI").glob("*.h")
    declared = "".join(header.read_text() for header in headers)
    functions = set(re.findall(r"\b((?:meshwright|mpmd|mlir)\w+)\(", declared))
    functions |= {"mlirGetDialectHandle__mpmd__"}
    assert symbols == functions
