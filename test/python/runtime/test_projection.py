"""Which receives of a process are posted together."""

import gc
from types import SimpleNamespace

import numpy as np
from meshwright.runtime.processes import projection
from meshwright.runtime.processes.edges import Edge, Piece
from meshwright.runtime.program.plan import Plan
from meshwright.runtime.program.steps import Launch

ME, OTHER = 0, 1
CHANNEL = SimpleNamespace(
    world=SimpleNamespace(process=ME), piece=lambda item, number: (item, number)
)


def edge(source, target, size=4, reads=(), item=None):
    ends = [SimpleNamespace(process_index=process) for process in (source, target)]
    place = SimpleNamespace(dtype=np.dtype(np.uint8))
    return Edge(
        item=item,
        reads=reads,
        writes=range(1) if target == ME else range(0),
        places=(place,) if target == ME else (),
        what="",
        channel=CHANNEL,
        target=place,
        pieces=[Piece(*ends, None, (size,))],
    )


def post(*steps, delayed=()):
    """For each receive, which step posts it."""
    projection._post_ahead(Plan(steps=list(steps), delayed=frozenset(delayed)))
    found = {}
    for number, step in enumerate(steps):
        if isinstance(step, Edge) and step.places:
            by = number
            if step.posted:
                (by,) = (
                    n
                    for n, s in enumerate(steps)
                    if isinstance(s, Edge) and any(step is a for a in s.ahead)
                )
            found[number] = by
    return found


def test_small_receives_are_posted_by_the_first_one():
    launch = Launch(None, (), range(0), (), "")
    send = edge(ME, OTHER, reads=(0,))
    steps = [edge(OTHER, ME), launch, send, edge(OTHER, ME), launch, edge(OTHER, ME)]
    assert post(*steps) == {0: 0, 3: 0, 5: 0}


def test_only_so_many_bytes_are_posted_ahead():
    third = projection.AHEAD_BYTES // 3
    steps = [edge(OTHER, ME, third) for _ in range(7)]
    assert post(*steps) == {0: 0, 1: 0, 2: 0, 3: 3, 4: 3, 5: 3, 6: 6}


def test_large_ones_are_posted_alone():
    large = projection.AHEAD_BYTES + 1
    steps = [edge(OTHER, ME, large), edge(OTHER, ME, large), edge(OTHER, ME)]
    assert post(*steps) == {0: 0, 1: 1, 2: 2}


def test_no_receive_passes_another_one():
    """Both sides count what passes; the other one keeps the order of the plan."""
    mixed = edge(OTHER, ME, reads=(0,))
    steps = [edge(OTHER, ME), mixed, edge(OTHER, ME), edge(OTHER, ME)]
    assert post(*steps) == {0: 0, 1: 1, 2: 2, 3: 2}


def test_delayed_receives_are_posted_where_they_are():
    steps = [edge(OTHER, ME, item=number) for number in range(4)]
    assert post(*steps, delayed=[2]) == {0: 0, 1: 0, 2: 2, 3: 2}


def test_the_collector_waits_meanwhile(monkeypatch):
    seen = []
    monkeypatch.setattr(
        projection._Projection, "add", lambda self, step: seen.append(gc.isenabled())
    )
    gc.enable()
    projection.project(Plan(steps=[edge(OTHER, ME)]), CHANNEL)
    assert seen == [False]
    assert gc.isenabled()
