"""Loops of this package over microbatches: what a Python loop of calls would do."""

import dataclasses
import functools
import importlib
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from meshwright.pipeline import accumulate
from support.frontend_ir import emitted
from test_accumulate import (
    MICROBATCHES,
    ROWS,
    SCHEDULES,
    close,
    distance,
    draw,
    layer,
    loss,
    make_batch,
    make_config,
    make_weights,
)

import meshwright as mw

pytestmark = pytest.mark.usefixtures("x32", "equal_compiles_once")

GRADIENT = jax.value_and_grad(loss)


def zeros(weights, dtype=None):
    return jnp.float32(0), [jnp.zeros(w.shape, dtype or w.dtype) for w in weights]


def add(total, more):
    return jax.tree.map(lambda a, b: a + b.astype(a.dtype), total, more)


def rows_at(batch, i):
    return [jax.lax.dynamic_slice_in_dim(part, i * ROWS, ROWS) for part in batch]


def parts_of(batch):
    return [
        tuple(part[i * ROWS : (i + 1) * ROWS] for part in batch)
        for i in range(MICROBATCHES)
    ]


# Four ways to write the same sum.


def by_calls(weights, batch, dtype=None):
    def body(weights, total, part):
        return add(total, GRADIENT(weights, part))

    total = zeros(weights, dtype)
    for i, part in enumerate(parts_of(batch)):
        total = mw.call(body, call_counter=i)(weights, total, part)
    return total


def by_fori_loop(weights, batch, dtype=None):
    def body(i, total):
        return add(total, GRADIENT(weights, rows_at(batch, i)))

    return mw.fori_loop(MICROBATCHES, body, zeros(weights, dtype))


def by_enumerated_for(weights, batch, dtype=None, unroll=False):
    def body(total, i, part):
        return add(total, GRADIENT(weights, (part["x"], part["y"])))

    xs, ys = zip(*parts_of(batch), strict=True)
    inputs = {"x": list(xs), "y": list(ys)}
    return mw.enumerated_for(body, zeros(weights, dtype), inputs, unroll=unroll)


def by_unrolled(weights, batch, dtype=None):
    return by_enumerated_for(weights, batch, dtype, unroll=True)


LOOPS = [by_fori_loop, by_enumerated_for, by_unrolled]


def training(sums):
    """A step that uses all of a loop's result."""

    def step(weights, batch):
        value, grads = sums(weights, batch)
        return value / MICROBATCHES, [
            w - 0.1 * g.astype(w.dtype) / MICROBATCHES
            for w, g in zip(weights, grads, strict=True)
        ]

    return step


def text(lowered):
    return re.sub(r" ?loc\(.*?\)$", "", lowered.as_text(), flags=re.M)


def outline(lowered):
    """What is the same however inputs and constants are ordered.

    It has no code of fragments, nor which of several equal types a fragment reads.
    """
    program = lowered.partitioning_result.program

    def types(values):
        return sorted(str(program["values"][value]) for value in values)

    return [
        (item["kind"], item.get("fragment"), item.get("mesh"))
        + tuple(types(item.get(key, ())) for key in ("operands", "results"))
        for item in program["items"]
    ]


@functools.cache
def lower(loop, schedule):
    stages = SCHEDULES[schedule]
    config = make_config(schedule, stages)
    args = make_weights(stages), make_batch()
    return mw.jit(training(loop), config, override_func_name="f").lower(*args)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_loop_that_reads_its_microbatch_becomes_what_calls_become(schedule):
    assert text(lower(by_fori_loop, schedule)) == text(lower(by_calls, schedule))


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("loop", [by_enumerated_for, by_unrolled])
def test_a_loop_over_lists_becomes_what_calls_become(schedule, loop):
    assert outline(lower(loop, schedule)) == outline(lower(by_calls, schedule))


@functools.cache
def train_plainly(loop, stages):
    step = jax.jit(training(loop))
    return jax.device_get(step(make_weights(stages), make_batch()))


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("loop", LOOPS)
def test_numbers_are_those_of_jax(schedule, loop):
    stages = SCHEDULES[schedule]
    compiled = lower(loop, schedule).compile()
    ours = compiled(*compiled.place(make_weights(stages), make_batch()))
    close(ours, train_plainly(loop, stages))
    close(ours, train_plainly(by_calls, stages))


@pytest.mark.parametrize("loop", LOOPS)
def test_sums_have_the_type_of_the_carry(loop):
    weights = jax.tree.map(lambda w: jnp.asarray(w, jnp.bfloat16), make_weights(2))
    batch = jax.tree.map(lambda x: jnp.asarray(x, jnp.bfloat16), make_batch())
    sums = mw.jit(lambda *args: loop(*args, dtype=jnp.float32), make_config())
    value, grads = sums(weights, batch)
    assert [g.dtype for g in grads] == [jnp.float32] * 2
    expected = jax.jit(lambda *args: by_calls(*args, jnp.float32))(weights, batch)
    close((value, grads), expected, 2e-2)


