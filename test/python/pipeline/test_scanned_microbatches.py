"""Loops of `jax.lax` over microbatches, as plain JAX code has them."""

import functools
import gc
import logging
import types
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh
from meshwright.core import collector
from meshwright.pipeline import scanned_microbatches
from meshwright.tracing.primitives import call_p

import meshwright as mw

pytestmark = pytest.mark.usefixtures("equal_compiles_once")

MESHES = {f"m{i}": Mesh(jax.devices()[i : i + 1], "x") for i in range(2)}
WIDTH, ROWS, COUNT = 16, 2, 4
SCHEDULE = mw.get_pipeline_schedule("1F1B")
WAYS = ("marks", "names", "auto")


def weights():
    draw = np.random.default_rng(0).standard_normal
    return [(draw((WIDTH, WIDTH)) / 4).astype("f") for _ in MESHES]


XS = np.linspace(-1, 1, COUNT * ROWS * WIDTH, dtype="f").reshape(COUNT, ROWS, WIDTH)
KEY = jax.random.key(0)


def layer(x, w):
    return jnp.tanh(x @ w)


def loss_for(way):
    def loss(ws, x):
        for number, w in enumerate(ws):
            if way == "names":
                x = mw.named_computation(layer, name=f"layer{number}")(x, w)
            else:
                x = layer(mw.stage_boundary(x) if way == "marks" and number else x, w)
        return (x**2).mean()

    return loss


def config_for(way, schedule=SCHEDULE, **options):
    if way == "auto":
        return mw.auto_config(MESHES, pipeline_schedule=schedule, **options)
    names = {f"layer{i}": mesh for i, mesh in enumerate(MESHES)}
    return mw.make_config(
        MESHES,
        names if way == "names" else {},
        name_to_stage_assignment={f"layer{i}": i for i in range(2)}
        if way == "names"
        else {},
        partitioning_options={
            "mpmd_infer_transfers": True,
            "mpmd_infer_cross_mesh_reductions": True,
        },
        pipeline_schedule=schedule,
        **options,
    )


def zeros(ws):
    return jax.tree.map(jnp.zeros_like, ws)


def added(ws, xs, loss):
    def body(carry, x):
        return jax.tree.map(jnp.add, carry, jax.value_and_grad(loss)(ws, x)), None

    return jax.lax.scan(body, (0.0, zeros(ws)), xs)[0]


def carried(ws, xs, loss):
    """Trainers carry weights, counts and keys along."""

    def body(carry, x):
        keys = jax.random.split(carry["key"])
        x = x * jax.random.bernoulli(keys[0], 0.9, x.shape)
        value, grads = jax.value_and_grad(loss)(carry["weights"], x)
        total = jax.tree.map(jnp.add, carry["total"], grads)
        new = {"total": total, "key": keys[1], "count": carry["count"] + 1}
        return {**carry, **new}, {"loss": value}

    first = {"weights": ws, "total": zeros(ws), "key": KEY, "count": 0}
    last, logs = jax.lax.scan(body, first, xs)
    return logs["loss"].sum() / last["count"], last["total"]


def backwards(ws, xs, loss):
    def body(total, x):
        value, grads = jax.value_and_grad(loss)(ws, x)
        return jax.tree.map(jnp.add, total, grads), value

    total, values = jax.jit(lambda: jax.lax.scan(body, zeros(ws), xs, reverse=True))()
    return (values * jnp.arange(COUNT)).sum(), total


def indexed(ws, xs, loss):
    def body(i, carry):
        x = jax.lax.dynamic_slice_in_dim(xs.reshape(-1, WIDTH), i * ROWS, ROWS)
        return jax.tree.map(jnp.add, carry, jax.value_and_grad(loss)(ws, x))

    return jax.lax.fori_loop(0, COUNT, body, (0.0, zeros(ws)))


def mapped(ws, xs, loss):
    values, grads = jax.lax.map(lambda x: jax.value_and_grad(loss)(ws, x), xs)
    return values.mean(), jax.tree.map(lambda grad: grad.mean(0), grads)


def logged(ws, xs, loss):
    """A norm of the running sum is in the logs, and no trip waits for it."""

    def body(carry, x):
        value, grads = jax.value_and_grad(loss)(ws, x)
        carry = jax.tree.map(jnp.add, carry, grads)
        return carry, (value, sum(jnp.vdot(grad, grad) for grad in carry))

    total, (values, norms) = jax.lax.scan(body, zeros(ws), xs)
    return values.sum() + norms.sum(), total


LOOPS = {f.__name__: f for f in (added, carried, backwards, indexed, mapped, logged)}


