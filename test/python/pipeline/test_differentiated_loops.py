"""Loops of `jax.lax` over microbatches whose sum is differentiated as a whole."""

import dataclasses
import functools
import logging
import re

import jax
import jax.numpy as jnp
import pytest
from test_scanned_microbatches import (
    COUNT,
    KEY,
    ROWS,
    WIDTH,
    XS,
    added,
    check_numbers,
    check_results,
    config_for,
    counters_of,
    items_of,
    layer,
    loss_for,
    order_on,
    weights,
)

import meshwright as mw

pytestmark = pytest.mark.usefixtures("equal_compiles_once")

WAYS = ("marks", "names")
ACTIVATION = ROWS * WIDTH * 4


def summed(ws, xs, loss, **options):
    def body(total, x):
        return total + loss(ws, x), None

    return jax.lax.scan(body, 0.0, xs, **options)[0] / COUNT


def backwards(ws, xs, loss):
    return summed(ws, xs, loss, reverse=True)


def mapped(ws, xs, loss):
    """What goes back to a trip depends on what all trips gave."""
    return jax.nn.logsumexp(jax.lax.map(lambda x: loss(ws, x), xs))


def indexed(ws, xs, loss):
    return jax.lax.fori_loop(0, COUNT, lambda i, total: total + loss(ws, xs[i]), 0.0)


def jitted(ws, xs, loss):
    @jax.jit
    def body(total, x):
        return total + loss(ws, x), None

    return jax.jit(lambda: jax.lax.scan(body, 0.0, xs)[0] ** 2)()


def dropped_out(ws, xs, loss):
    def body(carry, x):
        keys = jax.random.split(carry["key"])
        x = x * jax.random.bernoulli(keys[0], 0.9, x.shape)
        return {"key": keys[1], "total": carry["total"] + loss(ws, x)}, None

    return jax.lax.scan(body, {"key": KEY, "total": 0.0}, xs)[0]["total"]


LOOPS = {
    f.__name__: f for f in (summed, backwards, mapped, indexed, jitted, dropped_out)
}


def training(loop, loss):
    def step(ws, xs):
        value, grads = jax.value_and_grad(loop)(ws, xs, loss)
        return jax.tree.map(lambda w, g: w - 0.1 * g, ws, grads), value

    return step


@functools.cache
def train_plainly(loop):
    """What a step gives without marks or names, in plain JAX."""
    step = jax.jit(training(loop, loss_for("auto")))
    return jax.device_get(step(weights(), XS))


def forward_first(way):
    """The order of such loops: all trips forward, then backward from the last one."""
    return config_for(way, mw.get_pipeline_schedule("CircularWithReversedBackward"))


def sent(lowered):
    """The sizes of what meshes send, but for numbers."""
    sizes = [item["bytes"] for item in items_of(lowered, "transfer")]
    return [size for size in sizes if size > 16]


def check_places(lowered, transfers):
    meshes = lowered.function_mesh_assignment
    assert meshes.input_meshes[0] == meshes.output_meshes[0] == ["m0", "m1"]
    assert sent(lowered) == [ACTIVATION] * transfers


@pytest.mark.parametrize(
    ("name", "way"),
    [
        *((name, "marks") for name in LOOPS),
        *((name, "names") for name in ("mapped", "jitted", "dropped_out")),
    ],
)
def test_both_loops_are_microbatches(name, way, caplog):
    step, ws = training(LOOPS[name], loss_for(way)), weights()
    lowered = mw.jit(step, forward_first(way)).lower(ws, XS)
    check_places(lowered, 2 * COUNT)
    assert order_on(lowered, "m0") == order_on(lowered, "m1") == "FFFFBBBB"
    assert "data flow wins" not in caplog.text
    check_results(lowered, train_plainly(LOOPS[name]), ws, XS)


@pytest.mark.parametrize("way", WAYS)
def test_halves_of_a_trip_have_one_number(way):
    numbers = counters_of(training(summed, loss_for(way)), forward_first(way))
    assert numbers == [*range(COUNT), *reversed(range(COUNT))]


@pytest.mark.parametrize("way", WAYS)
def test_what_trips_leave_for_their_derivative_is_not_stacked(way):
    step = training(summed, loss_for(way))
    lowered = mw.jit(step, forward_first(way)).lower(weights(), XS)
    found = re.findall(rf"tensor<{COUNT}x[^>]*>", lowered.as_text())
    assert set(found) == {f"tensor<{COUNT}x{ROWS}x{WIDTH}xf32>"}  # The batch itself.
    assert "concatenate" not in lowered.as_text()


@pytest.mark.parametrize("way", WAYS)
def test_outputs_are_stacked_where_they_are_read(way):
    """They are also what trips leave for their derivative."""

    def loss(ws, xs, loss):
        def body(total, x):
            out = loss(ws, x)
            squared = out**2
            return total + squared, (out, {"squared": squared})

        total, (outs, logs) = jax.lax.scan(body, 0.0, xs)
        return total + outs.max(), (outs, logs)

    def step(ws, xs):
        gradient = jax.value_and_grad(loss, has_aux=True)
        (value, logs), grads = gradient(ws, xs, loss_for(way))
        return jax.tree.map(lambda w, g: w - 0.1 * g, ws, grads), value, logs

    ws = weights()
    lowered = mw.jit(step, forward_first(way)).lower(ws, XS)
    check_places(lowered, 2 * COUNT)
    check_numbers(lowered, step, ws, XS)


