"""Cuts, places and order together: a small version of bench/unequal_layers.py."""

import functools
import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import meshwright as mw
from bench import unequal_layers

DENSE = {
    "name": "a large vocabulary",
    **{"width": 4096, "heads": 32, "kv_heads": 8, "head": 128, "hidden": 16384},
    **{"gated": False, "words": 256000, "length": 2048, "batch": 1},
    **{"meshes": 4, "microbatches": 8, "layers": "(AF)*8"},
}
MIXED = DENSE | {
    "name": "state-space layers, windows and experts",
    **{"state": 64, "window": 256, "experts": 4, "active": 2, "words": 32000},
    **{"gated": True, "layers": "(S LF SX A)*2"},
}


@pytest.fixture(scope="module")
def measured():
    """What the bench finds of a model, by its name."""
    models = {model["name"]: model for model in (DENSE, MIXED)}
    return functools.cache(
        lambda name: unequal_layers.measure(models[name], "h200", "141GB")
    )


@pytest.mark.parametrize("model", [DENSE, MIXED], ids=["dense", "mixed"])
def test_the_plan_is_shorter_as_a_program(measured, model):
    baseline, peak, plans = measured(model["name"])
    plan, step, memory, _ = plans["auto"]
    assert plan.schedule == "auto" and plan.meshes == 4
    assert step < 0.9 * baseline
    assert step <= plans["even"][1]
    assert max(peak, memory, plan.peak_bytes) < 141e9
    # The cost model of layers is not that of fragments, but near.
    assert step == pytest.approx(plan.step_seconds, rel=0.1)


def test_the_head_has_a_mesh_of_its_own(measured):
    _, _, plans = measured(DENSE["name"])
    mesh, layers = plans["auto"][0].stages[-1]
    assert layers[-1] == "head" and len(layers) <= 2
    assert [at for at, _ in plans["auto"][0].stages].count(mesh) == 1


def test_every_model_divides_evenly():
    names = set()
    for model in unequal_layers.read_models():
        places = unequal_layers.place_equally(model)
        stages = [stage for name, (_, stage) in places.items() if "layer" in name]
        counts = {stages.count(stage) for stage in stages}
        assert len(counts) == 1 and max(stages) + 1 == 2 * model["meshes"]
        assert model["source"] and model["note"]
        names.add(model["name"])
    assert len(names) == 5


def test_layers_are_read():
    found = unequal_layers.read_layers("((A F)*2 X)*2 S")
    assert "".join(found) == "AFAFXAFAFXS"


def test_a_plan_trains_with_its_own_cuts(tmp_path):
    """Places in any order and unequal numbers of stages, beside jax.jit."""
    sizes = [8, 8, 8, 8, 96]

    def loss(weights, x):
        for number, (up, down) in enumerate(weights):
            x = mw.named_computation(
                lambda up, down, x: x + jnp.tanh(x @ up) @ down, name=f"l{number}"
            )(up, down, x)
        return mw.named_computation(lambda x: (x**2).mean(), name="l4")(x)

    def step(weights, x):
        return mw.pipeline.accumulate(jax.value_and_grad(loss), 4, batch_argnums=1)(
            weights, x
        )

    random = np.random.default_rng(0)
    weights = [
        tuple(random.normal(size=s, scale=0.3).astype("f") for s in ((4, n), (n, 4)))
        for n in sizes
    ]
    x = random.normal(size=(8, 4)).astype("f")
    one = {"m": jax.sharding.Mesh(jax.devices()[:1], "data")}
    lowered = mw.jit(step, mw.make_config(one, {f"l{i}": "m" for i in range(5)})).lower(
        weights, x
    )
    layers = [
        {"name": f"l{i}", "flops": size * 1e9, "activation_bytes": 1e4}
        for i, size in enumerate(sizes)
    ]
    found = mw.plan(
        layers, devices=2, meshes=[2], batch=4, microbatches=[4], schedules=["auto"]
    )
    assert found.stages[-1] == (found.stages[-1][0], ("l4",))
    assert (
        mw.plan(lowered, devices=1, schedules=["1F1B"]).microbatches == 4
    )  # Those of the loop.
    meshes = {
        f"mesh{i}": jax.sharding.Mesh(jax.devices()[i : i + 1], "data")
        for i in range(2)
    }
    places = found.config["assignment"]
    config = mw.make_config(
        meshes,
        {name: mesh for name, (mesh, _) in places.items()},
        name_to_stage_assignment={name: stage for name, (_, stage) in places.items()},
        partitioning_options=found.config["options"],
    )
    value, grads = mw.jit(step, config)(weights, x)
    expected, wanted = step(weights, x)
    np.testing.assert_allclose(value, expected, rtol=1e-5)
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6),
        grads,
        wanted,
    )
    found.save(tmp_path / "c.json")
    saved = json.loads((tmp_path / "c.json").read_text())
    assert saved["options"]["mpmd_schedule_memory"]