def step_of(loop, way):
    loss = loss_for(way)

    def step(ws, xs):
        value, grads = loop(ws, xs, loss)
        return jax.tree.map(lambda w, g: w - 0.1 * g, ws, grads), value

    return step


def items_of(lowered, kind):
    items = lowered.partitioning_result.program["items"]
    return [item for item in items if item["kind"] == kind]


def counters_of(step, config):
    traced = mw.jit(step, config).trace(weights(), XS)
    calls = [eqn for eqn in traced.jaxpr.eqns if eqn.primitive is call_p]
    return [eqn.params["call_counter"] for eqn in calls]


def order_on(lowered, mesh):
    return "".join(
        "B" if any("(1)" in origin for origin in item["origins"]) else "F"
        for item in items_of(lowered, "call")
        if item["mesh"] == mesh and item["origins"]
    )


@functools.cache
def run_plainly(loop):
    """What the step gives without marks or names, in plain JAX."""
    return jax.device_get(jax.jit(step_of(loop, "auto"))(weights(), XS))


def check_numbers(lowered, step, *args):
    """What it gives is what plain JAX does."""
    check_results(lowered, jax.jit(step)(*args), *args)


def check_results(lowered, wanted, *args):
    compiled = lowered.compile()
    found = compiled(*compiled.place(*args))
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("name", "way"),
    [
        *((name, "marks") for name in LOOPS),
        *((name, "names") for name in ("added", "indexed", "logged")),
        *((name, "auto") for name in ("added", "carried", "backwards", "mapped")),
    ],
)
def test_trips_are_microbatches(name, way):
    ws, step = weights(), step_of(LOOPS[name], way)
    lowered = mw.jit(step, config_for(way)).lower(ws, XS)
    assert lowered.function_mesh_assignment.input_meshes[0] == ["m0", "m1"]
    assert lowered.function_mesh_assignment.output_meshes[0] == ["m0", "m1"]
    assert order_on(lowered, "m0") == "FFBFBFBB"
    sent = [item["bytes"] for item in items_of(lowered, "transfer")]
    activation = ROWS * WIDTH * 4
    assert [size for size in sent if size > 16] == [activation] * 2 * COUNT
    check_results(lowered, run_plainly(LOOPS[name]), ws, XS)


@pytest.mark.parametrize("way", WAYS)
def test_a_loop_without_gradients(way):
    loss = loss_for(way)

    def evaluate(ws, xs):
        return jax.lax.scan(lambda total, x: (total + loss(ws, x), None), 0.0, xs)[0]

    ws = weights()
    lowered = mw.jit(evaluate, config_for(way)).lower(ws, XS)
    assert lowered.function_mesh_assignment.input_meshes[0] == ["m0", "m1"]
    compiled = lowered.compile()
    found = compiled(*compiled.place(ws, XS))
    np.testing.assert_allclose(found, jax.jit(evaluate)(ws, XS), rtol=1e-5)


@pytest.mark.parametrize("way", WAYS)
def test_a_batch_that_is_a_literal_of_the_jaxpr(way):
    loss = loss_for(way)

    def step(ws, rate):
        value, grads = added(ws, XS, loss)
        return jax.tree.map(lambda w, g: w - rate * g, ws, grads), value

    ws = weights()
    jax.config.update("jax_use_simplified_jaxpr_constants", True)
    try:
        lowered = mw.jit(step, config_for(way)).lower(ws, 0.1)
    finally:
        jax.config.update("jax_use_simplified_jaxpr_constants", False)
    assert lowered.function_mesh_assignment.input_meshes[0] == ["m0", "m1"]
    check_numbers(lowered, step, ws, 0.1)


@pytest.mark.parametrize(
    ("way", "loop"),
    [("marks", added), ("marks", mapped), ("names", added), ("auto", mapped)],
)
def test_two_gradients_in_a_step(way, loop, caplog):
    """Each is half of the work, and the second waits for all of the first."""
    loss = loss_for(way)

    def step(ws, xs):
        _, first = loop(ws, xs, loss)
        moved = jax.tree.map(lambda w, g: w + 0.1 * g, ws, first)
        value, grads = loop(moved, xs, loss)
        return jax.tree.map(lambda w, g: w - 0.1 * g, ws, grads), value

    ws = weights()
    lowered = mw.jit(step, config_for(way)).lower(ws, XS)
    assert not [r for r in caplog.records if r.levelname == "WARNING"]
    assert lowered.function_mesh_assignment.output_meshes[0] == ["m0", "m1"]
    check_numbers(lowered, step, ws, XS)


def accumulated(ws, xs, loss):
    gradient = mw.pipeline.accumulate(jax.value_and_grad(loss), COUNT)
    return gradient(ws, xs.reshape(-1, WIDTH))


