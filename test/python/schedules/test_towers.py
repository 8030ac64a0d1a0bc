"""Graphs of stages: towers whose marks have names, trained beside plain JAX."""

import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support.schedule_training import (
    MICROBATCHES,
    as_split,
    count_planned_live,
    find_issued,
    make_meshes,
    read_plan,
    train_beside,
)

import meshwright as mw

ROWS, WIDTH = 4, 2
mark = mw.stage_boundary

pytestmark = pytest.mark.usefixtures("equal_compiles_once")


def layer(w, x):
    return jnp.tanh(x @ w["kernel"] + w["bias"])


def distance(x, y):
    return ((x - y) ** 2).mean()


def tower(name, weights, x):
    for w in weights:
        x = layer(w, mark(x, tower=name))
    return x


def joined(weights, image, text, y):
    """What a vision tower sees goes into the first stage of a language model."""
    image = tower("vision", weights["vision"], image)
    x, image = mark((text, image), tower="text")
    x = layer(weights["text"][0], x + image)
    return distance(tower("text", weights["text"][1:], x), y)


def contrasted(weights, image, text, y):
    """Two towers that meet in the loss."""
    image = tower("vision", weights["vision"], image)
    return distance(tower("text", weights["text"], text) * image, y)


def translated(weights, image, text, y):
    """An encoder that every stage of the decoder reads."""
    image = tower("vision", weights["vision"], image)
    for w in weights["text"]:
        text, image = mark((text, image), tower="text")
        text = layer(w, text * image) + image
    return distance(text, y)


def read_past_marks(weights, image, text, y):
    """The same, but what the encoder gives is read without a mark."""
    image = tower("vision", weights["vision"], image)
    for w in weights["text"]:
        text = layer(w, mark(text, tower="text") * image) + image
    return distance(text, y)


def with_two_losses(weights, image, text, y):
    """Each tower has a loss, and nothing that the other one reads."""
    image = tower("vision", weights["vision"], image)
    return distance(image, y) + distance(tower("text", weights["text"], text), y)


def seen_twice(weights, image, text, y):
    """Both towers, on two views."""
    return joined(weights, image, text, y) + joined(weights, -image, text, y)


def fused(weights, image, text, y):
    """Two towers that a third one reads."""
    image = tower("vision", weights["vision"], image)
    text = tower("text", weights["text"], text)
    image, text = mark((image, text), tower="fusion")
    return distance(layer(weights["fusion"][0], image + text), y)


FEEDS = {
    joined: "vision.1>text.0",
    contrasted: "vision.1>text.1",
    translated: "vision.1>text.0;vision.1>text.1",
    read_past_marks: "vision.1>text.0;vision.1>text.1",
    with_two_losses: "vision>",
    seen_twice: "vision.1>text.0",
    fused: "vision.0>fusion.0;text.1>fusion.0",
}


def make_step(loss):
    gradient = mw.pipeline.accumulate(
        jax.value_and_grad(loss), MICROBATCHES, batch_argnums=(1, 2, 3)
    )

    def step(weights, images, texts, ys):
        value, grads = gradient(weights, images, texts, ys)
        return value, jax.tree.map(lambda w, g: w - 0.1 * g, weights, grads)

    return step


@functools.cache
def make_plain_step(loss):
    return jax.jit(make_step(loss))


def make_inputs(counts):
    random = np.random.default_rng(0)

    def draw(*shape):
        return random.normal(size=shape).astype(np.float32)

    weights = {
        name: [
            {"kernel": draw(WIDTH, WIDTH), "bias": draw(WIDTH)} for _ in range(count)
        ]
        for name, count in counts.items()
    }
    batch = [[draw(ROWS, WIDTH) for _ in range(MICROBATCHES)] for _ in range(3)]
    return weights, *batch


def get_counts(loss):
    if loss is fused:
        return {"vision": 1, "text": 2, "fusion": 1}
    return {"vision": 2, "text": 2}


