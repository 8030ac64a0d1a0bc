"""What a user of the Python API reads: subject, place, remedy, once, and how
loudly."""

import logging
import re
import subprocess
import sys

import jax
import jax.numpy as jnp
import optax
import pytest
from jax.sharding import Mesh
from meshwright.compiler import diagnostics
from meshwright.core import logging as _logging
from support.launching import bare_environment
from support.tools import ROOT

import meshwright as mw

pytestmark = pytest.mark.usefixtures("x32")

DEVICES = jax.devices()
MESHES = {"a": Mesh(DEVICES[:2], "x"), "b": Mesh(DEVICES[2:4], "x")}
X = jnp.ones((8, 8))
HERE = re.escape(__file__)

f = mw.named_computation(lambda x: x @ x, name="f")
g = mw.named_computation(lambda x: (x * 2).sum(), name="g")


def both(x):
    return g(f(x))


def config(assignment=None, **keywords):
    keywords.setdefault("partitioning_options", {"mpmd_infer_transfers": True})
    assignment = {"f": "a", "g": "b"} if assignment is None else assignment
    return mw.make_config(MESHES, assignment, **keywords)


def scheduled(**keywords):
    return config(
        name_to_stage_assignment={"f": 0, "g": 1},
        pipeline_schedule=mw.get_pipeline_schedule("ONE_FWD_ONE_BWD"),
        **keywords,
    )


def lower(function, config, *args):
    return mw.jit(function, config).lower(*args)


@pytest.fixture
def said(caplog):
    """The package's messages of a level and above, by `said(level)`."""
    caplog.set_level(logging.DEBUG, "meshwright")
    return lambda level=logging.WARNING: [
        record.getMessage()
        for record in caplog.records
        if record.name.startswith("meshwright") and record.levelno >= level
    ]


# Errors of lowering: one sentence with its place.


def error_of(function, config, *args):
    with pytest.raises(RuntimeError) as caught:
        lower(function, config, *args)
    return str(caught.value)


def test_an_unassigned_name_is_to_be_added_to_the_assignment():
    error = error_of(both, config({"f": "a"}), X)
    assert re.fullmatch(
        rf"{HERE}:\d+:\d+: named computation 'g' has no mesh; add 'g': MESH to "
        r"name_to_mesh_assignment of make_config, where MESH is one of a, b\. "
        r"Assigned are 'f'",
        error,
    )


def test_a_misspelled_name_is_recognized():
    error = error_of(both, config({"f": "a", "gg": "b"}), X)
    assert error.endswith("Assigned is 'gg': did you mean that?")


def test_a_computation_around_others_has_to_be_assigned_too():
    outer = mw.named_computation(both, name="outer")
    error = error_of(outer, config(), X)
    assert "named computation 'outer' has no mesh" in error


def step(x, _=None):
    return f(x), None


LOOPS = {
    "scan": (lambda x: jax.lax.scan(step, x, None, length=3)[0], "a loop of JAX"),
    "while_loop": (
        lambda x: jax.lax.while_loop(lambda x: x.sum() < 3, f, x),
        "a loop of JAX",
    ),
    "map": (lambda x: jax.lax.map(f, x[None]), "a loop of JAX"),
    "cond": (
        lambda x: jax.lax.cond(x[0, 0] > 0, f, lambda x: x, x),
        "a branch of lax.cond",
    ),
    "tensor": (
        lambda x: jax.lax.fori_loop(
            0, 3, lambda i, x: mw.named_tensor(x * 2, name="f"), x
        ),
        "a loop of JAX",
    ),
}


@pytest.mark.parametrize("name", LOOPS)
def test_stages_in_loops_and_branches_are_to_be_taken_out(name):
    program, where = LOOPS[name]
    error = error_of(program, config(), X)
    [line] = error.splitlines()
    assert re.match(rf"{HERE}:\d+:\d+: 'f' is inside of {where}", line)
    assert "write loops over stages in Python" in line


def test_repeated_stages_ask_for_a_call_counter():
    def loop(xs):
        return sum(g(f(x)) for x in xs)

    error = error_of(loop, scheduled(), jnp.ones((2, 8, 8)))
    assert re.match(
        rf"{HERE}:\d+:\d+: stage \d occurs more than once on mesh '[ab]'", error
    )
    assert "mw.call(f, call_counter=i)" in error
    assert "fragments with a stage" not in error


