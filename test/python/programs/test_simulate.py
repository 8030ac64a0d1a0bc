"""Simulated steps: `Lowered.simulate` and what the command says of the same."""

import contextlib
import json
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from meshwright.runtime.program.order import issue_order
from meshwright.runtime.program.schedule import Schedule
from meshwright.runtime.watch import cycles
from support.tools import ROOT

import meshwright as mw

MICROBATCHES = 4


def make_program(**options):
    """Two stages on a device each, with gradients and an update of the weights."""
    first, second = jax.devices()[:2]
    meshes = {
        "m1": jax.sharding.Mesh(np.array([first]), ("x",)),
        "m2": jax.sharding.Mesh(np.array([second]), ("x",)),
    }

    def loss(params, x):
        h = mw.named_computation(lambda w, x: jnp.tanh(x @ w), name="enc")(params[0], x)
        return mw.named_computation(lambda w, h: ((h @ w) ** 2).mean(), name="dec")(
            params[1], h
        )

    def step(params, xs):
        grad = jax.grad(loss)
        parts = [mw.call(grad, call_counter=i)(params, x) for i, x in enumerate(xs)]
        total = jax.tree.map(lambda *leaves: sum(leaves), *parts)
        return jax.tree.map(lambda w, g: w - 0.1 * g, params, total)

    config = mw.make_config(
        meshes,
        {"enc": "m1", "dec": "m2"},
        name_to_stage_assignment={"enc": 0, "dec": 1},
        **options,
    )
    params = [jnp.ones((64, 64)), jnp.ones((64, 64))]
    xs = [jnp.ones((32, 64))] * MICROBATCHES
    return mw.jit(step, config, donate_argnums=(0,)), params, xs


@pytest.fixture(scope="module")
def program():
    return make_program(pipeline_schedule=mw.get_pipeline_schedule("ONE_FWD_ONE_BWD"))


@pytest.fixture(scope="module")
def lowered(program):
    step, params, xs = program
    return step.lower(params, xs)


def test_every_field_is_that_of_the_json(lowered):
    found = lowered.simulate("h100")
    written = found.to_json()
    assert written["version"] == 1
    assert found.makespan_s == written["makespan_s"] > 0
    assert set(found.meshes) == {"m1", "m2"}
    for name, mesh in found.meshes.items():
        entry = written["meshes"][name]
        assert mesh.busy_s == entry["busy_s"] > 0
        assert mesh.bubble == pytest.approx(
            1 - mesh.busy_s / found.makespan_s, abs=1e-5
        )
        assert mesh.peak_bytes == sum(size for _, size in mesh.peak)
        assert mesh.peak_bytes == max(size for _, size in mesh.memory)
    assert [(e.source, e.target, e.transfers) for e in found.edges] == [
        ("m1", "m2", MICROBATCHES),
        ("m2", "m1", MICROBATCHES),
    ]
    assert found.edges[0].bytes == MICROBATCHES * 32 * 64 * 4
    assert [step.item for step in found.critical_path] == [
        step["item"] for step in written["critical_path"]
    ]
    assert found.critical_path[-1].end_s == found.makespan_s
    assert "critical path" in str(found)


def test_items_are_those_of_the_program(lowered):
    program = lowered.partitioning_result.program
    found = lowered.simulate("cpu")
    assert len(found.items) == len(program["items"])
    for simulated, item in zip(found.items, program["items"], strict=True):
        if item["kind"] == "transfer":
            assert simulated.kind == "transfer"
            assert (simulated.source, simulated.mesh) == (item["from"], item["to"])
            assert simulated.bytes == item["bytes"]
        else:
            assert simulated.mesh == item["mesh"]
            assert list(simulated.origins) == item["origins"]
            assert simulated.name == program["fragments"][item["fragment"]]["name"]
        for cause in simulated.waits_for:
            assert found.items[cause].start_s <= simulated.start_s
    counts = {kind: set() for kind in ("forward", "backward")}
    for item in found.items:
        if item.kind in counts:
            counts[item.kind].add((item.stage, item.microbatch))
    every = {(s, m) for s in range(2) for m in range(MICROBATCHES)}
    assert counts == {"forward": every, "backward": every}


