"""The page on schedules is what its script writes, and what it shows runs."""

import json
import re
import shlex
import subprocess
import sys

import pytest
from meshwright.schedule_names import PIPELINE_SCHEDULE_NAMES
from support.tools import ROOT

PAGE = (ROOT / "docs" / "schedules.md").read_text()
SECTIONS = dict(re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S))
NAMES = [n for n in SECTIONS if n == "none" or n in PIPELINE_SCHEDULE_NAMES]


def find_blocks(section: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", SECTIONS[section], re.S)


def test_page_is_up_to_date(tools):
    done = subprocess.run(
        [
            sys.executable,
            ROOT / "scripts" / "schedule_docs.py",
            f"--bin={tools.folder}",
            "--check",
        ],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr


def test_every_schedule_has_its_section():
    assert len(NAMES) == len(PIPELINE_SCHEDULE_NAMES)
    assert set(NAMES) | {"None"} == {*PIPELINE_SCHEDULE_NAMES, "none"}


@pytest.fixture(scope="module")
def program():
    """What the page defines before the first schedule."""
    names: dict = {}
    (block,) = find_blocks("How to run one", "python")
    exec(compile(block, "docs/schedules.md", "exec"), names)
    return names


def test_a_layout_is_lowered_as_shown(program):
    names = dict(program)
    (block,) = find_blocks("Layouts", "python")
    exec(compile(block, "docs/schedules.md", "exec"), names)
    origins = {
        origin
        for item in names["lowered"].partitioning_result.program["items"]
        for origin in item.get("origins", [])
    }
    assert {f"stage{stage}" for stage in range(8)} <= origins


def test_towers_are_placed_as_shown(program):
    names = dict(program)
    (block,) = find_blocks("Graphs of towers", "python")
    exec(compile(block, "docs/schedules.md", "exec"), names)
    places = {
        (origin, item["mesh"])
        for item in names["lowered"].partitioning_result.program["items"]
        for origin in item.get("origins", [])
        if "(" not in origin
    }
    stages = ["vision_stage0", "vision_stage1", "text_stage0", "text_stage1"]
    assert places == {(name, f"m{mesh}") for mesh, name in enumerate(stages)}


def test_sequences_are_cut_as_shown(program):
    names = dict(program)
    (block,) = find_blocks("Chunks of a sequence", "python")
    exec(compile(block, "docs/schedules.md", "exec"), names)
    calls = [
        item["origins"]
        for item in names["lowered"].partitioning_result.program["items"]
        if item.get("origins")
    ]
    # Four stages, 8 microbatches of 4 chunks, forward and backward.
    assert len(calls) == 2 * 4 * 8 * 4


def test_an_optimizer_does_not_wait_as_shown(program):
    names = dict(program)
    (block,) = find_blocks("An optimizer that does not wait", "python")
    exec(compile(block, "docs/schedules.md", "exec"), names)
    assert "lowered" in names


def run(tools, command: str, folder, lowered, config: dict) -> None:
    (folder / "step.mlir").write_text(lowered.as_text("stablehlo"))
    (folder / "step.json").write_text(json.dumps(config))
    tool, *arguments = shlex.split(command)
    done = subprocess.run(
        [tools.folder / tool, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert "schedule" not in done.stderr


def test_the_configuration_of_the_page_is_that_of_its_program(tools, program, tmp_path):
    (text,) = find_blocks("How to run one", "json")
    (command,) = find_blocks("How to run one", "sh")
    run(tools, command, tmp_path, program["lowered"], json.loads(text))


def stage_of(key: str) -> int:
    """The stage that a name says; of parts of a vocabulary on four meshes."""
    kind, number = re.fullmatch(r"(\D+)(\d+)", key).groups()
    chunks = {"stage": 0, "vocabulary_head": 1, "vocabulary_embedding": 2}
    return 4 * chunks[kind] + int(number)


@pytest.mark.parametrize("name", NAMES)
def test_schedule_runs_as_its_section_says(tools, program, tmp_path, name):
    names = dict(program)
    (block,) = find_blocks(name, "python")
    (command,) = find_blocks(name, "sh")
    exec(compile(block, f"docs/schedules.md#{name.lower()}", "exec"), names)
    lowered = names["lowered"]
    assignment = lowered.sharding_info.name_to_mesh_map
    stages = SECTIONS[name].split("Stages: ")[1].split(".")[0]
    numbered = {stage_of(key): mesh for key, mesh in assignment.items()}
    for mesh, numbers in re.findall(r"(\w+) has ([\d and]+)", stages):
        for stage in re.findall(r"\d+", numbers):
            assert numbered[int(stage)] == mesh
    config = {
        "topology": {mesh: {"x": 1} for mesh in lowered.topology},
        "assignment": {key: [mesh, stage_of(key)] for key, mesh in assignment.items()},
        "options": {
            "mpmd_infer_transfers": True,
            "mpmd_infer_cross_mesh_reductions": True,
            "mpmd_complete_schedule": True,
        },
    }
    run(tools, command, tmp_path, lowered, config)