def test_a_stage_that_reads_a_later_one():
    def program(x):
        back = mw.named_computation(lambda x: 2 * x, name="back")
        return mw.call(lambda x: back(g(f(x))), call_counter=0)(x)

    late = config(
        {"f": "a", "g": "b", "back": "a"},
        name_to_stage_assignment={"f": 0, "g": 1, "back": 0},
        pipeline_schedule=mw.get_pipeline_schedule("ONE_FWD_ONE_BWD"),
    )
    error = error_of(program, late, X)
    assert re.match(rf"{HERE}:\d+:\d+: stage 0 occurs more than once", error)
    assert "as 'back' and before; it reads what other stages make of 'f'" in error
    assert "cannot read what a later one makes" in error


def test_errors_keep_their_parts_for_programs():
    with pytest.raises(RuntimeError) as caught:
        lower(both, config({"f": "a"}), X)
    [(severity, file, line, _, text, about, arguments)] = caught.value.diagnostics
    assert (severity, file) == ("error", __file__)
    assert line > 0
    assert "is not assigned to a mesh" in text


# Mistakes in make_config and jit.


def empty_mesh():
    none = Mesh(DEVICES[len(DEVICES) :], "x")
    mw.make_config({"a": MESHES["a"], "right": none}, {})


MISTAKES = {
    "mesh_without_devices": (
        empty_mesh,
        rf"topology: mesh 'right' has no devices; 2 meshes need at least 2 devices, "
        rf"found {len(DEVICES)} \(cpu\), .*jax_num_cpu_devices",
    ),
    "devices_for_a_mesh": (
        lambda: mw.make_config({"a": DEVICES[:2]}, {}),
        "topology: mesh 'a' must be a jax.sharding.Mesh, got .* of type list; build",
    ),
    "meshes_without_names": (
        lambda: mw.make_config(list(MESHES.values()), {}),
        "topology: must be a dict, such as .*, got .* of type list",
    ),
    "meshes_with_numbers": (
        lambda: mw.make_config({0: MESHES["a"]}, {}),
        "topology: names must be strings, as in .*, got 0 of type int",
    ),
    "options_as_list": (
        lambda: config(partitioning_options=["mpmd_infer_transfers"]),
        "partitioning_options: must be a dict, such as .*True",
    ),
    "assignment_of_pairs": (
        lambda: config([("f", "a")]),
        "name_to_mesh_assignment: must be a dict, such as .* of type list",
    ),
    "unknown_mesh": (
        lambda: config({"f": "c"}),
        "name_to_mesh_assignment: mesh: unknown 'c', known are a, b",
    ),
    "mesh_as_object": (
        lambda: config({"f": MESHES["a"]}),
        "name_to_mesh_assignment: meshes are given by name, got Mesh",
    ),
    "stage_as_text": (
        lambda: config(name_to_stage_assignment={"f": "0"}),
        "name_to_stage_assignment: stage of 'f' must be an int, got '0' of type str",
    ),
    "stages_as_list": (
        lambda: config(name_to_stage_assignment=["f"]),
        "name_to_stage_assignment: must be a dict",
    ),
    "schedule_as_text": (
        lambda: config(pipeline_schedule="1F1B"),
        "pipeline_schedule: must be a PipelineSchedule, got '1F1B' .*"
        "get_pipeline_schedule",
    ),
    "option_without_prefix": (
        lambda: config(partitioning_options={"infer_transfers": True}),
        "partitioning_options: unknown 'infer_transfers', .*"
        "did you mean 'mpmd_infer_transfers'",
    ),
    "topology_for_a_config": (
        lambda: mw.jit(both, MESHES),
        "mpmd_config must be what meshwright.make_config returned, got .* of type dict",
    ),
    "config_twice": (
        lambda: mw.jit(both, config(), config=config()),
        "got both mpmd_config and config; give the config once",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_explained(name):
    make, message = MISTAKES[name]
    with pytest.raises((TypeError, ValueError), match=message):
        make()


def test_an_unknown_memory_kind_is_reported(said):
    config({"f": "a#pinned"})
    [message] = said()
    assert "memory kind: unknown 'pinned'" in message
    assert "did you mean 'pinned_host'" in message


def test_a_stage_of_a_name_without_mesh_is_reported(said):
    config(name_to_stage_assignment={"f": 0, "gg": 1})
    [message] = said()
    assert "unknown 'gg'" in message and "did you mean 'g'" in message


# Warnings and what is below.


def test_ordinary_programs_are_silent(said):
    def train(w, xs):
        def loss(w, x):
            h = mw.named_computation(lambda w, x: jnp.tanh(x @ w), name="f")(w[0], x)
            return mw.named_computation(lambda w, h: (h @ w).sum(), name="g")(w[1], h)

        parts = [
            mw.call(jax.value_and_grad(loss), call_counter=i)(w, x)
            for i, x in enumerate(xs)
        ]
        value, grads = jax.tree.map(lambda *leaves: sum(leaves), *parts)
        return jax.tree.map(lambda w, g: w - g / len(xs), w, grads), value

    lower(train, scheduled(), [X, X], jnp.ones((2, 4, 8)))
    assert said() == []


@pytest.mark.parametrize("schedule", ["1F1B", "ZeroBubbleH1", "ZeroBubbleV"])
def test_tied_weights_contradict_no_schedule(said, schedule):
    """Their gradient is sent after the last microbatch, and nothing waits for it."""

    def loss(w, x):
        h = x @ w["embedding"]
        for layer in w["layers"]:
            h = mw.stage_boundary(jnp.tanh(h @ layer))
        return (((h * w["scale"]) @ w["embedding"].T - x) ** 2).mean()

    meshes = 2 if schedule == "ZeroBubbleV" else 4
    topology = {f"m{i}": Mesh(jax.devices()[i : i + 1], "x") for i in range(meshes)}
    config = mw.make_config(
        topology, pipeline_schedule=mw.get_pipeline_schedule(schedule)
    )
    step = mw.pipeline.accumulate(jax.value_and_grad(loss), 4)
    weights = {"embedding": jnp.ones((8, 4)), "layers": [jnp.ones((4, 4))] * 3}
    weights["scale"] = jnp.ones(4)
    mw.jit(step, config).lower(weights, jnp.ones((8, 8)))
    assert said() == []


def test_choosing_a_schedule_is_no_warning(said):
    scheduled()
    assert said() == []
    [message] = said(logging.INFO)
    assert "pipeline_schedule sets partitioning options" in message


def test_the_first_program_of_the_readme_is_silent(said):
    [program] = re.findall(
        r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL
    )
    exec(program, {})
    assert said() == []


def test_a_gradient_around_the_calls_is_reported_once_with_its_place(said):
    def loss(xs):
        return sum(mw.call(both, call_counter=i)(x) for i, x in enumerate(xs))

    def total(w, xs):
        return loss(w @ xs)

    jitted = mw.jit(jax.grad(total), scheduled())
    args = X, jnp.ones((4, 8, 8))
    jitted.lower(*args)
    jitted.lower(*args)
    messages = [message for message in said() if "data flow wins" in message]
    assert len(messages) == 1
    assert re.match(rf"{HERE}:\d+:\d+: ", messages[0])
    assert re.search(rf"\n{HERE}:\d+:\d+: note: this is the other", messages[0])


def layers(weights, x, mark=mw.stage_boundary):
    for number, weight in enumerate(weights):
        x = jnp.tanh((mark(x) if number else x) @ weight)
    return (x**2).mean()


def unmarked(weights, x):
    return layers(weights, x, mark=lambda x: x)


BACKWARD = "Detected backward dependency"
FOLDED = mw.get_pipeline_schedule("Interleaved1F1B")


@pytest.mark.parametrize("stages", [4, 6])
def test_an_evaluation_may_go_around_its_meshes(stages, said):
    evaluate = mw.pipeline.accumulate(layers, microbatches=4)
    folded = mw.make_config(MESHES, pipeline_schedule=FOLDED)
    mw.jit(evaluate, folded).lower([X] * stages, X)
    evaluate = mw.pipeline.accumulate(unmarked, microbatches=4)
    found = mw.auto(evaluate, MESHES, num_stages=stages, pipeline_schedule=FOLDED)
    found.lower([X] * stages, X)
    assert said() == []


def test_auto_may_apply_a_model_to_its_own_result(said):
    def again(weights, x):
        for _ in range(3):
            for weight in weights:
                x = jnp.tanh(x @ weight)
        return x

    wide = jnp.ones((64, 64))
    lowered = mw.auto(again, MESHES).lower([wide] * 4, wide[:2])
    meshes = lowered.function_mesh_assignment.input_meshes[0]
    assert meshes == ["a", "a", "b", "b"]
    assert said() == []


def test_stages_that_go_against_the_order_of_the_meshes_are_reported(said):
    back = config({"f": "b", "g": "a"}, name_to_stage_assignment={"f": 0, "g": 1})
    lower(both, back, X)
    [message] = said()
    assert BACKWARD in message


def test_what_an_earlier_stage_reads_of_the_last_one_is_reported(said):
    def twice(weights, x):
        first = mw.call(layers, call_counter=0)(weights, x)
        return mw.call(layers, call_counter=1)(weights, x + first)

    folded = mw.make_config(MESHES, pipeline_schedule=FOLDED)
    mw.jit(twice, folded).lower([X] * 4, X)
    assert [BACKWARD in message for message in said()] == [False, True]


def test_a_token_that_goes_back_into_the_state_is_no_warning(said):
    def decode(state):
        weights, token = state
        hidden = mw.stage_boundary(jnp.tanh(weights[0][token]))
        return weights, (hidden @ weights[1]).argmax(-1)

    state = [X, X], jnp.zeros(2, int)
    mw.jit(decode, mw.make_config(MESHES), tie_state=True).lower(state)
    assert said() == []


def sharpened(loss, microbatches):
    """A gradient where the weights would be after a step of another one."""
    gradient = mw.pipeline.accumulate(jax.grad(loss), microbatches)

    def moved(weights, x):
        return [w + g for w, g in zip(weights, gradient(weights, x), strict=True)]

    return moved, lambda weights, x: gradient(moved(weights, x), x)


@pytest.mark.parametrize("schedule", ["1F1B", "ZeroBubbleH1"])
def test_a_second_gradient_may_wait_for_the_first(schedule, said):
    scheduled = mw.get_pipeline_schedule(schedule)
    weights, x = [X, X], jnp.ones((8, 8))
    _, step = sharpened(layers, 4)
    one_pass = mw.make_config(MESHES, pipeline_schedule=scheduled)
    mw.jit(step, one_pass).lower(weights, x)
    _, step = sharpened(unmarked, 4)
    mw.auto(step, MESHES, pipeline_schedule=scheduled).lower(weights, x)
    assert said() == []


def test_a_loss_of_the_new_weights_may_wait_for_them(said):
    moved, _ = sharpened(layers, 4)

    def step(weights, x):
        return mw.call(layers, call_counter=4)(moved(weights, x), x[:2])

    scheduled = mw.make_config(
        MESHES, pipeline_schedule=mw.get_pipeline_schedule("1F1B")
    )
    mw.jit(step, scheduled).lower([X, X], jnp.ones((8, 8)))
    assert said() == []


def test_a_model_that_is_applied_to_what_it_gave_is_to_be_called():
    def generate(weights, x):
        for _ in range(3):
            x = weights[1] @ mw.stage_boundary(weights[0] @ x)
        return x

    remedy = (
        r"the topology has 2 meshes .* call of its own, mw\.call\(f, call_counter=i\)"
    )
    with pytest.raises(ValueError, match=remedy):
        mw.jit(generate, mw.make_config(MESHES)).lower([X, X], X)


def test_a_schedule_without_counters_is_reported(said):
    def loop(xs):
        return sum(mw.call(both)(x) for x in xs)

    lower(loop, scheduled(), jnp.ones((2, 8, 8)))
    [message] = said()
    assert message.startswith("schedule 1F1B orders nothing")
    assert "mw.call(f, call_counter=i)" in message


def test_a_schedule_without_stages_is_reported(said):
    def loop(xs):
        return sum(mw.call(jnp.sum, call_counter=i)(x * 2) for i, x in enumerate(xs))

    lower(loop, scheduled(), jnp.ones((2, 8, 8)))
    [message] = said()
    assert message.startswith(
        "schedule 1F1B orders nothing: this program has no stages"
    )
    assert "mw.stage_boundary" in message


def test_fragments_of_no_user_are_reported_together_and_quietly(said):
    def clipped(w, x):
        def loss(w):
            h = mw.named_computation(lambda w, x: jnp.tanh(x @ w), name="f")(w[0], x)
            return mw.named_computation(lambda w, h: (h @ w).sum(), name="g")(w[1], h)

        # The operations are in a file of Optax, and in this one.
        clip = optax.clip_by_global_norm(1.0)
        grads, _ = clip.update(jax.grad(loss)(w), clip.init(w))
        return jax.tree.map(jnp.subtract, w, grads)

    lower(clipped, config(), [X, X], X)
    assert said() == []
    [message] = said(logging.INFO)
    assert re.match(
        rf"{HERE}:\d+:\d+: \d fragments? that no named computation", message
    )
    assert "Put these into a named computation" in message


def test_state_that_passes_through_is_no_reshard(said):
    lower(lambda w, x: (w, w, both(x)), config(), X, X)
    assert said(logging.INFO) == []


def test_a_loop_over_whole_states_names_what_it_moves(said):
    def loss(w, x):
        h = mw.named_computation(lambda w, x: jnp.tanh(x @ w), name="f")(w["in"], x)
        return mw.named_computation(lambda w, h: (h @ w).sum(), name="g")(w["out"], h)

    def train(params, x):
        grads = jax.grad(loss)(params, x)
        return jax.lax.fori_loop(
            0, 100, lambda _, w: jax.tree.map(jnp.subtract, w, grads), params
        )

    lower(train, config(), {"in": X, "out": X}, X)  # Few trips would be unrolled.
    [message] = said()
    assert re.match(rf"{HERE}:\d+:\d+: an operation without a name", message)
    assert 'params[\'out\'] (256 bytes, read by "g" on mesh "b")' in message


# How loud the package is.


@pytest.fixture
def restored():
    package = logging.getLogger("meshwright")
    level, handlers = package.level, list(package.handlers)
    yield package
    package.setLevel(level)
    package.handlers[:] = handlers


@pytest.mark.parametrize(
    ("given", "level"),
    [("debug", 10), ("INFO", 20), ("warning", 30), (40, 40), (logging.CRITICAL, 50)],
)
def test_verbosity_is_a_level(restored, given, level):
    mw.set_verbosity(given)
    mw.set_verbosity(given)
    assert restored.level == level
    assert len(restored.handlers) <= 1


@pytest.mark.parametrize("wrong", ["loud", -1, None, True, 1.5])
def test_other_verbosities_are_refused(wrong):
    with pytest.raises(ValueError, match="verbosity: expected one of debug, info"):
        mw.set_verbosity(wrong)


SCHEDULED = """
import jax, meshwright as mw
meshes = {"a": jax.sharding.Mesh(jax.devices()[:1], "x")}
schedule = mw.get_pipeline_schedule("GPIPE")
mw.make_config(meshes, {}, pipeline_schedule=schedule)
mw.set_verbosity("info")
mw.make_config(meshes, {}, pipeline_schedule=schedule)
mw.set_verbosity("error")
mw.make_config(meshes, {}, pipeline_schedule=schedule)
"""


def run(program, **environment):
    return subprocess.run(
        [sys.executable, "-c", program],
        env=bare_environment(**environment),
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_verbosity_shows_messages_without_configured_logging():
    done = run(SCHEDULED)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("INFO: pipeline_schedule sets") == 1


def test_verbosity_comes_from_the_environment(restored, monkeypatch, said):
    monkeypatch.setenv("MESHWRIGHT_VERBOSITY", "debug")
    _logging._read_environment()
    assert restored.level == logging.DEBUG
    monkeypatch.setenv("MESHWRIGHT_VERBOSITY", "40")
    _logging._read_environment()
    assert restored.level == logging.ERROR
    restored.setLevel(logging.DEBUG)
    monkeypatch.setenv("MESHWRIGHT_VERBOSITY", "loud")
    _logging._read_environment()
    [message] = said()
    assert "MESHWRIGHT_VERBOSITY: verbosity: expected one of" in message


def test_one_device_is_said_to_be_too_few():
    guide = (ROOT / "docs" / "python.md").read_text()
    program = re.findall(r"```python\n(.*?)```", guide, re.DOTALL)[0]
    done = run(program, JAX_NUM_CPU_DEVICES="1")
    assert done.returncode != 0
    assert "2 meshes need at least 2 devices, found 1 (cpu)" in done.stderr


def test_a_memory_kind_that_is_not_given_has_a_name():
    text = 'Memory kind mismatch between arg 0 and users: "pinned_host" vs {}'
    given = ("error", "", 0, 0, text.format("<<NULL ATTRIBUTE>>"), "", ())
    (message,) = diagnostics.messages_of([given])
    assert message.text == text.format("the default kind")