def test_meshes_keep_the_order_in_which_they_are_issued(lowered):
    found = lowered.simulate("cpu")
    program = lowered.partitioning_result.program
    order = issue_order(Schedule(program)).tolist()
    for mesh in ("m1", "m2"):
        calls = [i for i in order if program["items"][i].get("mesh") == mesh]
        assert calls == sorted(calls, key=lambda i: found.items[i].start_s)


def test_times_come_from_a_recording(program, lowered, tmp_path):
    _, params, xs = program
    compiled = lowered.compile()
    values = compiled.place(params, xs)
    path = tmp_path / "step.json"
    with mw.profile(path) as recording:
        jax.block_until_ready(compiled(*values))
    found = lowered.simulate("cpu", profile=recording)
    times = {
        event.name: event.stop - event.start
        for event in recording.events
        if event.kind == "fragment"
    }
    single = [
        i for i in found.items if [j.name for j in found.items].count(i.name) == 1
    ]
    assert single
    for item in single:
        if item.kind != "transfer":
            assert item.end_s - item.start_s == pytest.approx(
                times[item.name], abs=1e-9
            )
    # Calls of one fragment take their mean, so that none of the run is lost.
    total = sum(i.end_s - i.start_s for i in found.items if i.kind != "transfer")
    seconds = [e.stop - e.start for e in recording.events if e.kind == "fragment"]
    assert total == pytest.approx(sum(seconds), abs=1e-9 * len(seconds))
    assert not found.notes
    assert lowered.simulate("cpu", profile=path).to_json() == found.to_json()


def test_a_run_that_warms_up_is_left_out_everywhere(program, lowered, tmp_path):
    step, _, xs = program
    with mw.profile() as recording:
        for _ in range(3):
            params = [jnp.ones((64, 64)), jnp.ones((64, 64))]  # Those are given up.
            jax.block_until_ready(step(params, xs))
    for event in recording.events:
        event.start, event.stop = 0.0, 5.0 if event.run == 0 else 0.001 * event.run
    found = lowered.simulate("cpu", profile=recording)
    fragments = [item for item in found.items if item.kind != "transfer"]
    for item in fragments:
        assert item.end_s - item.start_s == pytest.approx(0.0015, abs=1e-9)
    recording.save(tmp_path / "run.json")
    recording.save_profile(tmp_path / "profile.json")
    for name in ("run.json", "profile.json"):
        read = lowered.simulate("cpu", profile=tmp_path / name)
        assert read.makespan_s == pytest.approx(found.makespan_s)


def test_a_profile_of_another_program_is_noted(lowered, tmp_path):
    path = tmp_path / "empty.json"
    text = {"format": "meshwright-profile", "version": 1, "fragments": []}
    path.write_text(json.dumps(text | {"transfers": []}))
    (note,) = lowered.simulate("cpu", profile=path).notes
    assert "the profile has no time of p0_" in note and "estimated for cpu" in note


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"device": "h10"}, 'unknown device "h10".*did you mean "h100"'),
        ({"device": "h100", "costs": ["f"]}, "f"),
        ({"device": "h100", "processes": 3}, "one for each of 2 meshes, but got 3"),
    ],
)
def test_mistakes_are_value_errors(lowered, arguments, words):
    with pytest.raises(ValueError, match=words):
        lowered.simulate(**arguments)


def test_costs_are_several(lowered, tmp_path):
    words = r"costs are several, write costs=\['f=flops:1'\]"
    with pytest.raises(TypeError, match=words):
        lowered.simulate("h100", costs="f=flops:1")
    with pytest.raises(TypeError, match=words):
        lowered.draw(tmp_path / "a.svg", "h100", costs="f=flops:1")


