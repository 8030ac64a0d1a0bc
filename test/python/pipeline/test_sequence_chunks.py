"""Sequences in chunks: a cache goes from chunk to chunk, its gradient comes back."""

import functools
import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support.schedule_training import (
    MESHES,
    count_planned_live,
    find_issued,
    find_units,
    make_meshes,
    read_plan,
)

import meshwright as mw

pytestmark = pytest.mark.usefixtures("x32", "equal_compiles_once")

MICROBATCHES, ROWS, LENGTH, WIDTH, CHUNKS = 4, 2, 12, 4, 3


def draw(random, *shape):
    return random.normal(size=shape).astype(np.float32) / 2


def make_inputs(stages, microbatches=MICROBATCHES, names="qk"):
    random = np.random.default_rng(0)
    weights = [{n: draw(random, WIDTH, WIDTH) for n in names} for _ in range(stages)]
    xs, ys = (
        [draw(random, ROWS, LENGTH, WIDTH) for _ in range(microbatches)]
        for _ in range(2)
    )
    return weights, xs, ys


def attend(w, h, cache):
    """Causal attention; the cache has the keys of the chunks before.

    They are the values, too, and there is no softmax: with either, each of these
    programs takes longer to compile.
    """
    q, k = (h @ w[name] for name in "qk")
    if cache is not None:
        k = jnp.concatenate((cache, k), 1)
    new, all_ = q.shape[1], k.shape[1]
    sees = jnp.arange(all_) <= jnp.arange(all_ - new, all_)[:, None]
    scores = jnp.where(sees, q @ k.swapaxes(1, 2) / LENGTH, 0)
    return h + jnp.tanh(scores @ k), k


def loss(weights, x, y, cache):
    h, caches = x, []
    for stage, w in enumerate(weights):
        if stage:
            h = mw.stage_boundary(h)
        h, new = attend(w, h, cache and cache[stage])
        caches.append(new)
    return ((h - y) ** 2).mean(), caches


def named_loss(weights, x, y, cache):
    h, caches = x, []
    for stage, w in enumerate(weights):
        layer = mw.named_computation(attend, name=f"stage{stage}")
        h, new = layer(w, h, cache and cache[stage])
        caches.append(new)
    last = mw.named_computation(
        lambda h, y: ((h - y) ** 2).mean(), name=f"stage{len(weights) - 1}"
    )
    return last(h, y), caches


def make_step(chunks=CHUNKS, loss=loss, microbatches=MICROBATCHES, **options):
    gradient = mw.pipeline.accumulate(
        loss, microbatches, batch_argnums=(1, 2), sequence_chunks=chunks, **options
    )

    def step(weights, xs, ys):
        value, grads = gradient(weights, xs, ys)
        return value, jax.tree.map(lambda w, g: w - 0.1 * g, weights, grads)

    return step


@functools.partial(jax.jit, static_argnames="loss")
def whole_step(weights, xs, ys, loss=loss):
    """The same step with whole sequences, and nothing of the package in it."""

    def total(weights):
        losses = jax.lax.map(
            lambda batch: loss(weights, *batch, None)[0], (jnp.stack(xs), jnp.stack(ys))
        )
        return losses.mean()

    value, grads = jax.value_and_grad(total)(weights)
    return value, jax.tree.map(lambda w, g: w - 0.1 * g, weights, grads)


class Trained:
    """Two steps beside `jax.jit`: the last recording, and the largest difference."""

    def __init__(self, step, config, weights, batch, loss=loss):
        lowered = mw.jit(step, config).lower(weights, *batch)
        self.program = lowered.partitioning_result.program
        compiled = lowered.compile()
        self.memory = compiled.memory_analysis()
        ours, *placed = jax.tree.map(
            jax.device_put, (weights, *batch), compiled.input_shardings[0]
        )
        theirs, self.difference = weights, 0.0
        for _ in range(2):
            with mw.profile() as self.recording:
                found, ours = compiled(ours, *placed)
            expected, theirs = whole_step(theirs, *batch, loss)
            pairs = zip(
                jax.tree.leaves((found, ours)),
                jax.tree.leaves((expected, theirs)),
                strict=True,
            )
            self.difference = max(
                self.difference,
                *(float(np.abs(jax.device_get(a) - b).max()) for a, b in pairs),
            )


