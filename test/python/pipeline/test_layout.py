"""Stages by a layout: empty ones, heads of their own, and what is no layout."""

import functools
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support.schedule_training import (
    count_planned_live,
    draw_plan,
    find_issued,
    make_meshes,
    read_plan,
    train_beside,
)

import meshwright as mw

pytestmark = pytest.mark.usefixtures("x32", "equal_compiles_once")

MICROBATCHES, ROWS, WIDTH = 8, 2, 4


def make_inputs(layout):
    random = np.random.default_rng(0)

    def draw(*shape):
        return random.normal(size=shape).astype(np.float32) / 2

    weights = {
        letter: [draw(WIDTH, WIDTH) for _ in range(count)]
        for letter, count in layout.counts.items()
    }
    xs, ys = ([draw(ROWS, WIDTH) for _ in range(MICROBATCHES)] for _ in range(2))
    return weights, xs, ys


def make_step(layout, wrap=lambda gradient: gradient):
    """A step of a model with a second loss in each extra prediction head."""

    def loss(weights, x, y):
        def layer(w, h):
            return jnp.tanh(h @ w)

        def extra_head(w, state):
            h, extra = state
            return h, extra + ((h @ w - jnp.roll(y, 1, 0)) ** 2).mean()

        def head(w, state):
            h, extra = state
            return ((h @ w - y) ** 2).mean() + 0.1 * extra

        extra_heads = [functools.partial(extra_head, w) for w in weights.get("m", [])]
        if extra_heads:
            first = extra_heads[0]
            extra_heads[0] = lambda h: first((h, 0.0))
        pieces = {
            "E": lambda x: x @ weights["E"][0],
            "t": [functools.partial(layer, w) for w in weights["t"]],
            "m": extra_heads,
            "L": lambda state: head(
                weights["L"][0], state if extra_heads else (state, 0)
            ),
        }
        return layout.run(x, **{key: pieces[key] for key in layout.counts})

    gradient = mw.pipeline.accumulate(
        wrap(jax.value_and_grad(loss)), MICROBATCHES, batch_argnums=(1, 2)
    )

    def step(weights, xs, ys):
        value, grads = gradient(weights, xs, ys)
        return value, jax.tree.map(lambda w, g: w - 0.1 * g, weights, grads)

    return step


EQUAL, UNEQUAL = (1, 1, 1, 1), (1, 2, 1, 2)
CASES = [
    ("1F1B", "Ett|tt|t|L", EQUAL),  # A stage with nothing but the head.
    ("1F1B", "E|ttt||L", UNEQUAL),  # A mesh that holds nothing.
    ("Interleaved1F1B", "Ett|t||t|tt|t|m|L", EQUAL),
    ("KimiK2", "Et|t||t|tt|mm||L", UNEQUAL),
    ("KIMI_K2", "Et|t|t|t|t|t|t|L", EQUAL),
    ("ZeroBubbleV", "Et|t|t|t|tt|t||L", UNEQUAL),
    # Each mesh holds one of its two.
    ("INTERLEAVED_1F1B", "|Et|t|t|||tL|", UNEQUAL),
]


@pytest.mark.parametrize(
    ("name", "text", "sizes"), CASES, ids=[" ".join(case[:2]) for case in CASES]
)
def test_a_layout_trains_as_drawn(tools, name, text, sizes):
    layout = mw.pipeline.layout(text)
    topology = make_meshes(sizes)
    schedule = mw.get_pipeline_schedule(name)
    step = make_step(layout)
    weights, *batch = make_inputs(layout)
    config = mw.make_config(topology, pipeline_schedule=schedule)
    lowered = mw.jit(step, config).lower(weights, *batch)
    program, compiled = lowered.partitioning_result.program, lowered.compile()
    plain = make_step(layout, jax.jit)
    recording = train_beside(compiled, plain, weights, batch)
    orders, lives = find_issued(program, topology, recording)
    planned = draw_plan(tools, schedule, MICROBATCHES, orders, f"--layout={text}")
    assert orders == planned
    assert {s for row in orders for s, _, _ in row} == {
        stage for stage, letters in enumerate(layout.stages) if letters
    }
    if "m" not in text:  # What an extra head makes of a value lives on as well.
        assert lives == [count_planned_live(row) for row in planned]


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("Interleaved1F1B", "Ett|t||t|tt|t|m|L", "csv"),
        ("1F1B", "E|ttt||L", "json"),
    ],
)
def test_a_file_may_have_empty_stages(tools, tmp_path, name, text, kind):
    layout = mw.pipeline.layout(text)
    shape = "--meshes=4", f"--microbatches={MICROBATCHES}", f"--layout={text}"
    path = tmp_path / f"plan.{kind}"
    path.write_text(tools.check("meshwright", "schedule", name, *shape, f"--{kind}"))
    planned = read_plan(tools.check("meshwright", "schedule", f"file:{path}", "--csv"))
    step, topology = make_step(layout), make_meshes([1, 1, 1, 1])
    weights, *batch = make_inputs(layout)
    schedule = mw.get_pipeline_schedule(f"file:{path}")
    config = mw.make_config(topology, pipeline_schedule=schedule)
    lowered = mw.jit(step, config).lower(weights, *batch)
    program, compiled = lowered.partitioning_result.program, lowered.compile()
    plain = make_step(layout, jax.jit)
    recording = train_beside(compiled, plain, weights, batch)
    orders, _ = find_issued(program, topology, recording)
    assert orders == planned


