"""Every schedule over processes: losses, memory, and what was compiled."""

import json

import pytest
from meshwright.schedule_names import PIPELINE_SCHEDULE_NAMES
from support import schedule_training as training
from support.launching import launch, reports

RING = "ParallelPipelinesWithWrapAround"
# On four processes, and on meshes that span two.
SOME = ("1F1B", "InterleavedZeroBubble", "DualPipe", RING)
OVER = {
    "two processes": (2, 2, "own", PIPELINE_SCHEDULE_NAMES),
    "four processes": (4, 1, "own", SOME),
    "spanning": (2, 4, "spanning", SOME),
}
# Over two processes with options, too.
PLAIN = ("1F1B", "ZeroBubbleH1")
WITH_OPTIONS = {
    "receives wait": (*PLAIN, "Eager1F1B", "Interleaved1F1B", "DualPipeV"),
    "activations wait": PLAIN,
}


@pytest.fixture(scope="module")
def stages(tools) -> dict[str, int]:
    def count(name):
        shape = [f"--meshes={training.MESHES}", "--microbatches=8"]
        csv = tools.check("meshwright", "schedule", name, "--csv", *shape)
        return training.count_stages(training.read_plan(csv))

    ring = {RING: training.MESHES}
    return {
        name: count(name) for name in PIPELINE_SCHEDULE_NAMES if name != RING
    } | ring


@pytest.fixture(scope="module")
def cache(tmp_path_factory) -> str:
    return str(tmp_path_factory.mktemp("cache"))


@pytest.fixture
def compiled(cache, trained, monkeypatch):
    """In this process what is equal is not compiled again."""
    monkeypatch.setenv("MESHWRIGHT_CACHE_DIR", cache)


@pytest.fixture(scope="module")
def options(tmp_path_factory) -> dict[str, dict]:
    """Of trainings over two processes that have some, by what they are about."""
    # The link is so slow that forwards wait for it.
    folder = tmp_path_factory.mktemp("device")
    device = training.write_patient_device(folder, host_bw=4e5)
    return {
        "receives wait": {"mpmd_receive_ahead": "0"},
        "activations wait": {
            "mpmd_offload_activations": "auto",
            "mpmd_schedule_device": device,
        },
    }


@pytest.fixture(scope="module")
def trained(stages, cache, options) -> dict[str, list[dict]]:
    """One start for all schedules; what one compiled serves those after it."""
    found = {}
    for over, (processes, devices, kind, names) in OVER.items():
        cases = [({name: stages[name] for name in names}, {})]
        if over == "two processes":
            for what, some in WITH_OPTIONS.items():
                cases.append(({name: stages[name] for name in some}, options[what]))
        args = (processes, devices, "schedules.py", kind, json.dumps(cases))
        # Where Python is started, each has an order of its own of what is in sets.
        options = {"forks": over != "two processes", "MESHWRIGHT_CACHE_DIR": cache}
        found[over] = reports(launch(*args, **options))
    return found


def assert_trained(name: str, stages: dict[str, int], found: dict) -> None:
    """As without meshes."""
    if name == RING:
        assert found["difference"] <= 1e-5
        return
    copies, make_loss = training.count_copies(name), training.loss_for(name)
    wanted = training.train_plainly(stages[name], copies, training.STEPS, make_loss)
    assert found["losses"] == pytest.approx(wanted, rel=0, abs=1e-5)


CASES = [(over, name) for over, case in OVER.items() for name in case[3]]


@pytest.mark.usefixtures("x32")
@pytest.mark.parametrize("over, name", CASES)
def test_every_schedule_trains_as_in_one_process(over, name, trained, stages):
    processes = OVER[over][0]
    assert [report["process"] for report in trained[over]] == list(range(processes))
    for report in trained[over]:
        assert_trained(name, stages, report["found"][0][name])


@pytest.mark.usefixtures("x32", "compiled")
@pytest.mark.parametrize("name", [name for name in SOME if name != RING])
def test_memory_is_as_in_one_process(name, trained, stages):
    for over, devices in (("two processes", 1), ("spanning", 2)):
        topology = training.make_topology(devices)
        options = {"mpmd_pipeline_schedule": name}
        lowered = training.lower_training(name, stages[name], topology, options=options)
        wanted = {
            mesh: training.find_bytes(memory)
            for mesh, memory in lowered.compile().memory_analysis().items()
        }
        found = {}
        for report in trained[over]:
            found |= report["found"][0][name]["memory"]
        assert found == wanted


def find_with(what, options, trained, stages):
    """The program of 1F1B with options, after a look at its losses and memory."""
    number = 1 + [*WITH_OPTIONS].index(what)
    found = [report["found"][number] for report in trained["two processes"]]
    for name in WITH_OPTIONS[what]:
        for each in found:
            assert_trained(name, stages, each[name])
    topology = training.make_topology(1)
    options = {"mpmd_pipeline_schedule": "1F1B", **options[what]}
    lowered = training.lower_training("1F1B", stages["1F1B"], topology, options=options)
    analysis = lowered.compile().memory_analysis()
    assert found[0]["1F1B"]["memory"] | found[1]["1F1B"]["memory"] == {
        mesh: training.find_bytes(memory) for mesh, memory in analysis.items()
    }
    return lowered.partitioning_result.program, analysis


@pytest.mark.usefixtures("x32", "compiled")
def test_receives_that_wait_train_over_processes(trained, stages, options):
    """Each waits where it was made, and no process waits for one that waits for it."""
    program, _ = find_with("receives wait", options, trained, stages)
    assert any(item.get("delayed") for item in program["items"])


@pytest.mark.usefixtures("x32", "compiled")
def test_activations_wait_on_the_host_of_their_process(trained, stages, options):
    program, analysis = find_with("activations wait", options, trained, stages)
    assert any(item.get("awaits") for item in program["items"])
    *others, last = [memory.host_live_bytes for memory in analysis.values()]
    assert others[0] > 0 and last == 0


def test_what_one_process_compiled_serves_all(trained):
    assert sum(report["compiled"] for report in trained["two processes"])
    assert not any(report["compiled"] for report in trained["four processes"])


def test_meshes_over_processes_find_what_they_compiled(trained, stages, cache):
    cases = json.dumps([[{"1F1B": stages["1F1B"]}, {}]])
    args = (2, 4, "schedules.py", "spanning", cases)
    again = reports(launch(*args, MESHWRIGHT_CACHE_DIR=cache))
    assert all(report["compiled"] for report in trained["spanning"])
    assert not any(report["compiled"] for report in again)
