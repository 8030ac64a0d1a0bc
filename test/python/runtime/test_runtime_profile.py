"""Recordings of runs: what they hold and what is written."""

import json
import subprocess
import sys
import threading

import numpy as np
import pytest
from meshwright.runtime import profile
from meshwright.runtime.watch.events import Event
from support.launching import environment, launch, reports, usual_path
from support.runtime_programs import Builder, iota

# The module, of which the package shows the function alone.
watching = sys.modules["meshwright.runtime.watch.profile"]


@pytest.fixture(scope="module")
def program():
    """a -> b, where b takes over the transferred value's buffer."""
    b = Builder(a={"x": 2}, b={"x": 2})
    x = b.input("a", [4, 4], dims=[["x"], []])
    h = b.transfer(b.unary("first", "stablehlo.add", x), "b", dims=[[], ["x"]])
    b.output(b.unary("second", "stablehlo.add", h, origins=["dec"], alias={0: 0}))
    b.executor = b.load()
    return b


def record(b, path=None):
    with profile(path) as recording:
        for _ in range(2):
            (y,) = b.executor(b.put(iota(4, 4), "a", "x"))
    np.testing.assert_array_equal(np.asarray(y), 4 * iota(4, 4))
    return recording


def test_every_item_of_every_run_is_recorded(program):
    recording = record(program)
    assert recording.runs == 2
    found = [(e.run, e.kind, e.name, e.mesh) for e in recording.events]
    assert found == [
        (run, *event)
        for run in range(2)
        for event in (
            ("fragment", "first", "a"),
            ("transfer", "a -> b", "a"),
            ("transfer", "a -> b", "b"),
            ("fragment", "second", "b"),
        )
    ]
    assert [e.origins for e in recording.events[:4]] == [["first"], [], [], ["dec"]]
    assert recording.events[2].bytes == 64
    for event in recording.events:
        assert 0 <= event.issued <= event.start <= event.stop
        assert event.error is None and event.issue_seconds > 0


def sent_back():
    """The next call takes over what was sent."""
    b = Builder(a={"x": 1}, b={"x": 1})
    x = b.input("a", [8], donated=True)
    y = b.input("b", [8], donated=True)
    b.output(b.transfer(b.unary("f", "stablehlo.add", y), "a"))
    b.output(b.transfer(b.unary("g", "stablehlo.add", x), "b"))
    return b, [b.put(iota(8), "a"), b.put(iota(8), "b")]


def seen_whole():
    """Sent from the first device of an array that is the caller's no more."""
    b = Builder(a={"x": 2}, b={"x": 4})
    x = b.input("a", [8], donated=True)
    h = b.transfer(x, "b")
    b.output(b.unary("f", "stablehlo.add", h, alias={0: 0}), b.transfer(h, "a"))
    return b, [b.put(iota(8), "a")]


def read_by_nothing():
    b = Builder(a={"x": 1}, b={"x": 1})
    x = b.input("a", [8])
    b.transfer(x, "b")
    b.output(b.unary("f", "stablehlo.add", x))
    return b, [b.put(iota(8), "a")]


@pytest.mark.parametrize("make", [sent_back, seen_whole, read_by_nothing])
def test_what_is_gone_before_it_is_looked_at_is_no_error(monkeypatch, make):
    gate, run = threading.Event(), watching._Watcher.run
    monkeypatch.setattr(
        watching._Watcher, "run", lambda self: gate.wait(60) and run(self)
    )
    b, arrays = make()
    program = b.load()
    with profile() as recording:
        results = program(*arrays)
        if make is sent_back:
            program(*results)
        gate.set()
    assert any(event.kind == "transfer" for event in recording.events)
    assert [event.error for event in recording.events if event.error] == []


def test_fragments_of_a_mesh_do_not_overlap(program):
    events = record(program).events
    for mesh in "ab":
        mine = [e for e in events if e.kind == "fragment" and e.mesh == mesh]
        for before, after in zip(mine, mine[1:], strict=False):
            assert before.stop <= after.start


def test_json_and_chrome_trace(program, tmp_path):
    recording = record(program, tmp_path / "step.json")
    written = json.loads((tmp_path / "step.json").read_text())
    assert written == json.loads(json.dumps(recording.to_json()))
    assert written["summary"]["second @ b"]["calls"] == 2

    record(program, tmp_path / "step.trace.json")
    trace = json.loads((tmp_path / "step.trace.json").read_text())["traceEvents"]
    names = {e["args"]["name"] for e in trace if e["name"] == "process_name"}
    assert names == {"issuing thread", "a", "b"}
    spans = [e for e in trace if e["ph"] == "X"]
    assert len(spans) == 2 * 2 * 4
    assert all(e["dur"] >= 0 and e["ts"] >= 0 for e in spans)