@pytest.mark.parametrize(("way", "loop"), [("marks", added), ("names", accumulated)])
def test_an_evaluation_beside_the_gradients(way, loop):
    """It reads the new weights, so it comes last."""
    loss = loss_for(way)

    def step(ws, xs):
        value, grads = loop(ws, xs, loss)
        ws = jax.tree.map(lambda w, g: w - 0.1 * g, ws, grads)
        return ws, value, jax.lax.map(lambda x: loss(ws, x), 0.5 - xs)

    ws = weights()
    lowered = mw.jit(step, config_for(way)).lower(ws, XS)
    assert lowered.function_mesh_assignment.output_meshes[0] == ["m0", "m1"]
    assert order_on(lowered, "m0") == "FFBFBFBBFFFF"
    check_numbers(lowered, step, ws, XS)


@pytest.mark.parametrize(("way", "loop"), [("names", added), ("marks", accumulated)])
def test_an_evaluation_before_the_gradients(way, loop, caplog):
    loss = loss_for(way)

    def step(ws, xs):
        scale = jax.lax.map(lambda x: loss(ws, x), xs).mean()
        value, grads = loop(ws, scale * xs, loss)
        return jax.tree.map(lambda w, g: w - 0.1 * g, ws, grads), value

    ws = weights()
    lowered = mw.jit(step, config_for(way)).lower(ws, XS)
    assert not [r for r in caplog.records if r.levelname == "WARNING"]
    assert order_on(lowered, "m0") == "FFFFFFBFBFBB"
    check_numbers(lowered, step, ws, XS)


@pytest.mark.parametrize("way", ["marks", "names"])
def test_loops_of_two_lengths_are_ordered_each_by_itself(way, caplog):
    loss = loss_for(way)

    def step(ws, xs):
        _, first = added(ws, xs[:2], loss)
        moved = jax.tree.map(lambda w, g: w + 0.1 * g, ws, first)
        value, grads = added(moved, xs, loss)
        return jax.tree.map(lambda w, g: w - 0.1 * g, ws, grads), value

    ws = weights()
    lowered = mw.jit(step, config_for(way)).lower(ws, XS)
    assert not [r for r in caplog.records if r.levelname == "WARNING"]
    check_numbers(lowered, step, ws, XS)


def test_the_log_says_so(caplog):
    caplog.set_level(logging.INFO, "meshwright")
    mw.jit(step_of(added, "marks"), config_for("marks")).lower(weights(), XS)
    (text,) = [r.getMessage() for r in caplog.records if "trips" in r.message]
    assert "test_scanned_microbatches.py:" in text
    assert f"the {COUNT} trips of this loop of JAX become microbatches" in text


def refused(step, way, *args, match, **options):
    with pytest.raises(ValueError, match=match):
        mw.jit(step, config_for(way, **options)).lower(*args)


IN_A_SCAN = "stage_boundary inside of a jax.lax.scan"


def test_training_steps_are_no_microbatches():
    def steps(loss, ws, xs):
        def body(ws, x):
            value, grads = jax.value_and_grad(loss)(ws, x)
            return jax.tree.map(lambda w, g: w - 0.1 * g, ws, grads), value

        return jax.lax.scan(body, ws, xs)

    refused(
        lambda ws, xs: steps(loss_for("marks"), ws, xs),
        "marks",
        weights(),
        XS,
        match=IN_A_SCAN,
    )
    refused(
        lambda ws, xs: steps(loss_for("auto"), ws, xs),
        "auto",
        weights(),
        XS,
        match="if it is over training steps, by a loop in Python",
    )


def test_a_loop_inside_of_a_second_gradient_is_no_microbatches():
    loss = loss_for("marks")

    def total(ws, xs):
        return jax.lax.scan(lambda sum, x: (sum + loss(ws, x), None), 0.0, xs)[0]

    def norm(ws, xs):
        return sum((grad**2).sum() for grad in jax.grad(total)(ws, xs))

    why = f"{IN_A_SCAN}.* since its trips take no gradient each"
    refused(jax.value_and_grad(norm), "marks", weights(), XS, match=why)


def test_a_product_of_what_the_trip_before_gave():
    loss = loss_for("marks")

    def turned(ws, xs):
        def body(total, x):
            grads = jax.grad(loss)(ws, x)
            return [t @ t + g for t, g in zip(total, grads, strict=True)], None

        return jax.lax.scan(body, zeros(ws), xs)[0]

    file = "test_scanned_microbatches.py"
    why = f"since dot_general at .*{file}.* reads what the trip before gave"
    refused(turned, "marks", weights(), XS, match=why)


