"""Loops and branches of `jax.lax` around a model with marks."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jax.sharding import Mesh

import meshwright as mw

pytestmark = pytest.mark.usefixtures("equal_compiles_once")

MESHES = {f"m{i}": Mesh(jax.devices()[i : i + 1], "x") for i in range(2)}
WIDTH = 16


def weights():
    draw = np.random.default_rng(0).standard_normal
    return [(draw((WIDTH, WIDTH)) / 4).astype("f") for _ in MESHES]


X = np.linspace(-1, 1, 4 * WIDTH, dtype="f").reshape(-1, WIDTH)


def loss(ws, x):
    h = mw.stage_boundary(jnp.tanh(x @ ws[0]))
    return (jnp.tanh(h @ ws[1]) ** 2).mean()


def moved(ws, grads, rate=0.3):
    return jax.tree.map(lambda w, g: w - rate * g, ws, grads)


def search(ws, x):
    value, grads = jax.value_and_grad(loss)(ws, x)

    def goes_on(state):
        rate, ws = state
        return (loss(ws, x) > 0.98 * value) & (rate > 1e-3)

    def halve(state):
        rate, _ = state
        return rate / 2, moved(ws, grads, rate / 2)

    return jax.lax.while_loop(goes_on, halve, (64.0, moved(ws, grads, 64.0)))


def descent(ws, x, count=3):
    return jax.lax.while_loop(
        lambda state: state[0] < count,
        lambda state: (state[0] + 1, moved(state[1], jax.grad(loss)(state[1], x))),
        (0, ws),
    )


def steps(ws, x):
    def step(ws, row):
        value, grads = jax.value_and_grad(loss)(ws, row)
        return moved(ws, grads), value

    return jax.lax.scan(step, ws, x[:, None], reverse=True)


def chosen(ws, x):
    return jax.lax.cond(
        x.sum() > 1, lambda: ws, lambda: moved(ws, jax.grad(loss)(ws, x))
    )


def switched(ws, x):
    cases = [lambda k=k: loss(ws, k * x) for k in range(3)]
    return jax.lax.switch((x[0, 0] < 0).astype(int) + 4, cases)


LOOPS = {f.__name__: f for f in (search, descent, steps, chosen, switched)}


def lowered(step, *args, trips):
    return mw.jit(step, mw.make_config(MESHES, max_loop_trips=trips)).lower(*args)


def check(step, *args, trips):
    program = lowered(step, *args, trips=trips)
    compiled = program.compile()
    found, wanted = compiled(*compiled.place(*args)), jax.jit(step)(*args)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-5)
    return program


@pytest.mark.parametrize("name", LOOPS)
def test_loops_and_branches_with_stages_are_written_out(name):
    program = check(LOOPS[name], weights(), X, trips=8)
    assert program.function_mesh_assignment.input_meshes[0] == ["m0", "m1"]
    sent = [
        item["bytes"]
        for item in program.partitioning_result.program["items"]
        if item["kind"] == "transfer"
    ]
    assert max(sent) <= X.nbytes  # Activations.


@pytest.mark.parametrize(
    "optimizer",
    [
        optax.chain(
            optax.sgd(1.0),
            optax.scale_by_backtracking_linesearch(3, store_grad=True),
        ),
        optax.lbfgs(
            memory_size=2,
            linesearch=optax.scale_by_zoom_linesearch(max_linesearch_steps=2),
        ),
    ],
    ids=["backtracking", "zoom"],
)
def test_line_searches_of_optax_run(optimizer):
    def step(ws, state, x):
        value, grads = jax.value_and_grad(loss)(ws, x)
        updates, state = optimizer.update(
            grads, state, ws, value=value, grad=grads, value_fn=lambda ws: loss(ws, x)
        )
        return optax.apply_updates(ws, updates), state

    ws = weights()
    program = check(step, ws, optimizer.init(ws), X, trips=3)
    new, state = program.function_mesh_assignment.output_meshes
    assert new == ["m0", "m1"]
    memories = optax.tree.get_all_with_path(state, "diff_params_memory")
    assert all(memory == ["m0", "m1"] for _, memory in memories)


def trained(ws, batch):
    """A training step of two microbatches."""
    value, grads = mw.pipeline.accumulate(jax.value_and_grad(loss), 2)(ws, batch)
    return moved(ws, grads), value


def trained_without_marks(ws, batch):
    def plain(ws, x):
        return (jnp.tanh(jnp.tanh(x @ ws[0]) @ ws[1]) ** 2).mean()

    value, grads = mw.pipeline.accumulate(jax.value_and_grad(plain), 2)(ws, batch)
    return moved(ws, grads), value


def many_steps(step, ws, batches):
    return jax.lax.scan(step, *step(ws, batches[0])[:1], batches)


def jitted_epochs(step, ws, batches):
    epoch = jax.jit(lambda ws, _: jax.lax.scan(step, ws, batches))
    return jax.lax.scan(epoch, ws, None, length=2)


def until_small(step, ws, batches):
    def next_step(state):
        count, ws, _ = state
        return count + 1, *step(ws, batches[count])

    def goes_on(state):
        return (state[0] < 2) & (state[2] > 1e-9)

    return jax.lax.while_loop(goes_on, next_step, (0, ws, 1.0))


def chosen_step(step, ws, batches):
    kept = jnp.zeros(())
    return jax.lax.cond(
        batches.sum() < 1, lambda: step(ws, batches[0]), lambda: (ws, kept)
    )


@pytest.mark.parametrize(
    ("loop", "is_marked"),
    [
        (many_steps, True),
        (until_small, True),
        (chosen_step, True),
        (jitted_epochs, False),
    ],
    ids=["steps", "while", "branch", "epochs of mw.auto"],
)
def test_loops_around_microbatches_are_written_out(loop, is_marked):
    def program(ws, batches):
        return loop(trained if is_marked else trained_without_marks, ws, batches)

    one_f_one_b = mw.get_pipeline_schedule("1F1B")
    made = (
        mw.jit(
            program,
            mw.make_config(MESHES, pipeline_schedule=one_f_one_b, max_loop_trips=2),
        )
        if is_marked
        else mw.auto(program, MESHES, pipeline_schedule=one_f_one_b, max_loop_trips=2)
    )
    batches = np.stack([X, 0.5 * X])
    lowered_program = made.lower(weights(), batches)
    assert lowered_program.function_mesh_assignment.input_meshes[0] == ["m0", "m1"]
    sent = [
        item["bytes"]
        for item in lowered_program.partitioning_result.program["items"]
        if item["kind"] == "transfer"
    ]
    assert max(sent) <= X.nbytes // 2  # Activations of a microbatch.
    compiled = lowered_program.compile()
    found = compiled(*compiled.place(weights(), batches))
    wanted = jax.jit(program)(weights(), batches)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


def test_a_scan_of_no_trips_changes_nothing():
    def program(ws, batches):
        ws, losses = jax.lax.scan(trained, ws, batches[:0])
        return *trained(ws, batches[0]), losses

    batches = np.stack([X, X])
    found = mw.jit(program, mw.make_config(MESHES, max_loop_trips=2))(
        weights(), batches
    )
    wanted = jax.jit(program)(weights(), batches)
    assert found[2].shape == wanted[2].shape == (0,)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


def test_a_schedule_needs_stages_in_a_scan_of_no_trips():
    def layers(ws, x):
        def layer(h, w):
            return mw.stage_boundary(jnp.tanh(h @ w)), None

        return jax.lax.scan(layer, x, ws)[0].sum()

    schedule = mw.get_pipeline_schedule("1F1B")
    config = mw.make_config(MESHES, max_loop_trips=2, pipeline_schedule=schedule)
    with pytest.raises(ValueError, match="0 stages: schedule 1F1B needs"):
        mw.jit(jax.grad(layers), config).lower(np.zeros((0, WIDTH, WIDTH), "f"), X)


def test_a_loop_that_goes_on_fails():
    step = mw.jit(descent, mw.make_config(MESHES, max_loop_trips=2))
    with pytest.raises(Exception, match="did not end within max_loop_trips of 2"):
        jax.block_until_ready(step(weights(), X))


def test_what_is_not_written_out():
    def of_microbatches(ws, x):
        return many_steps(trained, ws, jnp.stack([x] * 4))

    with pytest.raises(ValueError, match="scan of 4 trips, which are more than"):
        lowered(of_microbatches, weights(), X, trips=3)
    with pytest.raises(ValueError, match="scan of 4 trips, which are more than"):
        lowered(steps, weights(), X, trips=3)

    def printing(ws, x):
        def body(state):
            jax.debug.print("{}", state[0])
            return state[0] + 1, moved(state[1], jax.grad(loss)(state[1], x))

        return jax.lax.while_loop(lambda state: state[0] < 3, body, (0, ws))

    with pytest.raises(ValueError, match="has side effects, so it cannot be written"):
        lowered(printing, weights(), X, trips=3)
    with pytest.raises(ValueError, match=r"let mw\.make_config\(.*max_loop_trips=N"):
        lowered(descent, weights(), X, trips=None)


@pytest.mark.parametrize(
    ("given", "error"), [(0, ValueError), (True, TypeError), (2.0, TypeError)]
)
def test_trips_are_a_number(given, error):
    with pytest.raises(error, match="max_loop_trips: must be"):
        mw.make_config(MESHES, max_loop_trips=given)
