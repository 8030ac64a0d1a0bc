"""A loop over microbatches that was written as `jax.lax.scan`."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

import meshwright as mw

MESHES = {f"m{i}": Mesh(jax.devices()[i : i + 1], "x") for i in range(2)}
WEIGHTS = [jax.random.normal(jax.random.key(i), (4, 4)) for i in range(2)]
XS = jax.random.normal(jax.random.key(9), (4, 8, 4))
SCHEDULES = ["1F1B", "GPipe", "ZeroBubbleH1", "CircularWithReversedBackward"]


def config(schedule="1F1B"):
    schedule = mw.get_pipeline_schedule(schedule)
    return mw.make_config(MESHES, pipeline_schedule=schedule)


def loss(weights, x):
    h = mw.stage_boundary(jnp.tanh(x @ weights[0]))
    return ((h @ weights[1]) ** 2).mean()


def step_by(scan, traces=None):
    """A step as trainers write it: weights, sums and counters are carried along."""

    def step(weights, xs):
        def body(carry, x):
            if traces is not None:
                traces.append(x)
            value, grads = jax.value_and_grad(loss)(carry["weights"], x)
            carry["grads"] = jax.tree.map(jnp.add, carry["grads"], grads)
            carry["total"] += value
            carry["count"] += 1
            return carry, {"loss": value}

        zeros = jax.tree.map(jnp.zeros_like, weights)
        carry = {"weights": weights, "grads": zeros, "total": 0.0, "count": 0}
        carry, logs = scan(body, carry, xs)
        grads = [grad / carry["count"] for grad in carry["grads"]]
        new = [w - 0.1 * grad for w, grad in zip(weights, grads, strict=True)]
        return new, carry["total"], logs

    return step


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_it_gives_what_lax_scan_gives(schedule):
    traces = []
    wanted = jax.jit(step_by(jax.lax.scan))(WEIGHTS, XS)
    step = step_by(mw.pipeline.scan_microbatches, traces)
    found = mw.jit(step, config(schedule))(WEIGHTS, XS)
    assert len(traces) == 1
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6)
    assert [w.sharding.mesh for w in found[0]] == list(MESHES.values())


def test_microbatches_are_ordered_by_the_schedule():
    step = step_by(mw.pipeline.scan_microbatches)
    program = mw.jit(step, config()).lower(WEIGHTS, XS).partitioning_result.program
    order = [
        "B" if any("(1)" in origin for origin in item["origins"]) else "F"
        for item in program["items"]
        if item["kind"] == "call" and item["mesh"] == "m0" and item["origins"]
    ]
    assert "".join(order) == "FFBFBFBB"


def test_without_meshwright_it_is_lax_scan():
    step = step_by(mw.pipeline.scan_microbatches)
    text = str(jax.make_jaxpr(step)(WEIGHTS, XS))
    assert text.count("scan[") == 1 and "mpmd_call" not in text


def test_state_of_variables_goes_from_one_to_the_next():
    """A pure state of NNX is a tree of variables, which are not those of a model."""
    graph, state = nnx.split(nnx.Dropout(0.5, rngs=nnx.Rngs(0)))

    def step_by(scan):
        def step(state, xs):
            def body(state, x):
                model = nnx.merge(graph, state)
                return nnx.split(model)[1], model(x)

            return scan(body, state, xs)

        return step

    wanted = jax.jit(step_by(jax.lax.scan))(state, XS)
    one = mw.make_config({"m0": MESHES["m0"]})
    found = mw.jit(step_by(mw.pipeline.scan_microbatches), one)(state, XS)
    np.testing.assert_array_equal(found[1], wanted[1])
    assert [int(leaf.count[...]) for leaf in (found[0].rngs, wanted[0].rngs)] == [4, 4]


def test_what_it_refuses():
    scan = mw.pipeline.scan_microbatches

    def lower(body, init, xs, length=None):
        def step(init, xs):
            return scan(body, init, xs, length)

        mw.jit(step, config()).lower(init, xs)

    with pytest.raises(TypeError, match="must give a pair of the next carry"):
        lower(lambda c, x: c + x.sum(), 0.0, XS)
    with pytest.raises(TypeError, match=r"the carry float32\[\] and gives float32\[8"):
        lower(lambda c, x: (c + x, None), 0.0, XS)
    with pytest.raises(ValueError, match="xs holds no array; give length="):
        lower(lambda c, x: (c, None), 0.0, None)
    with pytest.raises(ValueError, match=r"must be equal, got xs: 4, length: 3"):
        lower(lambda c, x: (c, None), 0.0, XS, 3)


def test_constraints_of_what_is_known_make_no_other_fragments():
    """Trainers constrain their state to the shardings that it has, and zeros, too."""
    meshes = {f"m{i}": Mesh(jax.devices()[2 * i : 2 * i + 2], "x") for i in range(2)}
    schedule = mw.get_pipeline_schedule("1F1B")
    split = NamedSharding(meshes["m0"], P("x"))
    traces = []

    def step(constrain):
        def step(weights, xs):
            def body(carry, x):
                traces.append(constrain)
                gradient = jax.value_and_grad(loss)(weights, x)
                return jax.tree.map(jnp.add, carry, gradient), None

            if constrain:
                weights = jax.lax.with_sharding_constraint(weights, split)
            zeros = jax.tree.map(jnp.zeros_like, weights)
            if constrain:
                zeros = jax.lax.with_sharding_constraint(zeros, split)
            return mw.pipeline.scan_microbatches(body, (0.0, zeros), xs)[0]

        return mw.jit(
            step,
            mw.make_config(meshes, pipeline_schedule=schedule),
            in_shardings=(split, None),
        )

    plain, constrained = (step(flag).lower(WEIGHTS, XS) for flag in (False, True))
    counts = [
        len(lowered.partitioning_result.fragments) for lowered in (plain, constrained)
    ]
    assert counts[0] == counts[1]
    assert traces == [False, True]
    found, wanted = (step(flag)(WEIGHTS, XS) for flag in (True, False))
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5), found, wanted
    )


def test_constraints_to_another_sharding_stay():
    meshes = {f"m{i}": Mesh(jax.devices()[2 * i : 2 * i + 2], "x") for i in range(2)}
    rows, columns = P("x"), P(None, "x")
    known = NamedSharding(meshes["m0"], rows)

    def step(spec):
        def step(weights, x):
            said = NamedSharding(meshes["m0"], spec)
            weights = jax.lax.with_sharding_constraint(weights, said)
            return loss(weights, x), weights

        return mw.jit(step, mw.make_config(meshes), in_shardings=(known, None))

    for spec in (rows, columns):
        _, weights = step(spec)(WEIGHTS, XS[0])
        assert [w.sharding.spec for w in weights] == [spec, spec]
