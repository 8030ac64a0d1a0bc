"""Marks in a model's own forward function: stages, schedules, transformations."""

import dataclasses
import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh

import meshwright as mw

pytestmark = pytest.mark.usefixtures("equal_compiles_once")

MESHES = {f"m{i}": Mesh(jax.devices()[i : i + 1], "x") for i in range(4)}
TWO = dict(list(MESHES.items())[:2])


def weights(count=4, width=4):
    draw = np.random.default_rng(0).standard_normal
    return list(0.5 * draw((count, width, width), "f"))


def batch(microbatches=4, rows=3, width=4):
    draw = np.random.default_rng(1).standard_normal
    return tuple(draw((2, microbatches, rows, width), "f"))


def layer(w, x):
    return jnp.tanh(x @ w)


def model(ws, x, mark=mw.stage_boundary, layer=layer):
    for number, w in enumerate(ws):
        x = layer(w, x if number == 0 else mark(x))
    return x


def loss(ws, x, y, **options):
    return ((model(ws, x, **options) - y) ** 2).mean()


def make_step(loss=loss, call=mw.call):
    def step(ws, xs, ys):
        total = None
        for i in range(len(xs)):
            part = call(jax.value_and_grad(loss), call_counter=i)(ws, xs[i], ys[i])
            total = part if total is None else jax.tree.map(jnp.add, total, part)
        value, grads = total
        return value, jax.tree.map(lambda w, g: w - 0.1 * g, ws, grads)

    return step


def items(lowered, mesh):
    return [
        item["origins"]
        for item in lowered.partitioning_result.program["items"]
        if item["kind"] == "call" and item["mesh"] == mesh and item["origins"]
    ]


def check_equal(step, config, *args, steps=3, plain=None):
    """Runs a step beside `jax.jit`; gives what it was lowered to."""
    jitted, plain = mw.jit(step, config), plain or jax.jit(step)
    lowered = jitted.lower(*args)  # The first call runs the same.
    ours = theirs = args[0]
    for _ in range(steps):
        mine, ours = jitted(ours, *args[1:])
        value, theirs = plain(theirs, *args[1:])
        np.testing.assert_allclose(mine, value, rtol=1e-5)
    for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    return lowered


@functools.cache
def compiled_gradient(loss):
    return jax.jit(jax.value_and_grad(loss))


def plain_step(loss):
    """Of the same numbers; tests of one loss share a program, as microbatches do."""
    return make_step(loss, lambda _, call_counter: compiled_gradient(loss))


def check_training(loss, config, *args, steps=3, equal_loss=None):
    """The same for a step of `make_step`, beside that of a loss of equal numbers."""
    plain = plain_step(equal_loss or loss)
    return check_equal(make_step(loss), config, *args, steps=steps, plain=plain)


@pytest.mark.parametrize(
    ("schedule", "meshes", "stages"),
    [
        ("GPipe", MESHES, {"m0": {0}, "m1": {1}, "m2": {2}, "m3": {3}}),
        ("1F1B", MESHES, {"m0": {0}, "m1": {1}, "m2": {2}, "m3": {3}}),
        ("ZeroBubbleH1", MESHES, {"m0": {0}, "m1": {1}, "m2": {2}, "m3": {3}}),
        ("Interleaved1F1B", TWO, {"m0": {0, 2}, "m1": {1, 3}}),
    ],
)
def test_stages_are_where_the_schedule_wants_them(schedule, meshes, stages):
    config = mw.make_config(
        meshes, pipeline_schedule=mw.get_pipeline_schedule(schedule)
    )
    lowered = check_training(loss, config, weights(), *batch())
    for mesh, numbers in stages.items():
        found = {origin for origins in items(lowered, mesh) for origin in origins}
        assert found == {f"stage{n}{back}" for n in numbers for back in ("", "(1)")}
    home = [next(m for m in stages if n in stages[m]) for n in range(4)]
    assert lowered.function_mesh_assignment.input_meshes[0] == home
    assert lowered.function_mesh_assignment.output_meshes[1] == home
    if schedule == "ZeroBubbleH1":  # Split into gradients of inputs and of weights.
        assert len(items(lowered, "m1")) == 3 * 4


