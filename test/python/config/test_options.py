"""One table of options feeds the compiler, Python and the docs."""

import json
import subprocess
import sys

import pytest
from support.launching import bare_environment
from support.tools import ROOT

import meshwright as mw


@pytest.fixture(scope="module")
def options():
    import _meshwright

    return {option[1]: option for option in _meshwright.options()}


def test_the_docs_have_the_compilers_options():
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "option_docs.py", "--check"],
        env=bare_environment(),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_tests_start_has_the_extension_of_their_build(tmp_path):
    """Also where there is another one in build/."""
    (tmp_path / "_meshwright.py").write_text("print('this one'); raise SystemExit")
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "option_docs.py", "--check"],
        env=bare_environment(PYTHONPATH=str(tmp_path)),
        capture_output=True,
        text=True,
    )
    assert done.stdout == "this one\n", done.stderr


OTHER = {"bool": None, "int": 3, "text": "some text", "schedule": "Circular"}


def test_every_option_is_taken_by_the_command_and_by_make_config(tools, options):
    import jax

    mesh = jax.sharding.Mesh(jax.devices()[:1], ("x",))
    settings = []
    for key, (_, _, kind, default, *_) in options.items():
        if key in ("mpmd_dump", "mpmd_reproducer", "mpmd_remarks"):
            continue  # These write files, or much.
        if kind == "pairs":
            value = [[0, 0]]
        elif kind == "bool":
            value = not json.loads(default)
        else:
            value = OTHER[kind]
        if key == "mpmd_custom_costs":
            value = "call=flops:2*b"  # Any other text is an error.
        if key != "mpmd_enable_heterogeneous_meshes":
            text = value if isinstance(value, str) else json.dumps(value)
            settings += ["--set", f"{key}={text}"]
        if key == "mpmd_fail_on_backward_deps":
            continue  # For the commands: what trains fails it.
        config = mw.make_config(
            {"m": mesh}, {"f": "m"}, partitioning_options={key: value}
        )
        assert config.compiler_options[key] == value
    done = tools.run(
        *("meshwright", "partition", ROOT / "docs" / "first.mlir"),
        *("--config", ROOT / "docs" / "first.json", "--print-pipeline", *settings),
    )
    assert done.returncode == 0, done.stderr
    text = done.stdout.decode()
    assert "max-clones=3" in text
    assert "must-happen-before=builtin:Circular" in text
    assert 'param-pattern={"some text"}' in text


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("mpmd_infer_transfers", 1, "must be a bool"),
        ("mpmd_max_clones", True, "must be an int"),
        ("mpmd_dump", 3, "must be a str"),
        ("mpmd_input_output_constraints", [(0,)], "must be a list of pairs"),
        ("mpmd_dumb", "x", "did you mean 'mpmd_dump'"),
    ],
)
def test_wrong_values_are_refused(key, value, expected):
    import jax

    mesh = jax.sharding.Mesh(jax.devices()[:1], ("x",))
    with pytest.raises(ValueError, match=expected):
        mw.make_config({"m": mesh}, {"f": "m"}, partitioning_options={key: value})


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ("mpmd_infer_transfers=1", "expected a boolean, but got an integer"),
        ("mpmd_infer_transfers=maybe", "expected a boolean, but got a string"),
        ("mpmd_infer_transfers=", "expected a boolean, but got a string"),
        ("mpmd_pipeline_schedule=2F1B", "mpmd_pipeline_schedule:1:1: error"),
        ("mpmd_error_limit=-2", "expected -1 or more"),
        (
            "mpmd_infer_transfer=true",
            'unknown key "mpmd_infer_transfer", did you mean "mpmd_infer_transfers"?',
        ),
        ("mpmd_infer_transfers", "expected option=value"),
        ("mpmd_input_output_constraints=[[9, 0]]", "no argument and result [9, 0]"),
        ("mpmd_input_output_constraints=[[0, 0]", "mpmd_input_output_constraints:1:"),
        ("mpmd_remarks=(", "not a regular expression"),
        ("mpmd_remarks=((a{255}){255}){255}", "without repetitions in braces"),
    ],
)
def test_wrong_settings_are_refused(tools, setting, expected):
    done = tools.run(
        *("meshwright", "partition", ROOT / "docs" / "first.mlir"),
        *("--config", ROOT / "docs" / "first.json", "--set", setting, "-o", "-"),
    )
    assert done.returncode == 1
    assert expected in done.stderr


def test_the_least_numbers_are_those_of_the_compiler(tools, options):
    import jax

    mesh = jax.sharding.Mesh(jax.devices()[:1], ("x",))
    numbers = {o[1]: o[-1] for o in options.values() if o[2] == "int"}
    assert numbers["mpmd_error_limit"] == -1 and numbers["mpmd_max_clones"] == 0
    for key, least in numbers.items():
        chosen = {key: least}
        mw.make_config({"m": mesh}, {"f": "m"}, partitioning_options=chosen)
        chosen = {key: least - 1}
        with pytest.raises(ValueError, match=f"must be an int of {least} or more"):
            mw.make_config({"m": mesh}, {"f": "m"}, partitioning_options=chosen)
        done = tools.run(
            *("meshwright", "partition", ROOT / "docs" / "first.mlir"),
            *("--config", ROOT / "docs" / "first.json", "-o", "-"),
            *("--set", f"{key}={least - 1}"),
        )
        assert done.returncode == 1
        assert f"options.{key}: expected {least} or more" in done.stderr


def test_python_dumps_where_the_environment_says(tmp_path, monkeypatch):
    import jax
    import jax.numpy as jnp

    monkeypatch.setenv("MESHWRIGHT_DUMP", str(tmp_path))
    mesh = jax.sharding.Mesh(jax.devices()[:1], ("x",))
    layer = mw.named_computation(jnp.tanh, name="f")

    def step(x):
        return layer(x)

    mw.jit(step, mw.make_config({"m": mesh}, {"f": "m"})).lower(jnp.ones(4))
    folders = sorted(tmp_path.iterdir())
    assert folders
    assert (folders[0] / "program.mlir").exists()
    assert (folders[0] / "pipeline.txt").exists()
