"""One of several processes is killed: the others know by the end of its connection.

Nothing here may wait for a time to pass: timeout and grace are longer than a test may
take. How many seconds there are between the events says bench/elastic.py.
"""

import json

import pytest
from support.launching import LIMIT, launch

VICTIM, OTHERS = 1, [0, 2, 3]
LONG = str(2 * LIMIT)


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> dict:
    def run(processes: int, kind: str, *options: str):
        cache, meeting = (str(tmp_path_factory.mktemp(n)) for n in ("cache", "meeting"))
        options = ("--timeout", LONG, "--grace", LONG, *options)
        case = processes, 1, "killed.py", kind
        variables = {"MESHWRIGHT_CACHE_DIR": cache, "MEETING": meeting}
        return launch(*case, options=options, **variables)

    # Where the others go on, no process takes the place of the one that is gone.
    return {"left": run(4, "left"), "again": run(3, "again", "--restart", "1")}


def events(done, what: str) -> list[dict]:
    """Events of one kind, by their time."""
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [line.partition("] ")[2] for line in done.stdout.splitlines()]
    found = [json.loads(line) for line in lines if line.startswith("{")]
    return sorted((e for e in found if e["what"] == what), key=lambda e: e["at"])


def test_the_others_know_from_the_connection_s_end(runs):
    done = runs["left"]
    (killed,), known = events(done, "killed"), events(done, "known")
    assert sorted(event["process"] for event in known) == OTHERS
    for event in known:
        assert killed["at"] < event["at"]
        assert "was killed by SIGKILL" in event["why"]
        assert event["processes"] == [VICTIM]
    assert "silent" not in done.stderr


def test_the_next_step_of_those_that_are_left_follows(runs):
    done = runs["left"]
    first, second = {}, {}
    for event in events(done, "stepped"):
        (second if event["process"] in first else first)[event["process"]] = event
    assert (sorted(first), sorted(second)) == ([0, 1, 2, 3], OTHERS)
    (killed,) = events(done, "killed")
    for event in events(done, "known"):
        assert killed["at"] < event["at"] < second[event["process"]]["at"]


def test_all_are_started_again_at_once_and_step(runs):
    done = runs["again"]
    (killed,), stepped = events(done, "killed"), events(done, "stepped")
    started = [event for event in events(done, "started") if event["attempt"]]
    again = [event for event in stepped if event["attempt"]]
    for found in (started, again):
        assert sorted(event["process"] for event in found) == [0, 1, 2]
    assert killed["at"] < started[0]["at"] < again[0]["at"]
    assert "starts all processes again (1 of 1)" in done.stderr


def test_the_second_start_takes_no_longer_than_the_first(runs):
    """It does the same, and compiles nothing."""
    found = events(runs["again"], "stepped")
    compiled = {attempt: [] for attempt in (0, 1)}
    for event in found:
        compiled[event["attempt"]] += event["compiled"]
    assert compiled[0]
    assert not compiled[1]
