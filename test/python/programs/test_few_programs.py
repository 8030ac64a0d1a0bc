"""A stage has one program per direction, whatever the number of microbatches.

What is computed once, the zeros that sums start from and the update, is apart from
them, and batches of many parts are cut by the programs that read these.
"""

import collections
import functools
import re

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import meshwright as mw

WIDTH = 8
OPTIMIZER = optax.adam(1e-2)

pytestmark = pytest.mark.usefixtures("equal_compiles_once")


def layer(weights, x):
    scores = jax.nn.softmax(
        x @ weights["query"] @ (x @ weights["key"]).swapaxes(-1, -2)
    )
    return x + jnp.tanh(scores @ x @ weights["value"])


def initial(num_layers):
    random = np.random.default_rng(0)
    shapes = dict.fromkeys(("query", "key", "value"), (WIDTH, WIDTH))
    # Wider weights saturate the softmax, and Adam amplifies what rounding leaves of
    # the gradients beyond the tolerances of these tests.
    scale = WIDTH**-0.5
    layers = [
        {
            name: np.float32(random.normal(scale=scale, size=shape))
            for name, shape in shapes.items()
        }
        for _ in range(num_layers)
    ]
    return layers, OPTIMIZER.init(layers)


def make_step(num_stages, microbatches):
    def loss(layers, x, y):
        for number, weights in enumerate(layers):
            if number and number % (len(layers) // num_stages) == 0:
                x = mw.stage_boundary(x)
            x = layer(weights, x)
        return ((x - y) ** 2).mean()

    def step(layers, state, x, y):
        gradient = mw.pipeline.accumulate(
            jax.value_and_grad(loss), microbatches, batch_argnums=(1, 2)
        )
        value, grads = gradient(layers, x, y)
        updates, state = OPTIMIZER.update(grads, state, layers)
        return optax.apply_updates(layers, updates), state, value

    return step


def batch(microbatches):
    random = np.random.default_rng(1)
    return [
        np.float32(random.normal(size=(2 * microbatches, 4, WIDTH))) for _ in range(2)
    ]


@functools.cache
def lowered(schedule, num_stages, num_meshes, microbatches, **options):
    devices = jax.devices()
    meshes = {
        f"m{number}": jax.sharding.Mesh(devices[number : number + 1], ("x",))
        for number in range(num_meshes)
    }
    config = mw.make_config(
        meshes,
        partitioning_options={"mpmd_pipeline_schedule": schedule, **options},
    )
    return mw.jit(make_step(num_stages, microbatches), config).lower(
        *initial(num_stages), *batch(microbatches)
    )


@functools.cache
def compiled(schedule, num_stages, num_meshes, microbatches, **options):
    return lowered(schedule, num_stages, num_meshes, microbatches, **options).compile()


@functools.cache
def jitted(num_stages, microbatches=4):
    return jax.jit(make_step(num_stages, microbatches))


def names(program):
    """Kinds of programs, `stage0_fwd` or `inferred`, by how many there are."""
    functions = [
        line.split("@")[1].split("(")[0].split(".")[0]
        for line in program.as_text().splitlines()
        if line.startswith("  func.func @p")
    ]
    kinds = [name.split("_", 1)[1].split("_call")[0] for name in functions]
    return collections.Counter(kinds)


@pytest.mark.parametrize("microbatches", [2, 8])
@pytest.mark.parametrize("schedule", ["GPipe", "1F1B"])
def test_a_stage_has_a_forward_and_a_backward_program(schedule, microbatches):
    found = names(lowered(schedule, 2, 2, microbatches))
    assert {kind: count for kind, count in found.items() if kind != "inferred"} == {
        "stage0_fwd": 1,
        "stage0_bwd": 1,
        "stage1_fwd": 1,
        "stage1_bwd": 1,
    }
    # Per mesh what comes before the first microbatch and what comes after the last.
    assert found["inferred"] == 4


@pytest.mark.parametrize("schedule", ["ZeroBubbleH1", "ZeroBubbleV"])
def test_split_backward_passes_have_two(schedule):
    num_stages = 4 if schedule == "ZeroBubbleV" else 2
    found = names(lowered(schedule, num_stages, 2, 4))
    del found["inferred"]
    # Two stages of one mesh may even share theirs.
    wanted = {f"stage{number}_fwd": 1 for number in range(num_stages)}
    wanted |= {f"stage{number}_bwd": 2 for number in range(num_stages)}
    assert all(count <= wanted[kind] for kind, count in found.items())
    assert found["stage0_fwd"] == 1
    assert found[f"stage{num_stages - 1}_bwd"] == 2


def compiled_names(program):
    text = program.as_text()
    return sorted(set(re.findall(r"^HloModule ([\w.]+)", text, re.MULTILINE)))


@pytest.mark.parametrize(("schedule", "count"), [("1F1B", 6), ("ZeroBubbleH1", 7)])
def test_meshes_share_what_comes_once(schedule, count):
    """Zeros, also that of the losses on one mesh, and parts of the batch; and updates,
    of which one returns the count."""
    names = compiled_names(compiled(schedule, 2, 2, 4))
    assert len(names) == count
    once = [name for name in names if "inferred" in name]
    assert len(once) == 2
    assert all("and" in name or "to" in name for name in once)


def mean_of(microbatches, **options):
    """A program, and the loss that it and `jax.jit` give."""
    x, y = batch(microbatches)
    step = mw.jit(
        lambda weights, x, y: mw.pipeline.accumulate(
            jax.value_and_grad(two_stages),
            microbatches,
            batch_argnums=(1, 2),
            **options,
        )(weights, x, y),
        mw.make_config(two_meshes()),
    )
    weights = [layer["key"] for layer in initial(2)[0]]
    program = step.lower(weights, x, y).compile()
    found, _ = program(*program.place(weights, x, y))
    losses = [
        jax.jit(two_stages)(weights, *part)
        for part in zip(
            *(np.split(array, microbatches) for array in (x, y)), strict=True
        )
    ]
    return program, float(found), losses


def two_meshes():
    devices = jax.devices()
    return {f"m{n}": jax.sharding.Mesh(devices[n : n + 1], ("x",)) for n in range(2)}


def two_stages(weights, x, y):
    h = mw.stage_boundary(jnp.tanh(x @ weights[0]))
    return ((h @ weights[1] - y) ** 2).mean()


def losses_read_at_the_end(program):
    """How many scalars the fragments that belong to no microbatch read."""
    return sum(
        line.split(":", 1)[1].split(" -> ")[0].count("tensor<f32>")
        for line in program.as_text("mpmd").splitlines()
        if "fragment_call" in line and "_inferred" in line.split("(")[0]
    )


@pytest.mark.parametrize(
    ("microbatches", "options"), [(4, {}), (4, {"reduce": "sum"}), (3, {})]
)
def test_losses_are_added_up_by_the_backward_passes(microbatches, options):
    program, found, losses = mean_of(microbatches, **options)
    total = functools.reduce(np.add, map(np.float32, losses))
    count = np.float32(1 if options else microbatches)
    np.testing.assert_allclose(found, total / count, rtol=1e-6)
    # Divided by another number first, the sum would be rounded in another way.
    assert losses_read_at_the_end(program) == (0 if microbatches == 4 else 3)


def test_updates_of_other_sizes_are_programs_of_their_own():
    def step(weights, x):
        def loss(weights, x):
            h = mw.stage_boundary(jnp.tanh(x @ weights[0]))
            return (jnp.tanh(h @ weights[1]) ** 2).mean()

        value, grads = mw.pipeline.accumulate(jax.value_and_grad(loss), 2)(weights, x)
        return jax.tree.map(lambda w, g: w - 0.1 * g, weights, grads), value

    devices = jax.devices()
    meshes = {f"m{n}": jax.sharding.Mesh(devices[n : n + 1], ("x",)) for n in range(2)}
    weights = [np.ones((WIDTH, WIDTH), np.float32), np.ones((WIDTH, 2), np.float32)]
    x = np.ones((4, WIDTH), np.float32)
    program = mw.jit(step, mw.make_config(meshes)).lower(weights, x)
    # And the losses stay with the update, which gains nothing by itself.
    assert names(program)["inferred"] == 4


def test_the_state_of_all_meshes_is_written_over():
    devices = jax.devices()
    meshes = {f"m{n}": jax.sharding.Mesh(devices[n : n + 1], ("x",)) for n in range(2)}
    step = mw.jit(make_step(2, 4), mw.make_config(meshes), donate_argnums=(0, 1))
    program = step.lower(*initial(2), *batch(4)).compile()
    # Each weight and its moments; the count is small, and is sent to another mesh.
    updates = [
        line
        for line in program.as_text("mpmd").splitlines()
        if "func.func @p" in line and line.count("tf.aliasing_output") >= 9
    ]
    assert len(updates) == 2
    arguments = program.place(*initial(2), *batch(4))
    expected = jitted(2)(*initial(2), *batch(4))
    found = program(*arguments)
    weights, (adam, _) = arguments[:2]
    given_up = jax.tree.leaves((weights, adam.mu, adam.nu))
    assert all(array.is_deleted() for array in given_up)
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-6),
        jax.device_get(found),
        jax.device_get(expected),
    )


