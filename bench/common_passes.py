#!/usr/bin/env python3
"""Times each common pass on functions with many fragments.

    .venv/bin/python bench/common_passes.py [--bin build/bin] [--sizes 1000 4000 16000]

Shapes: `chain` (each fragment reads the one before), `pipeline` (forward and
backward fragments of many microbatches on eight meshes, with transfers), `star`
(all fragments feed one), `inferred_star` (the same without a user fragment),
`fan` (one feeds all others), `inferred_fan` (the same without a user fragment),
`row` (fragments that have nothing to do with each
other, all of them returned), `taps` (a chain of which each value also goes to
another mesh). Prints seconds per pass and size, best of several runs, and the
growth from each size to the next; a linear pass grows by 4 when the size does.
"""

import argparse
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
PASSES = [
    "mpmd-absorb-inferred-fragments{absorb-on-entry-point-function=true}",
    "mpmd-copy-constants",
    "mpmd-fragment-dce",
    "mpmd-fragment-dedup",
    "mpmd-merge-forward-with-backward",
    "mpmd-merge-inferred-fragments",
    "mpmd-merge-inferred-fragments{merge-any-consumer=true}",
    "mpmd-merge-inferred-fragments{merge-sideways=true}",
    "mpmd-merge-transfers",
    "mpmd-merge-user-fragments-into-scheduling-units",
    "mpmd-move-transfers-to-producer",
    "mpmd-remove-transfer-cycles",
    "mpmd-rule-based-merge",
    "mpmd-scheduling-units-verifier",
    "mpmd-split-and-prioritize-transfer-independent-computations",
    "mpmd-split-bwd-fragments",
    "mpmd-uniquify-function-inputs-outputs",
    "mpmd-verify-stage-merging",
]
MESHES = 8


def mesh_type(mesh: int) -> str:
    return f'!mpmd.mesh_tensor<"m{mesh}", tensor<4xf32>>'


def fragment(name: str, mesh: int, operands: list[str], header: str, attrs="") -> str:
    """A fragment with one result; it negates its first operand."""
    args = ", ".join(f"%b{i}: tensor<4xf32>" for i in range(len(operands)))
    types = ", ".join([mesh_type(mesh)] * len(operands))
    return (
        f'{name} = mpmd.fragment<mesh="m{mesh}", {header}> ({", ".join(operands)}) '
        f"{attrs}({args}) {{\n"
        "%n = stablehlo.negate %b0 : tensor<4xf32>\n"
        "mpmd.return %n : tensor<4xf32>\n"
        f"}} : ({types}) -> {mesh_type(mesh)}"
    )


def chain(count: int) -> list[str]:
    """Every second fragment is inferred."""
    lines, value = [], "%x0"
    for i in range(count):
        header = f'origin=["c{i}"]' if i % 2 == 0 else "origin=[]"
        lines.append(fragment(f"%v{i}", 0, [value], header))
        value = f"%v{i}"
    return [*lines, f"return {value} : {mesh_type(0)}"]


def star(count: int) -> list[str]:
    lines = [fragment(f"%v{i}", 0, ["%x0"], "origin=[]") for i in range(count)]
    values = [f"%v{i}" for i in range(count)]
    lines.append(fragment("%sum", 0, values, 'origin=["sum"]'))
    return [*lines, f"return %sum : {mesh_type(0)}"]


def inferred_star(count: int) -> list[str]:
    return [line.replace('origin=["sum"]', "origin=[]") for line in star(count)]


def taps(count: int) -> list[str]:
    """Every fourth fragment is the user's."""
    lines, value = [], "%x0"
    for i in range(count):
        header = "origin=[]" if i % 4 else f'origin=["c{i}"]'
        lines.append(fragment(f"%v{i}", 0, [value], header))
        value = f"%v{i}"
        lines.append(
            f"%t{i} = mpmd.transfer {value} : ({mesh_type(0)}) -> {mesh_type(1)}"
        )
    values = ", ".join(f"%t{i}" for i in range(count))
    types = ", ".join([mesh_type(1)] * count)
    return [*lines, f"return {values} : {types}"]


def fan(count: int) -> list[str]:
    lines = [fragment("%first", 0, ["%x0"], 'origin=["first"]')]
    lines += [
        fragment(f"%v{i}", 0, ["%first", "%x1"], "origin=[]") for i in range(count)
    ]
    values = [f"%v{i}" for i in range(count)]
    return [*lines, f"return {', '.join(values)} : {return_types(count)}"]