def test_auxiliary_data_is_stacked_in_the_carry():
    """The index is a number that the body may compute with, too."""

    def loss_and_output(weights, batch):
        value = loss(weights, batch)
        return value, {"twice": 2 * value}

    def step(weights, batch):
        def body(i, carry):
            sums, aux, count = carry
            (value, more), grads = jax.value_and_grad(loss_and_output, has_aux=True)(
                weights, rows_at(batch, i)
            )
            aux = jax.tree.map(lambda all, one: all.at[i].set(one), aux, more)
            return add(sums, (value, grads)), aux, count + i

        aux = {"twice": jnp.zeros(MICROBATCHES)}
        return mw.fori_loop(MICROBATCHES, body, (zeros(weights), aux, jnp.uint32(0)))

    args = make_weights(2), make_batch()
    (value, _), aux, count = mw.jit(step, make_config())(*args)
    sums = accumulate(GRADIENT, MICROBATCHES, reduce="sum")
    np.testing.assert_allclose(value, jax.jit(sums)(*args)[0], rtol=1e-6)
    plain = jax.jit(loss)
    each = [2 * plain(args[0], part) for part in parts_of(args[1])]
    np.testing.assert_allclose(aux["twice"], each, rtol=1e-5)
    assert count == sum(range(MICROBATCHES))


def with_aux(weights, batch):
    value = loss(weights, batch)
    return value, {"rows": batch[0][:, 0], "loss": value}


def twice(weights, batch):
    """The second sum over microbatches has calls of its own."""
    value, grads = accumulate(GRADIENT, MICROBATCHES)(weights, batch)
    norms = accumulate(lambda w, part: (w * part[0]).sum(), MICROBATCHES)
    return norms(grads[0].sum(), batch), value


def noisy(weights, batch, key):
    x, y = batch
    return loss(weights, (x * jax.random.bernoulli(key, 0.5, x.shape), y))


ACCUMULATED = {
    "means": accumulate(GRADIENT, MICROBATCHES),
    "aux": accumulate(jax.value_and_grad(with_aux, has_aux=True), MICROBATCHES),
    "aux that nothing reads": lambda *args: accumulate(
        jax.value_and_grad(with_aux, has_aux=True), MICROBATCHES
    )(*args)[1],
    "no gradients": lambda *args: accumulate(GRADIENT, MICROBATCHES)(*args)[0],
    "maxima": accumulate(GRADIENT, MICROBATCHES, reduce=jnp.maximum),
    "sums in bfloat16": accumulate(
        GRADIENT, MICROBATCHES, reduce="sum", accumulate_dtype="bfloat16"
    ),
    "several": twice,
    "lists": lambda weights, batch: accumulate(GRADIENT, MICROBATCHES)(
        weights, parts_of_lists(batch)
    ),
    "keys": lambda weights, batch: accumulate(
        jax.grad(noisy), MICROBATCHES, rng_argnums=2
    )(weights, batch, jax.random.key(3)),
}


@pytest.mark.parametrize(
    ("step", "schedule"),
    [
        *(("means", schedule) for schedule in SCHEDULES),
        *((step, "1F1B") for step in ACCUMULATED if step != "means"),
    ],
)
def test_what_accumulate_leaves_becomes_what_calls_become(monkeypatch, step, schedule):
    stages = SCHEDULES[schedule]
    args, config = (make_weights(stages), make_batch()), make_config(schedule, stages)

    def lowered():
        function = ACCUMULATED[step]
        found = mw.jit(lambda *a: function(*a), config, override_func_name="f")
        return found.lower(*args)

    found = lowered()
    # Sums from the last microbatch to the first have no place in the carry.
    is_loop = schedule != "CircularWithReversedBackward"
    assert ("mpmd.for" in found.as_text("stablehlo")) == is_loop
    module = importlib.import_module("meshwright.pipeline.accumulate")
    monkeypatch.setattr(module, "can_loop", lambda _: False)
    expected = lowered()
    assert "mpmd.for" not in expected.as_text("stablehlo")
    assert text(found) == text(expected)


def test_a_loop_that_nothing_reads_is_gone():
    def step(weights, batch):
        accumulate(GRADIENT, MICROBATCHES)(weights, batch)
        return loss(weights, batch)

    lowered = mw.jit(step, make_config("GPipe")).lower(make_weights(2), make_batch())
    assert "mpmd.for" not in lowered.as_text("stablehlo")