def write_graph(loss, towers, counts):
    """The graph as the command takes it."""
    entries, mesh = [], 0
    for name, count in counts.items():
        own = towers[name]
        meshes = "+".join(str(int(m.removeprefix("m"))) for m in own.meshes)
        entries.append(f"{name}:{count}@{meshes}={own.schedule}")
        mesh += count
    return ";".join([*entries, FEEDS[loss]])


def make_towers(counts, schedules, share=False):
    """Meshes and a schedule for each; they may all have the first ones."""
    towers, first = {}, 0
    for (name, count), schedule in zip(
        counts.items(), itertools.cycle(schedules), strict=False
    ):
        meshes = [f"m{first + i}" for i in range(count)]
        towers[name] = mw.pipeline.Tower(meshes, schedule)
        first += 0 if share else count
    return towers


def name_stages(counts):
    names = [f"{name}_stage{i}" for name, n in counts.items() for i in range(n)]
    return {name: stage for stage, name in enumerate(names)}


CASES = [
    ("Towers", joined, ["1F1B"]),
    ("TOWERS", joined, ["GPipe", "1F1B"]),
    ("Towers", joined, ["1F1B", "ZeroBubbleH1"]),
    ("Towers", contrasted, ["1F1B", "Eager1F1B"]),
    ("Towers", translated, ["1F1B"]),
    ("Towers", translated, ["ZeroBubbleH1"]),
    ("Towers", read_past_marks, ["1F1B"]),
    ("Towers", with_two_losses, ["1F1B", "GPipe"]),
    ("Towers", seen_twice, ["1F1B"]),
    ("Towers", fused, ["1F1B"]),
    ("auto", joined, ["1F1B"]),
    ("AUTO", translated, ["1F1B"]),
]


@pytest.mark.parametrize(
    "sizes", [(1, 1, 1, 1), (1, 2, 1, 2)], ids=["equal", "unequal"]
)
@pytest.mark.parametrize(
    ("name", "loss", "schedules"),
    CASES,
    ids=[f"{name} {loss.__name__} {'+'.join(own)}" for name, loss, own in CASES],
)
def test_towers_train_as_drawn(tools, tmp_path, name, loss, schedules, sizes):
    counts = get_counts(loss)
    towers = make_towers(counts, schedules)
    topology = make_meshes(sizes)
    schedule = mw.get_pipeline_schedule(name)
    config = mw.make_config(topology, towers=towers, pipeline_schedule=schedule)
    weights, *batch = make_inputs(counts)
    step = make_step(loss)
    lowered = mw.jit(step, config).lower(weights, *batch)
    program, compiled = lowered.partitioning_result.program, lowered.compile()
    recording = train_beside(compiled, make_plain_step(loss), weights, batch)
    orders, lives = find_issued(program, topology, recording, names=name_stages(counts))
    graph = write_graph(loss, towers, counts)
    known = schedule.required_mpmd_options["mpmd_pipeline_schedule"]
    csv = tools.check(
        "meshwright", "schedule", f"{known}:{graph}", "--csv", "--microbatches=8"
    )
    head, rows = csv.split("\n", 1)
    assert head.startswith("towers vision:")
    if known == "Towers":
        planned = as_split(read_plan(rows), orders)
        assert orders == planned
        assert lives == [count_planned_live(row) for row in planned]
        # The table as a file gives the same order.
        path = tmp_path / "towers.csv"
        path.write_text(csv)
        again = tools.check("meshwright", "schedule", f"file:{path}", "--csv")
        assert again == csv
    assert {stage for row in orders for stage, _, _ in row} == set(range(4))


def lower(loss, schedule="Towers", sizes=(1, 1, 1, 1), **config):
    if schedule is not None:
        config["pipeline_schedule"] = mw.get_pipeline_schedule(schedule)
    config = mw.make_config(make_meshes(sizes), **config)
    weights, *batch = make_inputs({"vision": 2, "text": 2})
    return mw.jit(make_step(loss), config).lower(weights, *batch)


def test_a_drawing_has_the_tower_of_each_mesh(tmp_path):
    towers = make_towers({"vision": 2, "text": 2}, ["1F1B"])
    path = tmp_path / "order.txt"
    lower(joined, towers=towers).draw(path)
    rows = [line.split("|")[0].split() for line in path.read_text().splitlines()[1:5]]
    assert rows == [["vision", "m0"], ["vision", "m1"], ["text", "m2"], ["text", "m3"]]


