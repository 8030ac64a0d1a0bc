"""The vocabulary on all meshes: losses, order, memory, and what cannot be cut."""

import functools
import unittest.mock

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from meshwright.pipeline.shards import Shards
from support.schedule_training import (
    MESHES,
    count_planned_live,
    draw_plan,
    find_actions,
    find_issued,
    make_meshes,
    read_plan,
    train_beside,
)

import meshwright as mw

pytestmark = pytest.mark.usefixtures("x32", "equal_compiles_once")

MICROBATCHES, TOKENS, WIDTH, SIZE = 8, 6, 4, 24
NAME, CHUNKS = "VocabParallel1F1B", "--stages-per-mesh=3"


def embed(weights, tokens):
    return weights["table"][tokens]


def head(weights, x, y):
    logits = x @ weights["kernel"].T + weights["bias"]
    return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()


def make_loss(embed, head):
    def loss(weights, x, y):
        x = go(weights, embed(weights["embed"], x))
        return head(weights["head"], x, y)

    return loss


def go(weights, x):
    for stage, w in enumerate(weights["layers"]):
        x = jnp.tanh((mw.stage_boundary(x) if stage else x) @ w)
    return x


EMBED, HEAD = mw.pipeline.vocabulary(embed, head)
loss = make_loss(EMBED, HEAD)


def plain_loss(weights, x, y):
    return head(weights["head"], go(weights, embed(weights["embed"], x)), y)


def make_step(gradient):
    gradient = mw.pipeline.accumulate(gradient, MICROBATCHES, batch_argnums=(1, 2))

    def step(weights, xs, ys):
        value, grads = gradient(weights, xs, ys)
        return value, jax.tree.map(lambda w, g: w - 0.5 * g, weights, grads)

    return step


def make_inputs(size=SIZE):
    random = np.random.default_rng(0)

    def draw(*shape):
        return random.normal(size=shape).astype(np.float32)

    weights = {
        "embed": {"table": draw(size, WIDTH)},
        "layers": [draw(WIDTH, WIDTH) for _ in range(MESHES)],
        "head": {"kernel": draw(size, WIDTH), "bias": draw(size)},
    }
    xs, ys = (
        [random.integers(0, size, TOKENS) for _ in range(MICROBATCHES)]
        for _ in range(2)
    )
    return weights, xs, ys


def lower(loss, schedule, sizes=(1, 1, 1, 1), size=SIZE):
    config = mw.make_config(
        make_meshes(sizes), pipeline_schedule=mw.get_pipeline_schedule(schedule)
    )
    step = make_step(jax.value_and_grad(loss))
    return mw.jit(step, config).lower(*make_inputs(size))


@functools.cache
def make_plain_step(loss):
    """Without meshes; compiled by microbatch, once for all that train this loss."""
    return make_step(jax.jit(jax.value_and_grad(loss)))


def find_orders(lowered, plain=plain_loss):
    weights, *batch = make_inputs()
    step = make_plain_step(plain)
    recording = train_beside(lowered.compile(), step, weights, batch)
    topology = {f"m{i}": None for i in range(MESHES)}
    return find_issued(lowered.partitioning_result.program, topology, recording)


@functools.cache
def lower_on_equal_meshes():
    """The program of the model above, and how often the parts were combined for it.

    The first test that reads it, by the order of this file, sees what was reported.
    """
    traces, combine = [], Shards.combine

    def counted(*args):
        traces.append(args)
        return combine(*args)

    with unittest.mock.patch.object(Shards, "combine", counted):
        return lower(loss, NAME), len(traces)


@pytest.mark.parametrize(
    ("name", "sizes"),
    [(NAME, None), ("VOCAB_PARALLEL_1F1B", (1, 2, 1, 2))],
    ids=["equal", "unequal"],
)
def test_a_vocabulary_trains_as_drawn(tools, caplog, name, sizes):
    lowered = lower(loss, name, sizes) if sizes else lower_on_equal_meshes()[0]
    # The plain head has a loss of its own, without the parts.
    orders, lives = find_orders(lowered)
    schedule = mw.get_pipeline_schedule(name)
    planned = draw_plan(tools, schedule, MICROBATCHES, orders, CHUNKS)
    assert orders == planned
    assert {kind for row in orders for _, kind, _ in row} == set("EFSTBG")
    assert lives == [count_planned_live(row) for row in planned]
    assert lives[0] <= MESHES + 2
    assert not caplog.messages


