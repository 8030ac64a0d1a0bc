# SPDX-License-Identifier: Apache-2.0
"""Every schedule and example trains the same with work done once.

The model is a small language model whose weights are split over the devices that
split the batch, and used in bfloat16; the first and the last stage share one.
"""

import functools
import json
import runpy
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from conftest import ROOT
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P
from meshwright.schedule_names import PIPELINE_SCHEDULE_NAMES
from schedule_training import count_copies, count_stages, read_plan

import meshwright as mw

pytestmark = pytest.mark.usefixtures("x32", "quick_compiles")

MESHES, MICROBATCHES, ROWS, LENGTH, WIDTH, SYMBOLS = 2, 4, 2, 3, 4, 6
ONCE = {"mpmd_defer_reductions": True, "mpmd_hoist_invariants": True}
# The others order forwards only, or need a model in two copies.
TRAINING = [
    name
    for name in PIPELINE_SCHEDULE_NAMES
    if not name.startswith("Parallel") and count_copies(name) == 1
]


def use(weight):
    return weight.astype(jnp.bfloat16)


def block(params, x):
    gate, value = jnp.split(x @ use(params["up"]) + use(params["bias"]), 2, -1)
    # Earlier places alone, as in attention.
    causal = jnp.tril(jnp.ones((LENGTH, LENGTH), x.dtype))
    mixed = jnp.einsum("ts,bsd->btd", causal, jnp.tanh(gate) * value)
    return x + mixed @ use(params["down"])


def first(params, embedding, tokens):
    return block(params, use(embedding)[tokens[:, :-1]])


def last(params, embedding, x, tokens):
    scores = (block(params, x) @ use(embedding).T).astype(jnp.float32)
    right = jax.nn.one_hot(tokens[:, 1:], SYMBOLS)
    return -(jax.nn.log_softmax(scores) * right).sum(-1).mean()


def loss(params, tokens):
    blocks, embedding = params["blocks"], mw.broadcast(params["embedding"])
    x = mw.named_computation(first, name="stage0")(blocks[0], embedding, tokens)
    for stage, layer in enumerate(blocks[1:-1], 1):
        x = mw.named_computation(block, name=f"stage{stage}")(layer, x)
    end = mw.named_computation(last, name=f"stage{len(blocks) - 1}")
    return end(blocks[-1], embedding, x, tokens)


def step(params, microbatches):
    """The mean loss and what gradient descent makes of the parameters."""
    gradient = mw.pipeline.accumulate(jax.value_and_grad(loss), len(microbatches))
    value, grads = gradient(params, microbatches)
    return jax.tree.map(lambda p, g: p - 0.2 * g, params, grads), value


def make_inputs(stages):
    random = np.random.default_rng(0)

    def normal(*shape):
        return (0.5 * random.normal(size=shape)).astype(np.float32)

    blocks = [
        {
            "up": normal(WIDTH, 2 * WIDTH),
            "bias": normal(2 * WIDTH),
            "down": normal(WIDTH, WIDTH),
        }
        for _ in range(stages)
    ]
    shape = MICROBATCHES, ROWS, LENGTH + 1
    tokens = list(random.integers(0, SYMBOLS, shape).astype(np.int32))
    return {"blocks": blocks, "embedding": normal(SYMBOLS, WIDTH)}, tokens


@functools.cache
def train_plainly(stages):
    params, tokens = make_inputs(stages)
    return jax.device_get(jax.jit(step)(params, tokens))


def partition(schedule, stages, options):
    devices = np.array(jax.devices()[: 2 * MESHES]).reshape(MESHES, 2)
    topology = {f"m{i}": Mesh(row, "data") for i, row in enumerate(devices)}
    where = mw.pipeline.stage_assignment(schedule, topology, stages)
    config = mw.make_config(
        topology,
        {f"stage{stage}": mesh for stage, mesh in where.items()},
        name_to_stage_assignment={f"stage{stage}": stage for stage in where},
        partitioning_options={
            "mpmd_infer_transfers": True,
            "mpmd_infer_cross_mesh_reductions": True,
            "mpmd_pipeline_schedule": schedule,
            **options,
        },
    )
    split = NamedSharding(topology["m0"], P("data"))
    return mw.jit(step, config, in_shardings=(split, split))


def check_equal_to_rounding(found, expected):
    (params, value), (right, right_value) = found, expected
    np.testing.assert_allclose(value, right_value, rtol=2e-3)
    before, _ = make_inputs(len(right["blocks"]))

    def compare(start, ours, theirs):
        # Of what the step changes: a microbatch is a quarter of it.
        change, difference = np.asarray(theirs - start), np.asarray(ours - theirs)
        assert np.linalg.norm(difference) <= 0.03 * np.linalg.norm(change)

    jax.tree.map(compare, before, jax.device_get(params), right)


@pytest.mark.parametrize("schedule", TRAINING)
def test_every_schedule_trains_the_same(tools, schedule):
    stages = MESHES
    if schedule != "auto":
        shape = f"--meshes={MESHES}", f"--microbatches={MICROBATCHES}"
        csv = tools.check("meshwright", "schedule", schedule, "--csv", *shape)
        stages = count_stages(read_plan(csv))
    found = partition(schedule, stages, ONCE)(*make_inputs(stages))
    check_equal_to_rounding(found, train_plainly(stages))


@pytest.mark.parametrize(
    "command",
    [["mlp.py"], ["encoder_decoder.py"], ["actor_learner.py"], ["gpt.py"]],
    ids=lambda command: command[0],
)
def test_every_example_trains_the_same(command, tmp_path, monkeypatch):
    make_config = mw.make_config

    def make_config_with_both(*args, partitioning_options=None, **kwargs):
        options = {**(partitioning_options or {}), **ONCE}
        return make_config(*args, partitioning_options=options, **kwargs)

    path, losses = ROOT / "examples" / command[0], tmp_path / "losses.json"
    monkeypatch.setattr(mw, "make_config", make_config_with_both)
    monkeypatch.setattr(
        sys, "argv", [str(path), "--steps=2", f"--json={losses}", *command[1:]]
    )
    monkeypatch.syspath_prepend(str(path.parent))
    # The example compares each loss with that of jax.jit.
    with pytest.raises(SystemExit) as done:
        runpy.run_path(str(path), run_name="__main__")
    assert done.value.code == 0
    assert len(json.loads(losses.read_text())["meshwright"]) == 2