def find_places(lowered):
    return {
        origin: item["mesh"]
        for item in lowered.partitioning_result.program["items"]
        for origin in item.get("origins", [])
        if "(" not in origin
    }


def test_without_towers_each_stage_has_a_mesh():
    for schedule in ("Towers", None):
        assert find_places(lower(joined, schedule)) == {
            "vision_stage0": "m0",
            "vision_stage1": "m1",
            "text_stage0": "m2",
            "text_stage1": "m3",
        }


def test_towers_may_share_meshes():
    towers = {"vision": ["m0", "m1"], "text": ["m1", "m0"]}
    assert find_places(lower(joined, sizes=(1, 1), towers=towers)) == {
        "vision_stage0": "m0",
        "vision_stage1": "m1",
        "text_stage0": "m1",
        "text_stage1": "m0",
    }


def test_a_tower_may_have_several_stages_on_a_mesh():
    towers = {
        "vision": mw.pipeline.Tower(["m0"], "INTERLEAVED_ONE_FWD_ONE_BWD"),
        "text": ["m1", "m2"],
    }
    assert find_places(lower(joined, sizes=(1, 1, 1), towers=towers)) == {
        "vision_stage0": "m0",
        "vision_stage1": "m0",
        "text_stage0": "m1",
        "text_stage1": "m2",
    }


def test_without_a_mesh_a_mark_does_nothing():
    weights, images, texts, ys = make_inputs({"vision": 2, "text": 2})
    eager = joined(weights, images[0], texts[0], ys[0])
    compiled = jax.jit(joined)(weights, images[0], texts[0], ys[0])
    assert abs(float(eager) - float(compiled)) < 1e-6


def tied(weights, image, text, y):
    """A table that two stages read, layers that are recomputed, and a decay."""
    image = tower("vision", weights["vision"], image)
    text = text @ weights["table"]
    for w in weights["text"]:
        text, image = mark((text, image), tower="text")
        text = jax.checkpoint(layer)(w, text) + image
    decay = sum((leaf**2).sum() for leaf in jax.tree.leaves(weights))
    return distance(text @ weights["table"].T, y) + 1e-3 * decay


@pytest.mark.parametrize("with_value", [True, False])
def test_shared_and_recomputed_weights_train(with_value):
    derive = jax.value_and_grad if with_value else jax.grad
    gradient = mw.pipeline.accumulate(
        derive(tied), MICROBATCHES, batch_argnums=(1, 2, 3)
    )
    config = mw.make_config(
        make_meshes([1, 1, 1, 1]), pipeline_schedule=mw.get_pipeline_schedule("Towers")
    )
    weights, *batch = make_inputs({"vision": 2, "text": 2})
    weights["table"] = np.eye(WIDTH, dtype=np.float32)
    compiled = mw.jit(gradient, config).lower(weights, *batch).compile()
    placed = jax.tree.map(
        jax.device_put, (weights, *batch), compiled.input_shardings[0]
    )
    expected = jax.jit(gradient)(weights, *batch)
    for ours, theirs in zip(
        jax.tree.leaves(compiled(*placed)), jax.tree.leaves(expected), strict=True
    ):
        np.testing.assert_allclose(np.asarray(ours), theirs, atol=1e-5)


def without_way(weights, image, text, y):
    tower("vision", weights["vision"], image)
    return distance(tower("text", weights["text"], text), y)


def in_a_circle(weights, image, text, y):
    image = layer(weights["vision"][0], mark(image, tower="vision"))
    text, image = mark((text, image), tower="text")
    text = layer(weights["text"][0], text + image)
    text = mark(text, tower="vision")
    return distance(layer(weights["vision"][1], text), y)


def seen_half(weights, image, text, y):
    half = tower("vision", weights["vision"][:1], image)
    return joined(weights, image, text, y) + distance(half, y)


