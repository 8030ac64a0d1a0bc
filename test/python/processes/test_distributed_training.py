"""Every schedule over processes: losses, memory, and what a process keeps."""

import json

import pytest
from meshwright.schedule_names import PIPELINE_SCHEDULE_NAMES
from support import schedule_training as training
from support.launching import launch, reports

RING = "ParallelPipelinesWithWrapAround"
# On four processes, and on meshes that span two.
SOME = ("1F1B", "ZeroBubbleH1", "InterleavedZeroBubble", "DualPipe", RING)
OVER = {
    "two processes": (2, 2, "own", PIPELINE_SCHEDULE_NAMES),
    "four processes": (4, 1, "own", SOME),
    "spanning": (2, 4, "spanning", SOME),
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


@pytest.fixture(scope="module")
def trained(stages, cache) -> dict[str, list[dict]]:
    """One start for all schedules; what one compiled serves those after it."""
    found = {}
    for over, (processes, devices, kind, names) in OVER.items():
        chosen = json.dumps({name: stages[name] for name in names})
        args = (processes, devices, "schedules.py", kind, chosen)
        found[over] = reports(launch(*args, MESHWRIGHT_CACHE_DIR=cache))
    return found


CASES = [(over, name) for over, case in OVER.items() for name in case[3]]


@pytest.mark.parametrize("over, name", CASES)
def test_every_schedule_trains_as_in_one_process(over, name, trained):
    processes = OVER[over][0]
    assert [report["process"] for report in trained[over]] == list(range(processes))
    for report in trained[over]:
        assert report["found"][name]["difference"] <= 1e-5


@pytest.mark.usefixtures("x32")
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
            found |= report["found"][name]["memory"]
        assert found == wanted


def train_with(options, names, stages, cache):
    """Trains over two processes; the program of 1F1B, after a look at its memory."""
    chosen = json.dumps({name: stages[name] for name in names})
    args = (2, 2, "schedules.py", "own", chosen, json.dumps(options))
    found = [report["found"] for report in reports(launch(*args, **cache))]
    for name in names:
        assert all(each[name]["difference"] <= 1e-5 for each in found)
    topology = training.make_topology(1)
    options = {"mpmd_pipeline_schedule": "1F1B", **options}
    lowered = training.lower_training("1F1B", stages["1F1B"], topology, options=options)
    analysis = lowered.compile().memory_analysis()
    assert found[0]["1F1B"]["memory"] | found[1]["1F1B"]["memory"] == {
        mesh: training.find_bytes(memory) for mesh, memory in analysis.items()
    }
    return lowered.partitioning_result.program, analysis


@pytest.mark.usefixtures("x32")
def test_receives_that_wait_train_over_processes(stages, cache):
    """Each waits where it was made, and no process waits for one that waits for it."""
    names = ("1F1B", "Eager1F1B", "Interleaved1F1B", "ZeroBubbleH1", "DualPipeV")
    options, cache = {"mpmd_receive_ahead": "0"}, {"MESHWRIGHT_CACHE_DIR": cache}
    program, _ = train_with(options, names, stages, cache)
    assert any(item.get("delayed") for item in program["items"])


@pytest.mark.usefixtures("x32")
def test_activations_wait_on_the_host_of_their_process(stages, cache, tmp_path):
    # The link is so slow that forwards wait for it.
    device = training.write_patient_device(tmp_path, host_bw=4e5)
    options = {"mpmd_offload_activations": "auto", "mpmd_schedule_device": device}
    names, cache = ("1F1B", "ZeroBubbleH1"), {"MESHWRIGHT_CACHE_DIR": cache}
    program, analysis = train_with(options, names, stages, cache)
    assert any(item.get("awaits") for item in program["items"])
    *others, last = [memory.host_live_bytes for memory in analysis.values()]
    assert others[0] > 0 and last == 0


def test_what_one_process_compiled_serves_all(trained):
    assert sum(report["compiled"] for report in trained["two processes"])
    assert not any(report["compiled"] for report in trained["four processes"])


def test_meshes_over_processes_find_what_they_compiled(trained, stages, cache):
    args = (2, 4, "schedules.py", "spanning", json.dumps({"1F1B": stages["1F1B"]}))
    again = reports(launch(*args, MESHWRIGHT_CACHE_DIR=cache))
    assert all(report["compiled"] for report in trained["spanning"])
    assert not any(report["compiled"] for report in again)


def test_a_process_keeps_no_more_when_others_have_more_meshes():
    first, second = reports(launch(2, 1, "growth.py"))
    two, eight = first["found"]
    assert len(eight["compiled"]) == len(two["compiled"])
    # Of the weights of others, which the script has too, there are only shells.
    others = 6
    assert eight["steps"] == two["steps"] + others
    assert eight["kept"] == two["kept"] + 2 * others
    # They have 96 MB of weights; what allocators and threads keep is up to 20 MB.
    assert eight["bytes"] < two["bytes"] + (64 << 20)
    assert len(second["found"][1]["compiled"]) > len(second["found"][0]["compiled"])


@pytest.mark.parametrize(("name", "stages"), [("Seq1F1B", 4), ("SlimPipe", 8)])
def test_sequences_in_chunks_train_over_processes(name, stages):
    found = reports(launch(2, 2, "sequence.py", name, str(stages), "2"))
    assert [report["process"] for report in found] == [0, 1]
    assert all(report["difference"] <= 1e-5 for report in found)


@pytest.mark.parametrize("args", [("Towers", "GPipe"), ("AUTO", "1F1B")])
def test_towers_train_over_processes(args):
    found = reports(launch(2, 2, "towers.py", *args))
    assert [report["process"] for report in found] == [0, 1]
    assert all(report["difference"] <= 1e-5 for report in found)
