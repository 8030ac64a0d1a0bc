#!/usr/bin/env bash
# JAX 0.12.0.1, jax.export: what an exported function carries to other machines and
# releases names the sources: file, line and function of each operation and of all that
# called it, up to the script that exported. The folders of who built it are in the bytes,
# and the same function one line further down has other bytes, so that a hash of them says
# nothing. Only jax_traceback_in_locations_limit=0 leaves them out, and only as long as
# full tracebacks, the default, are not turned off, too.
#
# Expected: an artifact is of the function alone: equal bytes, and no paths.
# Seen:
#   as it is: equal False, the function's file True, the caller's file True
#   no full tracebacks: equal False, the function's file True, the caller's file True
#   a limit of 0: equal True, the function's file False, the caller's file False
#   both: equal False, the function's file True, the caller's file True
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
source "$(dirname "$0")/frame.bash"
packages jax==0.12.0.1 jaxlib==0.12.0.1 numpy==2.3.5
program <<'PYTHON'
import sys

import jax
import jax.numpy as jnp
from jax import export

TEXT = "def function(x):\n    return jnp.sin(x) * 2\n"


def artifact(text):
    names = {"jnp": jnp}
    exec(compile(text, "folder_of_the_builder/model.py", "exec"), names)
    like = jax.ShapeDtypeStruct((4,), jnp.float32)
    return export.export(jax.jit(names["function"]))(like).mlir_module_serialized


def look(name, full, limit):
    jax.config.update("jax_include_full_tracebacks_in_locations", full)
    jax.config.update("jax_traceback_in_locations_limit", limit)
    jax.clear_caches()
    one, other = artifact(TEXT), artifact("\n" + TEXT)
    files = [file in one for file in (b"folder_of_the_builder/model.py", b"program.py")]
    print(
        f"{name}: equal {one == other}, the function's file {files[0]}, "
        f"the caller's file {files[1]}"
    )
    return one == other, *files


seen = [
    look("as it is", True, jax.config.jax_traceback_in_locations_limit),
    look("no full tracebacks", False, jax.config.jax_traceback_in_locations_limit),
    look("a limit of 0", True, 0),
    look("both", False, 0),
]
named, unnamed = (False, True, True), (True, False, False)
sys.exit(0 if seen == [named, named, unnamed, named] else 1)
PYTHON
