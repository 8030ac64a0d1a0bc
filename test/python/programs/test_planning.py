"""Plans from Python: of layers, and of functions."""

import json
import pathlib
import re
import shlex

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support.tools import ROOT

import meshwright as mw

BLOCK = {"flops": 1e12, "parameter_bytes": 4e8, "activation_bytes": 8e6}


def blocks(count):
    return [{"name": f"block{i}", **BLOCK} for i in range(count)]


def test_layers_give_a_configuration(tmp_path):
    plan = mw.plan(blocks(8), devices=8, batch=64, schedules=["1F1B"])
    assert plan.meshes * plan.data * plan.tensor == 8
    assert list(plan.config["topology"]) == [f"mesh{i}" for i in range(plan.meshes)]
    assert [name for _, names in plan.stages for name in names] == [
        f"block{i}" for i in range(8)
    ]
    assert plan.runner_up["step_s"] >= plan.step_seconds
    assert plan.why and plan.why in str(plan)
    plan.save(tmp_path / "c.json")
    assert json.loads((tmp_path / "c.json").read_text()) == plan.config


def test_a_lowered_function_is_its_own_layers():
    def model(params, x):
        for i, w in enumerate(params):
            x = mw.named_computation(lambda w, x: jnp.tanh(x @ w), name=f"l{i}")(w, x)
        return x

    mesh = jax.sharding.Mesh(jax.devices()[:1], ("x",))
    config = mw.make_config({"m": mesh}, {f"l{i}": "m" for i in range(4)})
    shapes = [jax.ShapeDtypeStruct((64, 64), jnp.float32)] * 4
    lowered = mw.jit(model, config).lower(
        shapes, jax.ShapeDtypeStruct((7, 64), jnp.float32)
    )
    plan = mw.plan(lowered, device="cpu", devices=2)
    assert plan.stages == (("mesh0", ("l0", "l1")), ("mesh1", ("l2", "l3")))


def test_stages_of_auto_are_layers():
    def model(params, x):
        for w in params:
            x = jnp.tanh(x @ w)
        return x

    meshes = {
        f"m{i}": jax.sharding.Mesh(jax.devices()[i : i + 1], ("x",)) for i in range(4)
    }
    shapes = [jax.ShapeDtypeStruct((64, 64), jnp.float32)] * 8
    lowered = mw.auto(model, meshes).lower(
        shapes, jax.ShapeDtypeStruct((7, 64), jnp.float32)
    )
    plan = mw.plan(lowered, device="cpu", devices=2)
    assert [len(names) for _, names in plan.stages] == [2, 2]


def test_errors_are_value_and_type_errors():
    with pytest.raises(ValueError, match='unknown device "h10".*did you mean "h100"'):
        mw.plan(blocks(2), device="h10", devices=2)
    with pytest.raises(
        ValueError,
        match=r"into 1\.0 MB on each of 2 .* which one does is 3\.2 GB \(\d+ bytes\)",
    ):
        mw.plan(blocks(2), devices=2, memory="1MB")
    with pytest.raises(TypeError, match="sequence of mappings"):
        mw.plan("layers.json", devices=2)
    with pytest.raises(ValueError, match="unknown key at layers"):
        mw.plan([{"name": "a", "size": 1, **BLOCK}], devices=1)


def page(name, language):
    text = (ROOT / "docs" / name).read_text()
    found = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.M | re.S)
    return [code for name, code in found if name == language]


def test_the_page_shows_what_the_command_prints(tools, tmp_path):
    """docs/plan.md: its layers, its command, what it printed."""
    layers = tmp_path / "layers.json"
    layers.write_text(page("plan.md", "json")[0])
    command = shlex.split(page("plan.md", "sh")[0].splitlines()[0])
    config = tmp_path / "config.json"
    named = {"layers.json": layers, "config.json": config}
    done = tools.run("meshwright", *(named.get(word, word) for word in command[1:]))
    assert done.stdout.decode() == page("plan.md", "")[0]
    names: dict = {"mw": mw}
    code = page("plan.md", "python")[0].rsplit("mw.plan(mw.auto", 1)[0]
    exec(code.replace('"config.json"', f'"{config}"'), names)
    assert json.loads(config.read_text()) == names["plan"].config


def test_the_costs_on_the_page_are_read():
    """docs/cost-model.md: its --cost options."""
    (options,) = page("cost-model.md", "sh")
    costs = [shlex.split(line)[1] for line in options.splitlines()]
    assert len(costs) == 2
    mw.plan(blocks(2), devices=2, costs=costs)