def inferred_fan(count: int) -> list[str]:
    return [line.replace('origin=["first"]', "origin=[]") for line in fan(count)]


def row(count: int) -> list[str]:
    lines = [fragment(f"%v{i}", 0, [f"%x{i % 2}"], "origin=[]") for i in range(count)]
    values = [f"%v{i}" for i in range(count)]
    return [*lines, f"return {', '.join(values)} : {return_types(count)}"]


def return_types(count: int) -> str:
    return ", ".join([mesh_type(0)] * count)


def pipeline(count: int) -> list[str]:
    """Forward through all meshes and back, one microbatch after the other."""
    lines = []
    for microbatch in range(count // (2 * MESHES)):
        value, before = f"%x{microbatch % 2}", 0
        path = [(m, 0) for m in range(MESHES)] + [
            (m, 1) for m in reversed(range(MESHES))
        ]
        for mesh, transposed in path:
            name = f"%v{microbatch}_{mesh}_{transposed}"
            if mesh != before:
                lines.append(
                    f"{name}_in = mpmd.transfer {value} : ({mesh_type(before)}) "
                    f"-> {mesh_type(mesh)}"
                )
                value = f"{name}_in"
            suffix = "(1)" if transposed else ""
            lines.append(
                fragment(
                    name,
                    mesh,
                    [value],
                    f'origin=["s{mesh}"{suffix}], stage={mesh}',
                    f"{{call_counter = {microbatch} : ui32}} ",
                )
            )
            value, before = name, mesh
    return [*lines, f"return {value} : {mesh_type(0)}"]


SHAPES = {
    "chain": chain,
    "pipeline": pipeline,
    "star": star,
    "inferred_star": inferred_star,
    "fan": fan,
    "inferred_fan": inferred_fan,
    "row": row,
    "taps": taps,
}


def module(lines: list[str]) -> str:
    topology = ", ".join(f'<"m{m}" : <["x"=2]>>' for m in range(MESHES))
    arguments = ", ".join(f"%x{i}: {mesh_type(0)}" for i in range(2))
    results = lines[-1].split(" : ")[1]
    return (
        f"func.func @main({arguments}) -> ({results}) "
        f"attributes {{topology = #mpmd.topology<{topology}>}} {{\n"
        + "\n".join(lines)
        + "\n}\n"
    )


def time_pass(mpmd_opt: pathlib.Path, text: str, name: str, repeat: int) -> float:
    """Seconds of the pass alone, from MLIR's own timing; best of several."""
    return min(time_once(mpmd_opt, text, name) for _ in range(repeat))


def time_once(mpmd_opt: pathlib.Path, text: str, name: str) -> float:
    done = subprocess.run(
        [
            mpmd_opt,
            "-",
            "-o",
            "/dev/null",
            "--mlir-timing",
            "--mlir-timing-display=list",
            "--mlir-disable-threading",
            "--verify-each=false",
            f"--pass-pipeline=builtin.module(func.func({name}))",
        ],
        input=text,
        capture_output=True,
        text=True,
        check=True,
    )
    pattern = re.compile(r"^\s*([\d.]+) \(\s*[\d.]+%\)\s+(\S+)$", re.MULTILINE)
    for seconds, entry in pattern.findall(done.stderr):
        if entry.endswith("Pass"):
            return float(seconds)
    raise RuntimeError(f"no timing of {name} in:\n{done.stderr}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build" / "bin")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 4000, 16000])
    parser.add_argument("--shapes", nargs="+", default=list(SHAPES), choices=SHAPES)
    parser.add_argument("--passes", nargs="+", default=PASSES)
    parser.add_argument("--repeat", type=int, default=3)
    args = parser.parse_args()
    for shape in args.shapes:
        texts = [module(SHAPES[shape](size)) for size in args.sizes]
        print(f"\n{shape:<82}" + "".join(f"{size:>10}" for size in args.sizes))
        for name in args.passes:
            seconds = [
                time_pass(args.bin / "mpmd-opt", text, name, args.repeat)
                for text in texts
            ]
            # The clock has tenths of a millisecond: below this it decides.
            growth = [
                f"{b / a:.1f}" if a > 5e-3 else "-"
                for a, b in zip(seconds, seconds[1:], strict=False)
            ]
            print(
                f"{f'{shape}, {name}':<82}"
                + "".join(f"{value:>10.4f}" for value in seconds)
                + "   growth "
                + " ".join(growth),
                flush=True,
            )


if __name__ == "__main__":
    main()