def test_repeated_stages_are_no_microbatches():
    """A trip reads what the one before gave, however small it is."""

    def doubled(x, _):
        return mw.named_computation(lambda x: 2 * x, name="layer0")(x), None

    def turned(x, _):
        return mw.named_computation(lambda x: x @ x, name="layer0")(x), None

    for body in (doubled, turned):
        with pytest.raises(RuntimeError, match="a loop of JAX"):
            mw.jit(
                lambda x, body=body: jax.lax.scan(body, x, length=3)[0],
                config_for("names"),
            ).lower(np.ones((2, 2), "f"))


def test_loops_of_many_trips_stay_loops():
    xs = np.zeros((257, ROWS, WIDTH), "f")
    step = step_of(added, "marks")
    why = f"{IN_A_SCAN}.* since it has 257 trips, which are more than 256"
    refused(step, "marks", weights(), xs, match=why)


def test_loops_beside_microbatches_are_further_ones():
    loss = loss_for("marks")

    def step(ws, xs):
        first = mw.call(loss, call_counter=0)(ws, xs[0])
        return first, added(ws, xs, loss)

    assert counters_of(step, config_for("marks")) == [0, *range(1, 1 + COUNT)]
    lowered = mw.jit(step, config_for("marks")).lower(weights(), XS)
    check_numbers(lowered, step, weights(), XS)


def test_loops_beside_calls_without_counters():
    """One that is all of a program is no microbatch."""
    loss = loss_for("marks")

    def step(ws, xs):
        rows = jax.lax.fori_loop(0, 3, lambda i, x: x * 0.5 + i, xs[0])
        return mw.call(loss)(ws, rows)

    lowered = mw.jit(step, config_for("marks")).lower(weights(), XS)
    check_numbers(lowered, step, weights(), XS)


def test_loops_of_calls_stay_loops():
    def step(ws, xs):
        return added(ws, xs, mw.call(loss_for("marks"), call_counter=0))

    refused(step, "marks", weights(), XS, match="microbatches in it cannot be numbered")


def test_loops_are_written_out_where_that_is_asked_for():
    """With `max_loop_trips` as other loops with stages inside."""
    step, ws = step_of(added, "marks"), weights()
    config = config_for("marks", max_loop_trips=COUNT)
    assert not counters_of(step, config)
    lowered = mw.jit(step, config).lower(ws, XS)
    check_numbers(lowered, step, ws, XS)


@pytest.mark.parametrize("way", WAYS)
def test_one_trip_is_one_microbatch(way):
    step, ws, xs = step_of(added, way), weights(), XS[:1]
    lowered = mw.jit(step, config_for(way)).lower(ws, xs)
    assert lowered.function_mesh_assignment.output_meshes[0] == ["m0", "m1"]
    check_numbers(lowered, step, ws, xs)


def keyed(ws, xs, loss):
    """As many keys as rows are carried, and sums whose types are weak."""

    def body(carry, x):
        keys, total, weak = carry
        keys = jax.vmap(lambda key: jax.random.split(key)[0])(keys)
        x = x * jax.vmap(lambda key: jax.random.bernoulli(key, 0.9))(keys)[:, None]
        value, grads = jax.value_and_grad(loss)(ws, x)
        return (keys, jax.tree.map(jnp.add, total, grads), weak + 1), value

    first = jax.random.split(KEY, 8 * ROWS)[:ROWS], zeros(ws), jnp.full((4, 4), 0.0)
    (_, total, weak), values = jax.lax.scan(body, first, xs)
    return values.sum() + weak.sum(), total


@pytest.mark.parametrize("way", WAYS)
def test_keys_and_weak_types_are_carried(way):
    step, ws = step_of(keyed, way), weights()
    lowered = mw.jit(step, config_for(way)).lower(ws, XS)
    check_results(lowered, run_plainly(keyed), ws, XS)


def test_a_loop_in_an_assigned_computation_stays_one():
    loss = loss_for("names")

    def step(ws, xs):
        return mw.named_computation(lambda: added(ws, xs, loss), name="layer0")()

    with pytest.raises((ValueError, RuntimeError), match="layer"):
        mw.jit(step, config_for("names")).lower(weights(), XS)


def test_programs_without_such_a_loop_are_not_kept():
    loss = loss_for("auto")
    # As long as the collector does not run by itself, all that is made here is young,
    # and only that has to be looked at.
    with collector.paused():
        closed = jax.make_jaxpr(lambda ws, xs: added(ws, xs, loss))(weights(), XS)
        traced = types.SimpleNamespace(jaxpr=closed)
        found = scanned_microbatches.with_scans_called(traced, config_for("names"))
        assert found is traced
        kept = weakref.ref(closed.jaxpr)
        del closed, traced, found
        gc.collect(0)
        assert kept() is None