def get_plan(tools, name, *arguments):
    shape = [f"--meshes={MESHES}", f"--microbatches={MICROBATCHES}"]
    csv = tools.check("meshwright", "schedule", name, "--csv", *shape, *arguments)
    return read_plan(csv)


EQUAL, UNEQUAL = (1, 1, 1, 1), (1, 2, 1, 2)
CASES = [
    ("Seq1F1B", "Seq1F1B", 4, 3, EQUAL),
    ("SEQ_1F1B", "Seq1F1B", 4, 2, UNEQUAL),
    ("SlimPipe", "SlimPipe", 8, 3, EQUAL),
    ("SLIM_PIPE", "SlimPipe", 8, 2, UNEQUAL),
]


@pytest.mark.parametrize(("name", "plain", "stages", "chunks", "sizes"), CASES)
def test_chunks_train_as_drawn(tools, name, plain, stages, chunks, sizes):
    topology = make_meshes(sizes)
    config = mw.make_config(topology, pipeline_schedule=mw.get_pipeline_schedule(name))
    weights, *batch = make_inputs(stages)
    trained = Trained(make_step(chunks), config, weights, batch)
    assert trained.difference <= 1e-5
    orders, lives = find_issued(trained.program, topology, trained.recording, chunks)
    plan = get_plan(tools, f"{plain}:{chunks}")
    assert orders == plan
    assert lives == [count_planned_live(row) for row in plan]
    if plain == "Seq1F1B":
        assert lives == [MESHES - mesh + chunks - 1 for mesh in range(MESHES)]


def test_named_computations_and_the_option_train_as_drawn(tools):
    topology = make_meshes([1] * 4)
    names = {f"stage{stage}": f"m{stage}" for stage in range(4)}
    config = mw.make_config(
        topology,
        names,
        name_to_stage_assignment={f"stage{stage}": stage for stage in range(4)},
        partitioning_options={
            "mpmd_infer_transfers": True,
            "mpmd_keep_units_alike": True,
            "mpmd_pipeline_schedule": "Seq1F1B:3",
        },
    )
    weights, *batch = make_inputs(4)
    trained = Trained(make_step(loss=named_loss), config, weights, batch)
    assert trained.difference <= 1e-5
    orders, _ = find_issued(trained.program, topology, trained.recording, CHUNKS)
    assert orders == get_plan(tools, "Seq1F1B:3")


@pytest.mark.parametrize(
    ("schedule", "meshes"), [("1F1B", 4), ("GPipe", 4), ("LoopedBFS", 2)]
)
def test_other_schedules_give_the_same_numbers(schedule, meshes):
    config = mw.make_config(
        make_meshes([1] * meshes),
        partitioning_options={"mpmd_pipeline_schedule": schedule},
    )
    weights, *batch = make_inputs(4)
    assert Trained(make_step(), config, weights, batch).difference <= 1e-5


@pytest.mark.parametrize(
    ("wrap", "chunks"),
    [(jax.jit, 1), (jax.jit, 3), (jax.jit, [8, 4]), (lambda step: step, [8, 4])],
    ids=["one chunk", "three", "unequal", "eager"],
)
def test_without_meshes_it_is_the_same(wrap, chunks):
    weights, *batch = make_inputs(2, microbatches=2)
    step = wrap(make_step(chunks, microbatches=2))
    found, expected = step(weights, *batch), whole_step(weights, *batch)
    jax.tree.map(
        functools.partial(np.testing.assert_allclose, atol=1e-6), found, expected
    )


