#!/usr/bin/env bash
# jaxlib 0.12.0.1: `xla_cpu_use_fusion_emitters`, a compile option of XLA for CPUs that
# works in 0.10.2, is unknown. The jitted function fails when it is called, although the
# option only chooses how code is made. As a flag in XLA_FLAGS it ends the process. No
# deprecation preceded, and nothing is named that takes its place.
#
# Seen:
#   JaxRuntimeError: INVALID_ARGUMENT: No such compile option: 'xla_cpu_use_fusion_emitters'
#
# Ends with 0 as long as that is so, with 1 when it has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python=$(for p in python3.13 python3.12 ~/.pyenv/versions/3.1[23].*/bin/python; do
  if "$p" -c 'import sys; sys.exit(sys.version_info < (3, 12))' 2>/dev/null; then
    echo "$p"
    break
  fi
done)
if [[ -z $python ]]; then
  echo "this needs Python 3.12 or 3.13" >&2
  exit 2
fi
"$python" -m venv "$folder/venv"
version=0.12.0.1
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
  "jax==$version" "jaxlib==$version" numpy==2.3.5
cat >"$folder/program.py" <<'PYTHON'
import sys

import jax

options = {"xla_cpu_use_fusion_emitters": False}
try:
    print(jax.jit(lambda x: x + 1, compiler_options=options)(1.0))
except RuntimeError as error:
    print(f"{type(error).__name__}: {str(error).splitlines()[0]}")
    sys.exit(0 if "No such compile option" in str(error) else 1)
sys.exit(1)
PYTHON
"$folder/venv/bin/python" "$folder/program.py"