def test_1f1b_orders_what_the_marks_divide():
    config = mw.make_config(MESHES, pipeline_schedule=mw.get_pipeline_schedule("1F1B"))
    lowered = mw.jit(make_step(), config).lower(weights(), *batch())
    order = ["B" if "(1)" in origins[0] else "F" for origins in items(lowered, "m3")]
    assert "".join(order) == "FBFBFBFB"


def test_stage_to_mesh_overrides():
    config = mw.make_config(TWO, stage_to_mesh=["m1", "m0", "m0", "m1"])
    lowered = check_training(loss, config, weights(), *batch(2))
    assert lowered.function_mesh_assignment.input_meshes[0] == ["m1", "m0", "m0", "m1"]


def test_gradient_of_a_whole_step_without_calls():
    def step(ws, x, y):
        value, grads = jax.value_and_grad(loss)(ws, x, y)
        norm = jnp.sqrt(sum(jnp.sum(g * g) for g in grads))
        return value, [w - 0.1 * g / norm for w, g in zip(ws, grads, strict=True)]

    xs, ys = batch(1)
    lowered = check_equal(step, mw.make_config(MESHES), weights(), xs[0], ys[0])
    meshes = lowered.function_mesh_assignment.output_meshes[1]
    assert meshes == ["m0", "m1", "m2", "m3"]


def test_gradient_around_the_calls():
    def total(ws, xs, ys):
        parts = [
            mw.call(loss, call_counter=i)(ws, xs[i], ys[i]) for i in range(len(xs))
        ]
        return sum(parts)

    def step(ws, xs, ys):
        value, grads = jax.value_and_grad(total)(ws, xs, ys)
        return value, [w - 0.1 * g for w, g in zip(ws, grads, strict=True)]

    lowered = check_equal(step, mw.make_config(MESHES), weights(), *batch(2))
    assert ["stage1(1)"] in items(lowered, "m1")


def test_one_more_loss_beside_the_microbatches():
    def step(ws, xs, ys):
        gradient = mw.pipeline.accumulate(jax.grad(loss), 2, batch_argnums=(1, 2))
        uphill = jax.tree.map(jnp.add, ws, gradient(ws, xs, ys))
        grads = gradient(uphill, xs, ys)
        changed = jax.tree.map(lambda w, g: w - 0.1 * g, ws, grads)
        return mw.call(loss, call_counter=4)(changed, xs[0], ys[0]), changed

    config = mw.make_config(MESHES, pipeline_schedule=mw.get_pipeline_schedule("1F1B"))
    lowered = check_equal(step, config, weights(), *batch(2))
    assert len(items(lowered, "m0")) == 2 * (2 + 2) + 1


def test_forward_alone_and_vmap():
    config = mw.make_config(MESHES)
    xs, _ = batch()
    batched = jax.vmap(lambda ws, x: (0.0, model(ws, x)), (None, 0))
    check = mw.jit(batched, config)
    want = jax.jit(batched)(weights(), xs)[1]
    np.testing.assert_allclose(check(weights(), xs)[1], want, rtol=1e-5)
    rows = jax.value_and_grad(
        lambda ws, xs, ys: jax.vmap(functools.partial(loss), (None, 0, 0))(
            ws, xs, ys
        ).mean()
    )
    found = mw.jit(rows, config)(weights(), *batch())
    want = jax.jit(rows)(weights(), *batch())
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(want), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("last", [lambda w, x: x @ w, lambda w, x: x * w.sum()])
def test_one_mark_of_a_forward_pass(last):
    def forward(w, x):
        return last(w, mw.stage_boundary(jnp.tanh(x)))

    w, x = np.eye(4, dtype=np.float32), np.ones((2, 4), np.float32)
    config = mw.make_config({name: MESHES[name] for name in ("m0", "m1")})
    found = mw.jit(forward, config)(w, x)
    assert set(found.devices()) <= set(MESHES["m1"].devices.flat)
    np.testing.assert_allclose(found, jax.jit(forward)(w, x), rtol=1e-6)


