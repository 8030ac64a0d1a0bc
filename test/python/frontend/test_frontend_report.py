"""Errors end in the user's source, and `lowered.report()` tells what became of it."""

import dataclasses
import io
import linecache
import os
import subprocess
import sys
import traceback

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P
from support.launching import bare_environment
from support.tools import ROOT

import meshwright as mw

pytestmark = pytest.mark.usefixtures("x32")

X = np.ones((8, 4), np.float32)
MESHES = {
    f"m{i}": Mesh(np.array(jax.devices()[2 * i : 2 * i + 2]), ("x",)) for i in range(2)
}
CONFIG = mw.make_config(
    MESHES,
    {"f": "m0", "g": "m1", "other": "m1"},
    partitioning_options={"mpmd_infer_transfers": True},
)


def named(function, name):
    return mw.named_computation(function, name=name)


def frames_of(function, *args, **kwargs):
    """File and source line of each frame of the error that a call raises."""
    with pytest.raises(Exception) as caught:
        function(*args, **kwargs)
    frames = traceback.extract_tb(caught.value.__traceback__)
    return [(frame.filename, frame.line) for frame in frames], caught.value


def no_shape(x):
    return named(lambda x: x @ jnp.ones((3, 3)), "f")(x)  # wrong shape


def no_mesh(x):
    return named(jnp.sin, "lost")(x)  # no mesh


def no_transfer(x):
    return named(jnp.sin, "f")(x) + named(jnp.cos, "g")(x)  # two meshes


def misuse(x):
    return named(jnp.sin, "f")("text")  # no array


@pytest.mark.parametrize("method", ["__call__", "lower"])
@pytest.mark.parametrize(
    ("function", "line"),
    [
        (no_shape, "# wrong shape"),
        (no_mesh, "# no mesh"),
        (no_transfer, "# two meshes"),
        (misuse, "# no array"),
    ],
)
def test_errors_end_in_the_users_line(function, line, method):
    config = mw.make_config(MESHES, {"f": "m0", "g": "m1"})
    frames, _ = frames_of(getattr(mw.jit(function, config), method), X)
    assert frames[-1][0] == __file__ and frames[-1][1].endswith(line)
    assert all(file == __file__ for file, _ in frames)


def test_the_first_sentence_says_what_to_change():
    _, error = frames_of(mw.jit(no_mesh, CONFIG), X)
    first = str(error).partition(";")
    assert "named computation 'lost' has no mesh" in first[0]
    assert first[2].startswith(" add 'lost': MESH to name_to_mesh_assignment")


def test_errors_at_a_call_end_in_the_line_of_the_call():
    compiled = mw.jit(lambda x: named(jnp.sin, "f")(x), CONFIG).lower(X).compile()
    frames, error = frames_of(compiled, X)
    assert isinstance(error, ValueError)
    assert all(file == __file__ for file, _ in frames)


def test_all_frames_are_there_if_jax_is_configured_so():
    wanted = jax.config.jax_traceback_filtering
    try:
        jax.config.update("jax_traceback_filtering", "off")
        frames, _ = frames_of(mw.jit(no_mesh, CONFIG), X)
    finally:
        jax.config.update("jax_traceback_filtering", wanted)
    assert any(file.endswith("compiler/native.py") for file, _ in frames)


def test_a_script_prints_the_line(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import jax, jax.numpy as jnp, meshwright as mw\n"
        "mesh = jax.sharding.Mesh(jax.devices()[:1], 'x')\n"
        "def f(x):\n"
        "    return mw.named_computation(jnp.sin, name='lost')(x)\n"
        "mw.jit(f, mw.make_config({'m': mesh}, {}))(1.0)\n"
    )
    done = subprocess.run(
        [sys.executable, script],
        capture_output=True,
        text=True,
        env=bare_environment(),
    )
    lines = done.stderr.splitlines()
    files = [line.split('"')[1] for line in lines if line.startswith("  File ")]
    assert files and set(files) == {str(script)}
    assert "line 4" in lines[-3] and "'lost' has no mesh" in lines[-1]


def train(params, x):
    def loss(params):
        h = named(lambda w, x: jnp.tanh(x @ w), "f")(params["a"], x)
        return named(lambda w, h: (h @ w).sum(), "g")(params["b"], h)

    value, grads = jax.value_and_grad(loss)(params)
    norm = jnp.sqrt(sum((grad**2).sum() for grad in jax.tree.leaves(grads)))
    return value, jax.tree.map(lambda p, g: p - g / norm, params, grads)


def report_of(function, *args, config=CONFIG, **options):
    page = io.StringIO()
    mw.jit(function, config, **options).lower(*args).report(file=page)
    sections = page.getvalue().split("\n\n")
    return dict(section.partition("\n")[::2] for section in sections)