@pytest.mark.parametrize("text", ["E|ttt||L", "Ett|t||t|tt|t|m|L"])
def test_auto_orders_a_layout_with_empty_stages(text):
    layout = mw.pipeline.layout(text)
    step, topology = make_step(layout), make_meshes([1, 1, 1, 1])
    weights, *batch = make_inputs(layout)
    schedule = mw.get_pipeline_schedule("auto")
    config = mw.make_config(
        topology,
        pipeline_schedule=schedule,
        stage_to_mesh=[f"m{stage % 4}" for stage in range(len(layout.stages))],
    )
    lowered = mw.jit(step, config).lower(weights, *batch)
    program, compiled = lowered.partitioning_result.program, lowered.compile()
    plain = make_step(layout, jax.jit)
    recording = train_beside(compiled, plain, weights, batch)
    orders, lives = find_issued(program, topology, recording)
    held = [stage for stage, letters in enumerate(layout.stages) if letters]
    found = {(s, m) for row in orders for s, kind, m in row if kind == "F"}
    assert found == {(stage, m) for stage in held for m in range(MICROBATCHES)}
    # Of each of its two stages, as many microbatches as there are meshes.
    assert max(lives) <= 2 * 4


def test_a_file_without_a_stage_that_holds_something_is_refused(tmp_path):
    path = tmp_path / "plan.csv"
    path.write_text("0F0,0B0\n,\n2F0,2B0\n3F0,3B0\n")
    layout = mw.pipeline.layout("E|t|t|L")
    config = mw.make_config(
        make_meshes([1, 1, 1, 1]),
        pipeline_schedule=mw.get_pipeline_schedule(f"file:{path}"),
    )
    with pytest.raises(ValueError, match="has no actions of stage 1, which holds"):
        mw.jit(make_step(layout), config).lower(*make_inputs(layout))


def test_megatrons_layout_is_read():
    layout = mw.pipeline.layout("Et*3|(tt|)*29,m|L", t=61, m=1)
    assert layout.stages == ("Ettt", *29 * ("tt",), "m", "L")
    assert layout.counts == {"E": 1, "t": 61, "m": 1, "L": 1}


def test_eager_execution_runs_the_pieces():
    layout = mw.pipeline.layout("Et||L")
    double = lambda x: 2 * x  # noqa: E731
    assert layout.run(1, E=lambda x: x + 1, t=[double], L=lambda x: -x) == -4


def test_marks_of_modules_by_a_layout():
    from flax import nnx

    layout = mw.pipeline.layout("t|tt|t")
    layers = nnx.List([nnx.Linear(WIDTH, WIDTH, rngs=nnx.Rngs(i)) for i in range(4)])
    paths = layout.paths(t=[f"layers/{i}" for i in range(4)])
    assert paths == ["layers/1", "layers/3"]
    model = mw.marked(nnx.Sequential(*layers), paths)
    config = mw.make_config(make_meshes([1, 1, 1]))
    graph, state = nnx.split(model)
    lowered = mw.jit(lambda state, x: nnx.merge(graph, state)(x), config).lower(
        state, jnp.ones((2, WIDTH))
    )
    origins = [
        origin
        for item in lowered.partitioning_result.program["items"]
        for origin in item.get("origins", [])
    ]
    assert origins == ["stage0", "stage1", "stage2"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "Et|x|L",
            r"pipeline.layout: character 4: unknown letter 'x'; known are E \(emb",
        ),
        ("E(tt|", r"character 2: '\(' opens a group that nothing closes"),
        ("t)|L", r"character 2: '\)' closes no group"),
        ("t*|L", "character 2: '\\*' without a number"),
        ("t*0|L", "repeats 0 times"),
        ("*3t", "'\\*' repeats nothing"),
        ("t**3", "without a number"),
        ("t|E|L", "E comes after t; the embedding is the first piece"),
        ("t|L|t", "L comes before t"),
        ("E|m|t", "m comes before t"),
        ("tLL", "has 2 L; a model has one at most"),
        ("||", "has no piece"),
        ("", "has no piece"),
        ("((t*999)*999)*999", "more than 65536 pieces and bars"),
        ("t*99999999999999999999", "more than 65536"),
        ("(" * 65 + "t" + ")" * 65, "groups are nested more than 64 deep; write"),
    ],
)
def test_what_is_no_layout_is_refused(tools, text, message):
    with pytest.raises(ValueError, match=message):
        mw.pipeline.layout(text)
    done = tools.run("meshwright", "schedule", "1F1B", f"--layout={text}")
    assert done.returncode == 1
    assert "layout: " in done.stderr


