#!/usr/bin/env bash
# Takes a small program through the compiler of TPUs, which needs no such device: the
# short form of scripts/test_hardware.sh. The compiler is put in a folder of its own, since
# JAX would look for TPUs wherever it is installed.
#
#   scripts/test_tpu.sh [BUILD]
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build}
folder=$build/tpu

if ! cmp -s requirements/tpu.txt "$folder/requirements.txt"; then
  rm -rf "$folder"
  .venv/bin/python -m pip install -q --disable-pip-version-check --no-deps \
    --require-hashes --target "$folder" -r requirements/tpu.txt
  cp requirements/tpu.txt "$folder/requirements.txt"
fi

export JAX_PLATFORMS=cpu TF_CPP_MIN_LOG_LEVEL=2
export PYTHONPATH=$PWD/$folder:$PWD/python:$PWD/$build/python
# Not what takes a lock of the whole machine, which another check may have.
.venv/bin/python -m pytest test/python/hardware/test_hardware_tpu.py \
  --bin="$build/bin" -k "not another_process"
