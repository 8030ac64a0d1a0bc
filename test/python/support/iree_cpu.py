"""Modules by IREE on the CPU: a compiler and runtime of StableHLO that is not XLA."""

import iree.compiler
import iree.runtime
import numpy as np

OPTIONS = [
    # Types are what the program says; IREE narrows those of 64 bits otherwise.
    "--iree-input-demote-f64-to-f32=false",
    "--iree-input-demote-i64-to-i32=false",
    "--iree-hal-target-device=local",
    "--iree-hal-local-target-device-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=host",
]


class Refused(Exception):
    """IREE does not compile a module, or does not run it; says why in one line."""


def compile(module: str | bytes) -> bytes:
    """Compiles the text of a module, its bytecode, or a portable artifact.

    Raises:
      Refused: it does not compile.
    """
    try:
        return iree.compiler.compile_str(
            module, input_type="stablehlo", extra_args=OPTIONS
        )
    except iree.compiler.CompilerToolError as error:
        errors = [line for line in str(error).splitlines() if "error:" in line]
        reason = errors[0].partition("error:")[2] if errors else str(error)
        raise Refused(reason.strip()[:300]) from None


def execute(binary: bytes, arguments: list[np.ndarray]) -> list[np.ndarray]:
    """The results of @main of what was compiled.

    Raises:
      Refused: the runtime does not take it.
    """
    try:
        loaded = iree.runtime.load_vm_flatbuffer(binary, driver="local-sync")
        results = loaded.main(*arguments)
    except (IndexError, RuntimeError, ValueError) as error:
        raise Refused(str(error).splitlines()[0][:300]) from None
    if results is None:
        return []
    if not isinstance(results, list | tuple):
        results = [results]
    return [np.asarray(result.to_host()) for result in results]


def run(module: str | bytes, arguments: list[np.ndarray]) -> list[np.ndarray]:
    """Compiles and executes a module; raises as these do."""
    return execute(compile(module), arguments)
