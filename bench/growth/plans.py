#!/usr/bin/env python3
"""What loading a program costs one process of many, by the size of the whole.

    .venv/bin/python bench/growth/plans.py [--sizes 16x16,64x64,128x128]

Pipelines of S stages and M microbatches, a mesh and a process each. What the process
in the middle does at load is done here, without the other processes: read the
schedule as JSON, order its items, plan, keep its own share, and make the digests
that processes compare. Prints a line of JSON per size: milliseconds of CPU by phase,
microseconds per item of the whole program, what is kept, and, behind the second size,
how much more an item takes than in the size before (the first loads what Python has
not loaded yet).
"""

import argparse
import json
import os
import time
from types import SimpleNamespace

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax  # noqa: E402
from jax.sharding import Mesh  # noqa: E402

SHAPE = [4, 4]
TENSOR = "tensor<4x4xf32>"


class Pipeline:
    """Schedule and modules: S stages, M microbatches, all forwards first."""

    def __init__(self, stages: int, microbatches: int):
        self.program = {
            "version": 1,
            "name": "step",
            "meshes": [
                {"name": f"m{s}", "axes": [["x", 1]], "device_ids": None, "items": []}
                for s in range(stages)
            ],
            "values": [],
            "inputs": [],
            "outputs": [],
            "fragments": [],
            "items": [],
        }
        body = f"%0 = stablehlo.add %a, %b : {TENSOR}\n return %0 : {TENSOR}"
        header = f"func.func public @main(%a: {TENSOR}, %b: {TENSOR}) -> ({TENSOR})"
        text = f"module {{ {header} {{ {body} }} }}"
        self.modules = {f"{k}{s}": text for s in range(stages) for k in "fb"}
        for stage in range(stages):
            for kind in "fb":
                self._fragment(f"{kind}{stage}", f"m{stage}")
        weights = [self._input(s) for s in range(stages)]
        kept = {}
        for m in range(microbatches):
            x = self._input(0)
            for s in range(stages):
                kept[s, m] = x
                x = self._call(s, 0, [weights[s], x])
                if s + 1 < stages:
                    x = self._transfer(x, s, s + 1)
        for m in range(microbatches):
            x = None
            for s in reversed(range(stages)):
                x = self._call(s, 1, [kept[s, m], weights[s] if x is None else x])
                if s:
                    x = self._transfer(x, s, s - 1)
        described = {"name": None, "memory_kind": None, "layout": None}
        self.program["outputs"].append({"value": x, **described})
        self.program["issue_order"] = list(range(len(self.program["items"])))

    def _value(self, stage: int) -> int:
        self.program["values"].append(
            {
                "mesh": f"m{stage}",
                "shape": SHAPE,
                "dtype": "f32",
                "sharding": None,
                "memory_kind": None,
                "bytes": 64,
                "device_bytes": 64,
            }
        )
        return len(self.program["values"]) - 1

    def _input(self, stage: int) -> int:
        value = self._value(stage)
        described = {"name": None, "donated": False, "memory_kind": None}
        self.program["inputs"].append({"value": value, **described, "layout": None})
        return value

    def _fragment(self, name: str, mesh: str) -> None:
        side = {"memory_kind": None, "layout": None, "sharding": None}
        argument = side | {"alias": None, "donated": False}
        self.program["fragments"].append(
            {
                "name": name,
                "mesh": mesh,
                "calls": 0,
                "flops": 100,
                "reserved_bytes": None,
                "arguments": [argument, argument],
                "results": [side],
            }
        )

    def _call(self, stage: int, kind: int, operands: list[int]) -> int:
        result = self._value(stage)
        self.program["items"].append(
            {
                "kind": "call",
                "mesh": f"m{stage}",
                "fragment": 2 * stage + kind,
                "origins": [f"stage{stage}"],
                "remat": False,
                "operands": operands,
                "results": [result],
                "last_uses": [],
                "location": None,
            }
        )
        return result

    def _transfer(self, value: int, source: int, target: int) -> int:
        result = self._value(target)
        self.program["items"].append(
            {
                "kind": "transfer",
                "from": f"m{source}",
                "to": f"m{target}",
                "operand": value,
                "result": result,
                "last_uses": [],
                "bytes": 64,
                "location": None,
            }
        )
        return result


def measure(stages: int, microbatches: int) -> dict:
    from meshwright.jaxapi import runtime as jax_runtime
    from meshwright.runtime.processes import agreement
    from meshwright.runtime.processes.edges import Channel
    from meshwright.runtime.processes.projection import project
    from meshwright.runtime.program import placement
    from meshwright.runtime.program.plan import Planner

    pipeline = Pipeline(stages, microbatches)
    text = json.dumps(pipeline.program)
    del pipeline.program
    times, start = {}, time.process_time()

    def note(phase: str) -> None:
        nonlocal start
        now = time.process_time()
        times[phase], start = round((now - start) * 1e3, 1), time.process_time()

    program = json.loads(text)
    note("read")
    device = jax.devices()[0]
    mesh, me = Mesh([device], "x"), stages // 2
    meshes = {}
    for number, described in enumerate(program["meshes"]):
        bound = placement.ProgramMesh(described, mesh)
        # As if each were on a device of another process.
        bound.processes, bound.is_here = {number}, number == me
        meshes[described["name"]] = bound
    note("bind")
    with jax_runtime.make_ir_context():
        planner = Planner(program, pipeline.modules, meshes, dict.fromkeys(meshes, {}))
        note("order")
        plan = planner.build()
    note("plan")
    agreement.describe(program, pipeline.modules, planner.order, {}, {})
    note("digests")
    members = SimpleNamespace(generation=0)
    world = SimpleNamespace(
        process=me, count=stages, reserve=lambda count: 0, members=members
    )
    project(plan, Channel(world, 0, len(program["items"]), mesh.devices.size))
    note("project")
    items = len(program["items"])
    return {
        "stages": stages,
        "microbatches": microbatches,
        "items": items,
        "json_megabytes": round(len(text) / 1e6, 1),
        "ms": times,
        "us_per_item": round(sum(times.values()) * 1e3 / items, 1),
        "kept_steps": len(plan.steps),
        "kept_slots": len(plan.slots),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", default="16x16,64x64,128x128")
    sizes = parser.parse_args().sizes.split(",")
    before = None
    for number, size in enumerate(sizes):
        stages, microbatches = map(int, size.split("x"))
        found = measure(stages, microbatches)
        if number > 1:
            found[f"ratio_{size}"] = round(found["us_per_item"] / before, 2)
        before = found["us_per_item"]
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