def test_without_the_option_first_and_last_microbatch_are_programs_of_their_own():
    found = names(lowered("1F1B", 2, 2, 4, mpmd_keep_units_alike=False))
    assert found["stage0_fwd"] == 2
    assert found["stage0_bwd"] == 3


@pytest.mark.parametrize(
    ("schedule", "num_stages"),
    [("GPipe", 2), ("1F1B", 2), ("Interleaved1F1B", 4), ("ZeroBubbleH1", 2)],
)
def test_numbers_are_those_of_jit(schedule, num_stages):
    program = compiled(schedule, num_stages, 2, 4)
    arguments = (*initial(num_stages), *batch(4))
    expected = arguments[:2]
    found = program.place(*arguments)[:2]
    step = jitted(num_stages)
    for _ in range(3):
        *expected, wanted = step(*expected, *arguments[2:])
        *found, value = program(*program.place(*found, *arguments[2:]))
        np.testing.assert_allclose(value, wanted, rtol=1e-5)
    for one, other in zip(
        jax.tree.leaves(found), jax.tree.leaves(expected), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=2e-4, atol=2e-5)


def test_all_sums_are_written_over_zeros_or_sums():
    text = lowered("1F1B", 2, 2, 4).as_text()
    backward = [
        line
        for line in text.splitlines()
        if "_bwd_" in line and line.startswith("  func.func @p")
    ]
    assert len(backward) == 2
    # Three weights a stage; the derivative by x may be written over another value.
    assert all(line.count("tf.aliasing_output") >= 3 for line in backward)


