#!/usr/bin/env bash
# Fuzzes each target for SECONDS (60 without), or those that TARGETS names:
#
#   make fuzz SECONDS=600 TARGETS="passes partition"
#   make fuzz JOBS=2      by as many processes, which share a corpus
#   make fuzz RUNS=5000   as many inputs, the same each time, and no corpus: for CI
#   make fuzz PRESET=dev  in forked processes, without a build of its own
#
# What is found goes to build*/findings; exit code 1 if there is anything. With
# libFuzzer the corpus grows in build-asan/corpus, and the next run begins there.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/sanitizers.sh
# bash has a variable of this name, which counts.
seconds=$(printenv SECONDS || echo 60)
preset=${PRESET:-asan}
build=build$([[ $preset == dev ]] || echo "-$preset")
make configure PRESET="$preset"
cmake -S . -B "$build" -DMESHWRIGHT_FUZZ=ON >/dev/null
read -ra targets <<<"${TARGETS:-$(basename -as .cpp fuzz/Targets/*.cpp |
  sed -E 's/([a-z])([A-Z])/\1-\2/g' | tr 'A-Z\n' 'a-z ')}"
suffix=$([[ $preset == asan ]] || echo -loop)
tools=()
# Seeds are made with the usual build where there is one, which is quicker.
makers=build
[[ -x build/bin/mpmd-opt && -x build/bin/meshwright ]] || makers=$build
if [[ $makers == "$build" || " ${targets[*]} " == *" command-lines "* ]]; then
  tools=(meshwright mpmd-opt mpmd-reduce)
fi
if [[ " ${targets[*]} " == *" language-server "* ]]; then
  tools+=(mpmd-lsp-server)
fi
cmake --build "$build" --target ${tools[@]+"${tools[@]}"} \
  $(printf "fuzz-%s$suffix " "${targets[@]}")
.venv/bin/python fuzz/seeds.py --bin "$makers/bin" --out "$build/seeds" "${targets[@]}"

# What libFuzzer says last: how many inputs, what they cover, how fast.
last_state() { grep -oE '#[0-9]+:?\s.*cov: .*' "$1" | tail -n 1; }

# Some of the seeds, in a folder: pick_seeds FROM COUNT TO [options of shuf].
pick_seeds() {
  rm -rf "$3" && mkdir -p "$3"
  find "$1" -type f | sort | shuf -n "$2" "${@:4}" | xargs -r cp -t "$3"
}

found=0
for target in "${targets[@]}"; do
  echo "fuzz: $target"
  seeds=$build/seeds/$target corpus=$build/corpus/$target
  findings=$build/findings/$target log=$build/findings/$target.log
  mkdir -p "$corpus" "$findings"
  if [[ -n $suffix ]]; then
    "$build/bin/fuzz-$target-loop" --seconds="$seconds" --seed="$(date +%s)" \
      --findings="$findings" "$seeds" || found=1
    continue
  fi
  # Sanitizers take three times what the compiler does, in time and memory.
  limits=(-timeout=30 -rss_limit_mb=6144 -max_len=100000
    -artifact_prefix="$findings/")
  if [[ -n ${RUNS:-} ]]; then
    pick_seeds "$seeds" "$((RUNS / 4))" "$build/picked" --random-source=<(yes)
    "$build/bin/fuzz-$target" "${limits[@]}" -runs="$RUNS" -seed=1 \
      "$build/picked" >"$log" 2>&1 || { found=1 && tail -n 60 "$log"; }
  else
    # All inputs that are given are run first: no more than there is time for.
    pick_seeds "$seeds" "$((seconds * 4))" "$build/picked"
    "$build/bin/fuzz-$target" "${limits[@]}" -fork="${JOBS:-1}" -ignore_crashes=1 \
      -ignore_timeouts=1 -ignore_ooms=1 -max_total_time="$seconds" \
      "$corpus" "$build/picked" >"$log" 2>&1 || true
    echo "corpus: $(find "$corpus" -type f | wc -l) inputs"
  fi
  last_state "$log" || { found=1 && tail -n 20 "$log"; }
done
if [[ -z $suffix ]]; then
  # Not those that were only slow to read.
  find "$build/findings" -type f \( -name 'crash-*' -o -name 'timeout-*' -o \
    -name 'oom-*' \) | grep . && found=1
fi
exit "$found"
