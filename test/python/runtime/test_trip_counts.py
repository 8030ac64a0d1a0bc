"""Loops of the code for TPUs, which does not say how often they turn."""

import pytest
from meshwright.runtime.program.schedule import Schedule
from meshwright.runtime.watch.traffic import measure_traffic

PROGRAM = {
    "meshes": [{"name": "m", "axes": [["x", 4]]}],
    "fragments": [{"name": "f", "mesh": "m", "calls": 2}],
    "items": [],
}
GATHER = (
    "%all-gather.1 = bf16[64]{0:T(256)(128)(2,1)} all-gather(%a), channel_id=%channel, "
    "replica_groups=mesh['axis_0'=1,'axis_1'=4] {'axis_1'}, dimensions={0}"
)
GROUPS = GATHER.replace("%channel", "7")
LOOP = """HloModule f
%body (p.1: (s32[], bf16[16], s32[], s32[])) -> (s32[], bf16[16], s32[], s32[]) {
  %p.1 = (s32[]{:T(128)}, bf16[16], s32[], s32[]) parameter(0)
  %i.1 = s32[]{:T(128)} get-tuple-element(%p.1), index=0
  %a = bf16[16]{0:T(256)} get-tuple-element(%p.1), index=1
  %n.1 = s32[]{:T(128)} get-tuple-element(%p.1), index=2
  %s.1 = s32[]{:T(128)} get-tuple-element(%p.1), index=3
  %one = s32[]{:T(128)} constant(STEP)
  %i.2 = s32[]{:T(128)} ADD
  GATHER
  ROOT %t = (s32[]{:T(128)}, bf16[16], s32[], s32[]) tuple(%i.2, %a, %n.1, %s.1)
}
%condition (p.2: (s32[], bf16[16], s32[], s32[])) -> pred[] {
  %c = s32[]{:T(128)} constant(LAST)
  %p.2 = (s32[]{:T(128)}, bf16[16], s32[], s32[]) parameter(0)
  %i.3 = s32[]{:T(128)} get-tuple-element(%p.2), index=0
  %n.2 = s32[]{:T(128)} get-tuple-element(%p.2), index=2
  ROOT %lt = pred[]{:T(512)} compare(%i.3, BOUND), direction=DIRECTION
}
ENTRY %main (a: bf16[16]) -> bf16[16] {
  %a = bf16[16]{0:T(256)} parameter(0)
  %zero = s32[]{:T(128)} constant(FIRST)
  %n = s32[]{:T(128)} constant(11)
  %two = s32[]{:T(128)} constant(2)
  %copy.1 = s32[]{:T(128)} copy(%zero)
  %copy.2 = s32[]{:T(128)} copy(%copy.1), metadata={op_name="jit(f)/while"}
  %begin = (s32[]{:T(128)}, bf16[16], s32[], s32[]) tuple(%copy.2, %a, %n, %two)
  %w = (s32[]{:T(128)}, bf16[16], s32[]) while(%begin), condition=%condition, body=%body
  ROOT %r = bf16[16]{0:T(256)} get-tuple-element(%w), index=1
}
"""


def _count(text, **values):
    first = {"FIRST": "0", "LAST": "6", "STEP": "1", "BOUND": "%c", "DIRECTION": "LT"}
    values = {**first, "ADD": "add(%i.1, %one)", "GATHER": GROUPS, **values}
    for name, value in values.items():
        text = text.replace(name, value)
    [found] = measure_traffic(Schedule(PROGRAM), {"f": text}).collectives["m"]
    assert found.axes == ("x",)
    return found.count


@pytest.mark.parametrize(
    "values, turns",
    [
        ({}, 6),
        ({"FIRST": "2"}, 4),
        ({"STEP": "4"}, 2),
        ({"DIRECTION": "LE"}, 7),
        ({"ADD": "add(%one, %i.1)"}, 6),
        ({"ADD": "subtract(%i.1, %one)", "FIRST": "5", "LAST": "0"}
         | {"DIRECTION": "GT"}, 5),
        # The bound and the step may be carried by the loop.
        ({"BOUND": "%n.2"}, 11),
        ({"ADD": "add(%i.1, %s.1)"}, 3),
        ({"DIRECTION": "NE"}, 6),
        # These turn as often as data say, or never end: they count once.
        ({"ADD": "multiply(%i.1, %one)"}, 1),
        ({"DIRECTION": "GT"}, 1),
        ({"ADD": "add(%i.1, %i.1)"}, 1),
    ],
)  # fmt: skip
def test_loops(values, turns):
    assert _count(LOOP, **values) == 2 * turns


def test_what_the_text_says_takes_precedence():
    said = 'body=%body, backend_config={"known_trip_count":{"n":"3"}}'
    assert _count(LOOP.replace("body=%body", said)) == 2 * 3


PARTS = """HloModule f
%start (a: bf16[16]) -> bf16[64] {
  %a = bf16[16]{0} parameter(0)
  ROOT GATHER
}
%end (a: bf16[16]) -> bf16[64] {
  %a = bf16[16]{0} parameter(0)
  ROOT GATHER
}
ENTRY %main (a: bf16[16]) -> bf16[64] {
  %a = bf16[16]{0} parameter(0)
  %f.1 = bf16[64]{0} fusion(%a), kind=kLoop, calls=%start
  %f.2 = bf16[64]{0} fusion(%a), kind=kLoop, calls=%end
  %f.3 = bf16[64]{0} fusion(%a), kind=kLoop, calls=%start
}
"""


def test_parts_of_one_collective_count_once():
    # What is called twice runs twice.
    assert _count(PARTS) == 2 * 2


def test_of_several_channels_each_counts():
    first, rest = PARTS.split("%end", 1)
    other = GROUPS.replace("channel_id=7", "channel_id=8")
    assert _count(first + "%end" + rest.replace("GATHER", other)) == 2 * 3