def half_marked(weights, image, text, y):
    image = tower("vision", weights["vision"], image)
    return distance(layer(weights["text"][0], mark(text + image)), y)


def with_an_empty_stage(weights, image, text, y):
    image = mark(mark(image, tower="vision"), tower="vision")
    return joined(weights, image, text, y)


def chained(weights, image, text, y):
    image = layer(weights["vision"][0], image)
    return distance(layer(weights["text"][0], mark(image)), y)


@pytest.mark.parametrize(
    ("loss", "schedule", "config", "message"),
    [
        (without_way, "Towers", {}, r"test_towers.*: tower 'vision' does not lead to"),
        (in_a_circle, "Towers", {}, r"feed each other: 'vision' reads what 'text' gi"),
        (
            with_an_empty_stage,
            "Towers",
            {},
            r"so stage [01] of tower 'vision' is empty",
        ),
        (
            seen_half,
            "Towers",
            {},
            r"'vision' is applied more than once, with 1 and 2 m",
        ),
        (half_marked, "Towers", {}, r"stage_boundary without a tower, but the one"),
        (
            joined,
            "Towers",
            {"towers": {"visoin": ["m0", "m1"], "text": ["m2", "m3"]}},
            r"test_towers.*tower: unknown 'vision'.*mean 'visoin'.*towers= of make_c",
        ),
        (
            joined,
            "Towers",
            {"towers": {t: ["m0", "m1"] for t in ("vision", "text", "audio")}},
            r"towers: 'audio' has no mark in the function, which has 'vision', 'text'",
        ),
        (
            chained,
            "Towers",
            {"towers": {"a": ["m0"]}},
            "one chain, but towers= has 'a'",
        ),
        (
            joined,
            "1F1B",
            {},
            "schedule 1F1B supports one chain of stages, but the marks",
        ),
        (
            joined,
            "Towers",
            {"sizes": (1, 1)},
            r"have 4 stages \(vision 2, text 2\), but",
        ),
        (
            joined,
            "Towers",
            {"towers": {"vision": ["m0"], "text": ["m1", "m2"]}, "sizes": (1, 1, 1)},
            r"tower 'vision' has 2 stages for 1 meshes: schedule 1F1B needs 1 stage",
        ),
        (
            joined,
            "Towers",
            {
                "towers": {"vision": ["m0", "m1"], "text": ["m2", "m3"]},
                "sizes": 5 * [1],
            },
            r"towers on 4 meshes, but there are 5; give each mesh a tower",
        ),
        (
            joined,
            "Towers",
            {
                "towers": {
                    "vision": mw.pipeline.Tower(["m0", "m1"], "Combined1F1B"),
                    "text": ["m2", "m3"],
                }
            },
            r"tower vision: schedule Combined1F1B has overlapped pairs",
        ),
    ],
)
def test_what_is_no_graph_is_refused(loss, schedule, config, message):
    with pytest.raises((ValueError, RuntimeError), match=message):
        lower(loss, schedule, **config)


@pytest.mark.parametrize(
    ("towers", "error", "message"),
    [
        ({"a": "m0"}, TypeError, "towers: 'a': must be a list of meshes, at least one"),
        ({"a": []}, TypeError, "at least one"),
        ({"a": ["m7"]}, ValueError, "towers: 'a': mesh: unknown 'm7'"),
        ({"a": ["m0", "m0"]}, ValueError, "mesh 'm0' is given twice"),
        (
            {"a": mw.pipeline.Tower(["m0"], "1F2B")},
            ValueError,
            "towers: 'a': schedule: unknown '1F2B'.*did you mean '1F1B'",
        ),
        (["a"], TypeError, "towers: must be a dict"),
    ],
)
def test_what_are_no_towers_is_refused(towers, error, message):
    with pytest.raises(error, match=message):
        mw.make_config(make_meshes([1, 1]), towers=towers)


@pytest.mark.parametrize(
    ("name", "error"), [("a b", ValueError), ("0", ValueError), (3, TypeError)]
)
def test_what_is_no_name_of_a_tower_is_refused(name, error):
    with pytest.raises(error, match="stage_boundary: .*tower"):
        jax.jit(lambda x: mark(x, tower=name))(1.0)


