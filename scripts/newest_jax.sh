#!/usr/bin/env bash
# Makes a Python environment with the newest JAX that requirements/test.txt pins, for
# which Python must be 3.12 or newer, and prints its interpreter. The extension of any
# build works in it. Does nothing when the environment is there.
#
#   make difftest PYTHON="$(scripts/newest_jax.sh)"       what make difftest-newest does
#   "$(scripts/newest_jax.sh)" -m pytest test/python/tracing/test_hijax.py
#
# NEWEST_PYTHON: the Python to take, instead of the newest there is.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=$PWD/build/newest-jax list=requirements/test.txt

fits() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 12))' 2>/dev/null; }

if ! cmp -s "$list" "$venv/requirements.txt"; then
  found=
  pythons=("${NEWEST_PYTHON:-}")
  [[ -n ${NEWEST_PYTHON:-} ]] ||
    pythons=(python3.13 python3.12 python3 ~/.pyenv/versions/3.1[23].*/bin/python)
  for python in "${pythons[@]}"; do
    if fits "$python"; then
      found=$python
      break
    fi
  done
  if [[ -z $found ]]; then
    echo "error: no Python 3.12 or 3.13 here; install one, or name it by" \
      "NEWEST_PYTHON=..., or run scripts/test_jax.sh, which makes a Debian 13" >&2
    exit 1
  fi
  rm -rf "$venv"
  "$found" -m venv "$venv"
  "$venv/bin/pip" install -q --disable-pip-version-check --require-hashes -r "$list" >&2
  cp "$list" "$venv/requirements.txt"
fi
scripts/tree_path.sh "$venv/bin/python"
echo "$venv/bin/python"