def test_a_profile_that_is_none_is_a_value_error(lowered, tmp_path):
    path = tmp_path / "other.json"
    path.write_text('{"version": 1}')
    with pytest.raises(ValueError, match=r"save_profile"):
        lowered.simulate("cpu", profile=path)
    with pytest.raises(OSError):
        lowered.simulate("cpu", profile=tmp_path / "none.json")


def test_the_page_runs(lowered, capsys):
    text = (ROOT / "docs" / "simulate.md").read_text()
    code, of_compiled = re.findall(r"```python\n(.*?)```", text, re.S)
    names = {"lowered": lowered}
    exec(compile(code, "docs/simulate.md", "exec"), names)
    found = lowered.simulate("h100")
    peak = found.meshes["m1"].peak_bytes
    assert capsys.readouterr().out == f"{found.makespan_s} {peak}\n"
    exec(compile(of_compiled, "docs/simulate.md", "exec"), names)
    assert names["found"].meshes.keys() == found.meshes.keys()


def test_the_command_says_the_same(lowered, tools, tmp_path):
    path = tmp_path / "partitioned.mlir"
    path.write_text(lowered.partitioning_result.module_text)
    text = tools.check(
        "meshwright", "simulate", path, "--device=h100", "--json", "--items"
    )
    assert json.loads(text) == lowered.simulate("h100").to_json()


@pytest.mark.parametrize(
    ("name", "format", "beginning"),
    [
        ("a.html", None, "<!doctype html>"),
        ("a.svg", None, "<svg"),
        ("a.json", None, "{"),
        ("a.dot", None, "digraph"),
        ("a.txt", None, "a.txt: makespan"),
        ("a.out", "svg", "<svg"),
    ],
)
def test_a_step_is_drawn_as_the_ending_or_the_format_says(
    lowered, tmp_path, name, format, beginning
):
    lowered.draw(tmp_path / name, "h100", format=format)
    assert (tmp_path / name).read_text().lower().startswith(beginning)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_drawing_is_that_of_the_command(lowered, tools, tmp_path):
    (tmp_path / "a.json").write_text(lowered.simulate("cpu").as_text())
    lowered.draw(tmp_path / "a.txt", "cpu", title="step")
    drawn = tools.check(
        *("meshwright", "draw", tmp_path / "a.json", "--title", "step"),
        *("--format", "text", "--columns", "100"),
    )
    assert (tmp_path / "a.txt").read_text() == drawn


def test_without_a_device_the_order_is_drawn(lowered, tmp_path):
    lowered.draw(tmp_path / "a.txt")
    # The first stage starts the microbatches, the second follows a unit later.
    assert "makespan 1" in (tmp_path / "a.txt").read_text()


def test_a_recorded_run_is_drawn_beside(program, lowered, tmp_path):
    step, _, xs = program
    params = [jnp.ones((64, 64)), jnp.ones((64, 64))]  # Those are given up.
    with mw.profile() as recording:
        step(params, xs)
    recording.save(tmp_path / "run.json")
    for recorded in (recording, tmp_path / "run.json"):
        lowered.draw(tmp_path / "a.txt", "cpu", recorded=recorded)
        assert "recorded" in (tmp_path / "a.txt").read_text().splitlines()[0]


def test_what_cannot_be_drawn_is_said(lowered, tmp_path):
    with pytest.raises(ValueError, match='unknown format "png", known are html, svg'):
        lowered.draw(tmp_path / "a.png", "h100", format="png")
    with pytest.raises(ValueError, match="does not give a format; end it in .html"):
        lowered.draw(tmp_path / "a.png", "h100")
    with pytest.raises(ValueError, match="give `device`"):
        lowered.draw(tmp_path / "a.svg", costs=["f=flops:1"])
    with pytest.raises(ValueError, match='did you mean "h100"'):
        lowered.draw(tmp_path / "a.svg", "h10")
    with pytest.raises(FileNotFoundError):
        lowered.draw(tmp_path / "none" / "a.svg", "h100")
    assert not list(tmp_path.iterdir())