def checkpointed(ws, xs, loss):
    return summed(ws, xs, jax.checkpoint(loss))


def checkpointed_body(ws, xs, loss):
    def body(total, x):
        return total + loss(ws, x), None

    return jax.lax.scan(jax.checkpoint(body), 0.0, xs)[0]


def saving_products(ws, xs, loss):
    policy = jax.checkpoint_policies.dots_saveable
    return summed(ws, xs, jax.checkpoint(loss, policy=policy))


@pytest.mark.parametrize("loop", [checkpointed, checkpointed_body, saving_products])
def test_checkpointed_trips(loop):
    step, ws = training(loop, loss_for("marks")), weights()
    lowered = mw.jit(step, forward_first("marks")).lower(ws, XS)
    check_places(lowered, 2 * COUNT)
    check_numbers(lowered, step, ws, XS)


def test_checkpointed_trips_without_marks():
    """They leave nothing for their derivative, not even a token of a mark."""
    step, ws = training(checkpointed, loss_for("names")), weights()
    config = dataclasses.replace(
        config_for("names"), name_to_stage_assignment={}, pipeline_schedule=None
    )
    lowered = mw.jit(step, config).lower(ws, XS)
    check_places(lowered, 3 * COUNT)  # What is recomputed is sent again.
    check_numbers(lowered, step, ws, XS)


def test_checkpointed_stages():
    def loss(ws, x):
        for number, w in enumerate(ws):
            stage = mw.named_computation(jax.checkpoint(layer), name=f"layer{number}")
            x = stage(x, w)
        return (x**2).mean()

    step, ws = training(summed, loss), weights()
    lowered = mw.jit(step, forward_first("names")).lower(ws, XS)
    check_places(lowered, 2 * COUNT)
    check_numbers(lowered, step, ws, XS)


@pytest.mark.parametrize("way", WAYS)
def test_gradients_of_the_batch(way):
    loss = loss_for(way)

    def step(ws, xs):
        return jax.grad(summed, argnums=(0, 1))(ws, xs, loss)

    ws = weights()
    lowered = mw.jit(step, forward_first(way)).lower(ws, XS)
    assert lowered.function_mesh_assignment.output_meshes[1] == "m0"
    check_numbers(lowered, step, ws, XS)


@pytest.mark.parametrize("way", WAYS)
def test_two_losses_have_microbatches_of_their_own(way):
    def both(ws, xs, loss):
        return summed(ws, xs, loss) + summed(ws, 0.5 - xs, loss)

    step, ws = training(both, loss_for(way)), weights()
    lowered = mw.jit(step, forward_first(way)).lower(ws, XS)
    check_places(lowered, 4 * COUNT)
    check_numbers(lowered, step, ws, XS)


@pytest.mark.parametrize("way", WAYS)
def test_halves_of_trips_of_two_losses_have_one_number(way):
    def both(ws, xs, loss):
        return summed(ws, xs, loss) + summed(ws, 0.5 - xs, loss)

    numbers = counters_of(training(both, loss_for(way)), forward_first(way))
    assert numbers == [*range(2 * COUNT), *reversed(range(2 * COUNT))]


@pytest.mark.parametrize("way", WAYS)
def test_a_frozen_first_stage(way):
    """Its loop backward has no stage of its own."""

    def step(ws, xs):
        loss = loss_for(way)
        return jax.value_and_grad(lambda w: summed([ws[0], w], xs, loss))(ws[1])

    ws = weights()
    lowered = mw.jit(step, forward_first(way)).lower(ws, XS)
    assert order_on(lowered, "m0") == "F" * COUNT
    check_numbers(lowered, step, ws, XS)


@pytest.mark.parametrize("way", WAYS)
def test_a_loop_that_reads_what_another_one_gave(way):
    def chained(ws, xs, loss):
        hs = jax.lax.map(lambda x: jnp.tanh(x @ ws[0]), xs)
        return summed(ws, hs, loss)

    step, ws = training(chained, loss_for(way)), weights()
    lowered = mw.jit(step, forward_first(way)).lower(ws, XS)
    check_numbers(lowered, step, ws, XS)


@pytest.mark.parametrize("way", WAYS)
def test_beside_a_loop_that_takes_gradients(way):
    """The second loop reads weights that the first one changed."""
    loss = loss_for(way)

    def step(ws, xs):
        ws, value = training(summed, loss)(ws, xs)
        total, other = added(ws, xs, loss)
        return jax.tree.map(lambda w, g: w - 0.1 * g, ws, other), value + total

    ws = weights()
    lowered = mw.jit(step, forward_first(way)).lower(ws, XS)
    check_places(lowered, 4 * COUNT)
    check_numbers(lowered, step, ws, XS)


