#!/usr/bin/env bash
# Runs tests under sanitizers; those of ctest whose names match FILTER.
#
#   scripts/test_sanitized.sh asan    address and undefined behaviour: lit, unit, Python
#   scripts/test_sanitized.sh tsan    threads: lit, unit
#   FILTER='^(lit\.Export|py\.exports$)' scripts/test_sanitized.sh asan
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/sanitizers.sh
preset=$1
build=build-$preset
make build PRESET="$preset"
# Checks of the tree need no sanitizer. Of Python's tests, these do not run under one:
left='^layout$'
# - browsers have a sandbox and an allocator of their own, into which none can be loaded;
left+='|^py\.(draw_page|site)$'
# - projects that link what is installed would need its flags, and wheels have none.
left+='|^py\.(installed|release|requirements)$'
failed=0
run() {
  ctest --test-dir "$build" --output-on-failure --no-tests=ignore --timeout 3600 \
    -R "${FILTER:-.}" "$@" || failed=1
}
run -E "$left|^py\."
if [[ $preset == asan ]]; then
  # ctest -R is given once: names of others are left out instead.
  LD_PRELOAD=$ASAN_RUNTIME run -E "$left|^(lit|unit)\."
fi
exit "$failed"