def test_figures_may_be_computed():
    computed = BLOCK | {"parameter_bytes": np.prod((10_000, 40_000))}
    computed["activation_bytes"] = jnp.float32(8e6)
    layers = [{"name": f"block{i}", **computed} for i in range(2)]
    found = mw.plan(
        layers, devices=np.int64(2), batch=np.int32(8), memory=np.float32(8e10)
    )
    assert found == mw.plan(blocks(2), devices=2, batch=8, memory="80GB")
    assert mw.plan(blocks(2), devices=2, memory=1e16).meshes


def test_a_device_may_be_a_path():
    path = pathlib.Path("h100")
    assert mw.plan(blocks(2), devices=2, device=path) == mw.plan(blocks(2), devices=2)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"schedules": "1F1B"}, r"write schedules=\['1F1B'\] for a single one"),
        ({"microbatches": 4}, r"write microbatches=\[4\] for a single one"),
        ({"costs": "f=flops:4"}, r"write costs=\['f=flops:4'\]"),
        ({"dtype": jnp.bfloat16}, "expected numbers and texts, got .*bfloat16"),
        ({"layers": ["block"]}, "layer 0 must be a mapping, got 'block' of type"),
        ({"layers": [BLOCK | {"flops": [1]}, 3]}, "layer 1 must be a mapping, got 3"),
    ],
)
def test_what_is_of_another_type_is_named(options, text):
    with pytest.raises(TypeError, match=text):
        mw.plan(options.pop("layers", blocks(2)), devices=2, **options)


def test_towers_are_placed_as_planned(tmp_path, tools):
    """The configuration of a plan over towers partitions their program."""
    layers = [
        {"name": f"{tower}{i}", "tower": tower, **BLOCK}
        for tower, count in (("v", 2), ("t", 3))
        for i in range(count)
    ]
    for layer in layers[2:]:
        layer["reads"] = ["v"]
    plan = mw.plan(layers, devices=5, batch=4, microbatches=[4], schedules=["1F1B"])
    assert plan.stages == tuple(
        (f"mesh{i}", (layer["name"],)) for i, layer in enumerate(layers)
    )

    def named(name, function):
        return mw.named_computation(function, name=name)

    def loss(weights, image, text):
        for i in (0, 1):
            image = named(f"v{i}", lambda w, x: jnp.tanh(x @ w))(weights[i], image)
        for i in (0, 1):
            read = named(f"t{i}", lambda w, x, v: jnp.tanh(x @ w) + v)
            text = read(weights[2 + i], text, image)
        last = named("t2", lambda w, x, v: (jnp.tanh(x @ w) * v).mean())
        return last(weights[4], text, image)

    def step(weights, images, texts):
        total = None
        for m in range(4):
            gradient = mw.call(jax.grad(loss), call_counter=m)
            grads = gradient(weights, images[m], texts[m])
            total = grads if total is None else jax.tree.map(jnp.add, total, grads)
        return total

    meshes = {
        mesh: jax.sharding.Mesh(jax.devices()[i : i + 1], ("data",))
        for i, mesh in enumerate(plan.config["topology"])
    }
    shape = jax.ShapeDtypeStruct((4, 4), jnp.float32)
    names = {name: mesh for mesh, (name,) in plan.stages}
    config = mw.make_config(meshes, names)
    lowered = mw.jit(step, config).lower(5 * [shape], 4 * [shape], 4 * [shape])
    (tmp_path / "step.mlir").write_text(lowered.as_text("stablehlo"))
    plan.config["options"]["mpmd_infer_transfers"] = True
    (tmp_path / "c.json").write_text(json.dumps(plan.config))
    tools.check(
        "meshwright",
        "partition",
        tmp_path / "step.mlir",
        f"--config={tmp_path / 'c.json'}",
        "-o",
        tmp_path / "out",
    )
    program = json.loads((tmp_path / "out" / "schedule.json").read_text())
    order = [
        (item["mesh"], bool(re.search(r"\(1\)", "".join(item["origins"]))))
        for item in program["items"]
        if item.get("origins")
    ]
    # 1F1B over five stages: the first mesh keeps all four, the last one.
    first = [is_back for mesh, is_back in order if mesh == "mesh0"]
    last = [is_back for mesh, is_back in order if mesh == "mesh4"]
    assert first == 4 * [False] + 4 * [True]
    assert last == 4 * [False, True]
