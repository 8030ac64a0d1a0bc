"""Questions that two parts of the tree answer, each for a reason, with equal answers.

`docs/developing/architecture.md` has the reasons.
"""

import json
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from meshwright.staging.search import SLACK, Line, best_cuts

import meshwright as mw

pytestmark = pytest.mark.usefixtures("x32")

MESHES = {
    name: jax.sharding.Mesh(jax.devices()[place : place + 1], "x")
    for place, name in enumerate(("m1", "m2"))
}
X = jnp.ones((32, 64))


def named(name):
    return mw.named_computation(lambda x, w: jnp.tanh(x @ w), name=name)


def make_step(**assignment):
    """The gradient of a chain of computations, with the arguments of a step."""
    config = mw.make_config(
        MESHES, assignment, partitioning_options={"mpmd_infer_transfers": True}
    )

    def loss(weights, x):
        for name, weight in zip(assignment, weights, strict=True):
            x = named(name)(x, weight)
        return (x**2).mean()

    return mw.jit(jax.grad(loss), config), [jnp.ones((64, 64)) / 64] * len(assignment)


@pytest.mark.parametrize("seed", range(4))
def test_the_planner_cuts_no_better_than_auto_allows(seed):
    """`auto` sends as little as it can while no part is much above the mean."""
    rng = np.random.default_rng(seed)
    count, parts = int(rng.integers(6, 12)), int(rng.integers(2, 5))
    costs = rng.uniform(1, 4, count)
    layers = [
        {"name": f"l{i}", "flops": cost * 1e12, "activation_bytes": 1}
        for i, cost in enumerate(costs)
    ]
    plan = mw.plan(
        layers, devices=parts, meshes=[parts], batch=parts, schedules=["1F1B"]
    )
    planned = max(
        sum(costs[int(name[1:])] for name in names) for _, names in plan.stages
    )
    cuts = best_cuts(Line(costs, np.zeros(count)), parts)
    found = max(part.sum() for part in np.split(costs, cuts))
    assert planned <= found * (1 + 1e-9)
    assert found <= max(SLACK * costs.sum() / parts, 1.02 * planned) * (1 + 1e-9)


def test_a_recording_is_the_same_trace_from_python_and_the_compiler(tmp_path):
    step, weights = make_step(enc="m1", dec="m2")
    lowered = step.lower(weights, X)
    compiled = lowered.compile()
    arguments = compiled.place(weights, X)
    with mw.profile() as recording:
        jax.block_until_ready(compiled(*arguments))
    recording.save_chrome_trace(tmp_path / "python.trace.json")
    lowered.draw(tmp_path / "compiler.trace.json", "cpu", recorded=recording)

    def spans(file, suffix):
        events = json.loads((tmp_path / file).read_text())["traceEvents"]
        meshes = {
            event["pid"]: event["args"]["name"].removesuffix(suffix)
            for event in events
            if event["name"] == "process_name"
            and event["args"]["name"] in (f"m1{suffix}", f"m2{suffix}")
        }
        found = [e for e in events if e["ph"] == "X" and e["pid"] in meshes]
        start = min(event["ts"] for event in found)
        return sorted(
            (
                meshes[event["pid"]],
                event["name"],
                event["args"]["bytes"],
                pytest.approx(event["ts"] - start, abs=1e-3),
                pytest.approx(event["dur"], abs=1e-3),
            )
            for event in found
        )

    mine = spans("python.trace.json", "")
    assert len(mine) == 6
    assert mine == spans("compiler.trace.json", ", recorded")


def arrays_of(lowered):
    """Peaks of arrays by mesh, of the simulator and of the runtime."""
    simulated = {
        name: sum(size for what, size in mesh.peak if "temporaries" not in what)
        for name, mesh in lowered.simulate("cpu").meshes.items()
    }
    counted = lowered.compile().memory_analysis()
    return simulated, {name: mesh.live_bytes for name, mesh in counted.items()}


