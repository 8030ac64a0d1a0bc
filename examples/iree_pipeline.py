"""Runs what `meshwright partition` wrote by IREE, without JAX and without Meshwright.

    meshwright partition docs/first.mlir --config examples/iree_pipeline.json \\
        -o out --portable --plain
    python examples/iree_pipeline.py out

Compiles each fragment of the folder once for the CPU, draws inputs at random, does the
items of schedule.json in their order, and prints the results, or with `--npz FILE` also
writes inputs and results to a file. Needs iree-base-compiler and iree-base-runtime;
each mesh of the program has one device (docs/other-compilers.md).
"""

import argparse
import json
import pathlib
import re
import sys

import iree.compiler
import iree.runtime
import ml_dtypes
import numpy as np

OPTIONS = [
    # Types are what the program says; IREE narrows doubles otherwise.
    "--iree-input-demote-f64-to-f32=false",
    "--iree-hal-target-device=local",
    "--iree-hal-local-target-device-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=host",
]
WIDTHS = {"f": "float", "bf": "bfloat", "i": "int", "ui": "uint"}


def dtype_of(element: str) -> np.dtype:
    """The NumPy type of an element type, such as `f32`."""
    if element == "i1":
        return np.dtype(bool)
    letters, bits = re.fullmatch(r"([a-z]+)(\d+)", element).groups()
    name = f"{WIDTHS[letters]}{bits}"
    return np.dtype(getattr(ml_dtypes, name, name))


def read(folder: pathlib.Path) -> dict:
    """The schedule; ends the process where it is not for one device a mesh."""
    program = json.loads((folder / "schedule.json").read_text())
    if program["version"] != 1:
        sys.exit("error: schedule.json has ranges; partition with --schedule-json=flat")
    for mesh in program["meshes"]:
        if any(int(size) != 1 for _, size in mesh["axes"]):
            sys.exit(
                f"error: mesh {mesh['name']} has several devices; partition for one"
            )
    return program


def load(folder: pathlib.Path, program: dict) -> list:
    """A function for each fragment, of arrays on the device."""
    functions = []
    for fragment in program["fragments"]:
        stem = re.sub(r"[^A-Za-z0-9._-]", "_", fragment["name"])[:200]
        (file,) = (folder / "fragments").glob(f"{stem}.mlir*")
        binary = iree.compiler.compile_file(
            str(file), input_type="stablehlo", extra_args=OPTIONS
        )
        module = iree.runtime.load_vm_flatbuffer(binary, driver="local-task")
        functions.append(module.main)
    return functions


def run(program: dict, functions: list, inputs: list[np.ndarray]) -> list[np.ndarray]:
    """The outputs of a step."""
    values = {
        entry["value"]: array
        for entry, array in zip(program["inputs"], inputs, strict=True)
    }
    for item in program["items"]:
        if item["kind"] == "call":
            operands = [values[value] for value in item["operands"]]
            results = functions[item["fragment"]](*operands)
            if len(item["results"]) == 1:
                results = [results]
            values.update(zip(item["results"], results or [], strict=True))
        else:
            # Both meshes are this CPU: nothing has to be copied.
            values[item["result"]] = values[item["operand"]]
        for value in item["last_uses"]:
            del values[value]
    return [np.asarray(values[entry["value"]]) for entry in program["outputs"]]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--npz", help="write inputs and results to this file")
    options = parser.parse_args()
    program = read(options.folder)
    rng = np.random.default_rng(0)
    inputs = []
    for entry in program["inputs"]:
        value = program["values"][entry["value"]]
        array = rng.normal(size=value["shape"], scale=0.1)
        inputs.append(array.astype(dtype_of(value["dtype"])))
    results = run(program, load(options.folder, program), inputs)
    for number, result in enumerate(results):
        first = ", ".join(f"{x:.6g}" for x in result.ravel()[:4].tolist())
        print(f"result {number}: {result.dtype}{list(result.shape)} {first} ...")
    if options.npz:
        arrays = {f"input{i}": array for i, array in enumerate(inputs)}
        arrays |= {f"result{i}": array for i, array in enumerate(results)}
        np.savez(options.npz, **arrays)


if __name__ == "__main__":
    main()
