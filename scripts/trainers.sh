#!/usr/bin/env bash
# Trains with MaxText, Tunix and Keras, each by its own trainer and as a pipeline, and
# compares the losses. Makes an environment with them first, which takes 2 GB.
#
#   scripts/trainers.sh [DIR] [maxtext|tunix|keras ...]
#
# Needs Python 3.12 or later (PYTHON=python3.12) and the compiler (`make build`).
set -euo pipefail
cd "$(dirname "$0")/.."
venv=${1:-build/trainers}
shift || true
python=${PYTHON:-python3.12}
wanted=requirements/trainers.txt

if ! cmp -s "$wanted" "$venv/requirements.txt"; then
  "$python" -m venv --clear "$venv"
  # The list is whole, and what Tunix asks for beside it is not imported here.
  "$venv/bin/pip" install -q --no-deps --require-hashes -r "$wanted"
  cp "$wanted" "$venv/requirements.txt"
fi

export PYTHONPATH=python:${MESHWRIGHT_EXTENSION:-build/python}
export JAX_PLATFORMS=${JAX_PLATFORMS:-cpu} JAX_NUM_CPU_DEVICES=8 KERAS_BACKEND=jax
export TF_CPP_MIN_LOG_LEVEL=2
status=0
for trainer in "${@:-maxtext tunix keras}"; do
  for name in $trainer; do
    "$venv/bin/python" "examples/$name/check.py" || status=1
  done
done
exit $status
