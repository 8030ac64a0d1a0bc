#!/usr/bin/env python3
"""Runs the MPMD partitioner that is compiled into the jaxlib wheel.

    .venv/bin/python -m support.peer PROGRAM.mlir CONFIG.json \
        [--until import|optimize|partition] [--repeat N] [-o OUT.mlir]

Takes what `meshwright partition` takes. Prints one line of JSON: seconds of
each phase (best of N, parsing excluded) and fragments and transfers per mesh.
"""

import argparse
import collections
import importlib
import importlib.abc
import importlib.util
import json
import pathlib
import re
import sys
import time

from jaxlib.mlir import ir  # noqa: E402

from support import numerics  # noqa: E402


class _Renamed(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """The native module imports `jax.jaxlib.*`; the wheel has `jaxlib.*`."""

    def find_spec(self, name, path, target=None):
        if name == "jax.jaxlib" or name.startswith("jax.jaxlib."):
            return importlib.util.spec_from_loader(name, self)
        return None

    def create_module(self, spec):
        return importlib.import_module(spec.name.removeprefix("jax."))

    def exec_module(self, module):
        pass


def load():
    """The native module of the peer."""
    if not any(isinstance(finder, _Renamed) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Renamed())
    return importlib.import_module("jaxlib._sdy_mpmd")


def partition(peer, text: str, config: dict, until: str):
    """Partitions a fresh copy; gives the module's text and seconds per phase."""
    phases = {
        "import": peer.PartitioningPhase.IMPORT,
        "optimize": peer.PartitioningPhase.OPTIMIZE,
        "partition": peer.PartitioningPhase.PARTITION,
    }
    assignment = {
        name: tuple(mesh) if isinstance(mesh, list) else mesh
        for name, mesh in config.get("assignment", {}).items()
    }
    seconds = {}
    with numerics.make_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        for name, phase in phases.items():
            start = time.perf_counter()
            result = peer.apply_mpmd_partitioning(
                module,
                func_name=config.get("function", "main"),
                named_meshes=[
                    (mesh, list(axes.items()))
                    for mesh, axes in config["topology"].items()
                ],
                assignment=assignment,
                input_meshes=config.get("input_meshes", []),
                output_meshes=config.get("output_meshes", []),
                donate_argnums=config.get("donate", []),
                partitioning_options=config.get("options") or None,
                fragment_merge_rules=[],
                fragment_schedule_rules=[],
                phases=phase,
            )
            seconds[name] = time.perf_counter() - start
            if name == until:
                break
        return str(result.mpmd_module), seconds


def count(text: str) -> dict[str, dict[str, int]]:
    """Fragments, and transfers by target, of each mesh in a printed module."""
    meshes: dict[str, dict[str, int]] = collections.defaultdict(
        lambda: {"fragments": 0, "transfers": 0}
    )
    for mesh in re.findall(r'mpmd\.fragment(?:_call)?<mesh="([^"]*)"', text):
        meshes[mesh]["fragments"] += 1
    transfers = re.findall(r'mpmd\.transfer .*-> !mpmd\.mesh_tensor<"([^"]*)"', text)
    for mesh in transfers:
        meshes[mesh]["transfers"] += 1
    return dict(sorted(meshes.items()))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("config", type=pathlib.Path)
    parser.add_argument(
        "--until", choices=["import", "optimize", "partition"], default="partition"
    )
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("-o", "--output", type=pathlib.Path)
    args = parser.parse_args()
    text = args.program.read_text()
    config = json.loads(args.config.read_text())
    peer = load()
    runs = [partition(peer, text, config, args.until) for _ in range(args.repeat)]
    if args.output:
        args.output.write_text(runs[0][0])
    seconds = {phase: min(run[1][phase] for run in runs) for phase in runs[0][1]}
    print(json.dumps({"seconds": seconds, "meshes": count(runs[0][0])}))


if __name__ == "__main__":
    main()
