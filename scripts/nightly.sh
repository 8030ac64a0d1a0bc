#!/usr/bin/env bash
# What CI has no time for: everything under sanitizers, extension included, a minute of
# fuzzing for each target, everything without assertions, clang-tidy, headers by
# themselves, and the page of tools/page (needs npm).
set -euo pipefail
cd "$(dirname "$0")/.."
make lint
if command -v npm >/dev/null; then
  make page-check
else
  echo "nightly: no npm, so nobody knows whether the page is what tools/page makes" >&2
  exit 1
fi
make test PRESET=release # Nothing hangs on assertions or precompiled headers.
git ls-files '*.h' | xargs scripts/check_includes.py --build build-release
make test-asan
make test-tsan
make fuzz
