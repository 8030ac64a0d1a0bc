#!/usr/bin/env bash
# Makes a bare Debian 13 in a folder, with Python and this machine's ways into the
# network; does nothing to the system where there is one.
#
#   scripts/debian13.sh ROOT
set -euo pipefail
root=${1:?a folder is needed}

if [[ ! -x $root/usr/bin/python3 ]]; then
  command -v debootstrap >/dev/null ||
    apt-get install -y -q --no-install-recommends debootstrap
  # Either place may be missing; without an archive there is an error below.
  archive=$({ cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null || true; } |
    grep -oE 'https?://[^ ]+/debian/?( |$)' | head -1 | tr -d ' ') || true
  if [[ -z $archive ]]; then
    echo "error: apt's sources name no archive of Debian" >&2
    exit 1
  fi
  debootstrap --variant=minbase --include=python3,python3-venv,ca-certificates \
    trixie "$root" "$archive"
fi
cp /etc/resolv.conf /etc/hosts "$root/etc/"
cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
[[ ! -f /etc/pip.conf ]] || cp /etc/pip.conf "$root/etc/"