def section(report, title):
    (found,) = (text for name, text in report.items() if name.startswith(title))
    return found


W = np.ones((4, 4), np.float32)


def test_report_of_a_training_step():
    report = report_of(
        train, {"a": W, "b": W}, X, donate_argnums=0, in_shardings=(None, P("x"))
    )
    assert "m0 (x=2; devices [0, 1]): 2 fragment calls" in section(report, "Meshes")
    names = section(report, "Names")
    assert "f -> m0 (assigned; in 2 fragment calls)" in names
    assert "other -> m1 (no computation:" in names
    inferred = section(report, "Inferred")
    assert "args[0]['a'] on m0: read by f, f(1)" in inferred
    assert "result[0] on m1: made by g" in inferred
    assert "a fragment on m1 at " in inferred
    transfers = section(report, "Transfers: 4, 264 B")
    assert "m0 -> m1: 1 x f32[8,4], 128 B, f to g, " in transfers
    alone = section(report, "Fragments that were not merged, and why")
    assert alone.strip().startswith(f"{__file__}:")
    assert 'on mesh "m1" is not merged: ' in alone
    assert "has not been merged" in section(report, "What the partitioner reported")
    assert section(report, "Donation").strip() == "nothing"


def test_names_may_end_as_transposed_ones_do():
    names = {"layer(0)": "m0", "layer(1)": "m1"}
    config = dataclasses.replace(CONFIG, name_to_mesh_assignment=names)

    def loss(x):
        return named(jnp.sum, "layer(1)")(named(jnp.sin, "layer(0)")(x))

    report = section(report_of(jax.grad(loss), X, config=config), "Names")
    assert "layer(0) -> m0 (assigned; in 2 fragment calls)" in report
    # Forward and backward of the last layer are one call.
    assert "layer(1) -> m1 (assigned; in 1 fragment calls)" in report
    assert "no computation" not in report


def test_names_that_end_as_transposed_ones_of_others():
    names = {"f": "m0", "f(1)": "m1"}
    config = dataclasses.replace(CONFIG, name_to_mesh_assignment=names)

    def run(x):
        return named(jnp.sum, "f(1)")(named(jnp.cos, "f")(x))

    report = section(report_of(run, X, config=config), "Names")
    assert "f -> m0 (assigned; in 1 fragment calls)" in report
    assert "f(1) -> m1 (assigned; in 1 fragment calls)" in report
    assert "no computation" not in report


def test_report_of_donations_that_are_of_no_use():
    config = dataclasses.replace(CONFIG, input_mesh_assignment=("m0",))
    report = report_of(named(jnp.sin, "g"), X, config=config, donate_argnums=0)
    (line,) = section(report, "Donation").splitlines()
    assert line.endswith("no fragment takes its buffer over (f32[8,4], 128 B)")


def report_of_a_change_on_the_way() -> dict[str, str]:
    split = jax.NamedSharding(CONFIG.sharding_mesh, P("x"))

    def f(x):
        return jax.lax.with_sharding_constraint(jnp.sin(x), split)

    config = dataclasses.replace(CONFIG, output_mesh_assignment="m1")
    return report_of(
        named(f, "f"), X, config=config, in_shardings=P("x"), out_shardings=P(None, "x")
    )


def test_report_of_a_sharding_that_changes_on_the_way():
    report = report_of_a_change_on_the_way()
    changed = section(report, "Shardings that change")
    assert 'Operands: #sdy.sharding<@mesh, [{"x"}, {}]> <8x4xf32>' in changed
    assert section(report, "What the partitioner reported").strip() == "nothing"


def test_the_first_sharding_that_changes_is_explained():
    """The compiler explains it once in a process, so this is one of its own."""
    script = (
        "import test_frontend_report as this\n"
        "for _ in range(2):\n"
        "    report = this.report_of_a_change_on_the_way()\n"
        "    print('explained' if 'resharding transfer: ' in\n"
        "          this.section(report, 'Shardings that change') else 'known')\n"
    )
    env = bare_environment(JAX_NUM_CPU_DEVICES="8")
    folders = [env["PYTHONPATH"], str(ROOT / "test" / "python")]
    folders += [str(ROOT / "test" / "python" / "frontend")]
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        env=env | {"PYTHONPATH": os.pathsep.join(folders)},
    )
    assert done.stdout.split() == ["explained", "known"], done.stderr


