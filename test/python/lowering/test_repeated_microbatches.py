"""A program of many microbatches is partitioned for few, and the result is the same."""

import io

import jax
import jax.numpy as jnp
import pytest
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P
from meshwright.compiler import native
from support.schedule_training import stage_config

import meshwright as mw

pytestmark = pytest.mark.usefixtures("x32")

WIDTH, ROWS, SYMBOLS = 8, 4, 12


def block(w, x):
    return x + jnp.tanh(x @ w["up"]) @ w["down"]


def loss(params, batch, stages, key=None):
    tokens, targets = batch
    x = params["embedding"][tokens]
    for number, w in enumerate(params["blocks"]):
        if number and number % (len(params["blocks"]) // stages) == 0:
            x = mw.stage_boundary(x)
        if key is not None:
            x *= jax.random.bernoulli(jax.random.fold_in(key, number), 0.9, x.shape)
        x = block(w, x)
    head = params["head"] if "head" in params else params["embedding"].T
    scores = jax.nn.log_softmax(x @ head)
    return -jnp.take_along_axis(scores, targets[..., None], -1).mean()


def make_step(kind, stages, microbatches):
    """A training step, and shapes of its arguments."""

    def shape(*sizes):
        return jax.ShapeDtypeStruct(sizes, jnp.float32)

    weights = {"up": shape(WIDTH, 2 * WIDTH), "down": shape(2 * WIDTH, WIDTH)}
    params = {"embedding": shape(SYMBOLS, WIDTH), "blocks": [weights] * stages}
    if kind != "tied":
        params["head"] = shape(WIDTH, SYMBOLS)

    def function(params, batch, key=None):
        value = loss(params, batch, stages, key)
        aux = {"norm": value**2, "double": 2 * value}
        return {"aux": (value, {"norm": aux["norm"]}), "both": (value, aux)}.get(
            kind, value
        )

    def step(state, batch, key=None):
        params, moments = state
        gradients = mw.pipeline.accumulate(
            jax.value_and_grad(function, has_aux=kind in ("aux", "both")),
            microbatches,
            rng_argnums=(2,) if kind == "dropout" else (),
        )
        keys = (key,) if kind == "dropout" else ()
        value, sums = gradients(params, batch, *keys)
        if kind == "clipped":
            norm = jnp.sqrt(sum(jnp.sum(g * g) for g in jax.tree.leaves(sums)))
            sums = jax.tree.map(lambda g: g / jnp.maximum(norm, 1.0), sums)
        moments = jax.tree.map(lambda m, g: 0.9 * m + g, moments, sums)
        params = jax.tree.map(lambda p, m: p - 0.1 * m, params, moments)
        return (params, moments), value

    tokens = jax.ShapeDtypeStruct((microbatches * ROWS, 6), jnp.int32)
    arguments = [(params, params), (tokens, tokens)]
    if kind == "dropout":
        arguments.append(jax.ShapeDtypeStruct((2,), jnp.uint32))
    return step, arguments


def trace(kind, schedule, stages, meshes, microbatches, **options):
    devices = 2 if kind == "split" else 1
    named = {
        f"m{i}": Mesh(jax.devices()[devices * i : devices * (i + 1)], "x")
        for i in range(meshes)
    }
    config = stage_config(
        schedule,
        named,
        stages,
        options,
        pipeline_schedule=mw.get_pipeline_schedule(schedule),
    )
    step, arguments = make_step(kind, stages, microbatches)
    if kind == "split":
        rows = NamedSharding(next(iter(named.values())), P("x"))
        arguments[1] = tuple(
            jax.ShapeDtypeStruct(t.shape, t.dtype, sharding=rows) for t in arguments[1]
        )
    donated = (0,) if kind != "aux" else ()
    return mw.jit(step, config, donate_argnums=donated).trace(*arguments)


def lower(monkeypatch, most, traced):
    """Partitioned for few microbatches if it has more than `most` items."""
    monkeypatch.setattr(native, "_MOST_ITEMS", most)
    return traced.lower()


def lower_both(monkeypatch, *program, **options):
    """The step as a whole, and for few microbatches, of one trace."""
    traced = trace(*program, **options)
    return [lower(monkeypatch, most, traced) for most in (0, 1)]


def report_of(lowered):
    page = io.StringIO()
    lowered.report(page)
    return page.getvalue()


def check(monkeypatch, *program, **options):
    """That the result is that of the whole program, made of few microbatches."""
    lowered = lower_both(monkeypatch, *program, **options)
    whole, ours = (each.partitioning_result for each in lowered)
    simulated = [each.simulate("h100").as_text() for each in lowered]
    assert simulated[0] == simulated[1]
    pages = [report_of(each) for each in lowered]
    assert pages[0] == pages[1]
    assert ours._made.is_repeated
    assert not whole._made.is_repeated
    assert ours.program_text == whole.program_text
    assert ours.fragments == whole.fragments
    assert ours.io == whole.io
    assert ours._made.messages == whole._made.messages
    # What takes the whole program.
    assert ours.module_text == whole.module_text
    assert not ours._made.is_repeated


@pytest.mark.parametrize("kind", ["plain", "clipped", "aux"])
def test_steps_are_those_of_the_whole(monkeypatch, kind):
    check(monkeypatch, kind, "1F1B", 3, 3, 19)


@pytest.mark.parametrize(
    ("schedule", "stages", "meshes", "microbatches"),
    [
        ("GPipe", 4, 4, 22),
        ("1F1B", 2, 2, 40),
        ("1F1B", 4, 4, 20),
        ("Eager1F1B", 4, 4, 40),
        ("ZeroBubbleH1", 4, 4, 24),
        ("Interleaved1F1B", 4, 2, 40),
    ],
)
def test_schedules_are_continued(monkeypatch, schedule, stages, meshes, microbatches):
    check(monkeypatch, "plain", schedule, stages, meshes, microbatches)


# Too few microbatches for a steady state to be continued.
@pytest.mark.parametrize(
    ("kind", "schedule", "stages", "meshes", "microbatches"),
    [
        ("plain", "1F1B", 8, 8, 20),
        ("clipped", "1F1B", 7, 7, 21),
        ("aux", "1F1B", 6, 6, 21),
        ("both", "1F1B", 6, 6, 20),
        ("plain", "GPipe", 8, 8, 21),
        ("clipped", "Eager1F1B", 8, 8, 20),
        ("plain", "Interleaved1F1B", 12, 6, 24),
    ],
)
def test_pipelines_that_few_microbatches_do_not_fill(
    monkeypatch, kind, schedule, stages, meshes, microbatches
):
    check(monkeypatch, kind, schedule, stages, meshes, microbatches)


@pytest.mark.parametrize(
    ("kind", "schedule", "stages", "meshes", "microbatches"),
    [
        ("split", "GPipe", 4, 4, 22),
        ("split", "ZeroBubbleH1", 4, 4, 24),
        ("tied", "1F1B", 3, 3, 19),
        ("tied", "ZeroBubbleH1", 4, 4, 24),
    ],
)
def test_split_batches_and_tied_weights(
    monkeypatch, kind, schedule, stages, meshes, microbatches
):
    check(monkeypatch, kind, schedule, stages, meshes, microbatches)


@pytest.mark.parametrize(
    ("kind", "options", "reason"),
    [
        ("dropout", {}, "does not repeat"),
        ("plain", {"mpmd_schedule_device": "h100"}, "mpmd_schedule_device"),
        ("plain", {"mpmd_keep_units_alike": False}, "mpmd_keep_units_alike"),
    ],
)
def test_what_does_not_fit_is_partitioned_as_a_whole(
    monkeypatch, kind, options, reason
):
    whole, ours = lower_both(monkeypatch, kind, "1F1B", 3, 3, 19, **options)
    results = [lowered.partitioning_result for lowered in (whole, ours)]
    assert not any(result._made.is_repeated for result in results)
    assert results[0].program_text == results[1].program_text
    (remark,) = (r for r in ours.remarks if r.kind == "microbatches")
    assert reason in str(remark)
    assert "about 190 calls and transfers" in str(remark)
    assert not [r for r in whole.remarks if r.kind == "microbatches"]


# As many as are partitioned of the 19 here.
FEW = 9


def swap(step):
    """Of the first few microbatches another result than of the others."""

    def function(state, batch):
        state, (_, aux) = step(state, batch)
        parts = aux["norm"][:FEW], aux["double"][FEW:]
        return state, jnp.concatenate(parts)

    return function


def repeat(step):
    """Takes one microbatch for the first few, and another one for the others."""

    def function(state, batch):
        batch = [t[0] for t in batch], [t[1] for t in batch]
        return step(state, [batch[0]] * FEW + [batch[1]] * (19 - FEW))

    return function


@pytest.mark.parametrize("change", [swap, repeat])
def test_microbatches_that_go_on_in_another_way(monkeypatch, change):
    make = make_step

    def make_other(kind, stages, microbatches):
        step, arguments = make(kind, stages, microbatches)
        if change is repeat:
            tokens = jax.ShapeDtypeStruct((2, ROWS, 6), jnp.int32)
            arguments[1] = (tokens, tokens)
        return change(step), arguments

    monkeypatch.setitem(globals(), "make_step", make_other)
    whole, ours = lower_both(monkeypatch, "both", "1F1B", 3, 3, 19)
    results = [lowered.partitioning_result for lowered in (whole, ours)]
    assert results[0].program_text == results[1].program_text
    (remark,) = (r for r in ours.remarks if r.kind == "microbatches")
    assert "in different ways" in str(remark)


def test_few_microbatches_are_partitioned_as_a_whole(monkeypatch):
    ours = lower(monkeypatch, 1, trace("plain", "1F1B", 3, 3, 8))
    assert not ours.partitioning_result._made.is_repeated