def test_a_plan_from_a_file_orders_a_vocabulary(tools, tmp_path):
    shape = ["schedule", NAME, CHUNKS, f"--meshes={MESHES}", "--microbatches=8"]
    csv = tools.check("meshwright", *shape, "--csv")
    # One more forward before the first backward of the last mesh.
    changed = csv.replace("7T0,3B0,11E6,3F4", "7T0,11E6,3F4,3B0")
    files = [tmp_path / f"plan.{kind}" for kind in ("csv", "json")]
    files[0].write_text(changed)
    json = tools.check("meshwright", "schedule", f"file:{files[0]}", "--json")
    files[1].write_text(json)
    lowered, other = (lower(loss, f"file:{path}") for path in files)
    orders, _ = find_orders(lowered)
    assert orders == read_plan(changed)
    items = [each.partitioning_result.program["items"] for each in (lowered, other)]
    assert items[0] == items[1]


def test_weights_are_in_parts_on_all_meshes():
    program = lower_on_equal_meshes()[0].partitioning_result.program
    values = program["values"]
    parts = {
        entry["name"]: (values[entry["value"]]["mesh"], values[entry["value"]]["shape"])
        for entry in program["inputs"]
        if "kernel" in entry["name"] or "table" in entry["name"]
    }
    rows = [SIZE // MESHES, WIDTH]
    assert sorted(parts.values()) == sorted(
        2 * [(f"m{i}", rows) for i in range(MESHES)]
    )


def test_what_combines_the_parts_is_traced_once_for_all_gradients():
    # Of the embedding, of the loss, and of what goes back to the parts of the head.
    assert lower_on_equal_meshes()[1] == 3


def tied(weights, x, y):
    """A weight of both ends, and integers of the vocabulary."""

    def head(w, x, y):
        logs = jax.nn.log_softmax(x @ (w["table"] + w["kernel"]).T + w["bias"])
        return -(logs[jnp.arange(TOKENS), y] * w["counts"][y]).mean()

    _, head = mw.pipeline.vocabulary(embed, head)
    x = go(weights, EMBED(weights["embed"], x))
    counts = {"counts": jnp.arange(SIZE) % 3}
    return head(weights["embed"] | weights["head"] | counts, x, y)


def of_jitted(weights, x, y):
    x = go(weights, EMBED(weights["embed"], x))
    return jax.jit(HEAD)(weights["head"], x, y)


def with_more(weights, x, y):
    x = go(weights, EMBED(weights["embed"], x))
    return 0.5 * HEAD(weights["head"], x, y) + 0.01 * (x**2).mean()


@pytest.mark.parametrize("loss", [tied, of_jitted, with_more])
def test_other_models_keep_the_order(tools, loss):
    # Without `meshwright.jit` the functions are what they were.
    orders, _ = find_orders(lower(loss, NAME), loss)
    schedule = mw.get_pipeline_schedule(NAME)
    assert orders == draw_plan(tools, schedule, MICROBATCHES, orders, CHUNKS)


def test_a_loss_alone_is_computed():
    config = mw.make_config(make_meshes((1, 1, 1, 1)))
    weights, xs, ys = make_inputs()
    found = mw.jit(loss, config)(weights, xs[0], ys[0])
    expected = jax.jit(plain_loss)(weights, xs[0], ys[0])
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_evaluation_says_nothing_of_the_order(caplog):
    def evaluate(weights, xs, ys):
        pairs = mw.pipeline.accumulate(loss, MICROBATCHES, batch_argnums=(1, 2))
        return pairs(weights, xs, ys)

    config = mw.make_config(
        make_meshes((1, 1, 1, 1)), pipeline_schedule=mw.get_pipeline_schedule(NAME)
    )
    weights, xs, ys = make_inputs()
    found = mw.jit(evaluate, config)(weights, xs, ys)
    plain = jax.jit(plain_loss)
    losses = [plain(weights, x, y) for x, y in zip(xs, ys, strict=True)]
    np.testing.assert_allclose(found, np.mean(losses), rtol=1e-6)
    assert not caplog.messages


# Losses in parts, by themselves.


def logits_of(weights, x):
    return x @ weights["kernel"].T + weights["bias"]


def smoothed(weights, x, y):
    labels = optax.smooth_labels(jax.nn.one_hot(y, SIZE), 0.1)
    return optax.softmax_cross_entropy(logits_of(weights, x), labels).sum()


def one_hot(weights, x, y):
    logs = jax.nn.log_softmax(logits_of(weights, x))
    return -(jax.nn.one_hot(y, SIZE) * logs).sum(-1).mean()


def capped(weights, x, y):
    logits = 3 * jnp.tanh(logits_of(weights, x) / 3)
    total = jax.nn.logsumexp(logits, -1)
    mask = (y > 2).astype(logits.dtype)
    found = jnp.take_along_axis(logits, y[:, None], -1)[:, 0]
    return ((total - found) * mask).sum() / mask.sum() + 1e-2 * (total**2).mean()


def of_probabilities(weights, x, y):
    probabilities = jax.nn.softmax(logits_of(weights, x))
    return -jnp.log((probabilities * jax.nn.one_hot(y, SIZE)).sum(-1)).mean()


def without_maximum(weights, x, y):
    powers = jnp.exp(jnp.einsum("td,vd->tv", x, weights["kernel"]))
    chosen = (powers / powers.sum(-1, keepdims=True))[jnp.arange(TOKENS), y]
    return -jnp.log(chosen).mean() + weights["bias"].sum()


def of_all_but_the_last(weights, x, y):
    logits = logits_of(weights, x[None])[:, :-1]
    return optax.softmax_cross_entropy_with_integer_labels(logits, y[None, 1:]).mean()


def in_half_precision(weights, x, y):
    half = jax.tree.map(lambda w: w.astype(jnp.bfloat16), weights)
    logits = logits_of(half, x.astype(jnp.bfloat16)).astype(jnp.float32)
    return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()


def entropy(weights, x, y):
    logs = jax.nn.log_softmax(logits_of(weights, x))
    return -(jnp.exp(logs) * logs).sum(-1).mean() + 0 * y[0]


def with_masked_logits(weights, x, y):
    logits = logits_of(weights, x)
    is_padding = jnp.arange(SIZE) >= SIZE - 3
    logits = jnp.where(is_padding, -1e9, logits)
    return optax.softmax_cross_entropy_with_integer_labels(logits, y % 5).mean()


def label_outside(weights, x, y):
    logs = jax.nn.log_softmax(logits_of(weights, x))
    labels = jnp.asarray(y).at[0].set(-1).at[1].set(SIZE)
    found = jnp.take_along_axis(logs, labels[:, None], 1)
    return jnp.where(jnp.isnan(found), 1.0, found).sum()


def gathered(weights, x, y):
    return (weights["kernel"][y] * x).sum() + jnp.take(weights["bias"], y).sum()


LOSSES = [
    head,
    smoothed,
    one_hot,
    capped,
    of_probabilities,
    without_maximum,
    of_all_but_the_last,
    in_half_precision,
    entropy,
    with_masked_logits,
    label_outside,
    gathered,
]


def derive(functions, loss):
    """Values and gradients of all, by one program, where the head has the loss."""
    weights, *_ = make_inputs()
    x = np.random.default_rng(1).normal(size=(TOKENS, WIDTH)).astype(np.float32)
    # Large enough that an exponential without the maximum would overflow.
    scale = 1 if loss is without_maximum else 30
    gradients = [jax.value_and_grad(function, (0, 1)) for function in functions]
    derived = jax.jit(lambda *args: [gradient(*args) for gradient in gradients])
    return derived(weights["head"], scale * x)


def in_parts(closed, y, parts):
    """The function of a jaxpr, of the parts of its head."""
    shards = Shards("head", closed, 2, parts)

    def function(head, x):
        pieces = [jnp.split(leaf, parts) for leaf in jax.tree.leaves(head)]
        stats = [
            shards.part(number, [piece[number] for piece in pieces], [x, y])
            for number in range(parts)
        ]
        for stat in jax.tree.leaves(stats):
            assert SIZE // parts not in stat.shape or SIZE // parts == TOKENS
        return shards.combine(stats, [x, y])[0]

    return function


@pytest.mark.parametrize("loss", LOSSES)
def test_a_loss_in_parts_is_the_loss(loss):
    weights, _, (y, *_) = make_inputs()
    x = jax.ShapeDtypeStruct((TOKENS, WIDTH), np.float32)
    leaves, tree = jax.tree.flatten(weights["head"])

    def flat(*args):
        return jax.tree.leaves(loss(tree.unflatten(args[:2]), *args[2:]))

    closed = jax.make_jaxpr(flat)(*leaves, x, y)
    # Most in one number of parts, which each step of the cut takes in the same way.
    counts = (1, 3, 4) if loss in (head, capped, label_outside) else (3,)

    def whole(head, x):
        return loss(head, x, y)

    functions = [whole, *(in_parts(closed, y, parts) for parts in counts)]
    wanted, *found = jax.device_get(derive(functions, loss))
    for parts, (value, grads) in zip(counts, found, strict=True):
        where = f"in {parts} parts"
        np.testing.assert_allclose(value, wanted[0], 1e-6, 1e-6, err_msg=where)
        for a, b in zip(*map(jax.tree.leaves, (grads, wanted[1])), strict=True):
            np.testing.assert_allclose(a, b, 1e-4, 1e-4, err_msg=where)


# What is refused.


def refuse(loss, schedule=NAME, size=SIZE) -> str:
    with pytest.raises(ValueError) as error:
        lower(loss, schedule, size=size)
    return str(error.value)


def with_head(function):
    _, head = mw.pipeline.vocabulary(embed, function)

    def loss(weights, x, y):
        return head(weights["head"], go(weights, embed(weights["embed"], x)), y)

    return loss


def hits(weights, x, y):
    return (jnp.argmax(logits_of(weights, x), -1) == y).mean()


def by_sine(weights, x, y):
    return jnp.sin(jax.nn.softmax(logits_of(weights, x))).sum() + 0 * y[0]


def by_sum_of_logs(weights, x, y):
    return jax.nn.log_softmax(logits_of(weights, x)).sum(0).sum() + 0 * y[0]


@pytest.mark.parametrize(
    ("function", "operation", "why"),
    [
        (hits, "argmax, which gives int32[6],", "reads all entries of the vocabulary"),
        (
            by_sine,
            "sin, which gives float32[6,24],",
            "reads what is reduced over the vocabulary",
        ),
        (
            by_sum_of_logs,
            "reduce_sum, which gives float32[24],",
            "reduces another axis of what is made with a reduction over the "
            "vocabulary, before the vocabulary itself",
        ),
    ],
)
def test_a_head_that_cannot_be_cut_is_named(function, operation, why):
    text = refuse(with_head(function))
    assert text.split(":")[0].endswith("test_vocabulary.py")
    assert (
        f"pipeline.vocabulary: the head, {function.__name__}: {operation} {why}, so it "
        "cannot be computed in parts of the vocabulary; a loss may take maxima, sums, "
        "a softmax and entries at labels over it" in text
    )


def test_logits_are_no_result():
    text = refuse(with_head(lambda weights, x, y: logits_of(weights, x)))
    assert text == (
        "pipeline.vocabulary: the head, <lambda>: a result is float32[6,24], with the "
        "vocabulary as its axis 1; return what is reduced over the vocabulary, such "
        "as a loss, alone"
    )


def test_a_vocabulary_that_meshes_do_not_divide_is_refused():
    assert refuse(loss, size=26) == (
        "pipeline.vocabulary: the embedding, embed: a vocabulary of 26 cannot be cut "
        "evenly over 4 meshes; fill it up to 28"
    )


def test_weights_with_the_vocabulary_elsewhere_are_refused():
    _, head = mw.pipeline.vocabulary(embed, lambda w, x, y: (x @ w["kernel"]).sum())

    def loss(weights, x, y):
        kernel = weights["head"]["kernel"].T
        given = {"kernel": kernel, "bias": weights["head"]["bias"]}
        return head(given, go(weights, embed(weights["embed"], x)), y)

    assert refuse(loss) == (
        "pipeline.vocabulary: the head, <lambda>: all arrays of weights must have the "
        "same number of entries in their leading axis, one for each token of the "
        "vocabulary, got "
        "weights['bias']: 24, weights['kernel']: 4"
    )


def test_a_gradient_that_depends_on_the_loss_is_refused():
    def squared(weights, x, y):
        return loss(weights, x, y) ** 2

    assert refuse(squared).endswith(
        "pipeline.vocabulary: the gradient of the head depends on the loss that it "
        "returns, as that of a power does; compute all of the loss in the head"
    )


def test_given_functions_may_be_recomputed():
    def lower_with(*functions):
        return lower(make_loss(*mw.pipeline.vocabulary(*functions)), NAME)

    again = jax.checkpoint(embed), jax.checkpoint(head)
    orders, _ = find_orders(lower_with(*again))
    assert {kind for row in orders for _, kind, _ in row} == set("EFSTBG")
    # One beside one that is not has the same units.
    for functions in ((again[0], head), (embed, again[1])):
        program = lower_with(*functions).partitioning_result.program
        rows = {f"m{i}": [] for i in range(MESHES)}
        for index, action in find_actions(program).items():
            rows[program["items"][index]["mesh"]].append(action)
        assert list(rows.values()) == orders


@pytest.mark.parametrize("outer", [0, 1])
def test_parts_are_not_recomputed(outer):
    cut = list(mw.pipeline.vocabulary(embed, head))
    cut[outer] = jax.checkpoint(cut[outer])
    assert refuse(make_loss(*cut)).endswith(
        "pipeline.vocabulary: jax.checkpoint would compute parts of the vocabulary "
        "again, each a unit that a schedule has once; put it around layers, or around "
        "the functions that pipeline.vocabulary gets"
    )


def test_other_schedules_are_refused():
    assert refuse(loss, "1F1B") == (
        "pipeline.vocabulary: the parts of a vocabulary are units of their own, which "
        "schedule 1F1B does not know; take VocabParallel1F1B, or a schedule from a file"
    )
    assert refuse(plain_loss) == (
        "schedule VocabParallel1F1B is for models whose vocabulary is on all meshes; "
        "cut it with mw.pipeline.vocabulary(embed, head), or take 1F1B"
    )


def test_what_is_no_function_is_refused():
    with pytest.raises(TypeError, match="head must be a function of weights"):
        mw.pipeline.vocabulary(embed, make_inputs()[0])