def test_nothing_is_recorded_outside(program):
    recording = record(program)
    count = len(recording.events)
    program.executor(program.put(iota(4, 4), "a", "x"))
    assert len(recording.events) == count


def test_recordings_do_not_nest():
    with profile(), pytest.raises(RuntimeError, match="active already"), profile():
        pass


@pytest.fixture(scope="module")
def two_processes(tmp_path_factory):
    """Process 1's clock is 1000 s late and loses 1 % (processes/profiled.py)."""
    folder = tmp_path_factory.mktemp("recordings")
    found = reports(launch(2, 1, "profiled.py", str(folder)))
    return folder, found


def test_process_0_has_the_events_of_all(two_processes):
    folder, (first, second) = two_processes
    written = json.loads((folder / "step.json").read_text())
    # Three runs of three fragments and of two transfers, which both sides see.
    assert first["merged"] == len(written["events"]) == 3 * (3 + 2 * 2)
    assert second["merged"] == 3 * (1 + 2)
    assert written["runs"] == 3
    assert all(event["error"] is None for event in written["events"])
    for process, count in ((0, 4), (1, 3)):
        own = json.loads((folder / f"own{process}.json").read_text())
        assert len(own["events"]) == count == (first, second)[process]["own"]
        assert own["clocks"] == {}


def test_what_is_sent_arrives_after_it_was_offered(two_processes):
    written = json.loads((two_processes[0] / "step.json").read_text())
    clock = written["clocks"]["1"]
    assert abs(clock["offset"] - 1000) < 100
    assert 0 < clock["error"] < 1
    # It is that of two readings, about half a second apart, each wrong by that at most.
    assert abs(clock["drift"] - 0.01 / 0.99) <= 2 * clock["error"] / 0.4
    moves = [event for event in written["events"] if event["kind"] == "transfer"]
    for run in range(3):
        for name, sender in (("m0 -> m1", 0), ("m1 -> m0", 1)):
            ends = [e for e in moves if (e["run"], e["name"]) == (run, name)]
            assert [e["mesh"] for e in ends] == [f"m{e['process']}" for e in ends]
            sent, received = sorted(ends, key=lambda e: e["process"] != sender)
            assert received["stop"] >= sent["issued"] - clock["error"]
            # With the clocks as they are they would be minutes apart.
            assert abs(received["stop"] - sent["issued"]) < 100


def test_a_process_of_the_trace_is_a_process(two_processes):
    trace = json.loads((two_processes[0] / "0.trace.json").read_text())["traceEvents"]
    rows = {
        (e["pid"], e["tid"]): e["args"]["name"]
        for e in trace
        if e["name"] == "thread_name"
    }
    assert {(pid, name) for (pid, _), name in rows.items()} == {
        (pid, name)
        for pid in (0, 1)
        for name in (
            "issuing thread",
            f"m{pid}: fragments",
            f"m{pid}: transfers",
        )
    }
    spans = [e for e in trace if e["ph"] == "X"]
    assert len(spans) == 2 * 21
    assert all((e["pid"], e["tid"]) in rows and e["dur"] >= 0 for e in spans)


def test_profile_has_a_line_for_each_program(program, tmp_path):
    recording = record(program)
    recording.save_profile(tmp_path / "p.json")
    profile = json.loads((tmp_path / "p.json").read_text())
    assert (profile["format"], profile["version"]) == ("meshwright-profile", 1)
    found = [
        (f["name"], f["mesh"], f["origins"], f["calls"]) for f in profile["fragments"]
    ]
    assert found == [("first", "a", ["first"], 2), ("second", "b", ["dec"], 2)]
    # Resharded on the one mesh, then copied to the other: one transfer.
    (move,) = profile["transfers"]
    assert (move["name"], move["mesh"], move["bytes"]) == ("a -> b", "b", 64)
    steps = [
        [
            e.stop - e.start
            for e in recording.events
            if e.kind == "transfer" and e.run == run
        ]
        for run in range(2)
    ]
    assert move["calls"] == 2
    assert move["longest"] == max(map(sum, steps))
    for line in profile["fragments"] + profile["transfers"]:
        assert 0 <= line["seconds"] <= line["longest"]
    assert profile["issue_seconds"] > 0


def make_recording(runs):
    """A recording of runs, each some fragments with their seconds."""
    recording = watching.Recording()
    for run, calls in enumerate(runs):
        for item, (name, seconds) in enumerate(calls):
            event = Event(run, item, "fragment", name, "a", [name], 0, 0.0, 1e-6)
            event.stop = seconds
            recording.events.append(event)
    return recording


def test_a_profile_keeps_the_sum_of_what_was_noticed_late():
    # The ends of the first and second calls were seen with that of the third.
    run = [("f", 0.009), ("f", 0.0), ("f", 0.0), ("g", 0.003)]
    lines = make_recording([run, run]).to_profile()["fragments"]
    times = {line["name"]: line for line in lines}
    assert times["f"]["calls"] == 6
    assert times["f"]["seconds"] == pytest.approx(0.003)
    assert sum(t["calls"] * t["seconds"] for t in lines) == pytest.approx(0.024)


