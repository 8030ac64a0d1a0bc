"""Values that other meshes send before they are needed, and the memory they take."""

import jax
import numpy as np
import pytest
from jax.sharding import Mesh
from meshwright.runtime.program.order import issue_order
from meshwright.runtime.program.schedule import Schedule
from support.marked_chain import make_step
from support.schedule_training import count_planned_live, read_plan

import meshwright as mw

STAGES, MICROBATCHES, WIDTH, ROWS = 4, 64, 16, 8
INPUT = 4 * ROWS * WIDTH  # Bytes that a stage receives of a microbatch.
TOPOLOGY = {f"m{i}": Mesh(jax.devices()[i : i + 1], "x") for i in range(STAGES)}
OPTION = "mpmd_receive_ahead"

pytestmark = pytest.mark.usefixtures("x32", "equal_compiles_once")


def arguments(microbatches=MICROBATCHES):
    keys = jax.random.split(jax.random.key(0), STAGES + 1)
    weights = [0.4 * jax.random.normal(key, (WIDTH, WIDTH)) for key in keys[1:]]
    return weights, jax.random.normal(keys[0], (ROWS * microbatches, WIDTH))


def jit(schedule="1F1B", microbatches=MICROBATCHES, donate=(), **options):
    config = mw.make_config(
        TOPOLOGY,
        partitioning_options=options,
        pipeline_schedule=mw.get_pipeline_schedule(schedule),
    )
    return mw.jit(make_step(STAGES, microbatches), config, donate_argnums=donate)


@pytest.fixture(scope="module")
def lowered():
    """By the bound."""
    with jax.enable_x64(False):
        found = {}
        for bound in ("", "0", str(INPUT), "auto"):
            found[bound] = jit(**{OPTION: bound}).lower(*arguments())
        return found


def count_live(items, begin, end):
    """The most microbatches of which each mesh holds an input or an activation.

    Args:
      items: of the simulation.
      begin, end: when each of them begins and has ended.
    """
    peaks = []
    for mesh in TOPOLOGY:
        first, last = {}, {}
        for index, item in enumerate(items):
            if item.mesh != mesh or item.microbatch is None:
                continue
            if item.kind in ("transfer", "forward"):
                came = item.source == mesh or item.source < mesh
                if came and (item.stage == int(mesh[1:]) or item.kind == "transfer"):
                    m = item.microbatch
                    first[m] = min(first.get(m, begin[index]), begin[index])
            elif item.kind == "backward":
                last[item.microbatch] = end[index]
        assert first.keys() == last.keys() == set(range(MICROBATCHES))
        moments = [(first[m], 1) for m in first] + [(last[m], -1) for m in last]
        live = peak = 0
        for _, change in sorted(moments):
            live += change
            peak = max(peak, live)
        peaks.append(peak)
    return peaks


def simulated(lowered):
    items = lowered.simulate("h100").items
    return count_live(
        items, [item.start_s for item in items], [item.end_s for item in items]
    )


def issued(lowered, order):
    """As if each item ended when the next one is issued."""
    place = {item: number for number, item in enumerate(order)}
    begin = [2 * place[item] for item in range(len(place))]
    items = lowered.simulate("h100").items
    return count_live(items, begin, [time + 1 for time in begin])


@pytest.fixture(scope="module")
def table(tools):
    shape = [f"--meshes={STAGES}", f"--microbatches={MICROBATCHES}"]
    csv = tools.check("meshwright", "schedule", "1F1B", "--csv", *shape)
    return [count_planned_live(row) for row in read_plan(csv)]


def test_what_is_received_when_needed_leaves_the_live_microbatches_of_the_table(
    lowered, table
):
    assert table == [4, 3, 2, 1]
    program = lowered["0"].partitioning_result.program
    assert simulated(lowered["0"]) == table
    assert issued(lowered["0"], issue_order(Schedule(program)).tolist()) == table
    # Transfers to GPUs go at once, but for those that are delayed.
    assert (
        issued(lowered["0"], issue_order(Schedule(program), list(TOPOLOGY)).tolist())
        == table
    )
    # The meshes between the first and the last hold one that waits.
    assert simulated(lowered[""]) == [4, 4, 3, 1]


