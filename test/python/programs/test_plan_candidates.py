"""Plans whose candidates are compiled, for CPU devices."""

import json

import jax
import jax.numpy as jnp
import pytest
from meshwright.programs.planning import PlannedText
from support import runtime_programs  # noqa: F401  # Its CPU devices.
from support.tools import ROOT

import meshwright as mw

LAYERS = [f"l{i}" for i in range(4)]
SHAPES = [jax.ShapeDtypeStruct((64, 64), jnp.float32)] * len(LAYERS)


def _model(params, x):
    for name, w in zip(LAYERS, params, strict=True):
        x = mw.named_computation(lambda w, x: jnp.tanh(x @ w), name=name)(w, x)
    return x


def _lower(function):
    mesh = jax.sharding.Mesh(jax.devices()[:1], ("x",))
    config = mw.make_config({"m": mesh}, dict.fromkeys(LAYERS, "m"))
    x = jax.ShapeDtypeStruct((8, 64), jnp.float32)
    return mw.jit(function, config).lower(SHAPES, x)


@pytest.fixture(scope="module")
def training():
    return _lower(jax.grad(lambda params, x: (_model(params, x) ** 2).sum()))


@pytest.fixture(scope="module")
def inference():
    return _lower(_model)


@pytest.fixture(scope="module")
def compiled_plan(training):
    return mw.plan(training, device="cpu", devices=4, compile=3)


def test_the_order_is_that_of_what_is_compiled(training, compiled_plan):
    ranks = [one.rank for one in compiled_plan.candidates]
    seconds = [one.step_seconds for one in compiled_plan.candidates]
    assert sorted(ranks) == [1, 2, 3] and seconds == sorted(seconds)
    # The model counts an optimizer and sums of gradients, which this program lacks.
    best = compiled_plan.candidates[0]
    assert best.rank == 2
    assert compiled_plan.config == best.config
    assert compiled_plan.meshes == len(best.config["topology"]) == 2
    assert compiled_plan.runner_up == compiled_plan.candidates[1].plan
    by_model = mw.plan(training, device="cpu", devices=4)
    assert not by_model.candidates and by_model.meshes == 4
    assert "changes the order: #2 is now #1" in str(compiled_plan)
    assert best.layout in str(compiled_plan)


def test_peaks_are_those_of_the_compiled_program(training, compiled_plan):
    weights = 64 * 64 * 4
    assert len(compiled_plan.candidates) == 3
    for one in compiled_plan.candidates:
        # Each mesh has weights of its layers, and gradients of them.
        each = len(LAYERS) // len(one.config["topology"])
        assert one.fits and one.peak_bytes >= 2 * each * weights


def test_the_command_says_the_same(training, compiled_plan, tools, tmp_path):
    program, config = tmp_path / "step.mlir", tmp_path / "config.json"
    program.write_text(training.as_text("stablehlo"))
    asked = ["plan", program, "--device=cpu", "--devices=4", "--compile=3"]
    found = json.loads(tools.check("meshwright", *asked, "--json", "-o", config))
    assert found["target"] == "cpu"
    assert found["config"] == compiled_plan.config == json.loads(config.read_text())
    assert [one["rank"] for one in found["candidates"]] == [
        one.rank for one in compiled_plan.candidates
    ]
    assert [one["step_s"] for one in found["candidates"]] == pytest.approx(
        [one.step_seconds for one in compiled_plan.candidates]
    )
    assert {one["error"] for one in found["candidates"]} == {None}
    assert "changes the order" in found["order"] and found["why"] == found["order"]


def test_what_the_compiler_needs_more_for_does_not_fit(inference):
    # By the model two weights and what goes between the layers are less.
    assert mw.plan(inference, device="cpu", devices=2, memory=35_000).meshes == 2
    with pytest.raises(ValueError, match=r"fits into 34.18 KiB .* KiB by its compiler"):
        mw.plan(inference, device="cpu", devices=2, memory=35_000, compile=3)


def test_shardings_along_axes_that_no_plan_has():
    # A mesh of as many devices as one of a plan would only be renamed.
    mesh = jax.sharding.Mesh(jax.devices()[:3], ("x",))
    config = mw.make_config({"m": mesh}, dict.fromkeys(LAYERS, "m"))
    rows = jax.NamedSharding(mesh, jax.P("x"))
    x = jax.ShapeDtypeStruct((6, 64), jnp.float32, sharding=rows)
    lowered = mw.jit(_model, config).lower(SHAPES, x)
    says = r'compiled for CPU devices compiles: .*"x".*; meshes of plans have the axes'
    with pytest.raises(ValueError, match=says):
        mw.plan(lowered, device="cpu", devices=4, compile=2)


def test_what_does_not_compile_is_said():
    program = (ROOT / "test/Planning/plan-program.mlir").read_text()
    with pytest.raises(ValueError, match=r"dec, out.* does not compile.*big"):
        mw.plan(PlannedText(program, True), device="cpu", devices=2, compile=2)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"devices": 2, "compile": 0}, "compile=0; expected 1 layout or more, or None"),
        ({"device": "tpu-v5p", "devices": 4, "compile": 2}, "slices of several shapes"),
        ({"device": "cpu", "devices": 4096, "compile": 2}, "needs that many, and JAX"),
        ({"target": "v5e:2x2"}, "only if compile= is given; say how many"),
        ({"target": "v5e:2x2", "devices": 4, "compile": 1}, "leave out device and"),
        ({"target": "v5q:2x2", "compile": 1}, "did you mean 'v5p'"),
        ({"compile": 1}, "expected the number of devices"),
    ],
)
def test_questions_without_an_answer(inference, options, says):
    with pytest.raises(ValueError, match=says):
        mw.plan(inference, **options)


def test_figures_of_layers_cannot_be_compiled(tools, tmp_path):
    layers = tmp_path / "layers.json"
    layers.write_text('{"layers": [{"name": "a", "flops": 1, "activation_bytes": 1}]}')
    asked = [layers, "--devices=1", "--compile=2"]
    done = tools.run("meshwright", "plan", *asked)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "lowered function or a file.mlir, or leave compile= out" in done.stderr
    done = tools.run("meshwright", "plan", tmp_path / "no.mlir", *asked[1:])
    assert done.returncode == 1 and "No such file" in done.stderr
    done = tools.run("meshwright", "plan", layers, "--devices=1", "--target=v5e:2x2")
    assert "--target is for --compile" in done.stderr
    assert (
        "expected the number of devices"
        in tools.run("meshwright", "plan", layers).stderr
    )
