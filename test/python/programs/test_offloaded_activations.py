"""Activations that wait in the host's memory, chosen by us or by a policy of JAX."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.ad_checkpoint import checkpoint_name
from jax.sharding import Mesh
from meshwright.lowering import host_memory
from meshwright.runtime.program.order import issue_order
from meshwright.runtime.program.schedule import Schedule
from meshwright.runtime.program.steps import after_arrival
from support.marked_chain import block, make_step
from support.schedule_training import write_patient_device

import meshwright as mw

STAGES, MICROBATCHES, WIDTH, ROWS = 4, 12, 128, 64
TOPOLOGY = {f"m{i}": Mesh(jax.devices()[i : i + 1], "x") for i in range(STAGES)}
OPTION = "mpmd_offload_activations"

pytestmark = pytest.mark.usefixtures("x32", "equal_compiles_once")


@pytest.fixture(scope="module")
def device(tmp_path_factory):
    return write_patient_device(tmp_path_factory.mktemp("devices"))


def arguments():
    keys = jax.random.split(jax.random.key(0), STAGES + 1)
    weights = [0.2 * jax.random.normal(key, (WIDTH, WIDTH)) for key in keys[1:]]
    return weights, jax.random.normal(keys[0], (ROWS * MICROBATCHES, WIDTH))


def jit(device, schedule="1F1B", block=block, **options):
    config = mw.make_config(
        TOPOLOGY,
        partitioning_options={"mpmd_schedule_device": device, **options},
        pipeline_schedule=mw.get_pipeline_schedule(schedule),
    )
    return mw.jit(make_step(STAGES, MICROBATCHES, block), config)


@pytest.fixture(scope="module")
def expected():
    with jax.enable_x64(False):
        return jax.jit(make_step(STAGES, MICROBATCHES))(*arguments())


@pytest.fixture(scope="module")
def lowered(device):
    """By what is asked for, once."""
    with jax.enable_x64(False):
        return {
            bound: jit(device, **{OPTION: bound}).lower(*arguments())
            for bound in ("", "auto")
        }


def check(found, expected):
    for ours, plain in zip(
        jax.tree.leaves(found), jax.tree.leaves(expected), strict=True
    ):
        np.testing.assert_allclose(ours, plain, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "schedule", ["1F1B", "GPipe", "Combined1F1B", "ZeroBubbleH1", "auto"]
)
def test_numbers_are_those_of_jit(schedule, expected, device):
    step = jit(device, schedule, **{OPTION: "auto"})
    program = step.lower(*arguments()).partitioning_result.program
    assert any(value["memory_kind"] for value in program["values"])
    check(step(*arguments()), expected)


def test_the_account_says_what_is_held(lowered):
    before, after = (
        lowered[bound].compile().memory_analysis() for bound in ("", "auto")
    )
    assert after["m0"].live_bytes < before["m0"].live_bytes
    on_host = [after[f"m{stage}"].host_live_bytes for stage in range(STAGES)]
    # The last stage begins its backward at once.
    assert on_host[0] > 0 and on_host[-1] == 0
    assert not any(mesh.host_live_bytes for mesh in before.values())


def test_a_simulated_step_takes_no_longer(lowered, device):
    before, after = (lowered[bound].simulate(device) for bound in ("", "auto"))
    assert after.makespan_s <= 1.01 * before.makespan_s
    assert after.meshes["m0"].peak_bytes < before.meshes["m0"].peak_bytes
    ways = {(edge.source, edge.target) for edge in after.edges}
    assert {("m0", "m0#pinned_host"), ("m0#pinned_host", "m0")} <= ways


@pytest.fixture(scope="module")
def slow_host(tmp_path_factory):
    """The link takes longer for the activations of a forward than that runs."""
    return write_patient_device(tmp_path_factory.mktemp("devices"), host_bw=6e8)


@pytest.mark.parametrize("schedule", ["1F1B", "ZeroBubbleH1"])
def test_forwards_that_have_time_wait_for_the_link(schedule, slow_host, expected):
    plain, lowered = (
        jit(slow_host, schedule, **{OPTION: bound}).lower(*arguments())
        for bound in ("", "auto")
    )
    program = lowered.partitioning_result.program
    items = program["items"]
    awaiting = [i for i, item in enumerate(items) if item.get("awaits")]
    assert awaiting
    made = {item["result"]: i for i, item in enumerate(items) if "result" in item}
    for index in awaiting:
        assert not any(origin.endswith("(1)") for origin in items[index]["origins"])
        # They are on the way to the host of the same mesh, and issued before.
        for value in items[index]["awaits"]:
            assert items[made[value]]["to"] == items[index]["mesh"]
            assert made[value] < index
    # Items are listed, and issued, as they start.
    assert issue_order(Schedule(program)).tolist() == list(range(len(items)))
    before, after = (low.simulate(slow_host) for low in (plain, lowered))
    assert after.makespan_s <= 1.01 * before.makespan_s
    accounts = [low.compile().memory_analysis() for low in (plain, lowered)]
    for mesh in ("m0", "m1"):
        assert after.meshes[mesh].peak_bytes < before.meshes[mesh].peak_bytes
        assert accounts[1][mesh].live_bytes < accounts[0][mesh].live_bytes
    compiled = lowered.compile()
    check(compiled(*map(compiled.place, arguments())), expected)


def test_a_bound_holds_where_forwards_wait(slow_host):
    with pytest.raises(RuntimeError, match="cannot stay below 1000 bytes") as error:
        jit(slow_host, **{OPTION: "1kB"}).lower(*arguments())
    least = int(re.search(r"give at least (\d+)", str(error.value))[1])
    lowered = jit(slow_host, **{OPTION: str(least)}).lower(*arguments())
    found = lowered.simulate(slow_host).meshes
    assert max(mesh.peak_bytes for mesh in found.values()) <= least
    analysis = lowered.compile().memory_analysis()
    assert max(mesh.live_bytes for mesh in analysis.values()) <= least


@pytest.mark.parametrize("schedule", ["1F1B", "Eager1F1B"])
def test_receives_wait_beside_the_link(schedule, slow_host, expected):
    options = {OPTION: "auto", "mpmd_receive_ahead": "0"}
    step = jit(slow_host, schedule, **options)
    items = step.lower(*arguments()).partitioning_result.program["items"]
    delayed = [item for item in items if item.get("delayed")]
    assert {item["from"] == item["to"] for item in delayed} == {True, False}
    check(step(*arguments()), expected)


def test_a_launch_waits_for_what_it_awaits():
    done = []

    class Copy:
        def __init__(self, number):
            self.number = number

        def block_until_ready(self):
            done.append(self.number)
            if self.number == 1:
                raise jax.errors.JaxRuntimeError("the launch that made it failed")

    issue = after_arrival((1, 2), lambda slots: done.append(slots[0]))
    issue(["launched", Copy(1), Copy(2)])
    assert done == [1, 2, "launched"]


def test_nothing_waits_in_a_recorded_run(device):
    """A value begins to come back with the launch before the one that reads it."""
    step = jit(device, **{OPTION: "auto"})
    items = step.lower(*arguments()).partitioning_result.program["items"]
    with mw.profile() as recording:
        step(*arguments())
    order = [e.item for e in sorted(recording.events, key=lambda event: event.issued)]
    launches = [i for i in order if items[i].get("mesh") == "m0"]
    fetches = [i for i in order if items[i].get("delayed") and items[i]["to"] == "m0"]
    assert fetches
    for fetch in fetches:
        reader = next(
            i for i in launches if items[fetch]["result"] in items[i]["operands"]
        )
        between = [i for i in launches if order.index(fetch) < order.index(i)]
        assert launches.index(reader) > launches.index(between[0])


def test_gpus_get_delayed_values_where_the_program_says(lowered):
    """Other transfers follow what they send at once there."""
    program = lowered["auto"].partitioning_result.program
    items = program["items"]
    plain, at_once = (
        issue_order(Schedule(program)).tolist(),
        issue_order(Schedule(program), ["m0"]).tolist(),
    )

    def before(order):
        """The launch of m0 that each value comes back after."""
        last, found = None, {}
        for index in order:
            if items[index].get("mesh") == "m0":
                last = index
            elif items[index].get("delayed") and items[index]["to"] == "m0":
                found[index] = last
        return found

    assert before(plain) and before(plain) == before(at_once)


def test_a_bound_is_met_or_refused_with_the_smallest(device):
    with pytest.raises(RuntimeError, match="cannot stay below 1000 bytes") as error:
        jit(device, **{OPTION: "1kB"}).lower(*arguments())
    least = re.search(r"give at least (\d+)", str(error.value))[1]
    lowered = jit(device, **{OPTION: least}).lower(*arguments())
    analysis = lowered.compile().memory_analysis()
    assert max(mesh.live_bytes for mesh in analysis.values()) <= int(least)


def test_nothing_leaves_that_has_room(device):
    easy = jit(device, **{OPTION: "10GB"}).lower(*arguments())
    values = easy.partitioning_result.program["values"]
    assert not any(value["memory_kind"] for value in values)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({OPTION: "much"}, "'much' is not a number of bytes"),
        ({OPTION: "auto", "device": ""}, "say with mpmd_schedule_device"),
    ],
)
def test_what_cannot_be_done_is_refused(options, message, device):
    with pytest.raises(RuntimeError, match=message):
        jit(**{"device": device, **options}).lower(*arguments())


def test_devices_without_host_memory_keep_all(monkeypatch, caplog, expected, device):
    monkeypatch.setattr(
        host_memory.described,
        "memory_kinds",
        lambda device: ("device", frozenset({"device"})),
    )
    step = jit(device, **{OPTION: "auto"})
    program = step.lower(*arguments()).partitioning_result.program
    assert not any(value["memory_kind"] for value in program["values"])
    assert "activations stay on the devices" in caplog.text
    monkeypatch.undo()
    check(step(*arguments()), expected)


def test_times_of_a_device_are_used(caplog, device):
    """Without it, the schedule would have said that it does not need them."""
    jit(device, **{OPTION: "auto"}).lower(*arguments())
    assert "does not depend on times" not in caplog.text


def test_policies_of_jax_go_through_stages(expected, device):
    policy = jax.checkpoint_policies.save_and_offload_only_these_names(
        names_which_can_be_saved=[],
        names_which_can_be_offloaded=["hidden"],
        offload_src="device",
        offload_dst="pinned_host",
    )

    def offloaded(w, x):
        hidden = checkpoint_name(jnp.tanh(x @ w), "hidden")
        return jnp.sin(hidden * 1.5 @ w)

    step = jit(device, block=jax.checkpoint(offloaded, policy=policy))
    check(step(*arguments()), expected)