def test_the_program_of_accumulate_has_one_call_however_many_microbatches():
    def calls(microbatches):
        rows = np.ones((2 * microbatches, 3), np.float32)
        step = accumulate(GRADIENT, microbatches)
        lowered = mw.jit(step, make_config()).lower(make_weights(2), (rows, rows))
        return lowered.as_text("stablehlo").count("mpmd.call")

    assert calls(4) == calls(8) == 1


def test_accumulate_inside_of_other_functions_is_written_out():
    """There loops have no rules, or are where the compiler unrolls none."""

    def nested(weights, batch):
        return jax.jit(accumulate(GRADIENT, MICROBATCHES))(weights, batch)

    def batched(weights, batch):
        both = jax.tree.map(lambda x: jnp.stack([x, 2 * x]), batch)
        return jax.vmap(accumulate(GRADIENT, MICROBATCHES), (None, 0))(weights, both)

    args = make_weights(2), make_batch()
    for step in (nested, batched):
        close(mw.jit(step, make_config())(*args), jax.jit(step)(*args))


def reading(read):
    """A loop that adds up what `read(i, total, xs)` gives, and its arguments."""

    def f(w, xs):
        def body(i, total):
            return total + w * read(i, total, xs).sum()

        return mw.fori_loop(3, body, jnp.zeros(4))

    return f, (jnp.ones(4), jnp.arange(24.0).reshape(6, 4))


