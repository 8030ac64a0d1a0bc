"""Times mesh inference on chains of operations that no one assigned.

There is one chain per mesh; only its end is assigned. Every tenth operation also
reads an input that all chains share. With ``--shared`` there is a single chain
that every mesh needs, so that each operation ends up on each mesh. Prints the
processor time that mpmd-opt spends in the passes, per size, and how many times that
of the size before it is, which is four times less.

    .venv/bin/python bench/infer_mesh.py [--bin build/bin] [--sizes 25000 100000]
"""

from __future__ import annotations

import argparse
import pathlib
import resource
import subprocess
import sys
import tempfile


def write_chains(file, num_ops: int, num_meshes: int, shared: bool) -> None:
    """Writes a function of ``num_ops`` operations in one chain or one per mesh."""
    meshes = [f"m{i}" for i in range(num_meshes)]
    topology = ", ".join(f'<"{m}": <["x"=2]>>' for m in meshes)
    types = [f'!mpmd.mesh_tensor<"{m}", tensor<4xf32>>' for m in meshes]
    args = ", ".join(f"%p{i}: tensor<4xf32>" for i in range(num_meshes))
    file.write(
        f"func.func @chains({args}) -> ({', '.join(types)}) attributes "
        f"{{topology = #mpmd.topology<{topology}>}} {{\n"
    )
    num_chains = 1 if shared else num_meshes
    ends = [f"%p{i}" for i in range(num_chains)]
    for i in range(num_ops):
        chain = i * num_chains // num_ops
        other = f"%p{i % num_meshes}" if i % 10 == 0 else ends[chain]
        file.write(
            f"  %v{i} = stablehlo.power {ends[chain]}, {other} : tensor<4xf32>\n"
        )
        ends[chain] = f"%v{i}"
    for i, mesh_type in enumerate(types):
        file.write(
            f"  %r{i} = mpmd.assign {ends[i % num_chains]} : "
            f"(tensor<4xf32>) -> {mesh_type}\n"
        )
    results = ", ".join(f"%r{i}" for i in range(num_meshes))
    file.write(f"  return {results} : {', '.join(types)}\n}}\n")


def measure(mpmd_opt: pathlib.Path, path: str, flags: list[str]) -> float:
    """Seconds of processor time, the least of three runs."""
    times = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([mpmd_opt, path, *flags, "-o", "/dev/null"], check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        user, system = (
            getattr(after, key) - getattr(before, key)
            for key in ("ru_utime", "ru_stime")
        )
        times.append(user + system)
    return min(times)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", type=pathlib.Path, default=pathlib.Path("build/bin"))
    parser.add_argument("--meshes", type=int, default=16)
    parser.add_argument("--sizes", type=int, nargs="+", default=[25_000, 100_000])
    parser.add_argument("--infer-transfers", action="store_true")
    parser.add_argument("--shared", action="store_true")
    options = parser.parse_args()

    flag = "-mpmd-infer-mesh-pipeline"
    if options.infer_transfers:
        flag += "=infer-transfers=true"
    mpmd_opt = options.bin / "mpmd-opt"
    print(f"{'ops':>9} {'parse, s':>9} {'inference, s':>13} {'growth':>7}")
    before = 0.0
    for size in options.sizes:
        with tempfile.NamedTemporaryFile("w", suffix=".mlir") as file:
            write_chains(file, size, options.meshes, options.shared)
            file.flush()
            parse = measure(mpmd_opt, file.name, [])
            taken = measure(mpmd_opt, file.name, [flag]) - parse
        growth = f"{taken / before:.1f}x" if before > 0 else ""
        print(f"{size:>9} {parse:>9.2f} {taken:>13.2f} {growth:>7}", flush=True)
        before = taken
    return 0


if __name__ == "__main__":
    sys.exit(main())