def lower_with(**options):
    step, params, xs = make_program(partitioning_options=options)
    return step.lower(params, xs)


def test_auto_is_made_for_the_times_of_a_profile(tmp_path):
    """Under the times that it was made for, no other order is shorter."""
    auto = lower_with(mpmd_pipeline_schedule="auto")
    program = auto.partitioning_result.program
    fragments = {}
    for item in program["items"]:
        if item["kind"] == "call":
            fragment = program["fragments"][item["fragment"]]
            # The forward of the first stage takes long; the second waits for it.
            seconds = 0.009 if item["origins"] == ["enc"] else 0.002
            fragments[fragment["name"]] = {
                "name": fragment["name"],
                "mesh": item["mesh"],
                "origins": item["origins"],
                "flops": fragment["flops"],
                "calls": fragment["calls"],
                "seconds": seconds,
            }
    head = {"format": "meshwright-profile", "version": 1}
    profile = tmp_path / "profile.json"
    profile.write_text(
        json.dumps(head | {"fragments": [*fragments.values()], "transfers": []})
    )
    made = lower_with(
        mpmd_pipeline_schedule="auto",
        mpmd_schedule_profile=str(profile),
        mpmd_schedule_device="cpu",
    )
    step = made.simulate("cpu", profile=profile).makespan_s
    assert step < auto.simulate("cpu", profile=profile).makespan_s
    for name in ("GPipe", "1F1B", "ZeroBubbleH1"):
        other = lower_with(mpmd_pipeline_schedule=name)
        assert step <= other.simulate("cpu", profile=profile).makespan_s


def test_auto_says_which_option_is_wrong(tmp_path):
    with pytest.raises(
        RuntimeError, match='mpmd_schedule_device: unknown device "h10"'
    ):
        lower_with(mpmd_pipeline_schedule="auto", mpmd_schedule_device="h10")
    with pytest.raises(RuntimeError, match="mpmd_custom_costs: .*expected NAME=flops"):
        lower_with(mpmd_pipeline_schedule="auto", mpmd_custom_costs="flash")


def test_the_code_of_the_page_on_drawings_draws(program, lowered, tmp_path):
    text = (ROOT / "docs" / "draw.md").read_text()
    (code,) = re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S)
    step, _, xs = program
    with mw.profile() as recording:
        step([jnp.ones((64, 64)), jnp.ones((64, 64))], xs)
    with contextlib.chdir(tmp_path):
        names = {"lowered": lowered, "recording": recording}
        exec(compile(code, "docs/draw.md", "exec"), names)
    drawn = {"page.html", "order.svg", "run.html"}
    assert {path.name for path in tmp_path.iterdir()} == drawn