READS = {
    "row": lambda i, total, xs: xs[i],
    "rows": lambda i, total, xs: jax.lax.dynamic_slice_in_dim(xs, 2 * i, 2),
    "clamped": lambda i, total, xs: xs[jnp.minimum(i + 1, 1)],
    "backwards": lambda i, total, xs: xs[2 - i.astype(jnp.int32)],
    "nested": lambda i, total, xs: jax.lax.dynamic_slice_in_dim(xs, i, 3)[i],
    "tree": lambda i, total, xs: jax.tree.map(lambda x: x[i], {"a": xs})["a"],
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_what_is_read_at_the_index_is_read_in_front_of_the_call(read):
    f, args = reading(read)
    found = emitted(f, *args)
    loop = found[found.index("mpmd.for") : found.index("mpmd.return")]
    call = re.search(r"mpmd\.call @\S+\((.*?)\)", loop)
    assert "%index" in loop and "%index" not in call[1]
    body = found[found.index("func.func private @shardy_mpmd_body") :]
    assert "tensor<6x4xf32>" not in body[: body.index("return")]
    np.testing.assert_allclose(jax.jit(f)(*args), f(*args))


STAYS = {
    "at the carry": lambda i, total, xs: xs[total[0].astype(int)],
    "at both": lambda i, total, xs: xs[i + total[0].astype(jnp.uint32)],
    "of the carry": lambda i, total, xs: total[i],
    "at what has no operands": lambda i, total, xs: xs[jax.lax.iota(int, 6)[3] + i],
    "not at the index": lambda i, total, xs: xs[jnp.uint32(1)] * i,
}


@pytest.mark.parametrize("read", STAYS.values(), ids=STAYS)
def test_what_else_is_read_stays_in_the_body(read):
    f, args = reading(read)
    found = emitted(f, *args)
    assert re.search(r"%index: tensor<ui32>\) \{\n +%\d+ = mpmd\.call", found)
    np.testing.assert_allclose(jax.jit(f)(*args), f(*args))


@pytest.mark.parametrize("read", [*READS.values(), *STAYS.values()])
def test_reads_have_the_numbers_of_jax_on_meshes(read):
    f, args = reading(read)

    def step(w, xs):
        return mw.named_computation(lambda x: 2 * x, name="stage0")(f(w, xs))

    close(mw.jit(step, make_config())(*args), step(*args))


def test_random_keys_and_closures():
    scale = jnp.full(ROWS, 3.0)

    def step(weights, batch, key):
        keys = jax.random.split(key, MICROBATCHES)

        def body(i, total):
            x, y = rows_at(batch, i)
            noise = jax.random.normal(keys[i], x.shape) * scale[:, None]
            fold = jax.random.uniform(jax.random.fold_in(key, i))
            return add(total, GRADIENT(weights, (x + noise, y * fold)))

        return mw.fori_loop(MICROBATCHES, body, zeros(weights))

    args = make_weights(2), make_batch(), jax.random.key(1)
    close(mw.jit(step, make_config())(*args), jax.jit(step)(*args), 1e-5)


def test_calls_in_a_loop_are_part_of_its_iterations():
    def marked(weights, batch):
        x, y = batch
        first = mw.call(layer)(weights[0], x)
        return distance(layer(weights[1], mw.stage_boundary(first)), y)

    def step(weights, batch):
        def body(i, total):
            part = rows_at(batch, i)
            return add(total, jax.value_and_grad(marked)(weights, part))

        return mw.fori_loop(MICROBATCHES, body, zeros(weights))

    config = mw.make_config(
        make_config().topology, pipeline_schedule=mw.get_pipeline_schedule("1F1B")
    )
    args = make_weights(2), make_batch()
    lowered = mw.jit(step, config).lower(*args)
    names = [f["name"] for f in lowered.partitioning_result.program["fragments"]]
    assert any(name.endswith(f"calls0to{MICROBATCHES - 1}.step") for name in names)
    close(mw.jit(step, config)(*args), jax.jit(step)(*args))


def test_a_body_is_traced_once():
    traces = []

    def step(weights, batch, loop):
        def body(total, i, part):
            traces.append(weights)  # Keeps the trace from being shared.
            return add(total, GRADIENT(weights, part))

        return mw.enumerated_for(
            body, zeros(weights), parts_of_lists(batch), unroll=loop
        )

    args = make_weights(2), make_batch()
    for unroll in (False, True):
        traces.clear()
        mw.jit(lambda *args, unroll=unroll: step(*args, unroll), make_config()).lower(
            *args
        )
        assert len(traces) == 1


def parts_of_lists(batch):
    return tuple(list(column) for column in zip(*parts_of(batch), strict=True))


def test_unrolled_elements_may_have_several_types():
    def step(w, xs):
        body = lambda total, i, x: total + (w * x.sum(0)).sum() * i  # noqa: E731
        return mw.enumerated_for(body, jnp.float32(0), xs, unroll=True)

    args = jnp.ones(3), [draw(rows, 3) for rows in (2, 3, 2)]
    config = mw.make_config(make_config().topology)
    close(mw.jit(step, config)(*args), step(*args))


@pytest.mark.parametrize("transform", [jax.grad, jax.vmap])
def test_a_loop_inside_of_a_transformation_says_what_to_do(transform):
    def f(x):
        return mw.fori_loop(2, lambda i, v: v * 2, x).sum()

    x = jnp.ones((2, 2))
    what = "derivative" if transform is jax.grad else "batched"
    message = f"loop over '<lambda>' .*{what}.*; .* inside of its body"
    with pytest.raises(NotImplementedError, match=message):
        transform(f)(x)


def test_unrolled_bodies_may_change_the_form_of_the_carry():
    """Then they are traced again: what is no array, and what holds the arrays."""

    def body(carry, i, x):
        name, values = carry
        wrapped = {"a": values["b"]} if "b" in values else {"b": values["a"] * x}
        return name + "x", wrapped

    def f(x):
        name, values = mw.enumerated_for(body, ("", {"a": x}), [1, 2, 3], unroll=True)
        return values["b"] * len(name)

    assert float(jax.jit(f)(2.0)) == float(f(2.0)) == 18


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Scaled:
    """A node whose numbers are a part of the program."""

    value: jax.Array | float
    factor: jax.Array | float = 1


def test_unrolled_bodies_may_change_numbers_of_the_program():
    def body(carry, i, x):
        total = carry.value + carry.factor * x.value * x.factor
        return Scaled(total, carry.factor + 1)

    def f(x):
        inputs = Scaled([1.0, 2.0, 3.0], [x, x, x])
        return mw.enumerated_for(body, Scaled(x), inputs, unroll=True).value

    assert float(jax.jit(f)(2.0)) == float(f(2.0)) == 30


def called(step, *args):
    """What a step gives, and what it tells a callback named `tell`."""
    heard = []
    result = step(lambda value: jax.debug.callback(heard.append, value), *args)
    jax.effects_barrier()
    return result, sorted(map(float, heard))


def effects_alone(tell, x, xs):
    mw.fori_loop(3, lambda i, _: tell(i + x), None)
    return x


def effects_of_reads(tell, x, xs):
    def body(i, total):
        total = total + xs[i]
        tell(total)
        tell(xs[i])
        return total

    return mw.fori_loop(3, body, x)


@pytest.mark.parametrize("step", [effects_alone, effects_of_reads])
def test_a_body_has_its_effects_in_each_iteration(step):
    config = mw.make_config(make_config().topology)
    args = jnp.float32(5), jnp.arange(1.0, 4.0)
    wanted = {effects_alone: [5, 6, 7], effects_of_reads: [1, 2, 3, 6, 8, 11]}[step]
    for apply in (lambda f: f, jax.jit, lambda f: mw.jit(f, config)):
        found, heard = called(
            lambda tell, *args, apply=apply: apply(functools.partial(step, tell))(
                *args
            ),
            *args,
        )
        assert heard == wanted and float(found) in (5, 11)
