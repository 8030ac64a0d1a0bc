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
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P
from meshwright.schedule_names import PIPELINE_SCHEDULE_NAMES
from support import numerics
from support import schedule_training as training
from support.once import ONCE, work_done_once
from support.schedule_training import (
    count_copies,
    count_stages,
    read_plan,
    stage_config,
)
from support.tools import PROGRAMS, ROOT

import meshwright as mw

pytestmark = pytest.mark.usefixtures("x32", "equal_compiles_once")

MESHES, MICROBATCHES, ROWS, LENGTH, WIDTH, SYMBOLS = 2, 4, 2, 3, 4, 6
# The others order forwards only, want a vocabulary on all meshes, or train a model in
# two copies: below.
TRAINING = [
    name
    for name in PIPELINE_SCHEDULE_NAMES
    if not name.startswith(("Parallel", "VocabParallel")) and count_copies(name) == 1
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
    options = {
        "mpmd_infer_cross_mesh_reductions": True,
        "mpmd_pipeline_schedule": schedule,
        **options,
    }
    config = stage_config(schedule, topology, stages, options)
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


def make_numbered_meshes():
    devices = np.array(jax.devices()[: 2 * training.MESHES]).reshape(-1, 2)
    return {f"m{i}": Mesh(row, "x") for i, row in enumerate(devices)}


def test_two_copies_of_a_model_train_the_same(tools):
    """DualPipe: the sums of both copies wait on their meshes, then `mw.reduce`."""
    shape = f"--meshes={training.MESHES}", f"--microbatches={training.MICROBATCHES}"
    csv = tools.check("meshwright", "schedule", "DualPipe", "--csv", *shape)
    stages, meshes = count_stages(read_plan(csv)), make_numbered_meshes()
    compiled = {
        name: training.lower_training(
            "DualPipe", stages, meshes, options=options
        ).compile()
        for name, options in (("plain", {}), ("once", ONCE))
    }
    weights, *batch = training.make_inputs(stages, copies=2)
    weights, *batch = compiled["once"].place(weights, *batch)
    for expected in training.train_plainly(stages, 2, 2):
        loss, weights = compiled["once"](weights, *batch)
        assert abs(float(loss) - expected) <= 1e-5
    reduced = {
        name: sum(
            found.bytes
            for mesh in program.traffic().collectives.values()
            for found in mesh
            if found.kind == "all-reduce"
        )
        for name, program in compiled.items()
    }
    # Of four microbatches that go through each copy, one reduction is left.
    assert 0 < reduced["once"] <= reduced["plain"] / 3


def test_a_ring_infers_the_same():
    difference, _ = training.go_round(make_numbered_meshes(), ONCE)
    assert difference <= 1e-5


def test_a_program_computes_the_same_numbers(tools, tmp_path):
    source = PROGRAMS / "mpmd" / "gpt_4_4_4.mlir"
    options = (f"--set={key}=true" for key in ONCE)
    tools.check(
        *("meshwright", "partition", source, "--config", source.with_suffix(".json")),
        *("--until=shard", *options, "-o", tmp_path),
    )
    erased = tools.check("meshwright", "erase", tmp_path / "partitioned.mlir")
    original = numerics.strip_names(source.read_text())
    arguments = numerics.random_arguments(original)
    found = [numerics.run(text, arguments, fold=False) for text in (original, erased)]
    assert numerics.largest_difference(*found) <= 1e-5


EXAMPLES = ["mlp", "encoder_decoder", "actor_learner", "gpt", "flax_model"]


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_example_trains_the_same(name, tmp_path, monkeypatch):
    if name == "flax_model":
        pytest.importorskip("flax")
    path, losses = ROOT / "examples" / f"{name}.py", tmp_path / "losses.json"
    monkeypatch.setattr(sys, "argv", [str(path), "--steps=2", f"--json={losses}"])
    monkeypatch.syspath_prepend(str(path.parent))
    # The example compares each loss with that of jax.jit.
    with work_done_once(), pytest.raises(SystemExit) as done:
        runpy.run_path(str(path), run_name="__main__")
    assert done.value.code == 0
    assert len(json.loads(losses.read_text())["meshwright"]) == 2
