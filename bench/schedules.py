#!/usr/bin/env python3
"""Measures the scheduler on synthetic pipelines, and the optimize phase.

    .venv/bin/python bench/schedules.py [--bin build/bin] [--most 64x512] [--peer]

Programs are pipelines of one stage per mesh, written microbatch by microbatch:
forward down the meshes, backward up again, for zero-bubble schedules with split
backward fragments. Where a program is "chained", each backward also reads that of
the microbatch before, which contradicts all that the schedule demands of them;
where it is "entangled", each forward reads what the backward of the microbatch
before left on the next mesh, so that demands contradict each other as well. Where
edges are "kept", each pair that is compared becomes a control dependency, as merge
rules need them: about a quarter of the square of the units of a mesh.

A row is one schedule on meshes x microbatches: scheduling units, seconds of the
pass alone (parsing, verifying and printing excluded), and how much longer than
with a quarter of the microbatches, if these take a millisecond.

With --peer, also the optimize phase of `gpt_32_8_32`, next to the partitioner
that is compiled into jaxlib.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "test" / "programs" / "mpmd" / "gpt_32_8_32.mlir"
SIZES = [(4, 8), (4, 32), (8, 32), (8, 128), (16, 128), (16, 512), (64, 128), (64, 512)]
# Schedule, shape of the backward work, whether edges are kept.
ROWS = [
    ("none", "whole", False),
    ("GPipe", "whole", False),
    ("1F1B", "whole", False),
    ("Eager1F1B", "whole", False),
    ("ZeroBubbleH1", "split", False),
    ("ZeroBubbleH2ZeroTxLatency", "split", False),
    ("CircularWithReversedBackward", "chained", False),
    ("1F1B", "entangled", False),
    ("GPipe", "entangled", False),
    ("1F1B", "whole", True),
]
T = "tensor<4xf32>"


def mesh_type(mesh: int) -> str:
    return f'!mpmd.mesh_tensor<"m{mesh}", {T}>'


def fragment(
    result: str, mesh: int, microbatch: int, origin: str, values: list[str], mark=""
) -> str:
    arguments = ", ".join(f"%a{i}: {T}" for i in range(len(values)))
    types = ", ".join([mesh_type(mesh)] * len(values))
    return (
        f'{result} = mpmd.fragment<mesh="m{mesh}", origin=[{origin}], stage={mesh}> '
        f"({', '.join(values)}) {{call_counter = {microbatch} : ui32{mark}}} "
        f"({arguments}) {{ mpmd.return %a0 : {T} }} : ({types}) -> {mesh_type(mesh)}"
    )


def move(result: str, value: str, source: int, target: int) -> str:
    types = f"({mesh_type(source)}) -> {mesh_type(target)}"
    return f"{result} = mpmd.transfer {value} : {types}"


def write_pipeline(
    path: pathlib.Path, *, meshes: int, microbatches: int, backward: str
) -> int:
    """Writes the program; returns how many scheduling units it has."""
    lines, units = [], 0
    for i in range(microbatches):
        for mesh in range(meshes):
            values = ["%x"]
            if mesh:
                lines.append(move(f"%s{i}_{mesh}", f"%f{i}_{mesh - 1}", mesh - 1, mesh))
                values = [f"%s{i}_{mesh}"]
            if backward == "entangled" and i and mesh + 1 < meshes:
                before = f"%b{i - 1}_{mesh + 1}"
                lines.append(move(f"%e{i}_{mesh}", before, mesh + 1, mesh))
                values.append(f"%e{i}_{mesh}")
            lines.append(fragment(f"%f{i}_{mesh}", mesh, i, '"f"', values))
            units += 1
        for mesh in reversed(range(meshes)):
            value = f"%f{i}_{mesh}"
            if mesh + 1 < meshes:
                lines.append(move(f"%r{i}_{mesh}", f"%b{i}_{mesh + 1}", mesh + 1, mesh))
                value = f"%r{i}_{mesh}"
            values = [value, f"%f{i}_{mesh}"]
            if backward == "chained" and i:
                values.append(f"%b{i - 1}_{mesh}")
            parts = [("b", "")]
            if backward == "split" and mesh:
                parts = [
                    ("b", ", split_keep_transferred"),
                    ("w", ", split_drop_transferred"),
                ]
            for name, mark in parts:
                result = f"%{name}{i}_{mesh}"
                lines.append(fragment(result, mesh, i, '"f"(1)', values, mark))
                units += 1
    topology = ", ".join(f'<"m{m}" : <["x"=2]>>' for m in range(meshes))
    head = (
        f"func.func @main(%x: {mesh_type(0)}) -> {mesh_type(0)} "
        f"attributes {{topology = #mpmd.topology<{topology}>}} {{\n"
    )
    path.write_text(head + "\n".join(lines) + f"\nreturn %b0_0 : {mesh_type(0)}\n}}\n")
    return units


def time_pass(
    args: argparse.Namespace, path: pathlib.Path, schedule: str, keep: bool
) -> float:
    """Best seconds of the scheduler, as MLIR's own timing has it."""
    best = float("inf")
    for _ in range(args.repeat):
        done = subprocess.run(
            [
                args.bin / "mpmd-opt",
                path,
                f"--mpmd-pipeline-scheduler=must-happen-before={schedule} "
                f"remove-control-dependencies={str(not keep).lower()}",
                "--verify-each=0",
                "--mlir-timing",
                "--mlir-timing-display=list",
                "-o=/dev/null",
            ],
            check=True,
            capture_output=True,
            text=True,
        )
        for line in done.stderr.splitlines():
            if "PipelineSchedulerPass" in line:
                best = min(best, float(re.search(r"([\d.]+) \(", line)[1]))
    return best


