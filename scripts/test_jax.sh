#!/usr/bin/env bash
# Runs the Python tests in a Debian 13, on its Python and the newest JAX that the
# test group of pyproject.toml names for it, with the compiler of the wheel in dist/.
#
#   scripts/test_jax.sh [ROOT]     ROOT: where the system is, or is to be made
#
# As root, for chroot. JAX=0.11.0 tests that release instead; TESTS names what to run,
# for pytest. There is no LLVM in that system, and no compiler.
set -euo pipefail
cd "$(dirname "$0")/.."
HOME_INSIDE=opt/tests VENV=.venv
source scripts/debian13.sh "$@"

mkdir -p "$work/build"
git archive HEAD | tar x --recursive-unlink -C "$work"
cp "${wheels[0]}" "$work/build"

# What tests call besides: the checks of a build's requirements are CMake scripts.
inside "type cmake fish git zsh >/dev/null 2>&1 || {
    apt-get update -q
    DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends \
      cmake fish git zsh; }"
inside "python3 -m venv .venv; pip install -q --require-hashes -r requirements/test.txt"
[[ -z ${JAX:-} ]] || inside "pip install -q jax==$JAX jaxlib==$JAX"
inside "pip install -q --no-deps --force-reinstall build/*.whl"
# Where tests look for the tools of a build.
inside "ln -sfn ../.venv/bin build/bin"
inside "pip list 2>/dev/null | grep -E '^(jax|jaxlib|flax|optax|equinox|orbax-c\S*) '"
# Without what a wheel has not: docs/jax-versions.md names it.
inside "python -m pytest --ignore=test/python/tools/test_site.py \
  --ignore=test/python/tools/test_draw_page.py --ignore=test/python/tools/test_reduce.py \
  --ignore=test/python/tools/test_installed.py --ignore=test/python/compiler/test_odd_programs.py \
  --ignore=test/python/compiler/test_mutants.py \
  ${TESTS:-test/python}"
