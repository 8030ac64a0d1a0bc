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
root=$(realpath -m "${1:-build-wheel/debian13}")

fail() {
  echo "error: $*" >&2
  exit 1
}

[[ $(id -u) == 0 ]] || fail "chroot needs root; run make wheel-test as root"
wheels=(dist/meshwright-*.whl)
[[ ${#wheels[@]} == 1 && -f ${wheels[0]} ]] ||
  fail "dist/ has no wheel, or several; run make wheel"
scripts/debian13.sh "$root"
for tool in cc gcc clang c++ ld; do
  [[ ! -x $root/usr/bin/$tool ]] || fail "$root is not bare: it has $tool"
done
[[ ! -d $root/usr/lib/llvm-22 ]] || fail "$root is not bare: it has LLVM"

work=$root/opt/meshwright
rm -rf "$work"
mkdir -p "$work"
cp -r "${wheels[0]}" examples docs/first.mlir docs/first.json "$work"
for folder in proc dev dev/pts dev/shm; do
  mountpoint -q "$root/$folder" || mount --bind "/$folder" "$root/$folder"
done
trap 'umount "$root"/{proc,dev/pts,dev/shm,dev}' EXIT

inside() {
  chroot "$root" env -i HOME=/root PATH=/opt/meshwright/venv/bin:/usr/bin:/bin \
    ${PIP_INDEX_URL:+PIP_INDEX_URL="$PIP_INDEX_URL"} \
    ${HTTPS_PROXY:+HTTPS_PROXY="$HTTPS_PROXY"} \
    bash -euc "cd /opt/meshwright; $1"
}

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