@pytest.mark.parametrize("what", ["layer", "all", "saved"])
def test_remat_recomputes_each_stage_on_its_mesh(what):
    policy = jax.checkpoint_policies.dots_saveable if what == "saved" else None
    if what == "layer":
        marked = functools.partial(loss, layer=jax.checkpoint(layer))
    else:
        marked = jax.checkpoint(loss, policy=policy)
    config = mw.make_config(MESHES, pipeline_schedule=mw.get_pipeline_schedule("1F1B"))
    lowered = check_training(marked, config, weights(), *batch(), equal_loss=loss)
    for n in range(4):
        kinds = {"B" if "(1)" in o[0] else "F" for o in items(lowered, f"m{n}")}
        assert kinds == {"F", "B"}


def test_nested_jit_custom_derivatives_and_jvp():
    @jax.custom_vjp
    def scaled(w, x):
        return mw.stage_boundary(jnp.sin(x @ w))

    scaled.defvjp(
        lambda w, x: (mw.stage_boundary(jnp.sin(x @ w)), (w, x)),
        lambda saved, ct: (
            saved[1].T @ (ct * jnp.cos(saved[1] @ saved[0])),
            (ct * jnp.cos(saved[1] @ saved[0])) @ saved[0].T,
        ),
    )

    def custom(ws, x, y):
        x = jax.jit(lambda w, x: mw.stage_boundary(layer(w, x)))(ws[0], x)
        return ((layer(ws[2], scaled(ws[1], x)) - y) ** 2).mean()

    three = dict(list(MESHES.items())[:3])
    check_training(custom, mw.make_config(three), weights(3), *batch(2))

    def tangent(ws, x, y):
        return jax.jvp(lambda ws: loss(ws, x, y), (ws,), (ws,))

    xs, ys = batch(1)
    found = mw.jit(tangent, mw.make_config(MESHES))(weights(), xs[0], ys[0])
    want = jax.jit(tangent)(weights(), xs[0], ys[0])
    np.testing.assert_allclose(found, want, rtol=1e-5)


def test_second_derivative(caplog):
    def penalty(ws, x, y):
        return sum(jnp.sum(g * g) for g in jax.grad(loss)(ws, x, y))

    def step(ws, x, y):
        gradient = jax.value_and_grad(penalty)
        accumulated = mw.pipeline.accumulate(gradient, 1, batch_argnums=(1, 2))
        value, grads = accumulated(ws, x, y)
        return value, [w - 0.01 * g for w, g in zip(ws, grads, strict=True)]

    xs, ys = batch(1)
    schedule = mw.get_pipeline_schedule("1F1B")
    config = mw.make_config(TWO, pipeline_schedule=schedule)
    with caplog.at_level("WARNING", "meshwright"):
        check_equal(step, config, weights(2), xs[0], ys[0], steps=1)
    assert "stages occur more than once in a direction" in caplog.text


def tied(ws, x, y):
    """The first weight is read by the first and the last stage, x by all."""
    mask = jnp.tril(jnp.ones((3, 3)))
    shared = ws[0].astype(jnp.float32) * 1.0
    h = mw.stage_boundary(mask @ jnp.tanh(x @ shared))
    h = mw.stage_boundary({"h": mask @ layer(ws[1], h), "skip": h})
    h = mw.stage_boundary(layer(ws[2], h["h"]) + h["skip"] + x)
    return ((h @ shared.T - y) ** 2).mean()


def test_values_that_several_stages_read():
    config = mw.make_config(MESHES, pipeline_schedule=mw.get_pipeline_schedule("1F1B"))
    lowered = check_training(tied, config, weights(3), *batch())
    assert items(lowered, "m3")[:2] == [["stage3"], ["stage3(1)"]]


