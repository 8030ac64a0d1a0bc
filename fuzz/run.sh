#!/usr/bin/env bash
# Fuzzes each target for SECONDS (60 without), or those that TARGETS names:
#
#   make fuzz SECONDS=600 TARGETS="passes partition"
#   make fuzz PRESET=dev   in forked processes, without a build of its own
#
# What is found goes to build*/findings; exit code 1 if there is anything. With
# libFuzzer the corpus grows in build-fuzz/corpus, and the next run begins there.
set -euo pipefail
cd "$(dirname "$0")/.."
# bash has a variable of this name, which counts.
seconds=$(printenv SECONDS || echo 60)
preset=${PRESET:-fuzz}
build=build$([[ $preset == dev ]] || echo "-$preset")
make configure PRESET="$preset"
cmake -S . -B "$build" -DMESHWRIGHT_FUZZ=ON >/dev/null
read -ra targets <<<"${TARGETS:-$(basename -as .cpp fuzz/Targets/*.cpp |
  sed -E 's/([a-z])([A-Z])/\1-\2/g' | tr 'A-Z\n' 'a-z ')}"
suffix=$([[ $preset == fuzz ]] || echo -loop)
cmake --build "$build" --target meshwright mpmd-opt mpmd-reduce \
  $(printf "fuzz-%s$suffix " "${targets[@]}")
.venv/bin/python fuzz/seeds.py --bin "$build/bin" --out "$build/seeds"
export LLVM_SYMBOLIZER_PATH=/usr/lib/llvm-22/bin/llvm-symbolizer
# libMLIR is built without sanitizers, and LLVM frees little when it ends.
export ASAN_OPTIONS=detect_leaks=0:detect_container_overflow=0
export UBSAN_OPTIONS=print_stacktrace=1
found=0
for target in "${targets[@]}"; do
  echo "fuzz: $target"
  findings=$build/findings/$target
  mkdir -p "$build/corpus/$target" "$findings"
  if [[ -n $suffix ]]; then
    "$build/bin/fuzz-$target-loop" --seconds="$seconds" --seed="$(date +%s)" \
      --findings="$findings" "$build/seeds/$target" || found=1
  else
    "$build/bin/fuzz-$target" -fork=1 -ignore_crashes=1 -ignore_timeouts=1 \
      -ignore_ooms=1 -timeout=10 -rss_limit_mb=2048 -max_len=100000 \
      -max_total_time="$seconds" -artifact_prefix="$findings/" \
      "$build/corpus/$target" "$build/seeds/$target" 2>&1 | tail -n 2
  fi
done
if [[ -z $suffix ]]; then
  # Not those that were only slow.
  find "$build/findings" -type f \( -name 'crash-*' -o -name 'timeout-*' -o \
    -name 'oom-*' \) | grep . && found=1
fi
exit "$found"