def test_memory_is_the_same_where_no_buffer_is_given_up():
    """A buffer that a fragment is given is free from its start in a simulation, and
    from its end in the account of the runtime, which knows no times."""

    def forward(weights, x):
        hidden = named("enc")(x, weights[0])
        return named("dec")(hidden, weights[1]), hidden

    config = mw.make_config(
        MESHES,
        {"enc": "m1", "dec": "m2"},
        partitioning_options={"mpmd_infer_transfers": True},
    )
    step, weights = make_step(enc="m1", dec="m2")
    simulated, counted = arrays_of(mw.jit(forward, config).lower(weights, X))
    assert simulated == counted
    simulated, counted = arrays_of(step.lower(weights, X))
    for mesh in MESHES:
        assert simulated[mesh] < counted[mesh]


@pytest.mark.parametrize("schedule", ["1F1B", "GPipe", "ZeroBubbleV", "DualPipe"])
def test_both_texts_of_a_plan_have_the_same_figures(tools, tmp_path, schedule):
    shape = schedule, "--meshes=4", "--microbatches=8"
    drawn = tools.check("meshwright", "schedule", *shape)
    (tmp_path / "plan.json").write_text(
        tools.check("meshwright", "schedule", *shape, "--json")
    )
    tools.check(
        "meshwright", "draw", tmp_path / "plan.json", "-o", tmp_path / "plan.txt"
    )
    head, *rows = (tmp_path / "plan.txt").read_text().splitlines()
    makespan, bubble = head.removeprefix("plan.json: makespan ").split(", bubble ")
    assert f"makespan {makespan}, bubble {bubble}\n" in drawn
    peaks = [row.split("peak ")[1].removesuffix(" live") for row in rows[:4]]
    assert f"peak live microbatches per mesh: {' '.join(peaks)}\n" in drawn


@pytest.mark.parametrize("schedule", ["1F1B", "GPipe", "ZeroBubbleV", "LoopedBFS"])
def test_both_images_of_a_plan_have_the_same_boxes(tools, tmp_path, schedule):
    shape = schedule, "--meshes=4", "--microbatches=8"
    (tmp_path / "plan.json").write_text(
        tools.check("meshwright", "schedule", *shape, "--json")
    )
    image = tmp_path / "plan.svg"
    tools.check("meshwright", "draw", tmp_path / "plan.json", "-o", image)
    own, drawn = (
        re.findall(r'<rect x="(.*?)" y="(.*?)" width="(.*?)".* stroke=', text)
        for text in (
            tools.check("meshwright", "schedule", *shape, "--svg"),
            image.read_text(),
        )
    )
    assert own == drawn and len(own) >= 4 * 2 * 8


def shown(number, units):
    """A number with four digits at most, as tables have it."""
    for unit in units:
        if number < 999.95:
            return f"{number:.1f} {unit}" if unit != units[0] else f"{number} {unit}"
        number /= 1000
    raise AssertionError(number)


def test_the_table_has_the_numbers_of_cost_analysis(tools, tmp_path):
    step, weights = make_step(enc="m1", dec="m2")
    lowered = step.lower(weights, X)
    (tmp_path / "step.mlir").write_text(lowered.as_text("stablehlo"))
    config = {
        "function": "main",
        "topology": {"m1": {"x": 1}, "m2": {"x": 1}},
        "assignment": {"enc": "m1", "dec": "m2"},
        "options": {"mpmd_infer_transfers": True},
    }
    (tmp_path / "step.json").write_text(json.dumps(config))
    files = tmp_path / "step.mlir", "--config", tmp_path / "step.json"
    table = tools.check("meshwright", "partition", *files, "-o", tmp_path / "out")
    rows = {line.split()[0]: line for line in table.splitlines()}
    found = lowered.cost_analysis()
    assert found.keys() == config["topology"].keys()
    for mesh, costs in found.items():
        assert rows[mesh].split()[1] == str(costs["fragments"])
        assert f"  {shown(costs['flops'], ('', 'k', 'M'))}  " in rows[mesh]
        size = shown(costs["bytes_transferred"], ("B", "kB", "MB"))
        assert f"  {costs['transfers']} ({size})  " in rows[mesh]
