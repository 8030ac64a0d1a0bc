#!/usr/bin/env python3
"""Times each pass of the export pipeline on programs with many fragments.

    .venv/bin/python bench/export.py [--bin build/bin] [--sizes 1000 4000]

Two shapes. `pipeline`: a forward and a backward program per mesh, called once
per microbatch, with parameters, activations and transfers; few distinct bodies.
`distinct`: as many bodies as fragments, and inferred fragments that are delayed
to one reader. Prints seconds per pass and size, best of N, and the growth from
each size to the next; a linear pass grows by 4 when the size does.
"""

import argparse
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
MESHES, PARAMETERS, OPS = 8, 6, 24
LOCAL = "tensor<4xf32>"


def on(mesh: int) -> str:
    return f'!mpmd.mesh_tensor<"m{mesh}", {LOCAL}>'


def fragment(
    name: str, mesh: int, operands: list[str], header: str, attrs: str, constant: int
) -> str:
    """A fragment with one result and a chain of operations over its operands."""
    args = ", ".join(f"%b{i}: {LOCAL}" for i in range(len(operands)))
    types = ", ".join([on(mesh)] * len(operands))
    lines = [
        f'{name} = mpmd.fragment<mesh="m{mesh}", {header}> ({", ".join(operands)}) '
        f"{attrs}({args}) {{",
        f"%o0 = stablehlo.constant dense<{constant}.5> : {LOCAL}",
    ]
    for op in range(OPS):
        other = f"%b{op % len(operands)}"
        kind = ["add", "multiply", "maximum"][(op + constant) % 3]
        lines.append(f"%o{op + 1} = stablehlo.{kind} %o{op}, {other} : {LOCAL}")
    return "\n".join(
        [*lines, f"mpmd.return %o{OPS} : {LOCAL}", f"}} : ({types}) -> {on(mesh)}"]
    )


def pipeline(count: int) -> list[str]:
    lines, ends = [], []
    for microbatch in range(count // (2 * MESHES)):
        value, before = f"%x{microbatch}", 0
        path = [(m, 0) for m in range(MESHES)]
        path += [(m, 1) for m in reversed(range(MESHES))]
        for mesh, transposed in path:
            name = f"%v{microbatch}_{mesh}_{transposed}"
            if mesh != before:
                lines.append(
                    f"{name}_in = mpmd.transfer {value} : ({on(before)}) -> {on(mesh)}"
                )
                value = f"{name}_in"
            parameters = [f"%p{mesh}_{i}" for i in range(PARAMETERS)]
            suffix = "(1)" if transposed else ""
            lines.append(
                fragment(
                    name,
                    mesh,
                    [value, *parameters],
                    f'origin=["s{mesh}"{suffix}], stage={mesh}',
                    f"{{call_counter = {microbatch} : ui32}} ",
                    2 * mesh + transposed,
                )
            )
            value, before = name, mesh
        ends.append(value)
    return [*lines, returned(ends)]


def returned(values: list[str]) -> str:
    return f"return {', '.join(values)} : {', '.join([on(0)] * len(values))}"


def distinct(count: int) -> list[str]:
    """Every second fragment reads the last two; the others wait for the end."""
    lines, value, waiting = [], "%x0", []
    for i in range(count - 1):
        operands = [value, f"%p0_{i % PARAMETERS}"]
        if i % 2:
            waiting.append(f"%v{i}")
            header, attrs = "origin=[]", '{mpmd.inferred_by = ["uniquify"]} '
        else:
            value = f"%v{i}"
            header, attrs = f'origin=["f_{i}"]', ""
        lines.append(fragment(f"%v{i}", 0, operands, header, attrs, i))
    last = [value, *waiting]
    lines.append(fragment("%end", 0, last, 'origin=["end"]', "", 0))
    return [*lines, returned(["%end"])]


SHAPES = {"pipeline": pipeline, "distinct": distinct}


def module(lines: list[str]) -> str:
    topology = ", ".join(f'<"m{m}" : <["x"=2]>>' for m in range(MESHES))
    results = lines[-1].count("!mpmd.mesh_tensor")
    arguments = [f"%x{i}: {on(0)} {{jax.buffer_donor = true}}" for i in range(results)]
    for mesh in range(MESHES):
        arguments += [f"%p{mesh}_{i}: {on(mesh)}" for i in range(PARAMETERS)]
    return (
        f"func.func @main({', '.join(arguments)}) -> "
        f"({', '.join([on(0)] * results)}) "
        f"attributes {{topology = #mpmd.topology<{topology}>}} {{\n"
        + "\n".join(lines)
        + "\n}\n"
    )


def time_passes(mpmd_opt: pathlib.Path, text: str) -> dict[str, float]:
    """Seconds of each pass, those that run twice added up, in pipeline order."""
    done = subprocess.run(
        [
            mpmd_opt,
            "-",
            "-o",
            "/dev/null",
            "-mpmd-export-pipeline",
            "--mlir-timing",
            "--mlir-disable-threading",
            "--verify-each=false",
        ],
        input=text,
        capture_output=True,
        text=True,
        check=True,
    )
    seconds: dict[str, float] = {}
    pattern = re.compile(r"^\s*([\d.]+) \(\s*[\d.]+%\)\s+(\w+)$", re.MULTILINE)
    for value, entry in pattern.findall(done.stderr):
        if entry.endswith("Pass") or entry in ("CSE", "Canonicalizer"):
            seconds[entry] = seconds.get(entry, 0.0) + float(value)
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build" / "bin")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 4000])
    parser.add_argument("--shapes", nargs="+", default=list(SHAPES), choices=SHAPES)
    parser.add_argument("--repeat", type=int, default=3)
    args = parser.parse_args()
    for shape in args.shapes:
        print(f"\n{shape:<46}" + "".join(f"{size:>10}" for size in args.sizes))
        columns: list[dict[str, float]] = []
        for size in args.sizes:
            text = module(SHAPES[shape](size))
            runs = [
                time_passes(args.bin / "mpmd-opt", text) for _ in range(args.repeat)
            ]
            columns.append({name: min(run[name] for run in runs) for name in runs[0]})
            columns[-1]["total"] = sum(columns[-1].values())
        for name in columns[0]:
            seconds = [column[name] for column in columns]
            # Below a millisecond the clock decides, not the pass.
            growth = [
                f"{b / a:.1f}" if a > 1e-3 else "-"
                for a, b in zip(seconds, seconds[1:], strict=False)
            ]
            print(
                f"{f'{shape}, {name}':<46}"
                + "".join(f"{value:>10.4f}" for value in seconds)
                + "   growth "
                + " ".join(growth),
                flush=True,
            )


if __name__ == "__main__":
    main()
