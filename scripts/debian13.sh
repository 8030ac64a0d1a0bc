# A bare Debian 13 in a folder, with Python, this machine's ways into the network and
# the wheel of dist/; for scripts that try it there, as root, for chroot. Makes the
# system if there is none.
#
#   HOME_INSIDE=opt/tests VENV=.venv
#   source scripts/debian13.sh [ROOT]
#
# gives root, work (the home), wheels (the wheel), and inside, which runs a command there.
set -euo pipefail
root=$(realpath -m "${1:-build-wheel/debian13}")
work=$root/$HOME_INSIDE

fail() {
  echo "error: $*" >&2
  exit 1
}

[[ $(id -u) == 0 ]] || fail "chroot needs root"
wheels=(dist/meshwright-*.whl)
[[ ${#wheels[@]} == 1 && -f ${wheels[0]} ]] ||
  fail "dist/ has no wheel, or several; run make wheel"

if [[ ! -x $root/usr/bin/python3 ]]; then
  command -v debootstrap >/dev/null ||
    apt-get install -y -q --no-install-recommends debootstrap
  # Either place may be missing; without an archive there is an error below.
  archive=$({ cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null || true; } |
    grep -oE 'https?://[^ ]+/debian/?( |$)' | head -1 | tr -d ' ') || true
  [[ -n $archive ]] || fail "apt's sources name no archive of Debian"
  debootstrap --variant=minbase --include=python3,python3-venv,ca-certificates \
    trixie "$root" "$archive"
fi
cp /etc/resolv.conf /etc/hosts "$root/etc/"
cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
[[ ! -f /etc/pip.conf ]] || cp /etc/pip.conf "$root/etc/"

for folder in proc dev dev/pts dev/shm; do
  mountpoint -q "$root/$folder" || mount --bind "/$folder" "$root/$folder"
done
trap 'umount "$root"/{proc,dev/pts,dev/shm,dev}' EXIT

inside() {
  chroot "$root" env -i HOME=/root PATH="/$HOME_INSIDE/$VENV/bin:/usr/bin:/bin" \
    ${PIP_INDEX_URL:+PIP_INDEX_URL="$PIP_INDEX_URL"} \
    ${HTTPS_PROXY:+HTTPS_PROXY="$HTTPS_PROXY"} \
    bash -euc "cd /$HOME_INSIDE; $1"
}
