"""Conditionals over whole states leave each part of a state on its mesh."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jax.sharding import Mesh

import meshwright as mw

pytestmark = pytest.mark.usefixtures("x32")

DEVICES = jax.devices()
MESHES = {"a": Mesh(DEVICES[:2], "x"), "b": Mesh(DEVICES[2:4], "x")}
SIZE = 32
LEAF_BYTES = SIZE * SIZE * 4


def config(**options):
    options.setdefault("mpmd_infer_cross_mesh_reductions", True)
    return mw.make_config(
        MESHES, {"f": "a", "g": "b"}, partitioning_options={**options}
    )


def loss(w, x):
    f = mw.named_computation(lambda w, x: jnp.tanh(x @ w), name="f")
    g = mw.named_computation(lambda w, h: ((h @ w) ** 2).mean(), name="g")
    return g(w[1], f(w[0], x))


def weights():
    keys = jax.random.split(jax.random.key(0))
    return [jax.random.normal(key, (SIZE, SIZE)) / 8 for key in keys]


def batch(i):
    return jax.random.normal(jax.random.fold_in(jax.random.key(1), i), (4, SIZE))


def all_finite(tree):
    return jnp.isfinite(sum(leaf.sum() for leaf in jax.tree.leaves(tree)))


def check_equal(actual, expected):
    assert jax.tree.structure(actual) == jax.tree.structure(expected)
    for a, e in zip(jax.tree.leaves(actual), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(np.asarray(a), np.asarray(e), rtol=1e-4, atol=1e-5)


def check_training(step, state, config, steps=2):
    """Runs steps on their own outputs beside `jax.jit`; gives what was compiled."""
    lowered = mw.jit(step, config).lower(state, batch(0))
    compiled, jitted = lowered.compile(), jax.jit(step)
    shardings = compiled.input_shardings[0]
    ours = jax.device_put(state, shardings[0])
    theirs = state
    for i in range(steps):
        x = batch(i)
        ours = compiled(ours, jax.device_put(x, shardings[1]))
        theirs = jitted(theirs, x)
        check_equal(ours, theirs)
    return lowered, compiled


def check_stays_in_place(lowered, compiled):
    """No matrix of the state's size travels, and each mesh has its share."""
    for mesh, cost in lowered.cost_analysis().items():
        assert cost["bytes_transferred"] < LEAF_BYTES, mesh
    meshes = lowered.function_mesh_assignment
    inputs = jax.tree.leaves(meshes.input_meshes[0][0])
    assert inputs == ["a", "b"]
    # The next step finds each leaf of the state where this one left it.
    assert jax.tree.leaves(meshes.input_meshes[0]) == jax.tree.leaves(
        meshes.output_meshes
    )
    memory = compiled.memory_analysis()
    assert memory["a"].argument_bytes - memory["b"].argument_bytes < LEAF_BYTES


def cond_of_update(w, x):
    grads = jax.grad(loss)(w, x)
    return jax.lax.cond(
        all_finite(grads), lambda: jax.tree.map(jnp.subtract, w, grads), lambda: w
    )


def switch_of_three(w, x):
    grads = jax.grad(loss)(w, x)
    index = (x[0, 0] > 0).astype(jnp.int32) + (x[0, 1] > 0)
    branches = [
        lambda: w,
        lambda: jax.tree.map(jnp.subtract, w, grads),
        lambda: jax.tree.map(lambda a, b: a - b / 2, w, grads),
    ]
    return jax.lax.switch(index, branches)


def clip_in_a_branch(w, x):
    grads = jax.grad(loss)(w, x)

    def update():
        norm = jnp.sqrt(sum((g * g).sum() for g in jax.tree.leaves(grads)))
        return jax.tree.map(lambda a, g: a - g / jnp.maximum(norm, 1), w, grads)

    return jax.lax.cond(all_finite(grads), update, lambda: w)


def conditional_in_a_branch(w, x):
    grads = jax.grad(loss)(w, x)

    def update():
        return jax.lax.cond(
            x[0, 0] > 0,
            lambda: jax.tree.map(jnp.subtract, w, grads),
            lambda: jax.tree.map(jnp.add, w, grads),
        )

    return jax.lax.cond(all_finite(grads), update, lambda: w)


def one_after_the_other(w, x):
    for _ in range(2):
        w = cond_of_update(w, x)
    return w


def in_a_call(w, x):
    return mw.call(cond_of_update, call_counter=0)(w, x)


def select_per_leaf(w, x):
    grads = jax.grad(loss)(w, x)
    ok = all_finite(grads)
    return jax.tree.map(lambda a, g: jnp.where(ok, a - g, a), w, grads)


PROGRAMS = [
    cond_of_update,
    switch_of_three,
    clip_in_a_branch,
    conditional_in_a_branch,
    one_after_the_other,
    in_a_call,
    select_per_leaf,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_state_stays_leaf_by_leaf(program):
    def step(state, x):
        return (program(state[0], x),)

    allowed = config(mpmd_infer_transfers=True)
    check_stays_in_place(*check_training(step, (weights(),), allowed))


def test_predicate_travels_without_leave_to_infer_transfers():
    def step(state, x):
        return (cond_of_update(state[0], x),)

    check_stays_in_place(*check_training(step, (weights(),), config()))


def test_costly_common_work_travels_and_the_state_does_not():
    def step(state, x):
        (w,) = state
        grads = jax.grad(loss)(w, x)

        def update():
            common = grads[0] @ grads[1]
            return jax.tree.map(lambda a: a - common, w)

        return (jax.lax.cond(all_finite(grads), update, lambda: w),)

    allowed = config(mpmd_infer_transfers=True)
    lowered, compiled = check_training(step, (weights(),), allowed)
    memory = compiled.memory_analysis()
    assert memory["b"].argument_bytes == LEAF_BYTES
    # One gradient there, the product back.
    for cost in lowered.cost_analysis().values():
        assert cost["bytes_transferred"] < 2 * LEAF_BYTES


def test_an_effect_in_a_branch_happens_as_often_as_it_is_written(capfd):
    def step(w, x):
        grads = jax.grad(loss)(w, x)

        def update():
            jax.debug.print("updated")
            return jax.tree.map(jnp.subtract, w, grads)

        return jax.lax.cond(all_finite(grads), update, lambda: w)

    jax.block_until_ready(
        mw.jit(step, config(mpmd_infer_transfers=True))(weights(), batch(0))
    )
    jax.effects_barrier()
    # Once per device that runs it, and on one mesh.
    assert capfd.readouterr().out.count("updated") in (1, 2)


OPTIMIZERS = {
    "apply_if_finite": optax.apply_if_finite(optax.adam(1e-2), 3),
    "all_of_them": optax.MultiSteps(
        optax.apply_if_finite(
            optax.chain(optax.clip_by_global_norm(0.1), optax.adamw(1e-2)), 3
        ),
        2,
    ),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers_that_skip_steps_train(name):
    optimizer = OPTIMIZERS[name]

    def step(state, x):
        w, opt_state = state
        grads = jax.grad(loss)(w, x)
        updates, opt_state = optimizer.update(grads, opt_state, w)
        return optax.apply_updates(w, updates), opt_state

    state = weights(), optimizer.init(weights())
    allowed = config(mpmd_infer_transfers=True)
    check_stays_in_place(*check_training(step, state, allowed, steps=4))
