import os

import lit.formats
from lit.llvm import llvm_config
from lit.llvm.subst import ToolSubst

config.name = "meshwright"
config.test_format = lit.formats.ShTest()
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "python", "programs"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.meshwright_obj_root, "test")

# A variable without $ in its name ends at the next CHECK-LABEL.
config.environment["FILECHECK_OPTS"] = "--enable-var-scope"
llvm_config.with_environment("PATH", config.llvm_tools_dir, append_path=True)

tools_dir = os.path.join(config.meshwright_obj_root, "bin")
llvm_config.add_tool_substitutions(
    [
        # Each input is also printed and parsed back, as text and as bytecode.
        ToolSubst("mpmd-opt", extra_args=["--verify-roundtrip"]),
        ToolSubst("meshwright", unresolved="ignore"),
        "FileCheck",
        "not",
        "split-file",
    ],
    [tools_dir, config.llvm_tools_dir],
)
