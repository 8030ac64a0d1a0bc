#!/usr/bin/env bash
# Installs the newest JAX there was on a day, and prints what broke: whether the package
# imports, which of its names are gone, and which tests fail.
#
#   scripts/jax_of_a_day.sh [DAY]      such as 2026-11-27; without, of today
#
# TESTS: what to run, for pytest, instead of the parts of the package next to JAX. The
# extension is that of build/; packages besides JAX are what requirements/test.txt pins.
# Ends with 1 if something broke.
set -euo pipefail
cd "$(dirname "$0")/.."
day=${1:-$(date -u +%F)}
if [[ ! $day =~ ^20[0-9]{2}-[0-9]{2}-[0-9]{2}$ ]] || ! date -d "$day" >/dev/null 2>&1; then
  echo "error: expected a day such as 2026-11-27, got '$day'" >&2
  exit 2
fi
tests=${TESTS:-"test/python/jaxapi test/python/tracing test/python/frontend"}

base=$(scripts/newest_jax.sh)
venv=build/jax-of-a-day
rm -rf "$venv"
"$base" -m venv "$venv"
# All that the pinned environment has; what is installed here goes before it.
"$base" -c 'import site; print(site.getsitepackages()[0])' \
  >"$("$venv/bin/python" -c 'import site; print(site.getsitepackages()[0])')/pinned.pth"
"$venv/bin/python" -m pip install -q --disable-pip-version-check uv
"$venv/bin/uv" pip install -q --python "$venv/bin/python" --exclude-newer "${day}T23:59:59Z" \
  jax jaxlib
scripts/tree_path.sh "$venv/bin/python"
python=$venv/bin/python
export JAX_PLATFORMS=cpu PYTHONPATH=$PWD/build/python

version=$("$python" -c 'import jax; print(jax.__version__)')
tried=$("$base" -c 'import jax; print(jax.__version__)')
echo "JAX of $day: $version (tried with: $tried)"
output=$(mktemp)
trap 'rm -f "$output"' EXIT
if ! "$python" -c 'import meshwright' 2>"$output"; then
  echo "import meshwright: broke"
  tail -1 "$output"
  exit 1
fi
echo "import meshwright: works"
code=0
# shellcheck disable=SC2086 # Several names.
"$python" -m pytest --tb=line -rfE $tests --bin=build/bin >"$output" 2>&1 || code=$?
if ((code)); then
  echo "tests: broke"
  grep -E '^(FAILED|ERROR)|failed|error' "$output" | tail -60 || tail -20 "$output"
  exit 1
fi
echo "tests: work, $(grep -E '[0-9]+ passed' "$output" | tail -1)"