def test_a_compiled_program_says_what_memory_it_takes(program, tmp_path):
    step, params, xs = program
    lowered = step.lower(params, xs)
    compiled = lowered.compile()
    found = lowered.simulate(compiled)
    stats = compiled.figures["fragments"]
    temporaries = [f["temporary_bytes"] for f in stats.values()]
    assert max(temporaries) > 0
    for name, mesh in found.meshes.items():
        parts = dict(mesh.peak)
        for what, size in parts.items():
            fragment = what.removeprefix("temporaries of ")
            assert fragment == what or stats[fragment]["temporary_bytes"] == size
        code = sum(
            stats[f["name"]]["code_bytes"]
            for f in lowered.partitioning_result.program["fragments"]
            if f["mesh"] == name
        )
        assert parts.get("code", 0) == code
    # Much more for one of them is what its mesh holds at the peak.
    figures = compiled.figures
    fragments = lowered.partitioning_result.program["fragments"]
    large = next(f["name"] for f in fragments if f["mesh"] == "m2")
    figures["fragments"][large]["temporary_bytes"] = 10_000_000
    (tmp_path / "figures.json").write_text(json.dumps(figures))
    full = lowered.simulate("cpu", compiled=tmp_path / "figures.json").meshes["m2"]
    assert dict(full.peak)[f"temporaries of {large}"] == 10_000_000
    (tmp_path / "figures.json").unlink()
    compiled.save(tmp_path)
    again = lowered.simulate("cpu", compiled=tmp_path)
    assert again.meshes == found.meshes
    assert any("no time of" in note for note in again.notes)
    with pytest.raises(ValueError, match="compiled for cpu, and is simulated on h100"):
        lowered.simulate("h100", compiled=compiled)
    with pytest.raises(ValueError, match="given twice"):
        lowered.simulate(compiled, compiled=compiled)
    with pytest.raises(FileNotFoundError):
        lowered.simulate("cpu", compiled=tmp_path / "nowhere")


def test_the_compiler_s_cycles_are_times_and_know_loops():
    text = """HloModule step, is_scheduled=true

%fused (p: f32[8]) -> f32[8] {
  %p = f32[8]{0} parameter(0)
  ROOT %a = f32[8]{0} add(%p, %p), backend_config={"estimated_cycles":"9999"}
}

%body (c: (s32[], f32[8])) -> (s32[], f32[8]) {
  %c = (s32[], f32[8]{0}) parameter(0)
  %n = s32[] get-tuple-element(%c), index=0
  %v = f32[8]{0} get-tuple-element(%c), index=1
  %one = s32[] constant(1)
  %m = s32[] add(%n, %one)
  %w = f32[8]{0} fusion(%v), calls=%fused, backend_config={"estimated_cycles":"10"}
  ROOT %t = (s32[], f32[8]{0}) tuple(%m, %w)
}

%condition (c: (s32[], f32[8])) -> pred[] {
  %c = (s32[], f32[8]{0}) parameter(0)
  %n = s32[] get-tuple-element(%c), index=0
  %last = s32[] constant(6)
  ROOT %less = pred[] compare(%n, %last), direction=LT
}

ENTRY %main (x: f32[8]) -> f32[8] {
  %x = f32[8]{0} parameter(0)
  %zero = s32[] constant(0)
  %start = (s32[], f32[8]{0}) tuple(%zero, %x)
  %loop = (s32[], f32[8]{0}) while(%start), condition=%condition, body=%body
  %y = f32[8]{0} get-tuple-element(%loop), index=1
  ROOT %z = f32[8]{0} fusion(%y), calls=%fused, backend_config={"estimated_cycles":"7"}
}
"""
    assert cycles.count_cycles(text) == 6 * 10 + 7
    assert cycles.count_cycles(text.replace("estimated_cycles", "x")) is None


def test_a_loop_on_several_devices_is_as_long_as_on_one():
    """The trips are known where shardings are propagated through the loop."""

    def simulate(count):
        mesh = jax.sharding.Mesh(np.array(jax.devices()[:count]), ("x",))
        rows = jax.NamedSharding(mesh, jax.P("x"))

        def step(weights, x):
            def scan(weights, x):
                return jax.lax.scan(lambda x, w: (x @ w, None), x, weights)[0]

            return mw.named_computation(scan, name="enc")(weights, x)

        config = mw.make_config({"m": mesh}, {"enc": "m"})
        weights = jax.ShapeDtypeStruct((12, 64, 64), jnp.float32)
        x = jax.ShapeDtypeStruct((8 * count, 64), jnp.float32, sharding=rows)
        return mw.jit(step, config).lower(weights, x).simulate("h100")

    one, two = map(simulate, (1, 2))
    assert one.notes == two.notes == ()
    assert two.makespan_s == pytest.approx(one.makespan_s, rel=0.02)
