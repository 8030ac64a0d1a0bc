"""Updates ahead of the global norm: what is wrong is undone, to the last bit."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from support.schedule_training import make_meshes

import meshwright as mw

pytestmark = pytest.mark.usefixtures("x32", "equal_compiles_once")

MICROBATCHES, ROWS, WIDTH, STAGES = 8, 2, 4, 4


def make_weights(stages=STAGES):
    random = np.random.default_rng(0)
    return [
        random.normal(size=(WIDTH, WIDTH)).astype(np.float32) / 2 for _ in range(stages)
    ]


def make_batches(bad=()):
    """Some with small gradients, some with large ones, and some that are not finite."""
    random, batches = np.random.default_rng(1), []
    for number in range(6):
        x, y = random.normal(size=(2, MICROBATCHES * ROWS, WIDTH)).astype(np.float32)
        x[0, 0] = np.nan if number in bad else x[0, 0]
        batches.append((x, y * (9 if number % 3 == 1 else 0.1)))
    return batches


def loss(weights, x, y):
    for stage, w in enumerate(weights):
        x = mw.stage_boundary(x) if stage else x
        x = jnp.tanh(x @ w)
    return ((x - y) ** 2).mean()


gradient = mw.pipeline.accumulate(
    jax.value_and_grad(loss), MICROBATCHES, batch_argnums=(1, 2)
)


def make_step(opt, settles=True):
    """A step that also returns what it was done with."""

    def step(weights, state, x, y):
        if settles:
            weights, state = opt.settle(weights, state)
        value, grads = gradient(weights, x, y)
        new, new_state = opt.update(grads, state, weights)
        return (value, weights, state), new, new_state

    return step


def train(opt, run, batches, weights):
    """The loss of each step, and the parameters and the state that it was done with."""
    state, found = opt.init(weights), []
    for x, y in batches:
        used, weights, state = run(weights, state, x, y)
        found.append(jax.device_get(used))
    return found


def assert_same_bits(found, expected):
    def bits(leaf):
        leaf = np.asarray(leaf)
        return leaf.tobytes(), leaf.dtype, leaf.shape

    assert jax.tree.map(bits, found) == jax.tree.map(bits, expected)


CHAINS = {
    "sgd": lambda: optax.sgd(0.5, momentum=0.9),
    "adamw": lambda: optax.adamw(0.05),
    "scheduled": lambda: optax.chain(
        optax.scale_by_adam(), optax.scale_by_schedule(optax.linear_schedule(-1, 0, 9))
    ),
    "masked": lambda: optax.masked(
        optax.sgd(0.5), lambda params: [i % 2 == 0 for i in range(len(params))]
    ),
}


@pytest.mark.parametrize(
    ("schedule", "sizes", "chain"),
    [
        ("ZeroBubbleH1", (1, 1, 1, 1), "adamw"),
        ("ZeroBubbleH2ZeroTxLatency", (1, 2, 1, 2), "sgd"),
        ("1F1B", (1, 1), "scheduled"),
        ("ZeroBubbleH1", (1, 2), "masked"),
    ],
)
def test_all_forms_have_the_same_bits(schedule, sizes, chain):
    batches, weights = make_batches(bad=[2]), make_weights(len(sizes))
    schedule = mw.get_pipeline_schedule(schedule)
    config = mw.make_config(make_meshes(sizes), pipeline_schedule=schedule)

    def form(post_validate):
        opt = mw.pipeline.optimizer(
            CHAINS[chain](), clip=1.0, post_validate=post_validate
        )
        return opt, mw.jit(make_step(opt), config)

    waiting = train(*form(False), batches, weights)
    opt, run = form(True)
    norms, calls = [], []

    def measured(*args):
        result = run(*args)
        norms.append(float(jnp.sqrt(jax.device_get(result[2].total))))
        return result

    assert_same_bits(train(opt, measured, batches, weights), waiting)
    wrong = [not norm < 1 for norm in norms]
    # Right ones, such that are clipped, and one that is not finite.
    assert 1 < sum(wrong) < len(wrong)
    assert sum(map(np.isnan, norms)) == 1

    def jit(function):
        run = mw.jit(function, config)
        return lambda *args: calls.append(function) or run(*args)

    ahead = opt.ahead(make_step(opt, settles=False), jit)
    assert_same_bits(train(opt, ahead, batches, weights), waiting)
    # What came after a wrong update was done twice.
    assert len(calls) == len(batches) + sum(wrong[:-1])


def test_it_is_what_optax_does():
    """On one device, beside the chain that users have now."""
    weights, batches = make_weights(2), make_batches()
    opt = mw.pipeline.optimizer(optax.adamw(0.05), clip=1.0, post_validate=True)
    found = train(opt, jax.jit(make_step(opt)), batches, weights)
    usual = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(0.05))
    state = usual.init(weights)

    @jax.jit
    def plain(weights, state, x, y):
        updates, state = usual.update(jax.grad(loss)(weights, x, y), state, weights)
        return optax.apply_updates(weights, updates), state

    for (x, y), (_, used, _) in zip(batches, found, strict=True):
        for a, b in zip(used, weights, strict=True):
            np.testing.assert_allclose(a, b, atol=2e-5)
        weights, state = plain(weights, state, x, y)


def test_no_stage_waits_for_the_norm():
    """The norm goes to no stage: what updates it reads numbers of its own mesh."""
    topology = make_meshes([1] * 4)
    schedule = mw.get_pipeline_schedule("ZeroBubbleH1")
    config = mw.make_config(topology, pipeline_schedule=schedule)

    def count_numbers(post_validate):
        opt = mw.pipeline.optimizer(
            optax.adamw(0.05), clip=1.0, post_validate=post_validate
        )
        weights = make_weights()
        step = make_step(opt, settles=False)
        state = opt.init(weights)
        state = state.state if post_validate else state
        lowered = mw.jit(step, config).lower(weights, state, *make_batches()[0])
        program = lowered.partitioning_result.program
        numbers = [
            item
            for item in program["items"]
            if item["kind"] == "transfer"
            and not program["values"][item["result"]]["shape"]
            and program["values"][item["result"]]["dtype"] == "f32"
        ]
        return len(numbers)

    # The sums of the squares go to one mesh; the norm comes back from there, or not.
    assert count_numbers(True) == len(topology) - 1
    assert count_numbers(False) == 2 * (len(topology) - 1)


def test_without_clipping_only_finite_steps_count():
    opt = mw.pipeline.optimizer(optax.adam(0.05), post_validate=True)
    weights, batches = make_weights(2), make_batches(bad=[0])[:2]
    _, (_, found, state) = train(opt, jax.jit(make_step(opt)), batches, weights)
    assert_same_bits(found, weights)
    assert int(state[0].count) == 0


@pytest.mark.parametrize(
    ("chain", "culprit"),
    [
        (
            lambda: optax.chain(optax.clip_by_global_norm(1.0), optax.sgd(0.1)),
            "clip_by_global_norm",
        ),
        (lambda: optax.apply_if_finite(optax.sgd(0.1), 3), "apply_if_finite"),
    ],
)
def test_a_chain_that_cannot_be_undone_is_named(chain, culprit):
    opt = mw.pipeline.optimizer(chain(), clip=1.0, post_validate=True)
    with pytest.raises(ValueError, match="cannot be undone array by array") as error:
        opt.init(make_weights())
    assert "depends on grads[0] and grads[1]" in str(error.value)
    assert f"array by array for {culprit}:" in str(error.value)
    mw.pipeline.optimizer(chain(), clip=1.0).init(make_weights())


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (({"learning_rate": 1},), TypeError, "tx must be a transformation of Optax"),
        ((optax.sgd(1), 0), ValueError, "clip must be a positive norm, or None"),
        ((optax.sgd(1), float("inf")), ValueError, "clip must be a positive norm"),
        ((optax.sgd(1), "1"), ValueError, "clip must be a positive norm"),
    ],
)
def test_what_is_no_optimizer_is_refused(arguments, error, message):
    tx, *clip = arguments
    with pytest.raises(error, match=message):
        mw.pipeline.optimizer(tx, clip=clip[0] if clip else None)


def test_only_what_validates_runs_ahead():
    with pytest.raises(ValueError, match="ahead is for post_validate=True"):
        mw.pipeline.optimizer(optax.sgd(1)).ahead(lambda: None, jax.jit)
