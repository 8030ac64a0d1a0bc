#!/usr/bin/env bash
# Runs tests under sanitizers; those of ctest whose names match FILTER.
#
#   scripts/test_sanitized.sh asan    address and undefined behaviour: lit, unit, Python
#   scripts/test_sanitized.sh tsan    threads: the unit tests of what they share
#   FILTER='^(lit\.Export|py\.exports$)' scripts/test_sanitized.sh asan
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/sanitizers.sh
preset=$1
build=build-$preset
if [[ $preset == tsan && -z ${FILTER:-} ]]; then
  # Only what runs is built.
  FILTER='^unit\.threads$'
  make configure PRESET="$preset"
  cmake --build "$build" --target meshwright-thread-tests
elif [[ ${FILTER:-} == '^lit'* ]]; then
  # What lit runs is two thirds of everything.
  make configure PRESET="$preset"
  cmake --build "$build" --target mpmd-opt meshwright
else
  make build PRESET="$preset"
fi
# Checks of the tree need no sanitizer. Of Python's tests, these do not run under one:
left='^layout$'
# - browsers have a sandbox and an allocator of their own, into which none can be loaded;
left+='|^py\.(draw_page|site)$'
# - projects that link what is installed would need its flags, and wheels have none.
left+='|^py\.packages$'
failed=0
run() {
  ctest --test-dir "$build" --output-on-failure --no-tests=ignore --timeout 3600 \
    -R "${FILTER:-.}" "$@" || failed=1
}
run -E "$left|^py\."
if [[ $preset == asan && ${FILTER:-} != '^lit'* ]]; then
  # ctest -R is given once: names of others are left out instead.
  LD_PRELOAD=$ASAN_RUNTIME run -E "$left|^(lit|unit)\."
fi
exit "$failed"
