#!/usr/bin/env bash
# Runs lit tests under the address and the undefined behaviour sanitizer.
#
#   scripts/sanitize.sh                  all of them
#   scripts/sanitize.sh Export Optimize  those of some folders of test/
set -euo pipefail
cd "$(dirname "$0")/.."
make configure PRESET=sanitize
cmake --build build-sanitize --target mpmd-opt meshwright
# libMLIR was not built with sanitizers: what goes over that border and is freed
# by the other side looks like a leak, and like a container that was written
# beyond its end.
export ASAN_OPTIONS=detect_leaks=0:detect_container_overflow=0
export UBSAN_OPTIONS=print_stacktrace=1
parts=("${@:-.}")
exec /usr/lib/llvm-22/bin/lit -sv "${parts[@]/#/build-sanitize/test/}"