def skipping(ws, x, y, reads):
    """What a mark was given is read after it, too, as by a skip connection."""
    given = layer(ws[0], x)
    x = layer(ws[1], mw.stage_boundary(given))
    x = mw.stage_boundary(x + given if reads == "next" else x)
    x = layer(ws[2], x + given if reads == "last" else x)
    return ((x - y) ** 2).mean()


@pytest.mark.parametrize(("reads", "transfers"), [("next", 4), ("last", 6)])
def test_a_marked_value_that_is_read_unmarked_has_one_cotangent(reads, transfers):
    skips = functools.partial(skipping, reads=reads)
    found = check_training(skips, mw.make_config(MESHES), weights(3), *batch())
    sent = sum(cost["transfers"] for cost in found.cost_analysis().values())
    # Over two borders and back, and around the middle if the last stage reads it.
    assert sent == 4 * transfers


def test_microbatches_share_their_code():
    config = mw.make_config(MESHES)

    def count(microbatches):
        lowered = mw.jit(make_step(), config).lower(weights(), *batch(microbatches))
        return len(lowered.partitioning_result.program["fragments"])

    assert count(3) == count(6)


def test_marks_are_transparent_without_mw_jit():
    xs, ys = batch(1)
    plain = functools.partial(loss, mark=lambda x: x)
    for transform in (lambda f: f, jax.jit, jax.grad, jax.checkpoint, jax.vmap):
        args = (weights(), xs[0], ys[0])
        if transform is jax.vmap:
            args = (
                [np.stack([w, w]) for w in weights()],
                np.stack([xs[0]] * 2),
                np.stack([ys[0]] * 2),
            )
        found, want = transform(loss)(*args), transform(plain)(*args)
        for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(want), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-6)


def refusal(function, config=None, args=None, error=ValueError):
    xs, ys = batch(1)
    args = (weights(), xs[0], ys[0]) if args is None else args
    with pytest.raises(error) as caught:
        mw.jit(function, config or mw.make_config(MESHES)).lower(*args)
    return str(caught.value)


def test_marks_where_nothing_can_be_cut():
    def in_scan(ws, x, y):
        def body(x, w):
            return mw.stage_boundary(layer(w, x)), None

        return jax.lax.scan(body, x, jnp.stack(ws))[0]

    text = refusal(in_scan)
    assert "test_stage_boundary.py:" in text and "inside of a jax.lax.scan" in text
    assert "mw.pipeline.scan makes stages of its layers" in text

    def in_steps(ws, x, y):  # Which JAX makes a scan.
        return jax.lax.fori_loop(0, 3, lambda _, ws: jax.grad(loss)(ws, x, y), ws)

    text = refusal(in_steps)
    assert "mw.fori_loop calls of its microbatches" in text
    assert "training steps loop in Python" in text

    def in_steps_of_microbatches(ws, x, y):
        step = mw.pipeline.accumulate(jax.grad(loss), 3, batch_argnums=(1, 2))
        return jax.lax.fori_loop(0, 3, lambda _, ws: step(ws, x, y), ws)

    text = refusal(in_steps_of_microbatches)
    assert "let mw.make_config(..., max_loop_trips=N) write it out" in text

    def in_branch(ws, x, y):
        return jax.lax.cond(x[0, 0] > 0, mw.stage_boundary, lambda x: x, x)

    assert "inside of a jax.lax.cond" in refusal(in_branch)

    def in_named(ws, x, y):
        return mw.named_computation(lambda w: model(w, x), name="all")(ws)

    assert "inside of the named computation 'all'" in refusal(in_named)

    def in_loop(ws, x, y):
        return jax.lax.while_loop(lambda x: x[0, 0] < 5, mw.stage_boundary, x)

    assert "inside of a jax.lax loop" in refusal(in_loop)


def test_a_mark_in_a_backward_rule():
    @jax.custom_vjp
    def wave(x):
        return jnp.sin(x)

    wave.defvjp(
        lambda x: (mw.stage_boundary(jnp.sin(x)), x),
        lambda x, ct: (mw.stage_boundary(ct * jnp.cos(x)),),
    )

    def value(ws, x, y):
        return layer(ws[1], wave(layer(ws[0], x))).sum()

    text = refusal(jax.grad(value))
    assert "test_stage_boundary.py:" in text
    assert "in the backward rule of the jax.custom_vjp" in text