def test_report_of_a_sharding_that_changes_inside():
    def split(x, *spec):
        sharding = jax.NamedSharding(CONFIG.sharding_mesh, P(*spec))
        return jax.lax.with_sharding_constraint(x, sharding)

    def f(x):
        return split(split(jnp.sin(x), "x"), None, "x")

    report = report_of(named(f, "f"), X)
    (line,) = section(report, "Shardings that change").splitlines()
    assert line == (
        "  f on m0 splits f32[8,4] as P(None, x) inside, where it was P(x) before"
    )


def test_long_lists_are_cut():
    many = [np.ones(i + 1, np.float32) for i in range(20)]
    report = report_of(lambda xs: named(lambda xs: [x + 1 for x in xs], "f")(xs), many)
    lines = section(report, "Inferred").splitlines()
    assert lines[-1] == "  ... and 28 more" and len(lines) == 13


def test_remarks_say_why_fragments_stayed_alone(caplog):
    def two(x):
        y = named(jnp.sin, "f")(x)
        return named(jnp.cos, "g")(y * 2), y.sum()

    def lower(**options):
        options["mpmd_infer_transfers"] = True
        config = dataclasses.replace(CONFIG, partitioning_options=options)
        return mw.jit(two, config).lower(X)

    remarks = lower().remarks
    alone = [remark for remark in remarks if remark.missed]
    assert {remark.kind for remark in alone} == {"merge", "absorb"}
    assert any(" is not merged: " in remark.text for remark in alone)
    assert any(str(remark).startswith(__file__) for remark in alone)
    assert {remark.mesh for remark in alone} == {"m0"}
    assert all(f'on mesh "{remark.mesh}"' in remark.text for remark in alone)
    assert not caplog.records
    only = lower(mpmd_remarks="absorb")
    assert {remark.kind for remark in only.remarks} == {"absorb"}
    assert " is not merged: " in caplog.text


def _explained(config=CONFIG, **options):
    def step(params, x):
        y = named(lambda w, x: jnp.tanh(x @ w), "f")(params["w"], x)
        return named(jnp.sin, "g")(y)

    rows = jax.sharding.NamedSharding(MESHES["m0"], P("x"))
    jitted = mw.jit(step, config, in_shardings=(None, rows), **options)
    return jitted.lower({"w": X.T}, X)


def test_a_sharding_is_explained():
    lowered = _explained()
    (result,) = lowered.explain_sharding("result 0")
    assert result.name == "result 0 of @main"
    (axis,) = result.axes
    assert (axis.dimension, axis.axis, axis.written) == (0, '"x"', False)
    assert axis.source == "argument 1 of @main"
    operations = [step.operation for step in axis.steps]
    assert operations[1:4] == [
        "stablehlo.dot_general",
        "stablehlo.tanh",
        'into result 0 of mpmd.fragment on mesh "m0"',
    ]
    dot = axis.steps[1]
    assert dot.direction == "operand 0 to result 0"
    file, line, _ = dot.place.rsplit(":", 2)
    assert file == __file__
    assert "x @ w" in linecache.getline(file, int(line))
    # The same for people.
    text = str(lowered.explain_sharding("result 0"))
    assert text.startswith('result 0 of @main:\n  dimension 0 by "x", from argument 1')
    assert f"stablehlo.dot_general, {dot.place}: operand 0 to result 0\n" in text


def test_explained_values_have_names():
    lowered = _explained()
    for name in ("arg 1", "x", "%arg1"):
        (value,) = lowered.explain_sharding(name)
        assert value.name == "argument 1 of @main"
        assert value.axes[0].written and not value.axes[0].steps
    (weight,) = lowered.explain_sharding("params['w']")
    assert weight.name == "argument 0 of @main" and not weight.axes
    # `%0` of the text that JAX prints is the first named computation.
    assert "%0 = mpmd.named_computation" in lowered.as_text("stablehlo")
    (value,) = lowered.explain_sharding("%0")
    assert value.name == 'result 0 of mpmd.fragment on mesh "m0"'
    everything = lowered.explain_sharding()
    assert len(everything) > 4 and all(value.axes for value in everything)


@pytest.mark.parametrize(
    "value, error, text",
    [
        ("result 7", ValueError, 'no value is called "result 7"; expected `arg N`'),
        ("%nothing", ValueError, 'no value of the program is written "%nothing"'),
        (3, TypeError, "value: expected a str or None, got 3"),
    ],
)
def test_values_that_are_not_there_are_named(value, error, text):
    with pytest.raises(error, match=text):
        _explained().explain_sharding(value)


def test_a_schedule_of_rules_is_explained():
    config = dataclasses.replace(
        CONFIG, pipeline_schedule=mw.get_pipeline_schedule("GPIPE")
    )
    (value,) = _explained(config).explain_sharding("result 0")
    assert value.axes[0].source == "argument 1 of @main"