def run_synthetic(args: argparse.Namespace) -> None:
    most = tuple(int(number) for number in args.most.split("x"))
    print(f"{'schedule':<37} {'pipeline':>8} {'units':>7} {'seconds':>9} {'growth':>7}")
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "pipeline.mlir"
        for name, backward, keep in ROWS:
            row = f"{name}{'' if backward in ('whole', 'split') else f', {backward}'}"
            row += ", kept" if keep else ""
            seconds = {}
            for meshes, microbatches in SIZES:
                if (meshes, microbatches) > most:
                    continue
                units = write_pipeline(
                    path, meshes=meshes, microbatches=microbatches, backward=backward
                )
                size = (meshes, microbatches)
                seconds[size] = time_pass(args, path, name, keep)
                quarter = seconds.get((meshes, microbatches // 4))
                growth = ""
                if quarter is not None:
                    # The clock has tenths of a millisecond: below this it decides.
                    is_long = quarter > 1e-3
                    growth = f"{seconds[size] / quarter:6.1f}x" if is_long else "-"
                print(
                    f"{row:<37} {meshes:>4}x{microbatches:<3} {units:>7} "
                    f"{seconds[size]:>9.4f} {growth:>7}",
                    flush=True,
                )


def run_peer(args: argparse.Namespace) -> None:
    config = PROGRAM.with_suffix(".json")
    ours = []
    for _ in range(args.repeat):
        done = subprocess.run(
            [
                args.bin / "meshwright",
                "partition",
                PROGRAM,
                f"--config={config}",
                "-o=-",
                "--until=optimize",
                "--time",
            ],
            check=True,
            capture_output=True,
            text=True,
        )
        for line in done.stderr.splitlines():
            if line.startswith("optimize "):
                ours.append(float(line.split()[-2]))
    peer = subprocess.run(
        [
            sys.executable,
            "-m",
            "support.peer",
            PROGRAM,
            config,
            "--until=optimize",
            f"--repeat={args.repeat}",
        ],
        check=True,
        capture_output=True,
        text=True,
    )
    theirs = json.loads(peer.stdout.splitlines()[-1])["seconds"]["optimize"]
    print(
        f"optimize phase, {PROGRAM.stem}: {min(ours):.4f} s, jaxlib {theirs:.4f} s, "
        f"{theirs / min(ours):.1f}x"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build" / "bin")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--most", default="64x512", help="the largest pipeline")
    parser.add_argument("--peer", action="store_true", help="measure jaxlib as well")
    args = parser.parse_args()
    run_synthetic(args)
    if args.peer:
        run_peer(args)


if __name__ == "__main__":
    main()
