# What the scripts beside this file have in common; they read it, with `$folder`, which
# they make and remove.
#
#   packages NAME==VERSION...   a Python 3.12 or 3.13 with these packages, in a folder
#                               that is removed at the end
#   describe_tpus               lets libtpu, one of the packages, describe TPUs that are
#                               not there
#   program ARGUMENT... <<'PYTHON'
#                               runs what follows in it, on the CPU; `$folder` is empty
#                               but for `venv` and `program.py`
#
# A program ends with 0 if it has seen what the script says, with 1 if not. A script ends
# with 2 where it cannot be tried: no such Python, or no network.
set -euo pipefail
# Nothing of the caller's own environment takes part.
unset PYTHONPATH PYTHONHOME XLA_FLAGS LIBTPU_INIT_ARGS
for name in $(compgen -e | grep -E '^(JAX|FLAX|IREE)_' || true); do unset "$name"; done
export JAX_PLATFORMS=cpu TF_CPP_MIN_LOG_LEVEL=3 PYTHONWARNINGS=ignore

cannot() {
  echo "cannot be tried: $*" >&2
  exit 2
}

packages() {
  local python found=
  for python in python3.13 python3.12 python3 ~/.pyenv/versions/3.1[32].*/bin/python; do
    if "$python" -c 'import sys; sys.exit(not (3, 12) <= sys.version_info < (3, 14))' \
      2>/dev/null; then
      found=$python
      break
    fi
  done
  [[ -n $found ]] || cannot "there is no Python 3.12 or 3.13"
  "$found" -m venv "$folder/venv"
  "$folder/venv/bin/pip" install -q --disable-pip-version-check --no-compile "$@" ||
    cannot "pip install $*"
}

describe_tpus() {
  # libtpu aborts where it cannot count the processors, as in a chroot without /sys.
  [[ -r /sys/devices/system/cpu/possible ]] || cannot "/sys is not mounted"
  # No server of the cloud is asked, and no lock on devices is taken.
  export TPU_SKIP_MDS_QUERY=1 ALLOW_MULTIPLE_LIBTPU_LOAD=1
  export TPU_WORKER_HOSTNAMES=localhost TPU_ACCELERATOR_TYPE=v5litepod-4
}

program() {
  cat >"$folder/program.py"
  (cd "$folder" && venv/bin/python program.py "$@")
}