def test_stages_without_an_operation():
    def twice(ws, x, y):
        return layer(ws[1], mw.stage_boundary(mw.stage_boundary(layer(ws[0], x))))

    assert "so stage 1 is empty" in refusal(twice)

    def at_once(ws, x, y):
        return layer(ws[0], mw.stage_boundary(x))

    assert "nothing is computed before this mark" in refusal(at_once)

    def at_end(ws, x, y):
        return mw.stage_boundary(layer(ws[0], x))

    assert "so stage 1 is empty" in refusal(at_end)

    def unused(ws, x, y):
        x = layer(ws[0], x)
        mw.stage_boundary(x)
        return x

    assert "its result is not used" in refusal(unused)


def test_other_stages_than_meshes():
    text = refusal(loss, mw.make_config(TWO))
    assert "test_stage_boundary.py:" in text
    assert "4 stages" in text and "(3 times)" in text and "2 meshes" in text
    config = mw.make_config(TWO, pipeline_schedule=mw.get_pipeline_schedule("1F1B"))
    assert "4 stages" in refusal(loss, config)
    text = refusal(loss, mw.make_config(TWO, stage_to_mesh=["m0", "m1"]))
    assert "no mesh for stage 2, 3" in text
    text = refusal(loss, mw.make_config(TWO, stage_to_mesh=["m0"] * 5))
    assert "a mesh for stage 4" in text

    def different(ws, xs, ys):
        first = mw.call(loss, call_counter=0)(ws, xs[0], ys[0])
        return first + mw.call(loss, call_counter=1)(ws[:2], xs[1], ys[1])

    text = refusal(different, args=(weights(), *batch(2)))
    assert "must have the same number of stages" in text

    def half_called(ws, xs, ys):
        return mw.call(loss)(ws, mw.stage_boundary(2 * xs[0]), ys[0])

    text = refusal(half_called, args=(weights(), *batch(2)))
    assert "outside of mw.call" in text and "mw.call(f, call_counter=i)(...)" in text


def test_names_of_stages_are_not_overridden():
    own = {"stage0": "m1"}
    text = refusal(loss, mw.make_config(MESHES, own))
    assert "'stage0' is 'm1', but a stage of marks or mw.auto has this name" in text
    assert "and is 'm0'; move stages with stage_to_mesh=" in text
    config = mw.make_config(
        MESHES, {"stage1": "m1"}, name_to_stage_assignment={"stage1": 3}
    )
    assert "name_to_stage_assignment: 'stage1' is 3" in refusal(loss, config)
    config = mw.make_config(MESHES, own, stage_to_mesh=["m1", "m0", "m2", "m3"])
    check_training(loss, config, weights(), *batch(), steps=1)
    config = mw.auto_config(MESHES)
    config = dataclasses.replace(config, name_to_mesh_assignment={"stage3": "m0"})
    plain = functools.partial(loss, mark=lambda x: x)
    assert "a stage of marks or mw.auto" in refusal(plain, config)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({0: "m7"}, ValueError, "stage_to_mesh: mesh"),
        ({"a": "m0"}, TypeError, "stages are numbers"),
        ({-1: "m0"}, ValueError, "count from 0"),
        ("m0", TypeError, "must be a dict"),
    ],
)
def test_bad_stage_to_mesh(given, error, message):
    with pytest.raises(error, match=message):
        mw.make_config(MESHES, stage_to_mesh=given)


def test_bad_values():
    assert "holds no array" in refusal(lambda ws, x, y: mw.stage_boundary("x"))


def close(found, wanted):
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-6)


def two_stages(ws, x, layer=layer):
    return layer(ws[1], mw.stage_boundary(layer(ws[0], x))).mean()


