"""Where `accumulate` adds gradients up, and how it fits schedules and shardings."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AxisType, Mesh
from meshwright.pipeline import accumulate
from test_accumulate import (
    MICROBATCHES,
    ROWS,
    WIDTH,
    close,
    distance,
    layer,
    loss,
    make_batch,
    make_config,
    make_weights,
)

import meshwright as mw

pytestmark = pytest.mark.usefixtures("x32", "equal_compiles_once")


def backward_operands(step, config, *args):
    """How many operands each backward of the last stage has, by microbatch."""
    return [
        len(shapes) for shapes in backward_shapes(mw.jit(step, config).lower(*args))
    ]


def backward_shapes(lowered):
    """Of the operands of each backward of the last stage, by microbatch."""
    program = lowered.partitioning_result.program
    return [
        [program["values"][value]["shape"] for value in item["operands"]]
        for item in program["items"]
        if item["kind"] == "call" and "stage1(1)" in item["origins"]
    ]


def marked(weights, batch):
    x, y = batch
    return distance(layer(weights[1], mw.stage_boundary(layer(weights[0], x))), y)


@pytest.mark.parametrize("error", [loss, marked], ids=["named", "marked"])
def test_gradients_are_summed_where_they_are_made(error):
    config = marked_config("1F1B") if error is marked else make_config()
    step = accumulate(jax.grad(error), MICROBATCHES)
    counts = backward_operands(step, config, make_weights(2), make_batch())
    # The last one needs no more than the one before.
    assert len(counts) == MICROBATCHES
    assert counts[-1] == counts[-2]
    together = mw.jit(step, config)(make_weights(2), make_batch())
    close(together, jax.jit(jax.grad(error))(make_weights(2), make_batch()))


def twice(x, w):
    return jnp.tanh(jnp.tanh(x @ w) @ w)


READS = {
    "product": lambda x, w: jnp.tanh(x @ w) @ w,
    "transposed": lambda x, w: jnp.tanh(x @ w @ w.T),
    "norm": lambda x, w: jnp.tanh(x @ w / jnp.sqrt((w * w).sum())),
    "eight times": lambda x, w: twice(twice(twice(twice(x, w), w), w), w),
}


def repeated(read, way):
    """The loss of two stages, each of which reads its weight as `read` says."""

    def error(weights, batch):
        x, y = batch
        for number, w in enumerate(weights):
            if way == "marked":
                x = read(mw.stage_boundary(x) if number else x, w)
                continue
            name = f"stage{number}"
            x = mw.named_computation(read, name=name)(x, w)
            if way == "named parts":
                x = mw.named_computation(layer, name=name)(w, x)
        return distance(x, y)

    return error


@pytest.mark.parametrize(
    ("read", "way"),
    [
        *((read, "marked") for read in READS),
        *(
            (read, way)
            for read in ("product", "norm")
            for way in ("named", "named parts")
        ),
    ],
)
def test_a_weight_that_its_stage_reads_often_has_one_sum(read, way):
    gradient = jax.value_and_grad(repeated(READS[read], way))

    def step(weights, moments, batch):
        value, grads = accumulate(gradient, MICROBATCHES)(weights, batch)
        moments = [0.9 * m + g for m, g in zip(moments, grads, strict=True)]
        return [w - m for w, m in zip(weights, moments, strict=True)], moments, value

    config = marked_config("1F1B") if way == "marked" else make_config()
    weights, batch = make_weights(2), make_batch()
    args = weights, jax.tree.map(np.zeros_like, weights), batch
    lowered = mw.jit(step, config).lower(*args)
    # The weight and the sum; a backward transposes the weight again.
    for shapes in backward_shapes(lowered)[1:-1]:
        assert shapes.count([WIDTH, WIDTH]) == 2
    assigned = lowered.function_mesh_assignment
    for meshes in (*assigned.input_meshes[:2], *assigned.output_meshes[:2]):
        assert list(meshes) == list(config.topology)
    items = lowered.partitioning_result.program["items"]
    sent = [item["bytes"] for item in items if item["kind"] == "transfer"]
    assert sent == [ROWS * WIDTH * 4] * 2 * MICROBATCHES
    if way == "marked":
        compiled = lowered.compile()
        close(compiled(*compiled.place(*args)), jax.jit(step)(*args))


TERMS = {
    "squares": lambda ws: sum((w**2).sum() for w in ws),
    "products": lambda ws: sum(jnp.vdot(w, w) for w in ws),
    "norms": lambda ws: sum(jnp.linalg.norm(w) for w in ws),
    "norm of all": lambda ws: jnp.sqrt(sum((w * w).sum() for w in ws)),
    "rounded": lambda ws: sum(
        (w.astype("bfloat16").astype(w.dtype) ** 2).sum() for w in ws
    ),
    "stacked": lambda ws: jnp.stack([jnp.abs(w).sum() for w in ws]).sum(),
    "nested": jax.jit(lambda ws: sum((w**2).sum() for w in ws)),
    "recomputed": jax.checkpoint(lambda ws: sum((w**2).sum() for w in ws)),
}


@pytest.mark.parametrize("schedule", ["1F1B", "ZeroBubbleH1"])
@pytest.mark.parametrize("term", TERMS)
def test_decay_in_the_loss_is_computed_where_the_weights_are(term, schedule, caplog):
    def error(weights, batch):
        x, y = batch
        for number, w in enumerate(weights):
            x = jnp.tanh(mw.stage_boundary(x) @ w if number else x @ w)
        return distance(x, y) + 0.1 * TERMS[term](weights)

    def step(weights, moments, batch):
        gradient = accumulate(jax.value_and_grad(error), MICROBATCHES)
        value, grads = gradient(weights, batch)
        moments = [0.9 * m + g for m, g in zip(moments, grads, strict=True)]
        return [w - m for w, m in zip(weights, moments, strict=True)], moments, value

    weights, batch = make_weights(2), make_batch()
    args = weights, jax.tree.map(np.zeros_like, weights), batch
    lowered = mw.jit(step, marked_config(schedule)).lower(*args)
    assert caplog.text == ""
    assigned = lowered.function_mesh_assignment
    for meshes in (*assigned.input_meshes[:2], *assigned.output_meshes[:2]):
        assert list(meshes) == ["m0", "m1"]
    items = lowered.partitioning_result.program["items"]
    sent = [item["bytes"] for item in items if item["kind"] == "transfer"]
    assert [size for size in sent if size > 4] == [ROWS * WIDTH * 4] * 2 * MICROBATCHES
    assert 4 in sent  # The term itself.
    if schedule == "1F1B":
        compiled = lowered.compile()
        close(compiled(*compiled.place(*args)), jax.jit(step)(*args))


def test_decay_of_stacked_layers_leaves_these_on_their_meshes():
    def error(stack, batch):
        x, y = batch
        x = mw.pipeline.scan(lambda x, w: jnp.tanh(x @ w), x, stack, num_stages=2)
        return distance(x, y) + 0.1 * (stack**2).sum()

    def step(stack, moments, batch):
        gradient = accumulate(jax.value_and_grad(error), MICROBATCHES)
        value, grads = gradient(stack, batch)
        moments = 0.9 * moments + grads
        return stack - moments, moments, value

    stack = np.stack(make_weights(4))
    args = stack, np.zeros_like(stack), make_batch()
    lowered = mw.jit(step, marked_config("1F1B")).lower(*args)
    assigned = lowered.function_mesh_assignment
    parts = [*assigned.input_meshes[:2], *assigned.output_meshes[:2]]
    assert [each.pieces for each in parts] == [("m0", "m1")] * 4
    items = lowered.partitioning_result.program["items"]
    sent = [item["bytes"] for item in items if item["kind"] == "transfer"]
    assert max(sent) == ROWS * WIDTH * 4
    compiled = lowered.compile()
    close(compiled(*compiled.place(*args)), jax.jit(step)(*args))


def test_memory_does_not_grow_with_the_number_of_microbatches():
    wide = [np.ones((64, 64), np.float32)] * 2

    def peak(count):
        rows = np.ones((count, 64), np.float32)
        step = mw.jit(accumulate(jax.grad(marked), count), marked_config("1F1B"))
        compiled = step.lower(wide, (rows, rows)).compile()
        return compiled.peak_memory_bytes / wide[0].nbytes

    # The weight of a stage, the sum of its gradients, and the next one.
    assert peak(6) == pytest.approx(peak(3), abs=0.5)


def marked_config(schedule):
    return mw.make_config(
        make_config().topology, pipeline_schedule=mw.get_pipeline_schedule(schedule)
    )


@pytest.mark.parametrize("schedule", ["1F1B", "ZeroBubbleH1"])
def test_weights_that_several_stages_read(schedule):
    def tied(weights, batch):
        x, y = batch
        w, v = weights
        h = mw.stage_boundary(jnp.tanh(x @ w @ v))
        return distance(jnp.tanh(h @ v) @ w.T, y)

    gradient = jax.value_and_grad(tied)
    step = mw.jit(accumulate(gradient, MICROBATCHES), marked_config(schedule))
    args = make_weights(2), make_batch()
    close(step(*args), jax.jit(gradient)(*args))


def test_weights_that_several_stages_read_in_bfloat16():
    """Each stage casts them, and has a sum in float32: these alone are sent, once."""

    def tied(weights, batch):
        x, y = batch
        narrow = [weight.astype(jnp.bfloat16) for weight in weights]
        h = mw.stage_boundary(x.astype(jnp.bfloat16) @ narrow[0])
        return distance((h @ narrow[1] @ narrow[0].T).astype(x.dtype), y)

    step = accumulate(jax.value_and_grad(tied), MICROBATCHES)
    weights, batch = make_weights(2), make_batch()
    jitted = mw.jit(step, marked_config("1F1B"))
    lowered = jitted.lower(weights, batch)
    wide, narrow = weights[0].nbytes, ROWS * WIDTH * 2
    edges = {edge.source: edge.bytes for edge in lowered.compile().traffic().edges}
    assert edges["m1"] == wide + MICROBATCHES * narrow
    assert edges["m0"] == wide + MICROBATCHES * narrow
    # No forward keeps a copy of a weight for its backward.
    kept = lowered.partitioning_result.program["values"]
    assert all(value["dtype"] != "bf16" for value in kept if value["shape"] == [3, 3])
    _, found = jitted(weights, batch)
    _, whole = jax.jit(jax.value_and_grad(tied))(weights, batch)
    for ours, theirs in zip(found, whole, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0.05, atol=0.02)


@pytest.mark.parametrize("narrow", ["float8_e4m3fn", "float8_e5m2", "bfloat16"])
def test_gradients_of_types_that_are_not_promoted(narrow):
    def tied(weights, batch):
        x, y = batch
        w, v = (weight.astype(narrow).astype(x.dtype) for weight in weights)
        return distance(mw.stage_boundary(x @ w) @ v @ w.T, y)

    step = accumulate(jax.value_and_grad(tied), MICROBATCHES)
    args = make_weights(2), make_batch()
    with jax.numpy_dtype_promotion("strict"):
        _, found = mw.jit(step, marked_config("1F1B"))(*args)
        _, whole = jax.jit(jax.value_and_grad(tied))(*args)
    for ours, theirs in zip(found, whole, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0.2, atol=0.1)


@pytest.mark.parametrize("schedule", ["1F1B", "ZeroBubbleH1"])
def test_a_row_of_a_weight_that_another_stage_reads(schedule, caplog):
    def sliced(weights, batch):
        x, y = batch
        w, v = weights
        h = mw.stage_boundary(jnp.tanh(x @ w))
        return distance(jnp.tanh(h @ v) * w[0], y)

    gradient = jax.value_and_grad(sliced)
    step = mw.jit(accumulate(gradient, MICROBATCHES), marked_config(schedule))
    args = make_weights(2), make_batch()
    close(step(*args), jax.jit(gradient)(*args))
    assert caplog.text == ""  # What its row gets there does not undo the schedule.


@pytest.mark.parametrize(
    ("schedule", "stages"),
    [
        ("1F1B", 2),
        ("GPipe", 2),
        ("ZeroBubbleH1", 2),
        ("Interleaved1F1B", 4),
        ("LoopedBFS", 4),
        ("InterleavedZeroBubble", 4),
        ("ZeroBubbleV", 4),
        ("DualPipeV", 4),
    ],
)
def test_no_schedule_is_contradicted_by_the_sums(schedule, stages, caplog):
    """Not even with an optimizer that needs all gradients at one time."""

    def error(weights, batch):
        x, y = batch
        for number, w in enumerate(weights):
            x = layer(w, mw.stage_boundary(x) if number else x)
        return distance(x, y)

    def step(weights, batch):
        value, grads = accumulate(jax.value_and_grad(error), MICROBATCHES)(
            weights, batch
        )
        norm = jnp.sqrt(sum((g * g).sum() for g in grads))
        return value, [w - g / norm for w, g in zip(weights, grads, strict=True)]

    mw.jit(step, marked_config(schedule)).lower(make_weights(stages), make_batch())
    assert caplog.text == ""


def test_microbatches_are_split_over_devices_as_the_batch_is():
    devices = np.array(jax.devices()[:4]).reshape(2, 2)
    meshes = {f"m{i}": Mesh(row, "x") for i, row in enumerate(devices)}
    schedule = mw.get_pipeline_schedule("1F1B")
    step = mw.jit(
        accumulate(jax.value_and_grad(marked), MICROBATCHES),
        mw.make_config(meshes, pipeline_schedule=schedule),
        in_shardings=(jax.P(), jax.P("x")),
    )
    args = make_weights(2), make_batch()
    program = step.lower(*args).partitioning_result.program
    shape = [ROWS, WIDTH]
    read = {
        value
        for item in program["items"]
        if item["kind"] == "call" and "stage0" in item["origins"]
        for value in (*item["operands"], *item["results"])
    }
    found = [program["values"][value] for value in read]
    rows = [value for value in found if value["shape"] == shape]
    assert rows
    assert all(value["sharding"]["dims"][0] == ["x"] for value in rows)
    close(step(*args), jax.jit(jax.value_and_grad(marked))(*args))


def test_a_batch_may_be_split_by_explicit_axes():
    mesh = Mesh(jax.devices()[:2], "x", axis_types=(AxisType.Explicit,))
    config = mw.make_config({"m0": mesh}, {"stage0": "m0"})
    error = mw.named_computation(lambda w, x: ((w * x) ** 2).mean(), name="stage0")
    step = accumulate(jax.value_and_grad(error), MICROBATCHES)
    x = jnp.arange(4.0 * MICROBATCHES)
    rows = jax.device_put(x, jax.NamedSharding(mesh, jax.P("x")))
    close(mw.jit(step, config)(2.0, rows), jax.jit(jax.value_and_grad(error))(2.0, x))


def test_sums_have_the_type_that_is_asked_for():
    """Of 64 equal gradients in bfloat16, those after the first 9 bits are lost."""

    def loss(w, x):
        return (layer(w[1], mw.stage_boundary(layer(w[0], x))) * x).sum()

    count = 64
    weights = [jnp.full((WIDTH, WIDTH), 0.25, jnp.bfloat16)] * 2
    x = jnp.tile(jnp.linspace(0, 1, WIDTH, dtype=jnp.bfloat16), (count, 1))
    one = jax.jit(jax.grad(loss))(weights, x[:1])
    expected = jax.tree.map(lambda g: g.astype(jnp.float32) * count, one)
    step = accumulate(jax.grad(loss), count, reduce="sum", accumulate_dtype="float32")
    config = marked_config("1F1B")
    for found in (step(weights, x), mw.jit(step, config)(weights, x)):
        for ours, theirs in zip(found, expected, strict=True):
            assert ours.dtype == jnp.float32
            np.testing.assert_allclose(ours, theirs, rtol=1e-2)
    with pytest.raises(TypeError, match="must be a floating-point type, such as"):
        accumulate(jax.grad(loss), count, accumulate_dtype="int32")


def test_whether_there_are_64_bits_is_seen_at_the_call():
    def make():
        gradient = jax.grad(lambda w, x: (w * x).sum())
        return accumulate(gradient, 2, reduce="sum", accumulate_dtype="float64")

    before = make()
    with jax.enable_x64(True):
        found = [
            step(jnp.float64(1), jnp.ones(2)) for step in (before, jax.jit(before))
        ]
        assert [total.dtype for total in found] == [jnp.float64] * 2
        before = make()
    found = [step(jnp.float32(1), jnp.ones(2)) for step in (before, jax.jit(before))]
    assert [total.dtype for total in found] == [jnp.float32] * 2


def test_rows_of_a_gradient_that_a_name_computes():
    """A rule of the user's own for the derivative, with a computation in it."""

    @jax.custom_vjp
    def scaled(w, x):
        return x * w.sum()

    def backward(saved, cotangent):
        w, x = saved
        rows = mw.named_computation(
            lambda x, g: jnp.ones(2) * (x * g).sum(), name="stage0"
        )
        return rows(x, cotangent), cotangent * w.sum()

    scaled.defvjp(lambda w, x: (scaled(w, x), (w, x)), backward)

    def error(w, x):
        return (scaled(w[:2], x) + scaled(w[2:], x)).sum()

    step = accumulate(jax.grad(error), 2)
    args = jnp.arange(4.0), jnp.arange(6.0)
    close(jax.jit(step)(*args), step(*args))


def test_a_sum_stays_in_one_buffer():
    """XLA writes the new sum over the old one, in every microbatch but the first."""
    step = mw.jit(
        accumulate(jax.grad(marked), MICROBATCHES, accumulate_dtype="float32"),
        marked_config("1F1B"),
    )
    lowered = step.lower(make_weights(2), make_batch())
    code = lowered.compile().as_text(dialect="hlo").split('// fragment "')[1:]
    texts = {text[: text.index('"')]: text for text in code}
    later = [
        (texts[fragment["name"]], fragment["arguments"])
        for fragment in lowered.partitioning_result.program["fragments"]
        if "_bwd_call" in fragment["name"] and "call0" not in fragment["name"]
    ]
    assert later
    for text, arguments in later:
        aliases = text.splitlines()[1]
        sums = [
            (entry["alias"], number)
            for number, entry in enumerate(arguments)
            if entry["alias"] is not None
        ]
        assert sums
        for result, number in sums:
            # {result}: (parameter, {}, may-alias); one result is {} alone.
            where = rf"\{{({result})?\}}: \({number}, \{{\}}, (may|must)-alias\)"
            assert re.search(where, aliases), (where, aliases)
