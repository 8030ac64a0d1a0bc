#!/usr/bin/env bash
# jaxlib 0.12.0.1: the wheel contains an MPMD partitioner, as the module
# `jaxlib._sdy_mpmd`. It cannot be imported: it looks for its MLIR as `jax.jaxlib.mlir`,
# which is where that is in the tree it is built from, and no package has it; the error
# does not say so. With a finder that leads from one name to the other it imports, and works.
#
# Expected: it can be imported, or is not in the wheel.
# Seen:
#   import: ImportError: Encountered an error while initializing the extension.
#   with another name for jaxlib: apply_mpmd_partitioning is there
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
source "$(dirname "$0")/frame.bash"
packages jax==0.12.0.1 jaxlib==0.12.0.1 numpy==2.3.5
program <<'PYTHON'
import importlib
import importlib.abc
import importlib.util
import sys


class Renamed(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path, target=None):
        if name == "jax.jaxlib" or name.startswith("jax.jaxlib."):
            return importlib.util.spec_from_loader(name, self)
        return None

    def create_module(self, spec):
        return importlib.import_module(spec.name.removeprefix("jax."))

    def exec_module(self, module):
        pass


try:
    importlib.import_module("jaxlib._sdy_mpmd")
    print("import: works")
    sys.exit(1)
except ImportError as error:
    print("import: ImportError:", error)
sys.meta_path.insert(0, Renamed())
module = importlib.import_module("jaxlib._sdy_mpmd")
found = hasattr(module, "apply_mpmd_partitioning")
print("with another name for jaxlib: apply_mpmd_partitioning", "is there" * found)
sys.exit(0 if found else 1)
PYTHON
