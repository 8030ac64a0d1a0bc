#!/usr/bin/env bash
# Takes programs through the compilers of TPUs and GPUs, which need no such devices:
# first the tests of test/python/hardware, then scripts/hardware_table.py, and without
# targets scripts/hardware_models.py and bench/hardware_compile.py, too. Makes an
# environment with these compilers first, which takes 2 GB.
#
#   scripts/test_hardware.sh [BUILD] [TARGET...]
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build}
shift || true
venv=$build/hardware

if ! cat requirements/test.txt requirements/hardware.txt |
  cmp -s - "$venv/requirements.txt"; then
  .venv/bin/python -m venv --clear "$venv"
  "$venv/bin/pip" install -q --disable-pip-version-check --require-hashes \
    -r requirements/test.txt -r requirements/hardware.txt
  cat requirements/test.txt requirements/hardware.txt >"$venv/requirements.txt"
fi

export JAX_PLATFORMS=cpu TF_CPP_MIN_LOG_LEVEL=2
export MESHWRIGHT_PYTHON=$PWD/$venv/bin/python
export PYTHONPATH=$PWD/python:$PWD/$build/python
"$venv/bin/python" -m pytest test/python/hardware --bin="$build/bin"
"$venv/bin/python" scripts/hardware_table.py --bin "$build/bin" "$@"
if [ $# = 0 ]; then
  "$venv/bin/python" scripts/hardware_models.py
  for target in v5e:2x4 h100:8; do
    "$venv/bin/python" bench/hardware_compile.py --bin "$build/bin" --target $target
  done
fi
