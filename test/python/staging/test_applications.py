"""A model with marks that a step applies several times."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh

import meshwright as mw

pytestmark = pytest.mark.usefixtures("equal_compiles_once")

MESHES = {f"m{i}": Mesh(jax.devices()[i : i + 1], "x") for i in range(4)}
WIDTH, MICROBATCHES = 8, 4


def weights(count):
    draw = np.random.default_rng(0).standard_normal
    return [(draw((WIDTH, WIDTH)) / 3).astype("f") for _ in range(count)]


X = np.linspace(-1, 1, 2 * MICROBATCHES * WIDTH, dtype="f").reshape(-1, WIDTH)


def model(ws, x):
    for number, w in enumerate(ws):
        x = jnp.tanh((mw.stage_boundary(x) if number else x) @ w)
    return x


def loss(ws, x):
    return (model(ws, x) ** 2).mean()


def moved(ws, grads):
    return jax.tree.map(lambda w, g: w - 0.3 * g, ws, grads)


def perturbed(ws, x):
    grads = jax.grad(loss)(ws, x)
    norm = jnp.sqrt(sum((g**2).sum() for g in grads))
    return [w + 0.1 * g / norm for w, g in zip(ws, grads, strict=True)]


TOGETHER = {
    "two views": jax.value_and_grad(
        lambda ws, x: ((model(ws, x) - model(ws, -2 * x)) ** 2).mean()
    ),
    "three losses": jax.value_and_grad(
        lambda ws, x: loss(ws, x) + loss(ws, 2 * x) + loss(ws, x[::-1])
    ),
    "two gradients": lambda ws, x: (jax.grad(loss)(ws, x), jax.grad(loss)(ws, -2 * x)),
    "a teacher": jax.value_and_grad(
        lambda ws, x: (
            (model(ws, x) - jax.lax.stop_gradient(model([2 * w for w in ws], x))) ** 2
        ).mean()
    ),
    "recomputed": jax.value_and_grad(
        lambda ws, x: jax.checkpoint(loss)(ws, x) + jax.checkpoint(loss)(ws, 2 * x)
    ),
    "a step of SGD each": lambda ws, x: [
        moved(ws, jax.grad(loss)(ws, part)) for part in (x, 2 * x)
    ],
}
ONE_AFTER_THE_OTHER = {
    "sharpness": lambda ws, x: jax.value_and_grad(loss)(perturbed(ws, x), x),
    "two steps": lambda ws, x: moved(
        moved(ws, jax.grad(loss)(ws, x)),
        jax.grad(loss)(moved(ws, jax.grad(loss)(ws, x)), -x),
    ),
    "the loss afterwards": lambda ws, x: loss(moved(ws, jax.grad(loss)(ws, x)), x),
    "the better one": lambda ws, x: jax.tree.map(
        lambda a, b: jnp.where(loss(moved(ws, ws), x) < loss(ws, x), a, b),
        moved(ws, jax.grad(loss)(ws, x)),
        ws,
    ),
}


def check(step, config, count):
    args = weights(count), X
    lowered = mw.jit(step, config).lower(*args)
    compiled = lowered.compile()
    # Op by op: to compile another program for each step takes more than to run it.
    found, wanted = compiled(*compiled.place(*args)), step(*args)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)
    return lowered


def of_stages(lowered):
    """Mesh by mesh, which parts of stages run there in order."""
    found = {}
    for item in lowered.partitioning_result.program["items"]:
        if item["kind"] == "call" and item["origins"]:
            found.setdefault(item["mesh"], []).append(item["origins"][0])
    return found


def config(meshes, schedule):
    meshes = dict(list(MESHES.items())[:meshes])
    return mw.make_config(meshes, pipeline_schedule=mw.get_pipeline_schedule(schedule))


# Meshes and stages.
SHAPES = {"1F1B": (3, 3), "ZeroBubbleH1": (2, 2), "Interleaved1F1B": (2, 4)}


@functools.cache
def order_of_one(schedule):
    """What each mesh runs where the model is applied once."""
    meshes, count = SHAPES[schedule]
    step = mw.pipeline.accumulate(jax.value_and_grad(loss), MICROBATCHES)
    return of_stages(mw.jit(step, config(meshes, schedule)).lower(weights(count), X))


@pytest.mark.parametrize(
    ("name", "schedule"),
    [
        *((name, "1F1B") for name in TOGETHER),
        # What is recomputed, and what has gradients of its own, in halves of backwards.
        *((name, "ZeroBubbleH1") for name in ("recomputed", "two gradients")),
        *((name, "Interleaved1F1B") for name in ("three losses", "a teacher")),
    ],
)
def test_what_does_not_depend_on_each_other_is_one_pipeline(name, schedule, caplog):
    meshes, count = SHAPES[schedule]
    step = mw.pipeline.accumulate(TOGETHER[name], MICROBATCHES)
    lowered = check(step, config(meshes, schedule), count)
    assert not caplog.messages
    if name != "a step of SGD each":  # What it does beside is no stage's.
        assert of_stages(lowered) == order_of_one(schedule)


@pytest.mark.parametrize("name", [*TOGETHER, *ONE_AFTER_THE_OTHER])
def test_a_step_without_microbatches_may_apply_a_model_often(name, caplog):
    step = {**TOGETHER, **ONE_AFTER_THE_OTHER}[name]
    lowered = check(step, mw.make_config(dict(list(MESHES.items())[:3])), 3)
    assert not caplog.messages
    meshes = lowered.function_mesh_assignment
    assert meshes.input_meshes[0] == ["m0", "m1", "m2"]
    sent = [
        item["bytes"]
        for item in lowered.partitioning_result.program["items"]
        if item["kind"] == "transfer"
    ]
    assert max(sent) <= X.nbytes * 3  # Activations of the widest round.


def test_an_application_to_what_a_gradient_gave_has_no_schedule(caplog):
    step = mw.pipeline.accumulate(ONE_AFTER_THE_OTHER["sharpness"], MICROBATCHES)
    lowered = check(step, config(2, "1F1B"), 2)
    (message,) = caplog.messages
    assert "for a model applied to the result of its own gradient" in message
    assert lowered.function_mesh_assignment.input_meshes[0] == ["m0", "m1"]


def test_applications_of_one_round_have_as_many_stages():
    def both(ws, x):
        return loss(ws, x) + loss(ws[:2], x)

    with pytest.raises(ValueError, match=r"test_applications.py:.*with 1 and 2 marks"):
        mw.jit(both, config(3, "1F1B")).lower(weights(3), X)

    def in_turn(ws, x):
        return loss(moved(ws, jax.grad(loss)(ws, x))[:2], x)

    with pytest.raises(ValueError, match="functions of 2 and 3 stages are applied"):
        mw.jit(in_turn, config(3, "1F1B")).lower(weights(3), X)


def test_a_derivative_of_what_a_gradient_gave_is_made_of_calls(caplog):
    def learned(ws, x):
        return loss(moved(ws, jax.grad(loss)(ws, x)), x)

    with pytest.raises(ValueError, match=r"its own gradient gave.*mw.call\(f, "):
        mw.jit(jax.grad(learned), config(2, "1F1B")).lower(weights(2), X)

    def of_calls(ws, x):
        grads = mw.call(jax.grad(loss), call_counter=0)(ws, x)
        return mw.call(loss, call_counter=1)(moved(ws, grads), x)

    check(jax.value_and_grad(of_calls), config(2, "1F1B"), 2)
    assert "runs in the order in which it is written" in caplog.text
