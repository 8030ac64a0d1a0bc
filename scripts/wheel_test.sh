#!/usr/bin/env bash
# Installs the wheel of dist/ into a bare Debian 13 (no compiler, no LLVM), and
# trains an example there.
#
#   scripts/wheel_test.sh [ROOT]     ROOT: where the system is, or is to be made
#
# As root, for chroot. JAX=0.10.2 asks for that version; by default pip chooses. The
# doctor has the last word, with a home that cannot be written.
set -euo pipefail
cd "$(dirname "$0")/.."
HOME_INSIDE=opt/meshwright VENV=venv
source scripts/debian13.sh "$@"
for tool in cc gcc clang c++ ld; do
  [[ ! -x $root/usr/bin/$tool ]] || fail "$root is not bare: it has $tool"
done
[[ ! -d $root/usr/lib/llvm-22 ]] || fail "$root is not bare: it has LLVM"

rm -rf "$work"
mkdir -p "$work"
cp -r "${wheels[0]}" examples docs/first.mlir docs/first.json "$work"

inside "python3 -m venv venv"
# What is downloaded comes first, so that the clock below does not see it.
inside "pip install -q 'jax${JAX:+==$JAX}' numpy nanobind-backend"
start=$(date +%s.%N)
inside "pip install -q --no-deps ./meshwright-*.whl && pip check"
inside "python examples/mlp.py --steps 3"
end=$(date +%s.%N)
inside "
  meshwright --version
  mpmd-opt -symbol-dce first.mlir >/dev/null
  mpmd-lsp-server --version >/dev/null
  meshwright partition first.mlir --config first.json -o out
  test -s out/schedule.json
  ! ldd venv/bin/mpmd-opt | grep -E 'LLVM|MLIR|not found'
  HOME=/proc meshwright doctor"
awk -v s="$start" -v e="$end" 'BEGIN {
  printf "from the wheel to a trained model: %.1f s\n", e - s }'
