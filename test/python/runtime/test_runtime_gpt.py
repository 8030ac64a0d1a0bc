"""GPT training steps as the compiler exports them, planned and run."""

import collections
import json

import jax
import pytest
from meshwright.jaxapi import runtime as jax_runtime
from meshwright.runtime.program.placement import bind_meshes
from meshwright.runtime.program.plan import Planner
from meshwright.runtime.program.schedule import read_schedule
from meshwright.runtime.run.places import cut_meshes
from meshwright.runtime.watch.memory import keep_account
from support import (
    numerics,
    runtime_programs,
)
from support.tools import PROGRAMS

from meshwright import runtime


@pytest.fixture(scope="module")
def exported(tools, tmp_path_factory):
    """The schedule, the modules and the meshes of a program, each sharded."""

    def export(name, options=()):
        folder = tmp_path_factory.mktemp(name)
        program = PROGRAMS / "mpmd" / f"{name}.mlir"
        config = f"--config={program.with_suffix('.json')}"
        tools.check(
            "meshwright", "partition", program, config, f"-o={folder}", *options
        )
        schedule, modules = runtime.read_folder(folder)
        return schedule, modules, cut_meshes(jax.devices("cpu"), schedule["meshes"])

    return export


def plan_of(schedule, modules, meshes):
    bound = bind_meshes(schedule["meshes"], meshes)
    with jax_runtime.make_ir_context():
        options = {name: {} for name in bound}
        return Planner(read_schedule(schedule), modules, bound, options).build(), bound


SCHEDULES = ["GPipe", "1F1B", "ZeroBubbleH1", "Circular"]


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_drops_what_the_schedule_says(exported, schedule):
    program, modules, meshes = exported("gpt_8_4_8", [f"--schedule={schedule}"])
    plan, _ = plan_of(program, modules, meshes)
    slots = {}
    for position, entry in enumerate(program["inputs"]):
        slots[entry["value"]] = position
    for step in plan.steps:
        item = program["items"][step.item]
        results = item["results"] if item["kind"] == "call" else [item["result"]]
        slots |= zip(results, step.writes, strict=True)
        unread = [slot for slot in step.writes if slot in step.drops]
        donated = set(plan.donated)
        last = [
            slots[value]
            for value in item["last_uses"]
            if slots[value] >= len(plan.inputs) or slots[value] in donated
        ]
        assert sorted([*last, *unread]) == step.drops
    for value, slot in slots.items():
        place, entry = plan.slots[slot], program["values"][value]
        assert place.device_bytes() == entry["device_bytes"]
        assert place.mesh.name == entry["mesh"]


class NoStatistics:
    """Represents an executable that says nothing about its memory."""

    def memory_stats(self):
        return None


def promised_peaks(program):
    """Peak live bytes per device and mesh, from the schedule alone."""
    values = program["values"]
    now = collections.Counter()
    alive = {entry["value"] for entry in program["inputs"]}
    given = {entry["value"] for entry in program["inputs"] if not entry["donated"]}
    readers = collections.Counter(
        value
        for item in program["items"]
        for value in item.get("operands", [item.get("operand")])
    )
    outputs = {entry["value"] for entry in program["outputs"]}
    for value in alive:
        now[values[value]["mesh"]] += values[value]["device_bytes"]
    peaks = collections.Counter(now)
    for item in program["items"]:
        results = item.get("results", [item.get("result")])
        for value in results:
            now[values[value]["mesh"]] += values[value]["device_bytes"]
        for mesh, size in now.items():
            peaks[mesh] = max(peaks[mesh], size)
        dead = [v for v in item["last_uses"] if v not in given]
        dead += [v for v in results if not readers[v] and v not in outputs]
        for value in dead:
            now[values[value]["mesh"]] -= values[value]["device_bytes"]
    return dict(peaks)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_peak_is_what_the_schedule_promises(exported, schedule):
    program, modules, meshes = exported("gpt_8_4_8", [f"--schedule={schedule}"])
    plan, bound = plan_of(program, modules, meshes)
    account = keep_account(plan, bound, [NoStatistics() for _ in plan.sources])
    found = {name: memory.live_bytes for name, memory in account.meshes.items()}
    assert found == promised_peaks(program)


def test_numbers_are_those_of_the_original(exported):
    schedule, modules, meshes = exported("gpt_4_4_4")
    options = {"xla_backend_optimization_level": 0}
    program = runtime.load(schedule, modules, meshes, compile_options=options)
    # Equal stages share an executable.
    assert any(fragment.compiled_for_others for fragment in program.fragments)

    source = (PROGRAMS / "mpmd" / "gpt_4_4_4.mlir").read_text()
    config = json.loads((PROGRAMS / "mpmd" / "gpt_4_4_4.json").read_text())
    original = numerics.strip_names(source)
    original = original.replace(f"@{config.get('function', 'main')}(", "@main(")
    runtime_programs.check_numbers(program, original)