def test_two_gradients_in_a_step_are_calls():
    def step(ws, x):
        parts = [
            mw.call(jax.value_and_grad(two_stages), call_counter=i)(ws, part)
            for i, part in enumerate((x[:2], x[2:]))
        ]
        return jax.tree.map(jnp.add, *parts)

    schedule = mw.get_pipeline_schedule("1F1B")
    found = mw.jit(step, mw.make_config(TWO, pipeline_schedule=schedule))
    ws, x = weights(2), batch()[0].reshape(12, 4)[:4]
    close(found(ws, x), jax.jit(step)(ws, x))


def descended(w, x):
    """A step so small that rounding does not grow from layer to layer."""
    return w - 0.1 * jax.grad(lambda w: jnp.tanh(x @ w).sum())(w)


def squares(ws, x, layer):
    return (model(ws, x, layer=layer) ** 2).mean()


@functools.cache
def plain_results(inner, count):
    """Of two microbatches that share a program: their loss and gradients, averaged;
    and the loss of the whole batch. Whether layers are recomputed changes neither."""
    loss = functools.partial(squares, layer=inner)
    gradient, (ws, x) = jax.jit(jax.value_and_grad(loss)), layer_inputs(count)
    parts = [gradient(ws, half) for half in np.split(x, 2)]
    return jax.tree.map(lambda a, b: (a + b) / 2, *parts), jax.jit(loss)(ws, x)


def layer_inputs(count):
    return weights(count), batch()[0].reshape(12, 4)


INNER = [
    lambda w, x: x + jax.grad(lambda x: jnp.tanh(x @ w).sum())(x),
    lambda w, x: jax.grad(lambda x: (jnp.tanh(x @ w) ** 2).sum())(x),
    lambda w, x: x @ (w - jax.grad(lambda w: jnp.tanh(x @ w).sum())(w)),
    lambda w, x: jax.jvp(jax.grad(lambda x: jnp.tanh(x @ w).sum()), (x,), (x,))[1],
    lambda w, x: jax.vmap(jax.grad(lambda x: jnp.tanh(x @ w).sum()))(x),
    lambda w, x: x @ jax.lax.fori_loop(0, 2, lambda _, w: descended(w, x), w),
]


@pytest.mark.parametrize(
    ("number", "count", "is_recomputed"),
    [
        # Each layer recomputed and not, and with two stages and three; all four pairs
        # of these occur.
        (number, 2 + (number + is_recomputed) % 2, is_recomputed)
        for number, is_recomputed in itertools.product(range(len(INNER)), (True, False))
    ],
)
def test_layers_may_take_gradients_inside(number, count, is_recomputed):
    inner = INNER[number]
    layer = jax.checkpoint(inner) if is_recomputed else inner
    loss = functools.partial(squares, layer=layer)
    step = mw.pipeline.accumulate(jax.value_and_grad(loss), 2)
    meshes = dict(list(MESHES.items())[:count])
    ws, x = layer_inputs(count)
    trained, value = plain_results(inner, count)
    schedule = mw.get_pipeline_schedule("1F1B")
    config = mw.make_config(meshes, pipeline_schedule=schedule)
    jitted = mw.jit(step, config)
    lowered = jitted.lower(ws, x)  # The call runs the same.
    close(jitted(ws, x), trained)
    close(mw.jit(loss, mw.make_config(meshes))(ws, x), value)
    last = [
        origins[0].removeprefix(f"stage{count - 1}")
        for origins in items(lowered, f"m{count - 1}")
    ]
    assert last == ["", "(1)"] * 2


def test_a_mark_inside_of_a_search_says_how_to_write_it():
    def step(ws, x):
        return jax.lax.while_loop(
            lambda rate: two_stages(ws, rate * x) > 0.1, lambda rate: rate / 2, 1.0
        )

    def either(ws, x):
        return jax.lax.cond(x[0, 0] > 0, two_stages, lambda *_: 0.0, ws, x)

    for function in (step, either):
        message = "loop or choose in Python around a function of mw.jit"
        with pytest.raises(ValueError, match=message):
            mw.jit(function, mw.make_config(TWO)).lower(weights(2), jnp.ones((4, 4)))