def test_cuts_by_time_train(tools):
    lengths = mw.pipeline.chunk_lengths(LENGTH, CHUNKS, linear=2, quadratic=1)
    assert lengths == [6, 3, 3]
    topology = make_meshes([1] * 4)
    schedule = mw.get_pipeline_schedule("Seq1F1B")
    config = mw.make_config(topology, pipeline_schedule=schedule)
    weights, *batch = make_inputs(4)
    trained = Trained(make_step(lengths), config, weights, batch)
    assert trained.difference <= 1e-5
    orders, _ = find_issued(trained.program, topology, trained.recording, CHUNKS)
    assert orders == get_plan(tools, "Seq1F1B:3")


def attend_in_place(w, h, cache):
    """Causal attention with caches of the whole length, and the position in them.

    Keys and values are of one type, so one could be taken for the other.
    """
    keys, values, at = cache
    q, k, v = (h @ w[name] for name in "qkv")
    keys = jax.lax.dynamic_update_slice_in_dim(keys, k, at, 1)
    values = jax.lax.dynamic_update_slice_in_dim(values, v, at, 1)
    sees = jnp.arange(LENGTH) <= (at + jnp.arange(h.shape[1]))[:, None]
    scores = jnp.where(sees, q @ keys.swapaxes(1, 2) / LENGTH, 0)
    h = h + jnp.tanh(scores @ values)
    return h, (keys, values, at + h.shape[1])


def test_a_cache_of_fixed_size_shares_its_fragments():
    def loss_in_place(weights, x, y, cache):
        if cache is None:
            empty = jnp.zeros((ROWS, LENGTH, WIDTH))
            cache = [(empty, empty, 0) for _ in weights]
        h, caches = x, []
        for stage, w in enumerate(weights):
            if stage:
                h = mw.stage_boundary(h)
            h, new = attend_in_place(w, h, cache[stage])
            caches.append(new)
        return ((h - y) ** 2).mean(), caches

    schedule = mw.get_pipeline_schedule("Seq1F1B")
    config = mw.make_config(make_meshes([1] * 2), pipeline_schedule=schedule)
    weights, *batch = make_inputs(2, names="qkv")

    def count(program):
        calls = [item for item in program["items"] if item["kind"] == "call"]
        return len({item["fragment"] for item in calls if item["origins"]})

    four, three = (make_step(chunks, loss=loss_in_place) for chunks in (4, 3))
    trained = Trained(four, config, weights, batch, loss_in_place)
    assert trained.difference <= 1e-5
    lowered = mw.jit(three, config).lower(weights, *batch)
    # The first chunk and the last are others than those in between.
    assert count(trained.program) == count(lowered.partitioning_result.program)


def test_keys_and_sums_go_with_the_chunks():
    """Dropout by a key for each chunk; sums instead of means; float16 weights."""

    def noisy(weights, x, key, cache):
        h = x * jax.random.bernoulli(key, 0.5, x.shape) + (
            0 if cache is None else cache
        )
        h = mw.stage_boundary(h @ weights["a"])
        return (h * weights["b"]).sum(), h.sum(1, keepdims=True)

    random = np.random.default_rng(1)
    x = draw(random, 4, 6, WIDTH)
    weights = {"a": draw(random, WIDTH, WIDTH), "b": draw(random, WIDTH)}
    key = jax.random.key(3)
    step = mw.pipeline.accumulate(
        noisy,
        2,
        rng_argnums=2,
        reduce="sum",
        sequence_chunks=3,
        accumulate_dtype="float32",
    )

    @jax.jit
    @jax.value_and_grad
    def whole(weights, x, keys):
        total, cache = 0, None
        for c in range(3):
            value, cache = noisy(weights, x[:, 2 * c : 2 * c + 2], keys[c], cache)
            total = total + value
        return total

    keys = jax.random.split(key, 6)
    parts = [whole(weights, x[2 * m :][:2], keys[3 * m :][:3]) for m in range(2)]
    expected_value, expected = jax.tree.map(np.add, *parts)
    schedule = mw.get_pipeline_schedule("Seq1F1B")
    config = mw.make_config(make_meshes([1, 1]), pipeline_schedule=schedule)
    for run in (step, jax.jit(step), mw.jit(step, config)):
        value, grads = run(weights, x, key)
        assert abs(float(value) - float(expected_value)) <= 1e-4
        jax.tree.map(
            lambda a, b: np.testing.assert_allclose(jax.device_get(a), b, atol=1e-5),
            grads,
            expected,
        )


