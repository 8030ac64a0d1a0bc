"""Recordings of runs: what they hold and what is written."""

import json

import numpy as np
import pytest
from meshwright.runtime import profile
from runtime_programs import Builder, iota


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
