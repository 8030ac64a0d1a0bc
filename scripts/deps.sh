#!/usr/bin/env bash
# Installs what packages.txt lists and makes the Python environment .venv.
# Does nothing when everything is there.
#
#   scripts/deps.sh [GROUP...]   also what requirements/GROUP.txt pins
#
# BASE_PYTHON=...: the interpreter of a new environment.
set -euo pipefail
cd "$(dirname "$0")/.."

mapfile -t packages < <(grep -v '^#' packages.txt)

if command -v dpkg-query >/dev/null && command -v apt-get >/dev/null; then
  missing=()
  for package in "${packages[@]}"; do
    status=$(dpkg-query -W -f='${Status}' "$package" 2>/dev/null || true)
    [[ $status == "install ok installed" ]] || missing+=("$package")
  done
  if ((${#missing[@]})); then
    run=()
    if [[ $(id -u) != 0 ]]; then
      if ! command -v sudo >/dev/null; then
        echo "error: missing packages: ${missing[*]}" >&2
        echo "run this as root, or install sudo, or install them yourself" >&2
        exit 1
      fi
      run=(sudo)
    fi
    echo "installing: ${missing[*]}"
    "${run[@]}" apt-get update -q
    "${run[@]}" env DEBIAN_FRONTEND=noninteractive \
      apt-get install -y -q --no-install-recommends "${missing[@]}"
  fi
else
  # Not Debian: say what is needed by the command that needs it.
  missing=()
  for tool in clang++-22 ld.lld-22 cmake ninja ccache python3; do
    command -v "$tool" >/dev/null || missing+=("$tool")
  done
  [[ -f /usr/lib/llvm-22/lib/cmake/mlir/MLIRConfig.cmake ]] ||
    missing+=("MLIR 22 (MLIRConfig.cmake; pass -DMLIR_DIR=... to cmake)")
  if ((${#missing[@]})); then
    echo "error: this is not a Debian system, and these are missing:" >&2
    printf '  %s\n' "${missing[@]}" >&2
    echo "packages.txt has the names they have on Debian 12" >&2
    exit 1
  fi
fi

# The interpreter of packages.txt, not the first on PATH: a version manager's is often
# built without optimization, and the tests then take a tenth longer.
if [[ ! -x .venv/bin/pip ]]; then
  base=/usr/bin/python3
  [[ -x $base ]] || base=python3
  "${BASE_PYTHON:-$base}" -m venv .venv
fi

# Packages are installed again only when a list changes. What is installed is what the
# hashes say, whatever the index holds by now.
for group in test "$@"; do
  list=requirements/$group.txt stamp=.venv/requirements-$group.txt
  if ! cmp -s "$list" "$stamp"; then
    echo "installing into the Python environment .venv ($group)"
    .venv/bin/pip install -q --disable-pip-version-check --require-hashes -r "$list"
    cp "$list" "$stamp"
  fi
done
scripts/tree_path.sh .venv/bin/python