def test_what_a_stage_keeps_is_divided_by_the_chunks():
    """Beside the cache: here an MLP, whose chunks need nothing of each other."""

    def mlp(weights, x, y, cache):
        h = x
        for stage, w in enumerate(weights):
            if stage:
                h = mw.stage_boundary(h)
            h = jnp.tanh(h @ w)
        return ((h - y) ** 2).mean(), cache

    random = np.random.default_rng(2)
    weights = [draw(random, 8, 8) for _ in range(4)]
    batch = [
        jax.ShapeDtypeStruct((MICROBATCHES * 64, 32, 8), np.float32) for _ in range(2)
    ]
    schedule = mw.get_pipeline_schedule("Seq1F1B")
    config = mw.make_config(make_meshes([1] * 4), pipeline_schedule=schedule)

    def measure(chunks):
        step = mw.pipeline.accumulate(
            mlp, MICROBATCHES, batch_argnums=(1, 2), sequence_chunks=chunks
        )
        compiled = mw.jit(step, config).lower(weights, *batch).compile()
        memory = compiled.memory_analysis()["m1"]  # It has no part of the batch.
        return memory.live_bytes

    # Three microbatches of 1F1B, against 3 + 8 - 1 chunks of an eighth.
    assert measure(8) < 0.55 * measure(1)


def test_a_model_that_looks_ahead_is_refused():
    def keys(w, x):
        return jnp.tanh(x @ w)

    def read(w, x, later):
        return (x * later).sum() + (x @ w).sum()

    def step(w, xs):
        later = mw.call(mw.named_computation(keys, name="f"), call_counter=1)(w, xs[1])
        first = mw.named_computation(read, name="f")
        return mw.call(first, call_counter=0)(w, xs[0], later)

    config = mw.make_config(
        make_meshes([1]),
        {"f": "m0"},
        name_to_stage_assignment={"f": 0},
        partitioning_options={"mpmd_pipeline_schedule": "Seq1F1B:2"},
    )
    xs = 2 * [jnp.ones((ROWS, WIDTH))]
    with pytest.raises(RuntimeError, match="looks ahead in the sequence") as error:
        mw.jit(step, config).lower(jnp.ones((WIDTH, WIDTH)), xs)
    text = str(error.value)
    assert "forward of chunk 0 of microbatch 0 in stage 0 reads this value" in text
    assert "of type 'tensor<2x4xf32>' of chunk 1" in text
    assert "test_sequence_chunks.py" in text  # The line of the value.