@pytest.mark.parametrize("way", WAYS)
def test_an_evaluation_beside_it(way):
    loss = loss_for(way)

    def step(ws, xs):
        ws, value = training(summed, loss)(ws, xs)
        return ws, value, jax.lax.map(lambda x: loss(ws, x), 0.5 - xs)

    ws = weights()
    lowered = mw.jit(step, forward_first(way)).lower(ws, XS)
    assert order_on(lowered, "m0") == order_on(lowered, "m1") == "FFFFBBBBFFFF"
    check_numbers(lowered, step, ws, XS)


@pytest.mark.parametrize("way", WAYS)
def test_the_default_schedule_has_this_order(way, caplog):
    step, ws = training(summed, loss_for(way)), weights()
    lowered = mw.jit(step, config_for(way, schedule=None)).lower(ws, XS)
    assert not [r for r in caplog.records if r.levelname == "WARNING"]
    assert order_on(lowered, "m0") == order_on(lowered, "m1") == "FFFFBBBB"
    check_results(lowered, train_plainly(summed), ws, XS)


@pytest.mark.parametrize("way", WAYS)
def test_a_schedule_that_runs_backward_earlier_gives_way(way, caplog):
    """Its first backward needs what the last microbatch gives back."""
    step, ws = training(summed, loss_for(way)), weights()
    lowered = mw.jit(step, config_for(way)).lower(ws, XS)
    assert "1F1B, but needs its results; data flow wins" in caplog.text
    check_places(lowered, 2 * COUNT)
    check_results(lowered, train_plainly(summed), ws, XS)


def test_one_trip():
    step, ws, xs = training(summed, loss_for("marks")), weights(), XS[:1]
    lowered = mw.jit(step, forward_first("marks")).lower(ws, xs)
    check_places(lowered, 2)
    check_numbers(lowered, step, ws, xs)


def test_the_log_says_so(caplog):
    caplog.set_level(logging.INFO, "meshwright")
    step = training(summed, loss_for("marks"))
    mw.jit(step, forward_first("marks")).lower(weights(), XS)
    (text,) = [r.getMessage() for r in caplog.records if "trips" in r.message]
    assert "test_differentiated_loops.py:" in text
    assert f"the {COUNT} trips of this loop of JAX, and of its derivative" in text


def repeated(ws, xs, loss):
    """A model that is applied to what it gave, without a product of that."""

    def body(x, _):
        x = mw.named_computation(jnp.tanh, name="layer0")(mw.stage_boundary(x))
        return x, None

    return jax.lax.scan(body, xs[0] * ws[0][0], length=3)[0].sum()


def second_derivative(ws, xs, loss):
    return sum((g**2).sum() for g in jax.grad(summed)(ws, xs, loss))


def long(ws, xs, loss):
    return summed(ws, jnp.zeros((257, ROWS, WIDTH)), loss)


def recurrent(ws, xs, loss):
    def body(x, y):
        return layer(mw.stage_boundary(layer(x, ws[0])), ws[1]) + y, None

    return jax.lax.scan(body, xs[0], xs)[0].sum()


def printing(ws, xs, loss):
    def body(total, x):
        jax.debug.print("{}", total)
        return total + loss(ws, x), None

    return jax.lax.scan(body, 0.0, xs)[0]


REASONS = {
    repeated: "since stage_boundary at .* reads what the trip before gave",
    second_derivative: "since its trips take no gradient each, and no derivative of it",
    long: "since it has 257 trips, which are more than 256",
    recurrent: "since (dot_general|stage_boundary) at .* reads what the trip before",
    printing: "has side effects, so it cannot be written out",
}


@pytest.mark.parametrize("loop", REASONS)
def test_loops_that_stay_loops(loop):
    step = training(loop, loss_for("marks"))
    why = f"stage_boundary inside of a jax.lax.scan.* {REASONS[loop]}"
    with pytest.raises(ValueError, match=why):
        mw.jit(step, forward_first("marks")).lower(weights(), XS)


def test_the_error_about_names_says_which_loops_are_microbatches():
    step = training(second_derivative, loss_for("names"))
    why = "'layer0' is inside of a loop .* in its body, or once around that loop alone"
    with pytest.raises(RuntimeError, match=why):
        mw.jit(step, forward_first("names")).lower(weights(), XS)


def test_loops_without_stages_stay_loops():
    """Only what is in the loop is computed row by row."""

    def loss(ws, xs, loss):
        rows = jax.lax.map(lambda x: jnp.tanh(x) ** 2, xs)
        return loss(ws, rows.sum(0))

    step, ws = training(loss, loss_for("names")), weights()
    lowered = mw.jit(step, forward_first("names")).lower(ws, XS)
    assert "stablehlo.while" in lowered.as_text()
    check_places(lowered, 2)
    check_numbers(lowered, step, ws, XS)


def test_auto_takes_them_in_one_piece(caplog):
    step, ws = training(summed, loss_for("auto")), weights()
    lowered = mw.jit(step, config_for("auto")).lower(ws, XS)
    assert "mw.auto has this scan in one piece" in caplog.text
    check_numbers(lowered, step, ws, XS)
