#!/usr/bin/env bash
# What CI has no time for: everything under each sanitizer, extension included,
# everything without assertions, clang-tidy, headers by themselves, and the page of
# tools/page (needs npm).
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
runtime=$(clang-22 -print-file-name=libclang_rt.asan-x86_64.so)
for preset in asan ubsan; do
  make build PRESET="$preset"
  export ASAN_OPTIONS=detect_leaks=0:detect_container_overflow=0
  ctest --test-dir "build-$preset" --output-on-failure -E '^py\.'
  # Python is not built with sanitizers, the extension in it is.
  preload=
  [[ $preset == asan ]] && preload=$runtime
  LD_PRELOAD=$preload ctest --test-dir "build-$preset" --output-on-failure \
    -R '^py\.(export|programs|frontend_lowering|text_border)'
done