def call_with(weights=None, xs=None, ys=None, loss=loss, **options):
    given = make_inputs(2, microbatches=2)
    args = [
        b if a is None else a for a, b in zip((weights, xs, ys), given, strict=True)
    ]
    options = {"batch_argnums": (1, 2), "sequence_chunks": 3, **options}
    return mw.pipeline.accumulate(loss, 2, **options)(*args)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (
            {"sequence_chunks": 5},
            ValueError,
            r"args\[1\] along axis 1 has 12 positions, which cannot be cut evenly",
        ),
        ({"sequence_chunks": [4, 4]}, ValueError, "has 8 positions together, but args"),
        ({"sequence_chunks": 0}, ValueError, "must be 1 or more, got 0"),
        ({"sequence_chunks": [12, 0]}, ValueError, "must be 1 or more"),
        ({"sequence_chunks": "3"}, TypeError, "the number of chunks, or the length"),
        ({"sequence_chunks": True}, TypeError, "the number of chunks, or the length"),
        ({"sequence_axes": 3}, ValueError, r"float32\[2,12,4\], which has no axis 3"),
        ({"sequence_axes": (1, 2)}, ValueError, r"args\[2\] along axis 2 has 4"),
        ({"sequence_axes": None}, ValueError, "leaves no array with a sequence"),
        ({"sequence_axes": (1, 1, 1)}, ValueError, "an entry for each of the 2 argum"),
        ({"reduce": "stack"}, ValueError, 'reduce must be "mean" or "sum"'),
        ({"has_aux": True}, ValueError, "has_aux cannot be given with sequence_chunks"),
        (
            {"loss": lambda w, x, y, c: (x - y).mean()},
            TypeError,
            "must return a loss and the next carry, not its gradient",
        ),
        (
            {"loss": lambda w, x, y, c: (x - y, c)},
            TypeError,
            r"the loss of .* must be a number, got .* of shape \(2, 4, 4\)",
        ),
        ({"weights": [np.arange(3)]}, TypeError, r"args\[0\]\[0\] is int.*another arg"),
    ],
)
@pytest.mark.parametrize("is_staged", [False, True], ids=["eager", "jit"])
def test_what_cannot_be_cut_is_refused(given, error, message, is_staged):
    with pytest.raises(error, match=message):
        if is_staged:
            jax.make_jaxpr(lambda: call_with(**given))()
        else:
            call_with(**given)


def test_another_number_in_the_name_is_refused():
    config = mw.make_config(
        make_meshes([1] * 4),
        partitioning_options={"mpmd_pipeline_schedule": "Seq1F1B:2"},
    )
    with pytest.raises(
        ValueError, match="has sequences in 2 chunks, but accumulate cut"
    ):
        mw.jit(make_step(), config).lower(*make_inputs(4))
    for name in ("1F1B:3", "Seq1F1B:0"):
        with pytest.raises(ValueError, match=r"cannot have sequences in \d chunks"):
            mw.make_config(
                make_meshes([1]),
                partitioning_options={"mpmd_pipeline_schedule": name},
            )
        with pytest.raises(ValueError, match=r"cannot have sequences in \d chunks"):
            mw.get_pipeline_schedule(name)


def test_a_function_that_is_to_be_divided_is_refused():
    auto = mw.auto(make_step(), make_meshes([1] * 4))
    with pytest.raises(ValueError, match=r"sequence_chunks under mw\.auto"):
        auto.lower(*make_inputs(4))


def test_the_command_line_partitions_as_drawn(tools, tmp_path):
    stages = {f"stage{stage}": [f"m{stage}", stage] for stage in range(4)}
    options = {
        "mpmd_infer_transfers": True,
        "mpmd_infer_cross_mesh_reductions": True,
        "mpmd_keep_units_alike": True,
        "mpmd_complete_schedule": True,
    }
    topology = {f"m{i}": {"x": 1} for i in range(4)}
    config = {"topology": topology, "assignment": stages, "options": options}
    given = mw.get_pipeline_schedule("Seq1F1B")
    lowered = mw.jit(
        make_step(), mw.make_config(make_meshes([1] * 4), pipeline_schedule=given)
    ).lower(*make_inputs(4))
    (tmp_path / "step.mlir").write_text(lowered.as_text("stablehlo"))
    (tmp_path / "step.json").write_text(json.dumps(config))

    def partition(name):
        return tools.run(
            "meshwright",
            "partition",
            str(tmp_path / "step.mlir"),
            f"--config={tmp_path / 'step.json'}",
            f"--schedule={name}",
            "-o",
            str(tmp_path / name.replace(":", "_")),
        )

    done = partition("Seq1F1B:3")
    assert done.returncode == 0, done.stderr
    program = json.loads((tmp_path / "Seq1F1B_3" / "schedule.json").read_text())
    rows = {f"m{i}": [] for i in range(4)}
    for index, action in find_units(program, CHUNKS).items():
        rows[program["items"][index]["mesh"]].append(action)
    assert list(rows.values()) == get_plan(tools, "Seq1F1B:3")
    refused = partition("1F1B:3")
    assert refused.returncode == 1
    assert "1F1B cannot have sequences in 3 chunks" in refused.stderr


