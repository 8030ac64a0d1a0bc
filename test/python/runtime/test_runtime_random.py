"""Random programs, partitioned and run: the numbers of the original.

Programs of fragments come with random shardings, donations, memory kinds and
layouts, and on random meshes; programs with names go through every phase.
"""

import json
import math
import re

import jax
import pytest
from meshwright.runtime.run.places import cut_meshes
from support import (
    numerics,
    random_fragments,
    random_programs,
    runtime_programs,
)

from meshwright import runtime

MARKS = r'(, )?(tf\.aliasing_output = \d+ : i32|mhlo\.layout_mode = "[^"]*")'


SEEDS = range(20)


@pytest.fixture(scope="module")
def partition(tools, tmp_path_factory):
    """Runs the compiler once for each program; the schedule and the modules, or None
    if it objects."""
    known: dict = {}

    def run(text, config, *options):
        key = text, json.dumps(config), *options
        if key not in known:
            known[key] = start(*key)
        return known[key]

    def start(text, config, *options):
        folder = tmp_path_factory.mktemp("partitioned")
        source, settings = folder / "program.mlir", folder / "config.json"
        source.write_text(text)
        settings.write_text(config)
        arguments = [f"--config={settings}", f"-o={folder / 'out'}", *options]
        done = tools.run("meshwright", "partition", source, *arguments)
        if done.returncode:
            assert "error:" in done.stderr
            return None
        return runtime.read_folder(folder / "out")

    return run


def check(program, modules, original):
    meshes = cut_meshes(jax.devices("cpu"), program["meshes"])
    executor = runtime.load(program, modules, meshes)
    arrays = runtime_programs.check_numbers(executor, original)
    for entry, array in zip(program["inputs"], arrays, strict=True):
        assert array.is_deleted() == entry["donated"]


def named(partition, seed):
    program = random_programs.generate(seed)
    return program, partition(program.text, program.config)


def of_fragments(partition, seed):
    text, topology = random_fragments.generate(seed)
    config = {"topology": {mesh: dict(axes) for mesh, axes in topology}}
    devices = sum(math.prod(size for _, size in axes) for _, axes in topology)
    return text, devices, partition(text, config, "--from=shard")


@pytest.mark.parametrize("seed", SEEDS)
def test_named_programs(partition, seed):
    program, partitioned = named(partition, seed)
    if partitioned is not None:
        check(*partitioned, numerics.strip_names(program.text))


@pytest.mark.parametrize("seed", SEEDS)
def test_programs_of_fragments(partition, tools, seed):
    text, devices, partitioned = of_fragments(partition, seed)
    if partitioned is not None:
        if devices > 8:
            pytest.skip("needs more devices than the tests have")
        original = tools.check("meshwright", "erase", "-", stdin=text)
        original = re.sub(MARKS, "", original).replace("{, ", "{")
        check(*partitioned, original)


@pytest.mark.parametrize("program", [named, of_fragments])
def test_most_programs_are_partitioned(partition, program):
    done = [program(partition, seed)[-1] for seed in SEEDS]
    assert sum(each is not None for each in done) >= len(SEEDS) // 2