def test_a_run_issues_what_the_account_counts(lowered, table):
    compiled = lowered["0"].compile()
    placed = [compiled.place(argument) for argument in arguments()]
    with mw.profile() as recording:
        compiled(*placed)
    events = sorted(recording.events, key=lambda event: event.issued)
    assert issued(lowered["0"], [event.item for event in events]) == table


def test_the_account_and_the_simulator_lose_what_was_received_early(lowered):
    early, late = (lowered[b].compile().memory_analysis() for b in ("", "auto"))
    before, after = (lowered[b].simulate("h100").meshes for b in ("", "auto"))
    for mesh in ("m0", "m1", "m2"):
        # The third mesh has lost an input; the second now keeps what it does not send.
        saved = INPUT if mesh == "m2" else 0
        # And the zero that losses are added to, which all meshes have, is there or not.
        for less in (
            early[mesh].live_bytes - late[mesh].live_bytes,
            before[mesh].peak_bytes - after[mesh].peak_bytes,
        ):
            assert saved <= less <= saved + np.float32().nbytes


@pytest.mark.parametrize("bound", ["0", "auto"])
def test_more_microbatches_take_no_more(bound, lowered):
    few = jit(microbatches=8, **{OPTION: bound}).lower(*arguments(8))
    few, many = (low.compile().memory_analysis() for low in (few, lowered[bound]))
    # The first mesh has the batch, the last one the losses.
    losses = {"m1": 0, "m2": 0, "m3": 4 * (MICROBATCHES - 8)}
    for mesh, most in losses.items():
        assert 0 <= many[mesh].live_bytes - few[mesh].live_bytes <= most


def test_a_bound_lets_as_much_arrive_early(lowered):
    assert simulated(lowered[str(INPUT)]) == simulated(lowered[""])
    ahead = lowered[str(INPUT)].simulate("h100").makespan_s
    assert ahead <= lowered["0"].simulate("h100").makespan_s


def test_what_does_not_raise_the_peak_comes_early(lowered):
    needed, auto = (lowered[bound].simulate("h100") for bound in ("0", "auto"))
    assert auto.makespan_s <= needed.makespan_s
    delayed = {
        bound: sum(
            bool(item.get("delayed"))
            for item in lowered[bound].partitioning_result.program["items"]
        )
        for bound in ("0", "auto")
    }
    assert 0 < delayed["auto"] < delayed["0"]
    early, late = (lowered[b].compile().memory_analysis() for b in ("auto", "0"))
    assert all(early[m].live_bytes <= late[m].live_bytes for m in TOPOLOGY)


@pytest.fixture(scope="module")
def expected():
    with jax.enable_x64(False):
        return jax.jit(make_step(STAGES, 8))(*arguments(8))


@pytest.mark.parametrize("bound", ["0", str(INPUT), "auto"])
@pytest.mark.parametrize("schedule", ["1F1B", "Eager1F1B", "GPipe", "ZeroBubbleH1"])
def test_numbers_are_those_of_jit(schedule, bound, expected):
    step = jit(schedule, 8, donate=(0,), **{OPTION: bound})
    found = step(*arguments(8))
    for ours, plain in zip(
        jax.tree.leaves(found), jax.tree.leaves(expected), strict=True
    ):
        np.testing.assert_allclose(ours, plain, rtol=1e-5, atol=1e-6)


def test_text_that_is_no_bound_is_refused():
    with pytest.raises(RuntimeError, match="'soon' is not a number of bytes"):
        jit(microbatches=8, **{OPTION: "soon"}).lower(*arguments(8))