def test_no_mesh_needs_more_memory():
    alike = compiled("1F1B", 2, 2, 8).memory_analysis()
    merged = compiled("1F1B", 2, 2, 8, mpmd_keep_units_alike=False).memory_analysis()
    assert len(alike) == len(merged) == 2
    # Zeros are there while the first backward reads what was sent to it.
    activation = 2 * 4 * WIDTH * 4
    for mesh, memory in merged.items():
        assert alike[mesh].peak_bytes <= memory.peak_bytes + activation


def test_remarks_say_why_a_microbatch_has_a_program_of_its_own():
    merged = lowered("1F1B", 2, 2, 4, mpmd_keep_units_alike=False)
    remarks = [remark for remark in merged.remarks if remark.kind == "programs"]
    assert len(remarks) == 6 and all(remark.missed for remark in remarks)
    assert any(
        'on mesh "m0" is another program for microbatch 0 than for 1: they differ in '
        "what they read" in str(remark)
        for remark in remarks
    )


def test_remarks_say_why_what_runs_once_is_separate():
    alike = lowered("1F1B", 2, 2, 4)
    remarks = [remark for remark in alike.remarks if remark.kind == "programs"]
    assert not any(remark.missed for remark in remarks)
    assert sorted(
        (remark.mesh, when)
        for remark in remarks
        for when in ("before the first", "after the last")
        if f"runs once, {when} microbatch, which would be another program"
        in str(remark)
    ) == [
        (mesh, when)
        for mesh in ("m0", "m1")
        for when in ("after the last", "before the first")
    ]
    assert len(remarks) == 4


def test_batches_are_cut_by_the_programs_that_read_them():
    text = lowered("1F1B", 2, 2, 16).as_text()
    functions = text.split("  func.func @")[1:]
    cutting = [body.split("(")[0] for body in functions if "slice %arg" in body]
    # The backward of the first layer reads its input, too.
    assert [name.split("_", 1)[1].split("_call")[0] for name in cutting] == [
        "stage0_fwd",
        "stage1_fwd",
        "stage0_bwd",
    ]
    once = [body for body in functions if "_inferred" in body.split("(")[0]]
    assert sum("() ->" in body for body in once) == 2


def test_a_batch_that_is_donated_is_cut_once():
    config = mw.make_config(
        two_meshes(), partitioning_options={"mpmd_pipeline_schedule": "1F1B"}
    )
    step = mw.jit(make_step(2, 16), config, donate_argnums=(2, 3))
    program = step.lower(*initial(2), *batch(16))
    assert names(program) == names(lowered("1F1B", 2, 2, 16))
    assert "dynamic_slice" not in program.as_text()


def test_a_batch_with_divided_rows_is_cut_once():
    """And gives the numbers of one device."""
    devices = np.array(jax.devices()[:4]).reshape(2, 2)
    meshes = {f"m{n}": jax.sharding.Mesh(devices[n], ("x",)) for n in range(2)}
    rows = jax.sharding.PartitionSpec("x")
    arguments = (*initial(2), *batch(16))
    step = mw.jit(
        make_step(2, 16),
        mw.make_config(meshes),
        in_shardings=(None, None, rows, rows),
    )
    program = step.lower(*arguments)
    assert "dynamic_slice" not in program.as_text()
    compiled = program.compile()
    *_, found = compiled(*compiled.place(*arguments))
    *_, expected = jitted(2, 1)(*arguments)  # The mean is that of all rows.
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_numbers_of_many_microbatches_are_those_of_jit():
    """Whose programs cut the batch."""
    program = compiled("1F1B", 2, 2, 16)
    arguments = (*initial(2), *batch(16))
    *_, found = program(*program.place(*arguments))
    *_, expected = jitted(2, 1)(*arguments)  # The mean is that of all rows.
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_what_is_traced_can_be_printed():
    """Operations that are added have the parameters that JAX's printer reads."""
    config = mw.make_config(two_meshes())
    traced = mw.jit(make_step(2, 4), config).trace(*initial(2), *batch(4))
    assert " div " in str(traced.jaxpr)
