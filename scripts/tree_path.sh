#!/usr/bin/env bash
# Lets an environment import what is in this tree: the package, the extension in build/,
# what tests, benches and scripts share, and examples.
#
#   scripts/tree_path.sh PYTHON
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
site=$("$1" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
printf '%s\n' "$root" "$root"/{python,build/python,test/python,examples} \
  >"$site/meshwright-tree.pth"