def test_a_profile_leaves_out_whole_runs_that_were_held_up():
    warm = [[("f", 0.001), ("g", 0.003)], [("f", 0.003), ("g", 0.001)]]
    # Another program, of two runs; and one that fails has no times.
    other = [[("h", 0.009)], [("h", 0.001)]]
    recording = make_recording([[("f", 0.02), ("g", 0.002)], *warm, *other])
    failed = Event(5, 0, "fragment", "f", "a", ["f"], 0, 0.0, 1e-6, error="gone")
    recording.events.append(failed)
    found = {f["name"]: f["seconds"] for f in recording.to_profile()["fragments"]}
    assert found == {
        name: pytest.approx(s) for name, s in (("f", 0.002), ("g", 0.002), ("h", 0.005))
    }


def test_one_run_of_some_is_recorded(program):
    x = program.put(iota(4, 4), "a", "x")
    with profile() as whole:
        program.executor(x)
    with profile(every=3) as recording:
        for _ in range(7):
            program.executor(x)
    assert recording.runs == 3
    assert len(recording.events) == 3 * len(whole.events)
    message = "every must be at least 1, got 0"
    with pytest.raises(ValueError, match=message), profile(every=0):
        pass


def test_the_mesh_that_is_late_is_named():
    recording = watching.Recording()
    assert recording.stragglers() == {}
    for run, (first, second) in enumerate([(1.0, 3.0), (2.0, 1.0), (1.0, 3.5)]):
        for mesh, seconds in (("a", first), ("b", second), ("b", 0.5)):
            event = Event(run, 0, "fragment", "f", mesh, [], 0, 0.0, 0.0)
            event.start, event.stop = 1.0, 1.0 + seconds
            recording.events.append(event)
        recording.events.append(Event(run, 1, "transfer", "t", "a", [], 0, 0, 0, 0, 9))
    found = recording.stragglers()
    assert list(found) == ["b", "a"]
    assert found["b"] == pytest.approx({"seconds": 3.0, "late": 5 / 3, "runs": 2})
    assert found["a"] == pytest.approx({"seconds": 4 / 3, "late": -5 / 3, "runs": 1})


def test_a_block_ends_while_another_thread_runs(program):
    """Its threads end with it, and every event that it has is dated."""
    stop, x = threading.Event(), program.put(iota(4, 4), "a", "x")

    def work():
        while not stop.is_set():
            program.executor(x)

    other = threading.Thread(target=work)
    other.start()
    before = set(threading.enumerate())
    try:
        for _ in range(20):
            with profile() as recording:
                while not recording.events:
                    pass
            assert set(threading.enumerate()) <= before
            count = len(recording.events)
            assert all(event.stop >= event.start > 0 for event in recording.events)
            assert recording.to_json()["events"]
        program.executor(x)
        assert len(recording.events) == count
    finally:
        stop.set()
        other.join()


def test_an_interrupted_block_has_what_was_done(program, monkeypatch):
    x, joined = program.put(iota(4, 4), "a", "x"), watching._Watcher.join

    def interrupt(self):
        monkeypatch.setattr(watching._Watcher, "join", joined)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), profile() as recording:
        program.executor(x)
        monkeypatch.setattr(watching._Watcher, "join", interrupt)
    assert watching.current() is None
    assert all(event.start > 0 for event in recording.events)
    with profile():
        program.executor(x)


def test_one_block_at_a_time_on_all_threads(program):
    with profile(), pytest.raises(RuntimeError, match="active already"), profile():
        pass
    assert watching.current() is None


@pytest.mark.parametrize("end", ["", "import gc; gc.freeze()\n"])
def test_a_block_that_is_never_left_ends_with_the_process(end, tmp_path):
    """What is frozen is closed when the functions of modules are gone."""
    script = tmp_path / "script.py"
    script.write_text(
        "import jax, jax.numpy as jnp, numpy as np\n"
        "import meshwright as mw\n"
        "d = jax.devices()\n"
        "f = mw.jit(\n"
        "    lambda w, x: mw.named_computation(jnp.matmul, name='a')(w, x),\n"
        "    mw.make_config({'m': jax.sharding.Mesh(d[:1], 'x')}, {'a': 'm'}),\n"
        ")\n"
        "w = np.ones((512, 512), np.float32)\n"
        "f(w, w)\n"
        "block = mw.profile()\n"
        "recording = block.__enter__()\n"
        "outs = [f(w, w) for _ in range(20)]\n" + end
    )
    # Without the settings of tests: at the end, the collector closes what is open.
    done = subprocess.run(
        [sys.executable, str(script)],
        env=environment(PYTHONPATH=usual_path()),
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert (done.returncode, done.stderr) == (0, "")
