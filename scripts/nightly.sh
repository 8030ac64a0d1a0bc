#!/usr/bin/env bash
# What CI has no time for: everything under sanitizers, extension included, a minute of
# fuzzing for each target, each program of the tests through each pass, a program under
# valgrind, everything without assertions, clang-tidy, headers by themselves, and the page
# of tools/page. Needs npm and valgrind.
set -euo pipefail
cd "$(dirname "$0")/.."
for tool in npm valgrind; do
  command -v "$tool" >/dev/null || { echo "nightly: install $tool first" >&2; exit 1; }
done
make lint
make page-check
# Sanitizers do not see what is read before it is written. The example has the
# allocator of the C library, which valgrind knows.
valgrind -q --error-exitcode=1 build/docs/examples/meshwright-example \
  test/programs/mpmd/gpt_4_4_4.mlir test/programs/mpmd/gpt_4_4_4.json >/dev/null
# Nothing hangs on assertions, precompiled headers, sources that are compiled together,
# or code that XLA did not optimize.
make test PRESET=release
git ls-files '*.h' | xargs scripts/check_includes.py --build build-release
make test-asan
make test-tsan
make fuzz
. scripts/sanitizers.sh
.venv/bin/python fuzz/every_pass.py
