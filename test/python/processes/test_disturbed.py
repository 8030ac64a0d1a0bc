"""Runs of examples/resume.py that are killed, stopped or asked to end at random moments
train to the losses of one that is not, and with any number of processes."""

import concurrent.futures
import pathlib
import shutil
import subprocess

import jax
import numpy as np
import orbax.checkpoint as ocp
import pytest
from support.launching import FORKING, LIMIT, environment

from bench import disturbed_runs, killed_runs

STAGES = ("first", "second")  # Of the example.
# Seconds that a process waits for another one, which does not begin together with it.
TIMEOUT = 15
# Either process is either killed or stopped, once while it starts and once later; the
# first start restores what was trained, the other one has nothing yet.
CHAINS = [(29, 0), (22, 24)]
# What these runs are launched by; each process starts Python only where processes are
# disturbed while they start, and where the launcher is killed.
LAUNCHER = (*FORKING, "orbax.checkpoint")
# Once of each kind: killed, stopped, a full disk, closed terminals and so on; of two
# processes or three.
SEEDS = dict.fromkeys((336, 1, 2, 3, 4), LAUNCHER) | {41: killed_runs.LAUNCHER}
# The numbers of processes that go on with what two have saved, and where they end.
OTHERS = {4: killed_runs.STEPS - 3, 1: killed_runs.STEPS}


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory) -> pathlib.Path:
    return tmp_path_factory.mktemp("disturbed") / "checkpoints"


@pytest.fixture(scope="module")
def undisturbed(checkpoints) -> dict[int, str]:
    return killed_runs.undisturbed(2, TIMEOUT, str(checkpoints), launcher=LAUNCHER)


@pytest.fixture(scope="module")
def disturbed(undisturbed) -> tuple[list, list]:
    """How the chains and the single runs have ended: futures that are done."""
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        return (
            [
                pool.submit(
                    *(killed_runs.disturb, chain, 2, TIMEOUT, undisturbed),
                    launcher=LAUNCHER,
                )
                for chain in CHAINS
            ],
            [
                pool.submit(
                    *(disturbed_runs.disturb, seed, TIMEOUT, undisturbed),
                    launcher=launcher,
                )
                for seed, launcher in SEEDS.items()
            ],
        )


def test_training_goes_on_after_random_faults(disturbed):
    """Each is reported, and resumed to the same."""
    for run in disturbed[0]:
        assert run.result()


def test_runs_go_on_by_themselves_whatever_disturbs_them(disturbed):
    kinds = [run.result()[0] for run in disturbed[1]]
    assert sorted(kinds) == sorted(disturbed_runs.KINDS)


def restore_on_one_stage(checkpoints: pathlib.Path) -> None:
    """What several processes wrote for two stages, as one that splits each leaf."""
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:4]).reshape(2, 2), ("x", "y"))
    types = {name: jax.ShapeDtypeStruct((16, 16), np.float32) for name in STAGES}
    with ocp.CheckpointManager(checkpoints) as manager:
        step = manager.latest_step()
        found = []
        for spec in (jax.P("x", "y"), jax.P()):
            there = jax.NamedSharding(mesh, spec)
            like = jax.tree.map(lambda t, s=there: t.update(sharding=s), (types, types))
            args = ocp.args.StandardRestore(like)
            found.append(manager.restore(step, args=args))
            for leaf in jax.tree.leaves(found[-1]):
                assert leaf.sharding == there
    for split, whole in zip(*map(jax.tree.leaves, found), strict=True):
        assert np.asarray(split).any()
        np.testing.assert_array_equal(split, whole)


def test_checkpoints_are_restored_by_another_number_of_processes(
    undisturbed, checkpoints, tmp_path
):
    checkpoints = shutil.copytree(checkpoints, tmp_path / "checkpoints")
    names = [folder.name for folder in checkpoints.iterdir()]
    *_, first, last = sorted(map(int, filter(str.isdecimal, names)))
    # The others have more to do after the one before.
    shutil.rmtree(checkpoints / str(last))
    steps: dict[int, str] = {}
    for processes, end in OTHERS.items():
        options = ["--devices-per-process=2"] if processes == 1 else []
        command = killed_runs.command(
            processes, TIMEOUT, str(checkpoints), options, LAUNCHER
        )
        command[-2] = f"--steps={end}"
        done = subprocess.run(
            command,
            env=environment(MESHWRIGHT_CACHE_DIR=killed_runs.CACHE.name),
            capture_output=True,
            text=True,
            timeout=LIMIT,
        )
        assert done.returncode == 0, done.stderr
        found = killed_runs.losses(done.stdout)
        assert sorted(found) == list(range(first + 1, end))
        first = (end - 1) // killed_runs.EVERY * killed_runs.EVERY
        steps |= found
        if processes == 4:
            restore_on_one_stage(checkpoints)
    for step, loss in steps.items():
        assert abs(float(undisturbed[step]) - float(loss)) < 1e-5