def make_module(library):
    """Two layers that see and two that read and look, by one library."""
    if library == "nnx":
        from flax import nnx

        class Cross(nnx.Module):
            def __init__(self, rngs):
                self.own = nnx.Linear(WIDTH, WIDTH, rngs=rngs)
                self.other = nnx.Linear(WIDTH, WIDTH, rngs=rngs)

            def __call__(self, x, image):
                return jnp.tanh(self.own(x)) + self.other(image)

        class Model(nnx.Module):
            def __init__(self, rngs):
                self.vision = nnx.List(
                    [nnx.Linear(WIDTH, WIDTH, rngs=rngs) for _ in range(2)]
                )
                self.text = nnx.List([Cross(rngs) for _ in range(2)])

            def __call__(self, image, text):
                for see in self.vision:
                    image = jnp.tanh(see(image))
                for read in self.text:
                    text = read(text, image=image)
                return text

        model = mw.marked(Model(nnx.Rngs(0)), PATHS)
        graph, state = nnx.split(model)
        return state, lambda state, *args: nnx.merge(graph, state)(*args)
    from flax import linen as nn

    class Cross(nn.Module):
        @nn.compact
        def __call__(self, x, image):
            return jnp.tanh(nn.Dense(WIDTH)(x)) + nn.Dense(WIDTH)(image)

    class Model(nn.Module):
        def setup(self):
            self.vision = [nn.Dense(WIDTH) for _ in range(2)]
            self.text = [Cross() for _ in range(2)]

        def __call__(self, image, text):
            for see in self.vision:
                image = jnp.tanh(see(image))
            for read in self.text:
                text = read(text, image=image)
            return text

    model = mw.marked(
        Model(), {path.replace("/", "_"): tower for path, tower in PATHS.items()}
    )
    one = jnp.ones((ROWS, WIDTH))
    return Model().init(jax.random.key(0), one, one), model.apply


PATHS = {
    "vision/0": "vision",
    "vision/1": "vision",
    "text/0": "text",
    "text/1": "text",
}


@pytest.mark.parametrize("library", ["nnx", "linen"])
def test_modules_are_marked_by_paths_and_towers(library):
    state, apply = make_module(library)

    def loss(state, image, text, y):
        return distance(apply(state, image, text), y)

    _, *batch = make_inputs({})
    gradient = mw.pipeline.accumulate(
        jax.value_and_grad(loss), MICROBATCHES, batch_argnums=(1, 2, 3)
    )
    config = mw.make_config(
        make_meshes([1, 1, 1, 1]), pipeline_schedule=mw.get_pipeline_schedule("Towers")
    )
    lowered = mw.jit(gradient, config).lower(state, *batch)
    assert find_places(lowered) == {
        "vision_stage0": "m0",
        "vision_stage1": "m1",
        "text_stage0": "m2",
        "text_stage1": "m3",
    }
    compiled = lowered.compile()
    placed = jax.tree.map(jax.device_put, (state, *batch), compiled.input_shardings[0])
    ours, theirs = compiled(*placed), jax.jit(gradient)(state, *batch)
    assert abs(float(ours[0]) - float(theirs[0])) <= 1e-5


def test_what_names_no_tower_of_a_path_is_refused():
    from flax import nnx

    layer = nnx.Sequential(nnx.Linear(2, 2, rngs=nnx.Rngs(0)))
    with pytest.raises(TypeError, match="marked: 'layers/0': a tower is named by"):
        mw.marked(layer, {"layers/0": 1})


def test_schedules_are_not_compared_for_towers_side_by_side(tools, tmp_path):
    program = tmp_path / "towers.mlir"
    program.write_text(lower(contrasted).as_text())
    simulate = "meshwright", "simulate", str(program), "--device=h100"
    assert "step" in tools.check(*simulate)
    done = tools.run(*simulate, "--microbatches=8", "--compare=1F1B,auto")
    assert done.returncode == 1
    assert "the stages are no chain: stage 2 reads nothing of the stage" in done.stderr