def test_the_result_is_not_differentiated():
    weights, *batch = make_inputs(2, microbatches=2)
    step = make_step([8, 4], microbatches=2)
    with pytest.raises(TypeError, match="differentiated from outside"):
        jax.grad(lambda weights: step(weights, *batch)[0])(weights)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"linear": -1, "quadratic": 1}, "must not be negative"),
        ({"linear": 0, "quadratic": 0}, "one must be positive"),
        (
            {"linear": 1, "quadratic": 0, "multiple": 8},
            "do not fit into a sequence of 12",
        ),
    ],
)
def test_times_that_cut_nothing_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        mw.pipeline.chunk_lengths(12, 3, **options)


@pytest.mark.parametrize("quadratic", [0, 0.01, 1, 100])
@pytest.mark.parametrize("chunks", [1, 2, 7, 16])
def test_chunks_of_equal_time_take_as_long(quadratic, chunks):
    lengths = mw.pipeline.chunk_lengths(16384, chunks, 64, quadratic, multiple=1)
    assert sum(lengths) == 16384
    ends = np.concatenate([[0], np.cumsum(lengths)]).astype(float)
    times = np.diff(64 * ends + quadratic * ends**2 / 2)
    assert times.max() / times.mean() <= 1.01


def test_tokens_masks_and_tied_weights_train():
    """A language model: integers, an array without a sequence, one embedding twice."""
    vocabulary = 8

    def language_loss(weights, batch, cache):
        h = weights["embedding"][batch["tokens"]]
        caches = []
        for stage, w in enumerate(weights["layers"]):
            h = mw.stage_boundary(h) if stage else h
            h, new = attend(w, h, cache and cache[stage])
            caches.append(new)
        logits = h @ weights["embedding"].T
        chosen = jax.nn.log_softmax(logits)[..., 0] * batch["scale"][:, None]
        return -chosen.mean(), caches

    random = np.random.default_rng(3)
    layers, *_ = make_inputs(2)
    weights = {"embedding": draw(random, vocabulary, WIDTH), "layers": layers}
    batch = {
        "tokens": random.integers(vocabulary, size=(2 * ROWS, LENGTH)),
        "scale": draw(random, 2 * ROWS),
    }
    even, uneven = (
        mw.pipeline.accumulate(
            language_loss,
            2,
            sequence_chunks=chunks,
            sequence_axes={"tokens": 1, "scale": None},
        )
        for chunks in (3, [8, 4])
    )
    config = mw.make_config(
        make_meshes([1, 2]), pipeline_schedule=mw.get_pipeline_schedule("Seq1F1B")
    )
    expected = jax.jit(
        jax.value_and_grad(lambda weights: language_loss(weights, batch, None)[0])
    )(weights)
    # Op by op in the chunks of the other test that does, for which jax has the code.
    for run in (uneven, jax.jit(even), mw.jit(even, config)):
        jax.tree.map(
            lambda a, b: np.testing.assert_allclose(jax.device_get(a), b, atol=1e-5),
            run(weights, batch),
            expected,
        )
    with pytest.raises(ValueError, match="is no prefix of the arguments"):
        mw.pipeline.accumulate(
            language_loss, 2, sequence_chunks=3, sequence_axes={"tokens": 1}
        )(weights, batch)