def test_other_counts_are_refused():
    with pytest.raises(ValueError, match=r"has 2 t \(layer\), but got 3"):
        mw.pipeline.layout("Et|t|L", t=3)
    layout = mw.pipeline.layout("Et|t|L")
    one = lambda x: x  # noqa: E731
    with pytest.raises(ValueError, match=r"2 t \(layer\), but got 3"):
        layout.run(0, E=one, t=[one] * 3, L=one)
    with pytest.raises(ValueError, match=r"1 L \(head with the loss\), but got 0"):
        layout.run(0, E=one, t=[one] * 2)
    with pytest.raises(ValueError, match=r"0 m \(extra prediction head\), but got 1"):
        layout.run(0, E=one, t=[one] * 2, m=one, L=one)
    with pytest.raises(ValueError, match="unknown letter 'x'"):
        layout.run(0, E=one, t=[one] * 2, L=one, x=one)
    with pytest.raises(TypeError, match=r"t\[1\] must be a function of what"):
        layout.run(0, E=one, t=[one, 3], L=one)
    with pytest.raises(
        ValueError, match="stage 1 of 'E||L' is empty".replace("|", r"\|")
    ):
        mw.pipeline.layout("E||L").paths(E="embed", L="head")
    with pytest.raises(TypeError, match="must be a text"):
        mw.pipeline.layout(["Et", "L"])


def lower_layout(text, meshes, schedule, mark_again=False):
    layout = mw.pipeline.layout(text)

    def model(ws, x):
        def layer(w, x):
            return jnp.tanh(x @ w)

        x = layout.run(x, t=[functools.partial(layer, w) for w in ws])
        return mw.stage_boundary(x) + 1 if mark_again else x

    config = mw.make_config(
        make_meshes([1] * meshes),
        partitioning_options={"mpmd_pipeline_schedule": schedule},
    )
    ws = [jnp.eye(WIDTH)] * layout.counts["t"]
    return mw.jit(model, config).lower(ws, jnp.ones((2, WIDTH)))


def test_stages_that_the_meshes_cannot_have_are_refused():
    with pytest.raises(ValueError, match="5 cannot be divided evenly over 2 meshes"):
        lower_layout("t|t||t|t", 2, "Interleaved1F1B")
    with pytest.raises(ValueError, match="needs 1 stage on each mesh, got 2"):
        lower_layout("t|t||t", 2, "1F1B")


def test_a_mark_beside_a_layout_is_refused():
    with pytest.raises(
        ValueError, match=r"test_layout.py:\d+.* which has all marks of a model"
    ):
        lower_layout("t|t", 2, "1F1B", mark_again=True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["1F1B", "--layout=E|t|t|L", "--meshes=3"],
            "--layout has 4 stages, but 3 mesh",
        ),
        (["file:nowhere.csv", "--layout=t"], "--layout is for a schedule by its name"),
    ],
)
def test_the_verb_says_which_layout_does_not_fit(tools, arguments, message):
    done = tools.run("meshwright", "schedule", *arguments)
    assert done.returncode == 1
    assert message in done.stderr


def test_auto_leaves_empty_stages_out(tools):
    layout = "--layout=Et|t|t|t|t||tt|L"
    options = "--microbatches=4", "--meshes=4", layout, "--csv"
    found = read_plan(tools.check("meshwright", "schedule", "auto", *options))
    fixed = tools.check("meshwright", "schedule", "Interleaved1F1B", *options)
    # Of all stages but the empty one, in halves or whole.
    forwards = {unit for row in read_plan(fixed) for unit in row if unit[1] == "F"}
    assert {unit for row in found for unit in row if unit[1] == "F"} == forwards
    assert {stage for stage, _, _ in forwards} == {0, 1, 2, 3, 4, 6, 7}
    text = tools.check("meshwright", "schedule", "auto", *options[:-1])
    assert int(re.search(r"makespan (\d+),", text)[1]) < 54  # Interleaved1F1B.


def test_a_piece_takes_its_time(tools):
    text = tools.check(
        "meshwright", "schedule", "GPipe", "--microbatches=1", "--layout=Ett|t|tt|L"
    )
    # Seven pieces, each with a forward of 1 and a backward of 2.
    assert "makespan 21," in text
    drawn = tools.check(
        "meshwright", "schedule", "GPipe", "--microbatches=1", "--layout=Ett|t||L"
    )
    assert "F0" not in drawn.splitlines()[2]
